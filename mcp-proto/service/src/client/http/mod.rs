//! A client over HTTP: its machine, its handlers and its exchanges.
//!
//! In: commands of handles, input of sockets, and time. Out: a future that ends when the client is
//! closed. An adapter supplies a [`Connector`] and a [`Clock`]; [`HttpClientService::drive`] is the
//! loop for every runtime. The loop needs no back-pressure: `Limits` bounds the memory for data of
//! a server, and there is one response per request.

#[cfg(feature = "auth")]
mod authorizing;
mod config;
mod connection;
mod exchanges;
mod idle;
#[cfg(feature = "proxy")]
mod proxies;
mod ready_queue;
mod socket;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::poll_fn;
use core::task::{Context, Poll, Waker, ready};

use super::super::wire::Wire;
use super::handle::Client;
use super::runner::ClientRunner;
use crate::Clock;
use crate::drive::TURN_ROUNDS;
#[cfg(feature = "auth")]
use crate::lock::Lock;
use mcp_proto::Instant;
use mcp_proto::UsageError;
#[cfg(feature = "auth")]
use mcp_proto::auth::{AuthAction, Authorizer};
use mcp_proto::client::{ClientEvent, ConnectError};
use mcp_proto::http;
use mcp_proto::http::client::{Action, ExchangeId};

#[cfg(feature = "auth")]
use authorizing::Authorizing;
pub use config::HttpClientConfig;
use connection::{Failure, ResponseEvent};
use exchanges::Exchanges;
#[cfg(feature = "proxy")]
pub use proxies::Proxies;
#[cfg(feature = "proxy")]
pub(crate) use proxies::Proxy;
pub use socket::{Connecting, Connector};

/// A client over HTTP, driven by [`drive`](Self::drive). An adapter supplies a [`Connector`] and a
/// [`Clock`].
///
/// Each request in flight has its own connection. Idle connections are kept for 4 s, because many
/// servers close them after 5 s. Idle and active connections together are at most
/// `Limits::max_client_connections`, and one for a request of a sign-in.
///
/// The server may close a kept connection just as it is reused. If no byte of the response was
/// received, the request is sent again only if it [is
/// idempotent](mcp_proto::http::client::Request::is_idempotent), or if it was not completely
/// written: no tool is called twice. A tool call reuses a connection only if the server is known to
/// keep connections open. Else calls to a server that closes each connection would fail.
pub struct HttpClientService {
    machine: http::Client,
    runner: ClientRunner,
    exchanges: Exchanges,
    #[cfg(feature = "auth")]
    authorizing: Option<Authorizing>,
    /// Empty between turns; kept for its capacity.
    woken: Vec<ExchangeId>,
    wire: Option<Wire>,
    /// The error that has prevented the connection; set when the client is closed.
    closed: Option<ConnectError>,
    state: BindingState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BindingState {
    Unopened,
    Open,
    Closed,
}

impl HttpClientService {
    /// The service of a client. `random` returns 16 random bytes. With a sign-in they must be
    /// unpredictable; otherwise they only spread retries over time.
    ///
    /// Fails with [`UsageError::AlreadyConnected`] if the client has had a service before. Fails,
    /// and leaves the client unconnected, with [`UsageError::InvalidField`] if both a sign-in and a
    /// field `Authorization` or `DPoP` are set.
    pub fn new(
        client: &Client,
        config: impl Into<HttpClientConfig>,
        random: impl FnMut() -> [u8; 16] + Send + 'static,
    ) -> Result<Self, UsageError> {
        let config = config.into();
        // A client that has a runner cannot be connected again.
        #[cfg(feature = "auth")]
        config.check()?;
        let (runner, client) = ClientRunner::new(&client.mailbox)?;
        let exchanges = Exchanges::new(client.limits.clone(), config.connect_timeout);
        #[cfg(feature = "auth")]
        let (random, authorization) = begin_sign_in(&config, random);
        let machine = http::Client::new(config.of_machine(client)?, Box::new(random));
        #[cfg(feature = "auth")]
        let (machine, authorizing) = with_sign_in(machine, authorization)?;
        Ok(Self {
            machine,
            runner,
            exchanges,
            #[cfg(feature = "auth")]
            authorizing,
            woken: Vec::new(),
            wire: None,
            closed: None,
            state: BindingState::Unopened,
        })
    }

    /// Shows the conversation to `sink`, line by line. `1> ` and `1< ` mark lines of the client and
    /// of the server on the first connection, `@ ` the elapsed time, `! ` an event. Strings under
    /// keys that look secret are masked, and so are values of such headers. [`Client::on_wire`]
    /// gets the same lines.
    pub fn show_wire(&mut self, now: Instant, sink: impl Fn(&str) + Send + Sync + 'static) {
        let watcher = self.runner.watcher();
        let sink = Arc::new(move |line: &str| {
            if let Some(watcher) = &watcher {
                watcher(line);
            }
            sink(line);
        });
        let all = sink.clone();
        let wire = Wire::of_client(now, Box::new(move |line: &str| all(line)));
        let last_shown = wire.last_shown();
        self.wire = Some(wire);
        self.exchanges.set_wires(Box::new(move |number| {
            let sink = sink.clone();
            Wire::to_server(number, last_shown.clone(), Box::new(move |line: &str| sink(line)))
        }));
    }

