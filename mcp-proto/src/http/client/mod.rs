//! The binding of a client to Streamable HTTP, for servers of both eras.
//!
//! In: commands of the application, and HTTP responses to the requests that this machine issues.
//! Out: these requests, and events for the application. The machine runs over
//! [`frame::http1`](crate::frame::http1), or over any HTTP stack.
//!
//! | input | output |
//! |---|---|
//! | `handle_opened` | a POST with `server/discover` or `initialize` |
//! | a call, a notification, an answer | a POST; `Mcp-*` headers, or those of the session |
//! | the head, the body, the end of an answer | events; a `Response` for each call |
//! | an answer without a JSON-RPC response, or with another meaning | the step of [`answer::TABLE`] |
//! | a stream that breaks | the step of [`resume::TABLE`]; for a resumption, a GET |
//! | `cancel`, or the time of a call is over | `Abort`; legacy: a POST with `notifications/cancelled` |
//! | 307 or 308 within the origin | the same request there, with a proof of its own if the token is bound to a key |
//! | -32020 to a call of a tool | `tools/list`, and the call again if its headers have changed |
//! | `close` | legacy: a DELETE; then `Close`, after a POST of the authorizer if one is open, which has `Limits::drain` |
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | an exchange | its purpose, the received part of its answer | the end or failure of its answer; `Abort`: 1 s after the response, 60 s after a notification, 2 s after a DELETE |
//! | a call that sleeps | its id, its last event id | its time, or another credential; both open its stream again |
//! | `delivery`, a message without a response | see there | see there |
//! | `session_stream`, the GET of a session | see there | see there |
//! | `sse2024`, the stream of a server of 2024-11-05 | see there | see there |
//! | a legacy session | its id, the messages that wait until `notifications/initialized` is accepted | 404, which opens another one; `close` |
//!
//! At most `Limits::max_client_connections` exchanges are open at a time; others wait, as
//! `connections` says.
//!
//! After the client was connected once, only `close` ends it. If the connection is lost, the client
//! connects again at the rate of [`recovery`](crate::client::recovery).
//!
//! With the feature `auth` a client may own an [`Authorizer`](crate::auth::Authorizer). Requests
//! that the server refuses with 401 or 403 are then held until there is a token, and sent again.
//!
//! [`Client`] coordinates structs that own their data: `Requests`, `Session`, `Exchanges`,
//! `SessionStream`, `SseTransport`, `Tools`, `OwnAuthorizer`, and the machine of messages. The
//! methods of `Client` are spread over several files, because each step needs several of these
//! owners. This file has the public methods and the end of a session. `send` sends messages, and
//! `receive` handles answers. `sse2024` does both for HTTP+SSE; `authorize` holds and resumes
//! requests for a sign-in.
//!
//! [Specification: Streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http)

mod action;
pub mod answer;
mod attempt;
#[cfg(feature = "auth")]
mod authorization;
#[cfg(feature = "auth")]
mod authorize;
mod backoff;
mod call;
mod connections;
mod delivery;
mod exchange;
mod exchanges;
mod meaning;
mod reading;
mod receive;
mod refresh;
mod requests;
pub mod resume;
mod send;
mod session;
mod session_stream;
mod sse2024;
mod tools;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use crate::client::recovery::Refusal;
use crate::client::{self, CallError, ClientAction, ClientEvent, Undelivered};
use crate::error::UsageError;
use crate::limits::{Limits, MAX_MESSAGE_BYTES};
use crate::machine::Binding;
use crate::message::{MessageReader, Outgoing};
use crate::time::Instant;
use crate::url::Url;

pub use action::{Action, Config, ExchangeId, Fields, Request, set_field};
#[cfg(feature = "auth")]
use authorization::OwnAuthorizer;
use call::Streaming;
use delivery::Delivery;
use exchange::Purpose;
use exchanges::{Due, Exchanges};
use requests::Requests;
use session::{EndedSession, Session};
use session_stream::SessionStream;
use sse2024::SseTransport;
use tools::Tools;

/// The server does not know the session that a message belongs to.
const SESSION_LOST: CallError = CallError::Http { status: 404 };

