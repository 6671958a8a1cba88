//! From the text on an answer to what it means: what `answer::TABLE` says.
//!
//! In: a text that is to be a message. Out: the response that its request waits for, perhaps without
//! the tools that must not be called; anything else for the machine of messages.
//!
//! [Specification: Receiving Messages](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages)

use bytes::Bytes;

use super::answer::{self, Class, Meaning};
use super::exchange::{Exchange, Purpose};
use super::receive::LINGER;
use super::resume::Break;
use super::{Client, ExchangeId};
use crate::client::recovery::Refusal;
use crate::client::{CallError, ClientEvent, is_modern_error, is_same_request};
use crate::error::{ErrorCode, ProtocolError};
use crate::message::{self, Incoming, Member, Message, Method, RequestId, Response};
use crate::time::Instant;
use crate::version::Era;

impl Client {
    /// A text that is to be a message has come.
    pub(super) fn read(&mut self, now: Instant, id: ExchangeId, text: &Bytes) {
        let parsed = message::parse(text, self.limits());
        let Some(open) = self.exchanges.get_mut(id) else { return };
        let status = open.answer.as_ref().map_or(0, |answer| answer.status);
        let is_answer = |response: &Response, id: &RequestId| match &response.id {
            Some(answered) if is_same_request(answered, id) => true,
            // Some servers refuse with an id of their own.
            Some(answered) => {
                let refuses = Class::of(status) != Class::Success && response.body.is_err();
                refuses && !self.side.awaits(answered)
            }
            // An error without one is about the request that it answers.
            None => response.body.is_err(),
        };
        match (parsed, &mut open.purpose) {
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Call(asked))
                if is_answer(&response, &asked.id) =>
            {
                self.respond(now, id, response);
            }
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Refresh(refresh))
                if is_answer(&response, &refresh.id) =>
            {
                self.listed(now, id, &response);
            }
            (Ok(Incoming::Message(Message::Response(response))), Purpose::Call(asked))
                if response.id.is_some()
                    && (asked.era == Era::Modern || Class::of(status) != Class::Success) =>
            {
                self.side.fault(ProtocolError::UnexpectedResponse);
            }
            (Ok(incoming), purpose) => {
                let (asked, is_resumed) = match purpose {
                    Purpose::Call(asked) => (Some(&asked.id), asked.is_resumed()),
                    Purpose::Refresh(_)
                    | Purpose::Message(_)
                    | Purpose::Listen
                    | Purpose::Rest
                    | Purpose::Delete => (None, false),
                };
                let may_settle = may_settle(&incoming);
                let cancelled = cancelled(&incoming);
                let origin = self.side.origin(asked, status, is_resumed);
                self.side.handle_message_of(now, incoming, origin);
                if let Some(id) = cancelled {
                    self.cancel_delivery(&id);
                }
                if may_settle {
                    self.leave_settled(now);
                }
            }
            (Err(mut malformed), purpose) => {
                if let Purpose::Call(asked) = purpose {
                    asked.fault = Some(malformed.error.clone());
                    let is_own = |id: &RequestId| is_same_request(id, &asked.id);
                    if asked.era == Era::Modern {
                        malformed.id = malformed.id.filter(is_own);
                    }
                }
                self.side.handle_malformed(now, malformed);
                self.leave_settled(now);
            }
        }
    }

    /// Answers that nobody waits for any more, because what they are for has been settled
    /// elsewhere: in a batch, on another stream, or by a notification.
    fn leave_settled(&mut self, now: Instant) {
        let is_settled = |purpose: &Purpose| match purpose {
            Purpose::Call(asked) => !self.side.awaits(&asked.id),
            Purpose::Refresh(_)
            | Purpose::Message(_)
            | Purpose::Listen
            | Purpose::Rest
            | Purpose::Delete => false,
        };
        self.exchanges.set_deadline_where(now + LINGER, is_settled);
    }

    /// The response that an exchange is for has come.
    fn respond(&mut self, now: Instant, id: ExchangeId, mut response: Response) {
        let Some(Exchange { purpose: Purpose::Call(asked), answer: Some(answer), .. }) =
            self.exchanges.get_mut(id)
        else {
            return;
        };
        let status = answer.status;
        if !self.side.awaits(&asked.id) {
            let origin = self.side.origin(Some(&asked.id), status, asked.is_resumed());
            let incoming = Incoming::Message(Message::Response(response));
            return self.side.handle_message_of(now, incoming, origin);
        }
        // A server that is down does not end a subscription that it has accepted.
        let is_open = asked.method == "subscriptions/listen" && asked.stream.was_open;
        if is_open && response.body.is_err() && Break::of(status) == Break::Unavailable {
            return;
        }
        // Nor does it end a call that it has accepted: it refuses the GET for the rest of the answer.
        let is_refused_for_now = matches!(Break::of(status), Break::Unavailable | Break::Conflict);
        if asked.era == Era::Legacy && asked.is_resumed() && is_refused_for_now {
            return;
        }
        let what =
            if self.side.is_probe(&asked.id) { answer::Asked::Era } else { answer::Asked::Call };
        let body = match &response.body {
            Ok(_) => answer::Body::Result,
            Err(error) if is_modern_error(error.code) => answer::Body::ModernError,
            Err(_) => answer::Body::Error,
        };
        let row = answer::TABLE.find((what, Class::of(status), body));
        match (row.map(|row| row.then), &response.body) {
            (Some(Meaning::Body), _) => {}
            (Some(Meaning::Unauthorized), body) => {
                // The end of the answer says so; the error may say why.
                if let (Err(error), Some(unauthorized)) = (body, &mut answer.unauthorized) {
                    unauthorized.message = Some(error.message.clone().into_owned());
                }
                return;
            }
            (Some(Meaning::Unavailable), Err(error)) => {
                let (error, status) = (error.clone(), Some(status));
                let asked = asked.id.clone();
                let error = CallError::Error { error, status };
                return self.side.handle_lost(now, &asked, Refusal::Unavailable, error);
            }
            // The end of the answer says so.
            (Some(Meaning::Unavailable | Meaning::Status) | None, _) => return,
        }
        response.id = Some(asked.id.clone());
        let (asked_id, is_resumed) = (asked.id.clone(), asked.is_resumed());
        match (&*asked.method, &mut response.body) {
            ("initialize", Ok(_)) => self.session.id = asked.session_id.take(),
            ("tools/list", Ok(page)) if asked.era == Era::Modern => {
                let max_list_bytes = self.side.limits().max_list_bytes;
                let (kept, rejected) = self.tools.read(page, max_list_bytes);
                *page = kept;
                for (tool, reason) in rejected {
                    self.side.event(ClientEvent::ToolRejected { tool, reason });
                }
            }
            // A handler may have answered with this code, and then with a status of 2xx.
            ("tools/call", Err(error))
                if error.code == ErrorCode::HEADER_MISMATCH
                    && Class::of(status) != Class::Success =>
            {
                if let Some(call) = asked.sent.take() {
                    return self.refresh(now, id, call, (response, status));
                }
            }
            _ => {}
        }
        self.exchanges.set_deadline(id, now + LINGER);
        let origin = self.side.origin(Some(&asked_id), status, is_resumed);
        self.side.handle_message_of(now, Incoming::Message(Message::Response(response)), origin);
    }
}

/// Whether something else than the answer that it came on may be over for it.
fn may_settle(incoming: &Incoming) -> bool {
    match incoming {
        Incoming::Message(Message::Response(_)) | Incoming::Batch(_) => true,
        Incoming::Message(Message::Notification(it)) => matches!(it.method, Method::Cancelled),
        Incoming::Message(Message::Request(_)) => false,
    }
}

/// The request of the server that a message cancels.
fn cancelled(incoming: &Incoming) -> Option<RequestId> {
    match incoming {
        Incoming::Message(Message::Notification(it)) if matches!(it.method, Method::Cancelled) => {
            it.params.raw(Member::RequestId).and_then(RequestId::from_raw)
        }
        Incoming::Message(_) | Incoming::Batch(_) => None,
    }
}