    /// Drives the client until it is closed, by [`Client::close`] or by a failure to connect.
    /// A token request in flight has `Limits::drain` to end, and then so have pending writes and
    /// removals of the `Vault`. Dropping the service closes all connections.
    ///
    /// Fails with the error of the first connection or of a later one.
    pub async fn drive(
        &mut self,
        clock: &mut impl Clock,
        connector: &mut impl Connector,
    ) -> Result<(), ConnectError> {
        poll_fn(|context| self.poll(context, clock, connector)).await;
        // The server may have revoked the refresh token that the pending record replaces.
        #[cfg(feature = "auth")]
        if let Some(authorizing) = &mut self.authorizing {
            authorizing.finish(clock, self.exchanges.limits().drain).await;
        }
        self.closed.clone().map_or(Ok(()), Err)
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        clock: &mut impl Clock,
        connector: &mut impl Connector,
    ) -> Poll<()> {
        let mut now = clock.now();
        ready!(clock.poll_resumed(context, now));
        #[cfg(feature = "auth")]
        if self.authorizing.is_some() {
            self.machine.set_unix_time(now, clock.unix_time());
        }
        for _ in 0..TURN_ROUNDS {
            // A redirect that has arrived counts before its deadline, as answers do.
            #[cfg(feature = "auth")]
            if self.authorizing.is_some() && self.is_due(now) {
                self.poll_authorizing(clock, context);
            }
            self.turn(now, context.waker(), connector);
            #[cfg(feature = "auth")]
            self.authorize(clock, context, connector);
            if self.state == BindingState::Closed {
                return Poll::Ready(());
            }
            if !self.next_deadline().is_some_and(|at| clock.poll_timer(context, at).is_ready()) {
                return Poll::Pending;
            }
            now = clock.now();
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Processes all pending work.
    fn turn(&mut self, now: Instant, waker: &Waker, connector: &mut impl Connector) {
        self.runner.begin_turn(waker);
        self.exchanges.woken().begin_turn(waker);
        if self.state == BindingState::Unopened {
            // Settings from before the client is driven apply before its first message.
            self.state = BindingState::Open;
            self.runner.work(now, &mut self.machine);
            if self.wire.is_none() && self.runner.watcher().is_some() {
                self.show_wire(now, |_| ());
            }
            self.machine.handle_opened(now);
        }
        self.handle_timeouts(now, connector);
        // The rounds are limited so that other tasks run. If work is left, the driver is woken.
        self.act_on_all(now, connector);
        for _ in 0..TURN_ROUNDS {
            let has_worked = self.runner.work(now, &mut self.machine);
            if has_worked {
                self.act_on_all(now, connector);
            }
            if self.poll_woken(now, connector) {
                self.act_on_all(now, connector);
            } else if !has_worked {
                break;
            }
        }
        self.runner.flush();
        self.exchanges.woken().end_turn();
        self.runner.end_turn(&self.machine);
    }

    /// Applies the deadlines that are due at `now`. What has arrived counts before: the process may
    /// have been suspended since.
    fn handle_timeouts(&mut self, now: Instant, connector: &mut impl Connector) {
        if !self.is_due(now) {
            return;
        }
        self.act_on_all(now, connector);
        // A long answer takes many reads.
        for _ in 0..TURN_ROUNDS {
            if !self.poll_woken(now, connector) {
                break;
            }
            self.act_on_all(now, connector);
        }
        if self.machine.poll_timeout().is_some_and(|at| at <= now) {
            self.machine.handle_timeout(now);
        }
        self.runner.handle_timeout(now, &mut self.machine);
        while let Some((exchange, failure)) = self.exchanges.expire(now) {
            self.handle_failure(now, exchange, &failure);
        }
    }

    /// Time of the next deadline.
    fn next_deadline(&self) -> Option<Instant> {
        let due = self.exchanges.next_deadline().into_iter().chain(self.machine.poll_timeout());
        due.chain(self.runner.poll_timeout()).min()
    }

    /// Returns whether a deadline has passed.
    fn is_due(&self, now: Instant) -> bool {
        self.next_deadline().is_some_and(|at| at <= now)
    }

    fn act_on_all(&mut self, now: Instant, connector: &mut impl Connector) {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Open { exchange, request } => {
                    let url = self.machine.url();
                    self.exchanges.begin(now, exchange, request, url, connector);
                }
                Action::Abort { exchange } => self.exchanges.abort(exchange),
                #[cfg(feature = "auth")]
                Action::Fetch { exchange, fetch } => {
                    if let Some(wire) = &mut self.wire {
                        wire.fetch(now, &fetch);
                    }
                    self.exchanges.begin_fetch(now, exchange, &fetch, connector);
                }
                #[cfg(feature = "auth")]
                Action::Authorize(action) => self.begin_authorizing(now, action),
                Action::Event(event) => {
                    if let Some(wire) = &mut self.wire {
                        wire.client_event(now, &event);
                    }
                    if let ClientEvent::Closed(error) = &event {
                        self.closed.clone_from(error);
                    }
                    self.runner.handle_event(now, &mut self.machine, event);
                }
                Action::Close => {
                    self.exchanges.clear();
                    self.state = BindingState::Closed;
                }
                _ => {}
            }
        }
    }

