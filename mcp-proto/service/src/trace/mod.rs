//! Spans of requests and calls; feature `tracing`. Without it nothing is in their place, and the
//! compiler leaves nothing of that.
//!
//! In: requests on their way to handlers, calls on their way to servers, what comes of them, and
//! faults of peers, and limits that are reached. Out: spans and events.

#[cfg(not(feature = "tracing"))]
mod nothing;
#[cfg(feature = "tracing")]
mod spans;

#[cfg(not(feature = "tracing"))]
pub(super) use nothing::{Hook, Span, alarmed, fault};
#[cfg(feature = "tracing")]
pub(super) use spans::{Hook, Span, alarmed, fault};
