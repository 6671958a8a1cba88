//! Stream of HTTP+SSE: the GET, its first event, and its end.
//!
//! In: an `initialize` that was refused, and the outcome of the GET. Out: the GET, then
//! `initialize` again, or the first refusal. Later events are read like those of any stream.

use alloc::string::String;

use super::{EndpointError, FirstRefusal, PendingInitialize};
use crate::client::recovery::Refusal;
use crate::client::{CallError, Transport};
use crate::frame::sse;
use crate::http::client::answer::Body;
use crate::http::client::answer::Meaning;
use crate::http::client::call::{Call, Sent};
use crate::http::client::exchange::{Exchange, Purpose};
use crate::http::client::meaning::classify;
use crate::http::client::reading::Answer;
use crate::http::client::{Client, ExchangeId};
use crate::message::{Incoming, Message, Outgoing, RequestId};
use crate::time::Instant;

/// The event that names the target of POSTs.
const ENDPOINT: &[u8] = b"endpoint";

impl Client {
    /// Tries HTTP+SSE after a refusal of `initialize` that, by this row of `answer::TABLE`, may
    /// come from a server of 2024-11-05.
    pub(in crate::http::client) fn fall_back(
        &mut self,
        now: Instant,
        call: Call,
        row: &'static str,
        refusal: FirstRefusal,
    ) {
        let Call { id, sent: Some(Sent { message, .. }), .. } = call else { return };
        self.rpc.handle_old_transport(now, row, refusal.error_to_show());
        let pending = PendingInitialize { message, refusal: Some(refusal) };
        self.open_old_stream(now, id, pending);
    }

    /// Sends the GET of the stream, for the `initialize` with this id.
    pub(in crate::http::client) fn open_old_stream(
        &mut self,
        now: Instant,
        id: RequestId,
        pending: PendingInitialize,
    ) {
        self.sse.begin(pending);
        let request = self.requests.get(&self.session, None, None);
        self.open(now, request, Purpose::HttpSseStream(id));
    }

    /// Returns whether an event names the target of messages. Such an event is the first one on the
    /// stream of the GET, or an `endpoint` on the answer to `server/discover` or `initialize`.
    pub(in crate::http::client) fn is_of_endpoint(
        &self,
        id: ExchangeId,
        event: &sse::Event,
    ) -> bool {
        match self.exchanges.get(id).map(|open| &open.purpose) {
            Some(Purpose::HttpSseStream(_)) => self.sse.is_opening(),
            Some(Purpose::Call(call)) => event.name == *ENDPOINT && self.rpc.is_probe(&call.id),
            _ => false,
        }
    }

    pub(in crate::http::client) fn read_endpoint(
        &mut self,
        now: Instant,
        id: ExchangeId,
        event: &sse::Event,
    ) {
        match self.exchanges.get(id).map(|open| &open.purpose) {
            Some(Purpose::HttpSseStream(initialize)) => {
                let initialize = initialize.clone();
                self.open_endpoint(now, id, initialize, event);
            }
            _ => self.answered_with_endpoint(now, id),
        }
    }

    /// Handles the first event.
    fn open_endpoint(
        &mut self,
        now: Instant,
        id: ExchangeId,
        initialize: RequestId,
        event: &sse::Event,
    ) {
        let moved = self.exchanges.get(id).and_then(|open| open.attempt.moved.as_ref());
        let url = moved.unwrap_or_else(|| self.requests.url());
        let endpoint = if event.name == *ENDPOINT {
            self.sse.endpoint(url, &event.data)
        } else {
            Err(EndpointError::Malformed)
        };
        let endpoint = match endpoint {
            Ok(endpoint) => endpoint,
            Err(error) => {
                self.exchanges.abort(&mut self.queue, id);
                let error = match error {
                    EndpointError::Malformed => CallError::Connection("no endpoint".into()),
                    EndpointError::Foreign(error) => CallError::Connect(error),
                };
                return self.old_stream_broke(now, &initialize, error);
            }
        };
        let Some(pending) = self.sse.take_pending(true) else { return };
        self.exchanges.clear_deadline(id);
        self.requests.set_endpoint(Some(endpoint));
        self.rpc.set_transport(Transport::HttpSse);
        self.rpc.restart_request(now, &initialize);
        self.post(now, initialize, &pending.message);
    }