/// The client's side of Streamable HTTP.
///
/// ```
/// use mcp_proto::client;
/// use mcp_proto::frame::http1::StatusHead;
/// use mcp_proto::http::{Client, Url, client::{Action, Config}};
/// use mcp_proto::types::Implementation;
/// use mcp_proto::{Bytes, Instant};
///
/// let url = Url::parse("https://example.com/mcp")?;
/// let config = Config::new(url, client::Config::new(Implementation::new("app", "1.0.0")));
/// let mut client = Client::new(config, Box::new(|| [0; 16]));
/// client.handle_opened(Instant::ZERO);
/// let Some(Action::Open { exchange, request }) = client.poll_action() else { panic!() };
/// assert_eq!((request.method, &*request.target), ("POST", "/mcp"));
/// assert!(request.fields.contains(&("Mcp-Method".into(), "server/discover".into())));
///
/// let mut head = StatusHead::new(401);
/// head.push("WWW-Authenticate", b"Bearer scope=\"mcp\"");
/// client.handle_head(Instant::ZERO, exchange, &head);
/// client.handle_end(Instant::ZERO, exchange);
/// let Some(Action::Event(client::ClientEvent::Closed(Some(error)))) = client.poll_action() else {
///     panic!()
/// };
/// assert!(matches!(error, client::ConnectError::Unauthorized(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Client {
    rpc: client::Client,
    requests: Requests,
    listens: bool,
    exchanges: Exchanges,
    session_stream: SessionStream,
    session: Session,
    sse: SseTransport,
    tools: Tools,
    /// Parser for the messages of all answers.
    reader: MessageReader,
    /// Position in the stream of the subscription that is being reopened.
    reopening: Option<Streaming>,
    queue: VecDeque<Action>,
    random: Box<dyn FnMut() -> [u8; 16] + Send>,
    /// True after `close`: only the end of the session is still sent.
    is_closing: bool,
    #[cfg(feature = "auth")]
    authorization: Option<Box<OwnAuthorizer>>,
}

impl Client {
    /// Creates a client that has sent nothing yet. `random` returns bytes, preferably unpredictable
    /// ones. The bytes serve only to spread the retries of many clients over time.
    pub fn new(config: Config, mut random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        let Config { url, mut client, listens, trusts_endpoint_origin, fields } = config;
        if let Some(cache) = &mut client.cache {
            cache.server.get_or_insert_with(|| url.to_string().into());
        }
        let Limits { max_line_bytes, max_sse_event_bytes, .. } = &mut client.limits;
        for max in [max_line_bytes, max_sse_event_bytes] {
            *max = MAX_MESSAGE_BYTES.min(*max);
        }
        let sse = SseTransport::new(client.verdict.as_ref(), trusts_endpoint_origin);
        let exchanges = Exchanges::new(client.limits.max_client_connections);
        let requests = Requests::new(url, fields, &client.client_info);
        Self {
            rpc: client::Client::over_http(client, random_byte(&mut random)),
            requests,
            listens,
            exchanges,
            session_stream: SessionStream::default(),
            session: Session::default(),
            sse,
            tools: Tools::default(),
            reader: MessageReader::default(),
            reopening: None,
            queue: VecDeque::new(),
            random,
            is_closing: false,
            #[cfg(feature = "auth")]
            authorization: None,
        }
    }

    /// Starts to determine the era of the server. Calls that were made before are sent afterwards.
    pub fn handle_opened(&mut self, now: Instant) {
        self.with(now, |client| client.handle_opened(now));
    }

