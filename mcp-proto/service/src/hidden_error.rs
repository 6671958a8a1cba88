//! Errors of handlers whose texts are not sent to clients.
//!
//! In: an error of the application. Out: the error for the client, and with the feature `tracing`
//! an event for the operator, with the text of the error and of its causes.

#[cfg(feature = "tracing")]
use alloc::string::{String, ToString};
use core::error::Error;
#[cfg(feature = "tracing")]
use core::iter::successors;

use mcp_proto::ErrorData;

/// The error for a client that does not get the text of the handler's error, which may contain
/// internal details.
pub(crate) fn hidden(error: &(dyn Error + 'static)) -> ErrorData {
    #[cfg(feature = "tracing")]
    tracing::error!(target: "mcp_proto", error = %with_causes(error), "a handler failed");
    #[cfg(not(feature = "tracing"))]
    let _ = error;
    ErrorData::internal("the handler failed")
}

/// The text of an error and of its causes. Some errors contain the text of their cause.
#[cfg(feature = "tracing")]
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in successors(error.source(), |&cause| cause.source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.extend([": ", &cause]);
        }
    }
    text
}
