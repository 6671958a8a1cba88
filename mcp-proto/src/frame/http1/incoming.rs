//! The parts of a request, as a server reads them.

use bytes::Bytes;

use super::body::BodyKind;
use super::head::Head;
use super::refusal::Refusal;

/// A part of a request, or the end of the connection, from a
/// [`RequestReader`](super::RequestReader).
///
/// A request is `Head`, any number of `Body`, `End`. `Refused`, `Truncated` and `Closed` end the
/// connection: nothing follows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    /// The beginning of a request.
    Head {
        /// Method, target and fields.
        head: Head,
        /// Framing of the body.
        body: BodyKind,
        /// True if the client may wait for [`CONTINUE`](super::CONTINUE) before it sends the body.
        /// Do not send `CONTINUE` once part of the body has arrived.
        expects_continue: bool,
        /// True if the connection may serve another request. If not, later input is dropped.
        keep_alive: bool,
    },
    /// Data of the body, never empty: a slice of the input.
    Body(Bytes),
    /// The request is complete.
    End,
    /// The request cannot be served: answer with its status and close.
    Refused(Refusal),
    /// The input ended in the middle of a request.
    Truncated,
    /// The input ended between two requests.
    Closed,
}
