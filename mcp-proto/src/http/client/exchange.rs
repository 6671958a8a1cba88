//! Open HTTP requests, and the received parts of their answers.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::Request;
use super::attempt::Attempt;
use super::call::{Call, Streaming};
use super::connections::Share;
use super::delivery::Delivery;
use super::reading::{Answer, WantedBody};
use super::refresh::Refresh;
use crate::message::RequestId;
use crate::version::Era;

/// An open request and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The request, until the head of the answer arrives.
    pub(super) request: Option<Arc<Request>>,
    pub(super) attempt: Attempt,
    pub(super) purpose: Purpose,
    pub(super) answer: Option<Answer>,
    /// True if the answer has ended and its body is still being processed.
    pub(super) has_ended: bool,
}

/// Purpose of a request that is open or will be sent again.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A JSON-RPC request, or the rest of the answer to it.
    Call(Box<Call>),
    /// A list of the tools of a server that has refused the headers of a call.
    Refresh(Box<Refresh>),
    /// A JSON-RPC notification or response.
    Message(Box<Delivery>),
    /// The GET of a legacy session; [`SessionStream`](super::session_stream::SessionStream) owns
    /// the state.
    Listen,
    /// The GET of HTTP+SSE; `sse2024` owns its state.
    HttpSseStream(RequestId),
    /// The POST of a request by HTTP+SSE, whose response comes on the stream.
    HttpSsePost(RequestId),
    /// Nothing: the head of the answer was enough.
    Drain,
    /// The end of a session.
    Delete,
}

impl Exchange {
    pub(super) fn new(request: Arc<Request>, purpose: Purpose, attempt: Attempt) -> Self {
        Self { request: Some(request), attempt, purpose, answer: None, has_ended: false }
    }
}

impl Purpose {
    /// The call, unless it waits for a refresh of the tools.
    pub(super) fn call(&self) -> Option<&Call> {
        if let Self::Call(call) = self { Some(call) } else { None }
    }

    /// The position in the events that the exchange reads; `session` is the position of the GET.
    pub(super) fn stream<'a>(
        &'a mut self,
        session: &'a mut Streaming,
    ) -> Option<&'a mut Streaming> {
        match self {
            Self::Call(call) => Some(&mut call.stream),
            Self::Listen => Some(session),
            Self::Refresh(_)
            | Self::HttpSseStream(_)
            | Self::HttpSsePost(_)
            | Self::Message(_)
            | Self::Drain
            | Self::Delete => None,
        }
    }

    /// The request that an application, or the negotiation, waits for.
    pub(super) fn request(&self) -> Option<&RequestId> {
        match self {
            Self::Call(call) => Some(&call.id),
            Self::HttpSsePost(id) => Some(id),
            Self::Refresh(_)
            | Self::Message(_)
            | Self::Listen
            | Self::HttpSseStream(_)
            | Self::Drain
            | Self::Delete => None,
        }
    }

    /// The request whose timeout is paused while the exchange waits in the client.
    pub(super) fn paused_request(&self) -> Option<&RequestId> {
        if let Self::HttpSseStream(initialize) = self { Some(initialize) } else { self.request() }
    }

    /// Returns whether the exchange is for the rest of an answer: the server has the request.
    pub(super) fn is_resumed(&self) -> bool {
        self.call().is_some_and(Call::is_resumed)
    }

    /// Returns whether the exchange is for the request with this id.
    pub(super) fn is_for(&self, id: &RequestId) -> bool {
        match self {
            Self::Call(call) => call.id == *id,
            Self::Refresh(refresh) => refresh.call() == id,
            Self::HttpSseStream(request) | Self::HttpSsePost(request) => request == id,
            Self::Message(_) | Self::Listen | Self::Drain | Self::Delete => false,
        }
    }

    /// Returns whether the exchange answers only the request with this id.
    pub(super) fn answers(&self, id: &RequestId) -> bool {
        matches!(self, Self::Message(delivery) if delivery.answers(id))
    }

    /// Returns whether the exchange sends a message without a response.
    pub(super) fn is_message(&self) -> bool {
        matches!(self, Self::Message(_))
    }

    /// The part of the answer's body that the client reads.
    pub(super) fn body_to_read(&self) -> WantedBody {
        match self {
            Self::Call(_) | Self::Refresh(_) => WantedBody::Message,
            Self::Listen | Self::HttpSseStream(_) => WantedBody::Events,
            Self::HttpSsePost(_) | Self::Message(_) | Self::Drain | Self::Delete => {
                WantedBody::Nothing
            }
        }
    }

    /// The share of connections that the exchange belongs to.
    pub(super) fn share(&self) -> Share {
        match self {
            Self::Call(call) if call.method == "subscriptions/listen" => Share::Stream,
            Self::Listen | Self::HttpSseStream(_) => Share::Stream,
            Self::Call(_) | Self::Refresh(_) | Self::HttpSsePost(_) => Share::Call,
            Self::Message(_) | Self::Drain | Self::Delete => Share::Message,
        }
    }

    /// The message, if the exchange delivers one.
    pub(super) fn into_delivery(self) -> Option<Box<Delivery>> {
        if let Self::Message(delivery) = self { Some(delivery) } else { None }
    }

    /// Serial number of the legacy session that the exchange belongs to.
    pub(super) fn serial(&self) -> Option<u64> {
        match self {
            Self::Call(call) if call.era == Era::Legacy && call.method != "initialize" => {
                Some(call.serial)
            }
            Self::Message(delivery) => Some(delivery.serial),
            // The `SessionStream` handles a 404 to its GET, and HTTP+SSE has no session ids.
            Self::Call(_)
            | Self::Refresh(_)
            | Self::Listen
            | Self::HttpSseStream(_)
            | Self::HttpSsePost(_)
            | Self::Drain
            | Self::Delete => None,
        }
    }

    /// Returns whether the exchange may start a sign-in by a person: only calls may, since the
    /// client itself reopens streams.
    #[cfg(feature = "auth")]
    pub(super) fn may_prompt_user(&self) -> bool {
        match self {
            Self::Call(call) => !call.stream.was_open && !call.is_resumed(),
            Self::HttpSseStream(_) | Self::HttpSsePost(_) => true,
            Self::Refresh(_) | Self::Message(_) | Self::Listen | Self::Drain | Self::Delete => {
                false
            }
        }
    }

    /// Returns whether the rest of the answer does not matter.
    #[cfg(feature = "auth")]
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Drain | Self::Delete)
    }
}
