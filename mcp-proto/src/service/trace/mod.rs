//! Spans of requests and calls; feature `tracing`. Without it nothing is in their place, and the
//! compiler leaves nothing of that.
//!
//! In: requests on their way to handlers, calls on their way to servers, what comes of them, and
//! faults of peers. Out: spans and events.

#[cfg(not(feature = "tracing"))]
mod nothing;
#[cfg(feature = "tracing")]
mod spans;

#[cfg(not(feature = "tracing"))]
pub(super) use nothing::{Hook, Span, fault};
#[cfg(feature = "tracing")]
pub(super) use spans::{Hook, Span, fault};
