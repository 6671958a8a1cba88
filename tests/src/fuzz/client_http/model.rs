//! Invariants of a client over HTTP, with any server.
//!
//! In: what the application does, what the client wants done. Out: a panic if a rule is broken.
//! Each call has one response and each subscription one end, and a request is out once. Sessions
//! are those that an answer to `initialize` has named, and modern requests have none. Fields are
//! valid.

use std::collections::BTreeSet;

use mcp_proto::Instant;
use mcp_proto::client::{CallId, ClientEvent, InputId, SubscriptionId};
use mcp_proto::http::client::{ExchangeId, Request};

use super::super::client::server::Read;
use super::super::oracle::{self, Object};

/// Observations so far.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// All requests that there were, in order.
    pub(super) exchanges: Vec<Exchange>,
    /// All calls that there were; whether each has had its response.
    calls: Vec<(CallId, bool)>,
    open_calls: BTreeSet<CallId>,
    subscriptions: Vec<SubscriptionId>,
    open_subscriptions: BTreeSet<SubscriptionId>,
    inputs: BTreeSet<InputId>,
    /// The ids that answers to `initialize` have named.
    sessions: BTreeSet<String>,
    /// The value of the field of the application.
    pub(super) token: u8,
    max_in_flight: usize,
    reported: bool,
    pub(super) closed: bool,
}

/// A request, and how far its answer is.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) id: ExchangeId,
    /// The JSON-RPC request that it carries, or that it resumes the answer to.
    pub(super) read: Option<Read>,
    /// True if it carries a message that has no response.
    is_message: bool,
    /// True if its answer may still bring something.
    pub(super) is_open: bool,
    pub(super) has_events: bool,
}

impl Model {
    pub(super) fn new(max_in_flight: usize) -> Self {
        Self { max_in_flight, ..Self::default() }
    }

    pub(super) fn called(&mut self, call: CallId) {
        assert!(self.open_calls.insert(call), "two calls have one name");
        self.calls.push((call, false));
    }

    pub(super) fn call(&self, n: u8) -> Option<(CallId, bool)> {
        let (call, _) = self.calls.get(usize::from(n) % self.calls.len().max(1))?;
        Some((*call, self.open_calls.contains(call)))
    }

    pub(super) fn subscribed(&mut self, subscription: SubscriptionId) {
        assert!(self.open_subscriptions.insert(subscription), "two subscriptions have one name");
        self.subscriptions.push(subscription);
    }

    pub(super) fn subscription(&self, n: u8) -> Option<(SubscriptionId, bool)> {
        let count = self.subscriptions.len().max(1);
        let subscription = self.subscriptions.get(usize::from(n) % count)?;
        Some((*subscription, self.open_subscriptions.contains(subscription)))
    }

    pub(super) fn given(&mut self, input: InputId) {
        assert!(self.inputs.remove(&input), "an input that nobody asked for");
    }

    /// Calls that have had no response.
    pub(super) fn pending(&self) -> usize {
        self.open_calls.len()
    }

    pub(super) fn opened(&mut self, id: ExchangeId, request: &Request) {
        assert!(!self.closed, "a request after the end");
        assert!(self.exchanges.iter().all(|other| other.id != id), "two requests have one name");
        self.check_fields(request);
        let body = std::str::from_utf8(&request.body).unwrap_or_default();
        assert_eq!(request.method == "POST", !body.is_empty(), "{request:?}");
        let read = (request.method == "POST").then(|| read(body)).flatten();
        if let Some(read) = &read {
            let same = |other: &&Exchange| {
                other.is_open && other.read.as_ref().is_some_and(|other| other.id == read.id)
            };
            assert!(self.exchanges.iter().find(same).is_none(), "{} is out twice", read.id);
        }
        self.check_session(request, read.as_ref());
        let is_message = request.method == "POST" && read.is_none();
        let exchange = Exchange { id, read, is_message, is_open: true, has_events: false };
        self.exchanges.push(exchange);
        let messages = self.exchanges.iter().filter(|it| it.is_open && it.is_message).count();
        assert!(messages <= self.max_in_flight + 1, "{messages} messages are not accepted yet");
    }