    /// Handles an answer to `server/discover` or `initialize` that is a stream like that of a
    /// server of 2024-11-05.
    fn answered_with_endpoint(&mut self, now: Instant, id: ExchangeId) {
        let aborted = self.exchanges.abort(&mut self.queue, id);
        let Some(Exchange { purpose: Purpose::Call(call), answer: Some(answer), .. }) = aborted
        else {
            return;
        };
        let status = answer.status();
        let (meaning, row) = classify(&self.rpc, &call, status, Body::Endpoint);
        let (refusal, error) = (Refusal::Other, CallError::Http { status });
        if meaning == Meaning::HttpSseTransport {
            let refusal = FirstRefusal::Status(refusal, error);
            return self.fall_back(now, *call, row, refusal);
        }
        self.rpc.handle_lost(now, &call.id, refusal, error);
    }

    /// Handles a first event that is too long.
    pub(in crate::http::client) fn skip_first_event(&mut self, now: Instant, id: ExchangeId) {
        if let Some(Purpose::HttpSseStream(initialize)) =
            self.exchanges.get(id).map(|it| &it.purpose)
            && self.sse.is_opening()
        {
            let initialize = initialize.clone();
            self.exchanges.abort(&mut self.queue, id);
            self.old_stream_broke(now, &initialize, CallError::Connection("no endpoint".into()));
        }
    }

    /// Handles an answer to the GET that is not a stream of events.
    pub(in crate::http::client) fn refuse_old_stream(
        &mut self,
        now: Instant,
        id: ExchangeId,
        answer: Answer,
    ) {
        let aborted = self.exchanges.abort(&mut self.queue, id);
        if let Some(Exchange { purpose: Purpose::HttpSseStream(initialize), .. }) = aborted {
            self.old_stream_broke(now, &initialize, answer.into_error());
        }
    }

    /// Handles the end of the stream, or a failure to open it.
    pub(in crate::http::client) fn old_stream_broke(
        &mut self,
        now: Instant,
        initialize: &RequestId,
        error: CallError,
    ) {
        if !self.sse.is_opening() {
            return self.old_stream_ended(now, initialize, error);
        }
        let Some(pending) = self.sse.take_pending(false) else { return };
        match (pending.refusal, error) {
            // These errors tell the user what to do; the first refusal does not.
            (_, error @ (CallError::Unauthorized(_) | CallError::Connect(_))) => {
                self.rpc.handle_lost(now, initialize, Refusal::Unavailable, error);
            }
            (Some(FirstRefusal::Response(response, status)), _) => {
                let origin = self.rpc.origin(None, status, false);
                let incoming = Incoming::Message(Message::Response(response));
                self.rpc.handle_message_of(now, incoming, origin);
            }
            (Some(FirstRefusal::Status(refusal, error)), _) => {
                self.rpc.handle_lost(now, initialize, refusal, error);
            }
            (None, _) => self.initialize_at_url(now, initialize.clone(), pending.message),
        }
    }

    /// Sends `initialize` to the URL after a wrong verdict about the server.
    fn initialize_at_url(&mut self, now: Instant, id: RequestId, message: Outgoing) {
        self.rpc.restart_request(now, &id);
        let call = Call::new(id, "initialize".into());
        self.call(now, call, message);
    }

    /// Handles the end of an open stream.
    fn old_stream_ended(&mut self, now: Instant, initialize: &RequestId, error: CallError) {
        let reason: String = if let CallError::Connection(reason) = error {
            reason
        } else {
            "the server has ended the stream of HTTP+SSE".into()
        };
        if self.rpc.awaits(initialize) {
            self.leave_session();
            let error = CallError::Connection(reason);
            return self.rpc.handle_lost(now, initialize, Refusal::Unavailable, error);
        }
        // Unsent messages wait for the next stream.
        self.leave_session();
        self.rpc.handle_stream_lost(now, &reason);
    }

    /// Ends the stream and the open requests of this transport.
    pub(in crate::http::client) fn end_old_transport(&mut self) {
        if !self.sse.is_open() && !self.sse.is_opening() {
            return;
        }
        self.sse.end();
        self.requests.set_endpoint(None);
        self.rpc.set_transport(Transport::Streamable);
        let is_post = |purpose: &Purpose| matches!(purpose, Purpose::HttpSsePost(_));
        for id in self.exchanges.end_unsent(is_post) {
            self.rpc.handle_unsent(&id);
        }
        let is_old = |purpose: &Purpose| {
            matches!(purpose, Purpose::HttpSseStream(_) | Purpose::HttpSsePost(_))
        };
        self.exchanges.abort_where(&mut self.queue, is_old);
    }
}
