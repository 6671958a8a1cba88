//! HTTP+SSE, the transport of 2024-11-05: one stream of events from the server, and a POST for each
//! message of the client.
//!
//! In: an `initialize` whose refusal points to such a server by
//! [`answer::TABLE`](super::answer::TABLE); the events of the stream; messages. Out: the GET of the
//! stream, and POSTs to the endpoint that its first event names. The machine of messages handles
//! the messages on the stream.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | `Opening`: the GET is out | `initialize`, and its refusal | the event `endpoint` within 10 s: `Open`. 401 or 403: the authorizer, else that error. Anything else: `initialize` fails with its refusal |
//! | `Open` | the target of the POSTs, which [`Requests`](super::requests::Requests) owns | the end of the stream, 404 to the POST of a call, another negotiation |
//! | `Over`: there is no stream, or none yet | | an `initialize` that is refused |
//!
//! If a [`Verdict`] of this process names this transport, the GET is sent first. If the GET fails,
//! there is no earlier refusal to report, and `initialize` is sent as a POST to the URL.
//!
//! Calls are answered on the stream, by id. At its end each call fails with
//! [`CallError::Connection`](crate::client::CallError::Connection), and the next call begins with a
//! POST of `initialize`. This transport has no session ids and no resumption. A stream may be
//! silent for any time.
//!
//! The endpoint is a reference that is resolved against the URL of the GET. The spelling of the
//! reference is kept. An endpoint of another origin is refused, because messages carry credentials.
//! Of an origin that the configuration trusts, only the path and the query are used.
//!
//! [Specification: HTTP with
//! SSE](https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse)

mod post;
mod stream;

use alloc::boxed::Box;
use core::mem;

use crate::client::recovery::Refusal;
use crate::client::{CallError, ConnectError, Transport, Verdict};
use crate::message::{Outgoing, Response};
use crate::time::Duration;
use crate::url::Url;
use crate::version::Era;

/// Time that a server has to name its endpoint.
pub(super) const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest endpoint that the client accepts, in bytes. Each request repeats it.
const MAX_ENDPOINT: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct SseTransport {
    state: SseState,
    /// True if the first `initialize` begins with the GET.
    is_expected: bool,
    trusted_origin: Option<Url>,
}

#[derive(Debug)]
enum SseState {
    Over,
    Opening(Box<PendingInitialize>),
    Open,
}

/// `initialize` that is sent once the endpoint is known.
#[derive(Debug)]
pub(super) struct PendingInitialize {
    pub(super) message: Outgoing,
    /// The refusal of its POST to the URL of the server; `None` if there was none.
    pub(super) refusal: Option<FirstRefusal>,
}

/// Refusal of `initialize` by a server that may be one of 2024-11-05.
#[derive(Debug)]
pub(super) enum FirstRefusal {
    /// An error, with this status.
    Response(Response, u16),
    /// A status.
    Status(Refusal, CallError),
}

impl FirstRefusal {
    /// The error to be shown.
    fn error_to_show(&self) -> CallError {
        match self {
            Self::Response(Response { body: Err(error), .. }, status) => {
                CallError::Error { error: error.shortened(), status: Some(*status) }
            }
            Self::Response(_, status) => CallError::Http { status: *status },
            Self::Status(_, error) => error.clone(),
        }
    }
}

impl SseTransport {
    pub(super) fn new(verdict: Option<&Verdict>, trusted_origin: Option<Url>) -> Self {
        let is_expected = verdict.is_some_and(|verdict| {
            verdict.era() == Era::Legacy && verdict.transport == Transport::HttpSse
        });
        Self { state: SseState::Over, is_expected, trusted_origin }
    }

    /// Returns whether `initialize` begins with the GET; true at most once.
    pub(super) fn take_expected(&mut self) -> bool {
        mem::take(&mut self.is_expected)
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, SseState::Open)
    }

    fn is_opening(&self) -> bool {
        matches!(self.state, SseState::Opening(_))
    }

    /// Records that the GET is sent.
    fn begin(&mut self, pending: PendingInitialize) {
        self.state = SseState::Opening(Box::new(pending));
    }

    /// Ends the wait for the endpoint; returns `initialize`. `is_open` is true if the server has
    /// named its endpoint.
    fn take_pending(&mut self, is_open: bool) -> Option<PendingInitialize> {
        let next = if is_open { SseState::Open } else { SseState::Over };
        match mem::replace(&mut self.state, next) {
            SseState::Opening(pending) => Some(*pending),
            SseState::Over | SseState::Open => None,
        }
    }

    fn end(&mut self) {
        self.state = SseState::Over;
    }

    /// The target of POSTs that an event names, on a stream from `url`.
    fn endpoint(&self, url: &Url, data: &[u8]) -> Result<Url, EndpointError> {
        if data.len() > MAX_ENDPOINT {
            return Err(EndpointError::Malformed);
        }
        let text = core::str::from_utf8(data).map_err(|_| EndpointError::Malformed)?;
        let endpoint = url.join(text.trim()).map_err(|_| EndpointError::Malformed)?;
        if endpoint.same_origin(url) {
            return Ok(endpoint);
        }
        let trusted = self.trusted_origin.as_ref();
        if trusted.is_some_and(|trusted| trusted.same_origin(&endpoint)) {
            return Ok(url.with_target(endpoint.target()));
        }
        let (endpoint, server) = (endpoint.origin().into(), url.origin().into());
        Err(EndpointError::Foreign(ConnectError::ForeignEndpoint { endpoint, server }))
    }
}

/// Error of an event that does not name a valid endpoint.
enum EndpointError {
    Malformed,
    Foreign(ConnectError),
}