    fn check_fields(&self, request: &Request) {
        let mut names = BTreeSet::new();
        for (name, value) in &request.fields {
            assert!(names.insert(name.to_ascii_lowercase()), "{name} stands twice");
            let is_token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte);
            assert!(!name.is_empty() && name.bytes().all(is_token), "{name:?}");
            assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{value:?}");
            assert_eq!(value.trim(), value, "{name}");
        }
        let token = format!("Bearer {}", self.token);
        assert_eq!(field(request, "authorization"), Some(&*token));
        assert!(request.target.starts_with('/'));
        let accepts = field(request, "accept");
        assert_eq!(accepts.is_some(), request.method != "DELETE");
    }

    fn check_session(&self, request: &Request, read: Option<&Read>) {
        let session = field(request, "mcp-session-id");
        if let Some(session) = session {
            assert!(self.sessions.contains(session), "{session} is no session");
        }
        let method = read.map(|read| &*read.method);
        let version = field(request, "mcp-protocol-version");
        if method == Some("initialize") {
            assert_eq!((session, version), (None, None), "initialize is in a session");
        }
        if version == Some("2026-07-28") {
            assert_eq!(session, None, "a modern request is in a session");
        }
        if let (Some(read), Some("2026-07-28")) = (read, version) {
            assert_eq!(field(request, "mcp-method"), Some(&*read.method));
        }
    }

    /// The client does not want the rest of an answer.
    pub(super) fn aborted(&mut self, id: ExchangeId) {
        let open = self.exchanges.iter_mut().find(|exchange| exchange.id == id);
        let was_open = open.is_some_and(|open| std::mem::take(&mut open.is_open));
        assert!(was_open, "what is over is closed");
    }

    /// An answer has ended, or broken.
    pub(super) fn ended(&mut self, at: usize) {
        if let Some(exchange) = self.exchanges.get_mut(at) {
            exchange.is_open = false;
        }
    }

    /// A head names a session.
    pub(super) fn named(&mut self, at: usize, session: &str) {
        let exchange = self.exchanges.get(at).and_then(|exchange| exchange.read.as_ref());
        if exchange.is_some_and(|read| read.method == "initialize") {
            self.sessions.insert(session.to_owned());
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing hangs on the others")]
    pub(super) fn event(&mut self, event: &ClientEvent) {
        assert!(!self.reported, "an event after `Closed`: {event:?}");
        match event {
            ClientEvent::Response { call, .. } => {
                assert!(self.open_calls.remove(call), "{call:?} has two responses");
            }
            ClientEvent::Progress { call, .. } => {
                assert!(self.open_calls.contains(call), "{call:?} has had its response");
            }
            ClientEvent::SubscriptionEnded { subscription, .. } => {
                assert!(
                    self.open_subscriptions.remove(subscription),
                    "{subscription:?} ends twice"
                );
            }
            ClientEvent::Subscribed { subscription, .. } => {
                assert!(self.open_subscriptions.contains(subscription), "{subscription:?}");
            }
            ClientEvent::Input(input) => {
                assert!(self.inputs.insert(input.reply.id()), "two inputs have one name");
                let known = input.call.is_none_or(|call| self.open_calls.contains(&call));
                assert!(known, "input for a call that is over");
            }
            ClientEvent::InputCancelled { input } => {
                assert!(self.inputs.remove(input), "{input:?} is not asked for");
            }
            ClientEvent::Reopen => assert_eq!("reopen", "", "there is nothing to reopen"),
            ClientEvent::Closed(_) => {
                assert!(self.open_calls.is_empty(), "{:?} have no response", self.open_calls);
                assert!(self.open_subscriptions.is_empty(), "{:?}", self.open_subscriptions);
                assert!(self.inputs.is_empty(), "{:?} are asked for", self.inputs);
                self.reported = true;
            }
            _ => {}
        }
    }

    pub(super) fn close(&mut self) {
        assert!(self.reported && !self.closed, "`Close` is the last, and comes once");
        self.closed = true;
        let open = self.exchanges.iter().filter(|exchange| exchange.is_open).count();
        assert_eq!(open, 0, "requests are out after the end");
    }

    /// Returns whether nothing is wanted any more but to be told of changes.
    pub(super) fn only_subscribes(&self) -> bool {
        self.open_calls.is_empty() && !self.open_subscriptions.is_empty()
    }

    /// Nothing is due any more: whatever is out is waited for by somebody who wants to wait for
    /// ever.
    pub(super) fn idle(&self, endless: bool) {
        let open = || self.exchanges.iter().filter(|exchange| exchange.is_open);
        assert_eq!(open().filter(|it| it.is_message).count(), 0, "messages are never given up");
        let asked = open().filter(|it| it.read.is_some()).count();
        let wanted = self.open_calls.len() + self.open_subscriptions.len();
        // The negotiation may have been told to wait for ever, too.
        let out: Vec<_> = open().filter_map(|it| it.read.as_ref()).collect();
        // An application that gives no input has the timeouts of all requests rest.
        let rests = endless || !self.inputs.is_empty();
        assert!(rests || asked <= wanted, "{out:?} are out, and {wanted} wanted");
    }

    /// Checks the invariants between steps.
    pub(super) fn settled(&self, now: Instant, next: Option<Instant>) {
        assert!(next.is_none_or(|next| next > now), "{next:?} is past at {now:?}");
        assert!(!self.closed || next.is_none(), "a deadline after the end");
    }
}

/// The request that a body is.
fn read(body: &str) -> Option<Read> {
    let object = Object::read(body).filter(|_| body.starts_with('{'))?;
    let method = object.get("method").and_then(oracle::string)?;
    let params = object.get("params").unwrap_or("{}").to_owned();
    Some(Read { id: object.get("id")?.to_owned(), method, params })
}

fn field<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let found = request.fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    found.map(|(_, value)| &**value)
}