    /// Adds a field to every later request; see [`Config::field`]. That includes requests that wait
    /// for a connection, and redirected ones. The field may contain new credentials. So an
    /// unconnected client tries again at once, and streams and answers that the server has refused
    /// with 401 or 403 are sent again.
    ///
    /// Fails as [`Config::field`] does. A client with an authorizer sets `Authorization` and
    /// `DPoP` itself.
    pub fn set_field(&mut self, now: Instant, name: &str, value: &str) -> Result<(), UsageError> {
        #[cfg(feature = "auth")]
        if self.authorization.is_some() && authorize::is_own(name) {
            return Err(UsageError::InvalidField { name: name.into() });
        }
        self.requests.set_field(name, value)?;
        self.exchanges.set_field(name, value)?;
        self.rpc.credentials_changed();
        self.authorize_streams(now);
        self.with(now, |client| client.retry_at_once(now));
        Ok(())
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.renew_subscriptions(now);
        self.rpc.handle_timeout(now);
        #[cfg(feature = "auth")]
        if let Some(authorization) = &mut self.authorization {
            authorization.handle_timeout(now);
        }
        loop {
            // Handle deadlines in the order of their times.
            let until = self.session_stream.due().unwrap_or(now).min(now);
            match self.exchanges.expire(until) {
                Some(Due::Expired(id)) => self.handle_expired(now, id),
                Some(Due::Retry(purpose)) => self.attempt_again(now, purpose),
                None if self.session_stream.due().is_some_and(|due| due <= now) => self.listen(now),
                None => break,
            }
        }
        self.pump(now);
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.queue.pop_front()
    }

