//! Meaning of a message that an exchange has received.
//!
//! In: the call that was answered, and a message. Out: the row of [`answer::TABLE`], and the
//! requests that the message ends.

use super::answer::{self, Asked, Body, Class, Meaning};
use super::call::Call;
use crate::client;
use crate::message::{Incoming, Member, Message, Method, RequestId};
use crate::version::ProtocolVersion;

/// The meaning of the answer to a call, from the row of the table.
pub(super) fn classify(
    rpc: &client::Client,
    call: &Call,
    status: u16,
    body: Body,
) -> (Meaning, &'static str) {
    let asked = match &*call.method {
        _ if !rpc.is_probe(&call.id) => Asked::Call,
        "initialize" => Asked::Initialize,
        _ => Asked::Discover,
    };
    // A server that has accepted `initialize` has sessions, and so is not one of 2024-11-05.
    let may_be_old = !call.is_resumed() && rpc.may_speak(ProtocolVersion::V2024_11_05);
    let row = answer::TABLE.find((asked, Class::of(status), body, may_be_old));
    row.map_or((Meaning::Status, ""), |row| (row.then, row.name))
}

/// Returns whether the message may end other exchanges than its own.
pub(super) fn may_settle(incoming: &Incoming) -> bool {
    match incoming {
        Incoming::Message(Message::Response(_)) | Incoming::Batch(_) => true,
        Incoming::Message(Message::Notification(it)) => matches!(it.method, Method::Cancelled),
        Incoming::Message(Message::Request(_)) => false,
    }
}

/// The request of the server that a message cancels.
pub(super) fn cancelled(incoming: &Incoming) -> Option<RequestId> {
    match incoming {
        Incoming::Message(Message::Notification(it)) if matches!(it.method, Method::Cancelled) => {
            it.params.raw(Member::RequestId).and_then(RequestId::from_raw)
        }
        Incoming::Message(_) | Incoming::Batch(_) => None,
    }
}
