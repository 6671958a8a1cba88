//! Negotiation of a version with a server of unknown era.
//!
//! In: the application's strategy ([`Negotiation`]), a stored [`Verdict`], answers to
//! `server/discover` and `initialize`. Out: the moves of [`probe::TABLE`], reported as
//! [`Decision`]s; the server, as a [`ServerInfo`].
//!
//! [Specification: Versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#protocol-version-negotiation)

mod decision;
mod early_messages;
mod late_probe;
mod machine;
pub mod probe;
mod probe_result;
mod verdict;

pub use decision::Decision;
pub(super) use decision::DecisionLog;
pub(super) use machine::{Negotiating, PriorServer, ResponseMeaning};
pub(super) use probe_result::{ProbeResult, is_modern, listed};
pub use verdict::{Negotiation, ServerInfo, Transport, Verdict};
