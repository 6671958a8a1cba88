//! Spans of requests and calls; feature `tracing`. Without the feature they are empty stubs.
//!
//! In: requests, calls and their results, reasons of cancellations, faults of peers, and reached
//! limits. Out: spans and events.

#[cfg(not(feature = "tracing"))]
mod nothing;
#[cfg(feature = "tracing")]
mod spans;

#[cfg(not(feature = "tracing"))]
pub(super) use nothing::{Hook, Span, alarmed, cancelled, fault};
#[cfg(feature = "tracing")]
pub(super) use spans::{Hook, Span, alarmed, cancelled, fault};
