//! Tests of every cell of the specification's compatibility matrix: each client with each server,
//! with each belief that the client may have stored.
//!
//! A [`Cell`] is a server, a way to negotiate and a belief; [`Cell::expected`] is what the
//! specification has come of it, and [`Met`] what did. [`over_pipes`] and [`over_http`] are the
//! tests of an adapter; `tests/tests/compatibility.rs` plays the same cells in virtual time.
//!
//! [Specification: Compatibility
//! Matrix](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix)

mod conversation;
mod expected;
mod http;
mod process;
mod server;

use mcp_proto::ProtocolVersion;
use mcp_proto::client::{Config, Negotiation, Verdict};
use mcp_proto::types::Implementation;

pub use conversation::{Met, answer, meet, meet_meanwhile};
pub use expected::{Expected, Failure};
pub use http::over_http;
pub use process::{Connect, over_pipes, serve};
pub use server::{ServerKind, Tell};

/// One combination.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The server.
    pub server: ServerKind,
    /// Strategy for finding a version.
    pub negotiation: Negotiation,
    /// Belief about the server beforehand.
    pub belief: Belief,
}

/// Belief about a server that a client has stored; it may be stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Belief {
    /// Nothing.
    Nothing,
    /// That it is a modern one.
    Modern,
    /// The same, with what such a server once said about itself.
    Discovered,
    /// That it speaks the newest legacy revision.
    Legacy,
    /// That it speaks the oldest.
    OldLegacy,
}

impl Belief {
    const ALL: [Self; 5] =
        [Self::Nothing, Self::Modern, Self::Discovered, Self::Legacy, Self::OldLegacy];

    /// As it is stored.
    fn verdict(self) -> Option<Verdict> {
        let text = match self {
            Self::Nothing => return None,
            Self::Modern => r#"{"version":"2026-07-28"}"#,
            Self::Discovered => {
                r#"{"version":"2026-07-28","discover":{"resultType":"complete",
                    "supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,
                    "cacheScope":"private","instructions":"of old"}}"#
            }
            Self::Legacy => r#"{"version":"2025-11-25"}"#,
            Self::OldLegacy => r#"{"version":"2024-11-05"}"#,
        };
        // One that cannot be read fails the cells in which it is stale.
        serde_json::from_str(text).ok()
    }
}

impl Cell {
    /// All cells.
    pub fn all() -> impl Iterator<Item = Self> {
        let pinned = ProtocolVersion::ALL.iter().copied().map(Negotiation::Pinned);
        let negotiations: Vec<Negotiation> =
            [Negotiation::Auto, Negotiation::Legacy].into_iter().chain(pinned).collect();
        ServerKind::ALL.into_iter().flat_map(move |server| {
            negotiations.clone().into_iter().flat_map(move |negotiation| {
                Belief::ALL.map(|belief| Self { server, negotiation, belief })
            })
        })
    }

    /// As tests are called.
    pub fn name(self) -> String {
        let negotiation = match self.negotiation {
            Negotiation::Auto => "auto".into(),
            Negotiation::Legacy => "legacy".into(),
            Negotiation::Pinned(version) => version.to_string(),
            other => format!("{other:?}"),
        };
        let Self { server, belief, .. } = self;
        format!("{negotiation}-meets-{server:?}-believing-{belief:?}").to_lowercase()
    }

    /// The settings of the client.
    pub fn config(self) -> Config {
        let mut config = Config::new(Implementation::new("matrix", "1"));
        config.negotiation = self.negotiation;
        config.verdict = self.belief.verdict();
        config
    }
}