    #[cfg(feature = "auth")]
    fn begin_authorizing(&mut self, now: Instant, action: AuthAction) {
        if let Some(wire) = &mut self.wire {
            wire.authorize(now, &action);
        }
        match &action {
            AuthAction::Changed(state) => self.runner.authorization_changed(state),
            AuthAction::Authorized { id, result } => self.runner.authorized(*id, result),
            // The other actions are for the futures of the sign-in.
            AuthAction::Load { .. } | _ => {}
        }
        if let Some(authorizing) = &mut self.authorizing {
            authorizing.begin(action);
        }
    }

    /// Polls the futures of the sign-in, until none of them completes.
    #[cfg(feature = "auth")]
    fn authorize(
        &mut self,
        clock: &impl Clock,
        context: &mut Context<'_>,
        connector: &mut impl Connector,
    ) {
        for _ in 0..TURN_ROUNDS {
            if !self.poll_authorizing(clock, context) {
                return;
            }
            self.turn(clock.now(), context.waker(), connector);
        }
        context.waker().wake_by_ref();
    }

    /// Polls the futures of the sign-in; returns whether one has completed.
    #[cfg(feature = "auth")]
    fn poll_authorizing(&mut self, clock: &impl Clock, context: &mut Context<'_>) -> bool {
        let Some(authorizing) = &mut self.authorizing else { return false };
        let (machine, now) = (&mut self.machine, clock.now());
        authorizing.poll(now, clock.unix_time(), context, |answer| {
            machine.with_authorizer(now, answer);
        })
    }

    /// Polls the exchanges that were woken; returns false if there are none.
    fn poll_woken(&mut self, now: Instant, connector: &mut impl Connector) -> bool {
        self.exchanges.take_woken(&mut self.woken);
        if self.woken.is_empty() {
            return false;
        }
        let mut woken = core::mem::take(&mut self.woken);
        for exchange in woken.drain(..) {
            self.poll_exchange(now, exchange, connector);
        }
        self.woken = woken;
        true
    }

    fn handle_failure(&mut self, now: Instant, id: ExchangeId, failure: &Failure) {
        if let Some(wire) = &mut self.wire {
            wire.failed(now, &failure.reason);
        }
        if failure.is_unsent {
            self.machine.handle_unsent(now, id, &failure.reason);
        } else {
            self.machine.handle_failure(now, id, &failure.reason);
        }
    }

    fn poll_exchange(&mut self, now: Instant, id: ExchangeId, connector: &mut impl Connector) {
        for _ in 0..TURN_ROUNDS {
            match self.exchanges.poll(now, id, self.machine.url(), connector) {
                Poll::Pending => return,
                Poll::Ready(ResponseEvent::Head(head)) => self.machine.handle_head(now, id, &head),
                Poll::Ready(ResponseEvent::Body(data)) => self.machine.handle_body(now, id, data),
                Poll::Ready(ResponseEvent::End) => return self.machine.handle_end(now, id),
                Poll::Ready(ResponseEvent::Failed(failure)) => {
                    return self.handle_failure(now, id, &failure);
                }
            }
            self.act_on_all(now, connector);
        }
        // Other exchanges run first.
        self.exchanges.yield_now(id);
    }
}

/// Creates the authorizer of a client with a sign-in. The authorizer and the machine share
/// `random`.
#[cfg(feature = "auth")]
fn begin_sign_in(
    config: &HttpClientConfig,
    random: impl FnMut() -> [u8; 16] + Send + 'static,
) -> (impl FnMut() -> [u8; 16] + Send + 'static, Option<(Authorizing, Authorizer)>) {
    let random = Arc::new(Lock::new(random));
    let own = random.clone();
    let begun = config.sign_in.clone().map(|sign_in| {
        let authorizer = sign_in.authorizer(&config.url, move || (*random.lock())());
        (Authorizing::new(sign_in), authorizer)
    });
    (move || (*own.lock())(), begun)
}

#[cfg(feature = "auth")]
fn with_sign_in(
    mut machine: http::Client,
    begun: Option<(Authorizing, Authorizer)>,
) -> Result<(http::Client, Option<Authorizing>), UsageError> {
    let Some((authorizing, authorizer)) = begun else { return Ok((machine, None)) };
    machine.set_authorizer(authorizer)?;
    Ok((machine, Some(authorizing)))
}

impl fmt::Debug for HttpClientService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientService").field("machine", &self.machine).finish_non_exhaustive()
    }
}
