//! HTTP requests that are out, and what has come of their answers.

use alloc::boxed::Box;

use super::Request;
#[cfg(feature = "auth")]
use super::attempt::Attempt;
use super::call::Call;
use super::connections::Share;
use super::delivery::Delivery;
use super::reading::{Answer, WantedBody};
use super::refresh::Refresh;
use crate::message::RequestId;
use crate::url::Url;
use crate::version::Era;

/// A request that is out, and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Until the head of the answer has come.
    pub(super) request: Option<Request>,
    pub(super) redirects: u8,
    /// Where it has been redirected to for the time being.
    pub(super) moved: Option<Url>,
    pub(super) purpose: Purpose,
    pub(super) answer: Option<Answer>,
    /// True if the answer has ended, and is being read.
    pub(super) has_ended: bool,
    #[cfg(feature = "auth")]
    pub(super) attempt: Attempt,
}

/// Purpose of a request, out or to be sent again.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A JSON-RPC request, or the rest of the answer to it.
    Call(Box<Call>),
    /// The tools of a server that has refused the headers of a call.
    Refresh(Box<Refresh>),
    /// A JSON-RPC notification or response.
    Message(Box<Delivery>),
    /// The GET of a legacy session; the listener owns its state.
    Listen,
    /// Nothing any more: its head has said all.
    Rest,
    /// The end of a session.
    Delete,
}

impl Exchange {
    pub(super) fn new(request: Request, purpose: Purpose) -> Self {
        Self {
            request: Some(request),
            redirects: 0,
            moved: None,
            purpose,
            answer: None,
            has_ended: false,
            #[cfg(feature = "auth")]
            attempt: Attempt::default(),
        }
    }
}

impl Purpose {
    /// The call, unless its tools are listed.
    pub(super) fn call(&self) -> Option<&Call> {
        match self {
            Self::Call(call) => Some(call),
            Self::Refresh(_) | Self::Message(_) | Self::Listen | Self::Rest | Self::Delete => None,
        }
    }

    /// Returns whether it is the request with this id.
    pub(super) fn asks(&self, id: &RequestId) -> bool {
        match self {
            Self::Call(call) => call.id == *id,
            Self::Refresh(refresh) => refresh.call() == id,
            Self::Message(_) | Self::Listen | Self::Rest | Self::Delete => false,
        }
    }

    /// Returns whether it answers the request with this id and no other.
    pub(super) fn answers(&self, id: &RequestId) -> bool {
        matches!(self, Self::Message(delivery) if delivery.answers(id))
    }

    /// Returns whether it is a message without a response.
    pub(super) fn is_message(&self) -> bool {
        matches!(self, Self::Message(_))
    }

    /// The part of the answer's body that is of interest.
    pub(super) fn wanted(&self) -> WantedBody {
        match self {
            Self::Call(_) | Self::Refresh(_) => WantedBody::Message,
            Self::Listen => WantedBody::Events,
            Self::Message(_) | Self::Rest | Self::Delete => WantedBody::Nothing,
        }
    }

    /// The share of connections that it belongs to.
    pub(super) fn share(&self) -> Share {
        match self {
            Self::Call(call) if call.method == "subscriptions/listen" => Share::Stream,
            Self::Listen => Share::Stream,
            Self::Call(_) | Self::Refresh(_) => Share::Call,
            Self::Message(_) | Self::Rest | Self::Delete => Share::Message,
        }
    }

    /// The message, if it is for one.
    pub(super) fn into_delivery(self) -> Option<Box<Delivery>> {
        match self {
            Self::Message(delivery) => Some(delivery),
            Self::Call(_) | Self::Refresh(_) | Self::Listen | Self::Rest | Self::Delete => None,
        }
    }

    /// The legacy session that it belongs to.
    pub(super) fn serial(&self) -> Option<u64> {
        match self {
            Self::Call(call) if call.era == Era::Legacy && call.method != "initialize" => {
                Some(call.serial)
            }
            Self::Message(delivery) => Some(delivery.serial),
            // The listener decides what a 404 to its GET means.
            Self::Call(_) | Self::Refresh(_) | Self::Listen | Self::Rest | Self::Delete => None,
        }
    }

    /// True for calls: an application waits for them. The client opens streams again by itself.
    #[cfg(feature = "auth")]
    pub(super) fn may_ask_person(&self) -> bool {
        self.call().is_some_and(|call| !call.stream.was_open && !call.is_resumed())
    }

    /// True if the answer says nothing that matters.
    #[cfg(feature = "auth")]
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Rest | Self::Delete)
    }
}