    /// Time by which [`Client::handle_timeout`] must be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let own = self.exchanges.next_due().into_iter().chain(self.session_stream.due());
        #[cfg(feature = "auth")]
        let own = own.chain(self.authorization.as_deref().and_then(OwnAuthorizer::due));
        own.chain(self.rpc.poll_timeout()).min()
    }

    /// URL to which requests go; a permanent redirection changes it, until nothing is there.
    pub fn url(&self) -> &Url {
        self.requests.url()
    }

    fn limits(&self) -> &Limits {
        self.rpc.limits()
    }

    /// Sends the requests again that renew a subscription, and that the server has not answered in
    /// time. Like a broken stream, a silent one ends no subscription.
    fn renew_subscriptions(&mut self, now: Instant) {
        if self.rpc.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        for id in self.rpc.late_subscriptions(now) {
            if let Some(exchange) = self.exchanges.of_call(&id) {
                self.exchange_is_over(now, exchange);
            }
        }
    }

    /// Carries out the actions of the machine of messages.
    fn pump(&mut self, now: Instant) {
        self.pump_messages(now);
        #[cfg(feature = "auth")]
        {
            while self.pump_authorization(now) {
                self.pump_messages(now);
            }
            self.close_after_authorization(now);
        }
    }

    fn pump_messages(&mut self, now: Instant) {
        // Calls of tools that were found in a cache need headers as well.
        for page in self.rpc.take_found_tools() {
            let _ = self.tools.read(&page, self.rpc.limits().max_list_bytes);
        }
        while let Some(action) = self.rpc.poll_action() {
            match action {
                ClientAction::Send(message) => self.send(now, message),
                ClientAction::Abort(id) => self.abort_request(&id),
                ClientAction::Event(event) => {
                    if let ClientEvent::Disconnected(_) = event {
                        self.leave_session();
                    } else if let ClientEvent::Closed(_) = event {
                        self.end_deliveries();
                    }
                    self.queue.push_back(Action::Event(event));
                }
                ClientAction::Close => self.begin_close(now),
            }
        }
        self.open_waiting(now);
    }

    /// Ends the session: drops everything that belongs to it, except for calls in flight.
    fn leave_session(&mut self) {
        self.end_old_transport();
        let EndedSession { serial, has_begun, unsent } = self.session.end(self.exchanges.serial());
        for message in unsent {
            if let Outgoing::Request { id, .. } = &message {
                self.rpc.handle_unsent(id);
            } else {
                self.report_undelivered(delivery::undelivered(message, &[]), SESSION_LOST);
            }
        }
        if !has_begun {
            return;
        }
        let is_of_session = |purpose: &Purpose| {
            purpose.call().is_some_and(|call| call.serial == serial && !call.is_resumed())
        };
        for call in self.exchanges.end_unsent(is_of_session) {
            self.rpc.handle_unsent(&call);
        }
        let belongs = |purpose: &Purpose| {
            matches!(purpose, Purpose::Listen)
                || matches!(purpose, Purpose::Message(delivery) if delivery.serial == serial)
        };
        let aborted = self.exchanges.abort_where(&mut self.queue, belongs).into_iter();
        let undelivered: Vec<_> = aborted.filter_map(Purpose::into_delivery).collect();
        self.session_stream = SessionStream::default();
        for delivery in undelivered {
            self.lose_delivery(*delivery);
        }
    }

    /// Handles a message that belongs to a lost session, and cannot be delivered. The next session
    /// sends its own `notifications/initialized`.
    fn lose_delivery(&mut self, delivery: Delivery) {
        if !delivery.is_initialized() {
            self.report_undelivered(delivery.into_undelivered(), SESSION_LOST);
        }
    }

    /// Ends the messages without a response, since the client is about to close. Reports those of
    /// the application.
    fn end_deliveries(&mut self) {
        let aborted = self.exchanges.abort_where(&mut self.queue, Purpose::is_message).into_iter();
        let aborted = aborted.filter_map(Purpose::into_delivery);
        let held = self.session.open().unwrap_or_default().into_iter();
        let held = held.filter(|message| !matches!(message, Outgoing::Request { .. }));
        let all = aborted
            .map(|it| it.into_undelivered())
            .chain(held.map(|it| delivery::undelivered(it, &[])));
        self.queue.extend(all.filter(delivery::is_of_application).map(|message| {
            Action::Event(ClientEvent::Undelivered { message, error: CallError::Closed })
        }));
    }

    fn report_undelivered(&mut self, message: Undelivered, error: CallError) {
        self.rpc.event(ClientEvent::Undelivered { message, error });
    }

    /// Handles a session that the server does not know; the exchange belongs to the session with
    /// this serial.
    fn session_lost(&mut self, now: Instant, id: ExchangeId, serial: u64) {
        let Some(exchange) = self.exchanges.abort(&mut self.queue, id) else { return };
        let is_current = self.session.serial() == serial && !self.is_closing;
        if is_current {
            self.leave_session();
        }
        match exchange.purpose {
            // The server had accepted a resumed request, and has lost its session since.
            Purpose::Call(call) if !call.is_resumed() => {
                return self.rpc.handle_lost(now, &call.id, Refusal::UnknownSession, SESSION_LOST);
            }
            Purpose::Message(delivery) => self.lose_delivery(*delivery),
            Purpose::Call(_) => {}
            Purpose::Listen
            | Purpose::Refresh(_)
            | Purpose::HttpSseStream(_)
            | Purpose::HttpSsePost(_)
            | Purpose::Drain
            | Purpose::Delete => return,
        }
        if is_current {
            self.rpc.handle_session_lost(now);
        }
    }

    /// Begins to close: ends the session at the server, if there is one.
    fn begin_close(&mut self, now: Instant) {
        self.exchanges.abort_where(&mut self.queue, |_| true);
        self.session_stream = SessionStream::default();
        self.session.open();
        self.is_closing = true;
        #[cfg(feature = "auth")]
        if let Some(authorization) = &mut self.authorization {
            authorization.begin_close(now + self.rpc.limits().drain);
        }
        if !self.session.has_id() {
            return self.closed(now);
        }
        let request = self.requests.delete(&self.session);
        self.open(now, request, Purpose::Delete);
        self.session.set_id(None);
    }

    #[cfg_attr(not(feature = "auth"), expect(unused_variables, reason = "no authorizer"))]
    fn closed(&mut self, now: Instant) {
        #[cfg(feature = "auth")]
        if self.authorizer_delays_close(now) {
            return;
        }
        self.queue.push_back(Action::Close);
    }

    /// A random byte, which need not be secret.
    fn jitter(&mut self) -> u8 {
        random_byte(&mut self.random)
    }
}

fn random_byte(random: &mut impl FnMut() -> [u8; 16]) -> u8 {
    random().first().copied().unwrap_or_default()
}

/// [`client::Client::notify`] fails with [`UsageError::TooManyCalls`] while `Limits::max_in_flight`
/// messages wait to be accepted by the server.
impl Binding for Client {
    type Machine = client::Client;

    fn machine(&self) -> &client::Client {
        &self.rpc
    }

    fn with<T>(&mut self, now: Instant, command: impl FnOnce(&mut client::Client) -> T) -> T {
        self.rpc.set_unaccepted(self.unaccepted());
        let result = command(&mut self.rpc);
        self.pump(now);
        self.rpc.clear_answered_inputs();
        result
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("rpc", &self.rpc)
            .field("exchanges", &self.exchanges)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
