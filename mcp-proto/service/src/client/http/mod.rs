//! A client over HTTP: its machine, its handlers and its exchanges.
//!
//! In: what handles ask for, what sockets bring, and time. Out: a future that ends when the client is
//! closed. An adapter supplies a [`Connector`] and a [`Clock`]; [`HttpClientService::drive`] is the
//! loop, for every runtime. It has no back-pressure, and needs none: `Limits` bounds what the client
//! keeps of a server, and there are no more answers than requests.

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
use core::task::{Context, Poll, Waker};

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
use connection::ResponseEvent;
use exchanges::Exchanges;
#[cfg(feature = "proxy")]
pub use proxies::Proxies;
#[cfg(feature = "proxy")]
pub(crate) use proxies::Proxy;
pub use socket::{Connecting, Connector};

/// A client of a server over HTTP, to be driven by [`drive`](Self::drive): an adapter supplies a
/// [`Connector`] and a [`Clock`].
///
/// Each open request has a connection of its own. An idle connection is kept for 4 s, because many
/// servers close one after 5 s. There are at most `Limits::max_client_connections`, idle or not. A
/// kept connection may end at the moment at which it is
/// used, before any byte of an answer. The request is then sent again only if that is safe: it [is
/// idempotent](mcp_proto::http::client::Request::is_idempotent), or not all of it was written. A
/// tool is never called twice. It is called on a kept connection only if the server has answered on
/// one before: otherwise a server that closes each connection would make calls fail.
pub struct HttpClientService {
    machine: http::Client,
    runner: ClientRunner,
    exchanges: Exchanges,
    #[cfg(feature = "auth")]
    authorizing: Option<Authorizing>,
    /// Empty between turns; kept for its capacity.
    woken: Vec<ExchangeId>,
    wire: Option<Wire>,
    /// The error that kept the client from connecting; set when the client is closed.
    closed: Option<ConnectError>,
    life: BindingState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BindingState {
    Unopened,
    Open,
    Closed,
}

impl HttpClientService {
    /// The service of a client. `random` gives 16 random bytes at each call. With a sign-in nobody may
    /// be able to guess them. Without one they only spread the retries of clients over time.
    ///
    /// Fails with [`UsageError::AlreadyConnected`] if the client has had one.
    pub fn new(
        client: &Client,
        config: impl Into<HttpClientConfig>,
        random: impl FnMut() -> [u8; 16] + Send + 'static,
    ) -> Result<Self, UsageError> {
        let config = config.into();
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
            life: BindingState::Unopened,
        })
    }

    /// Shows the conversation to `sink`, line by line. `1> ` and `1< ` mark lines of the client and
    /// of the server on the first connection, `@ ` the time that has passed, `! ` an event. Strings
    /// under keys that look secret are masked, and so are values of such fields.
    /// [`Client::on_wire`] sees it as well.
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
        let told = wire.told();
        self.wire = Some(wire);
        self.exchanges.show(Box::new(move |number| {
            let sink = sink.clone();
            Wire::to_server(number, told.clone(), Box::new(move |line: &str| sink(line)))
        }));
    }

    /// Drives the client until it is closed, by [`Client::close`] or by a failure to connect. Dropping
    /// this closes all connections.
    ///
    /// Fails with the error of the first connection or of a later one.
    pub async fn drive(
        &mut self,
        clock: &mut impl Clock,
        connector: &mut impl Connector,
    ) -> Result<(), ConnectError> {
        poll_fn(|context| self.poll(context, clock, connector)).await;
        self.closed.clone().map_or(Ok(()), Err)
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        clock: &mut impl Clock,
        connector: &mut impl Connector,
    ) -> Poll<()> {
        for _ in 0..TURN_ROUNDS {
            self.turn(clock.now(), context.waker(), connector);
            #[cfg(feature = "auth")]
            self.authorize(clock, context, connector);
            if self.life == BindingState::Closed {
                return Poll::Ready(());
            }
            let due = self.exchanges.next_deadline().into_iter().chain(self.machine.poll_timeout());
            let due = due.chain(self.runner.poll_timeout());
            if !due.min().is_some_and(|at| clock.poll_timer(context, at).is_ready()) {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Runs everything that can run.
    fn turn(&mut self, now: Instant, waker: &Waker, connector: &mut impl Connector) {
        self.runner.begin_turn(waker);
        self.exchanges.woken().begin_turn(waker);
        if self.life == BindingState::Unopened {
            // What was set before the client is driven comes before its first message.
            self.life = BindingState::Open;
            self.runner.work(now, &mut self.machine);
            if self.wire.is_none() && self.runner.watcher().is_some() {
                self.show_wire(now, |_| ());
            }
            self.machine.handle_opened(now);
        }
        if self.machine.poll_timeout().is_some_and(|at| at <= now) {
            self.machine.handle_timeout(now);
        }
        self.runner.handle_timeout(now, &mut self.machine);
        while let Some((exchange, failure)) = self.exchanges.expire(now) {
            self.machine.handle_failure(now, exchange, &failure.reason);
        }
        // After so many rounds other tasks get their turn. If work is left, the driver is woken.
        for _ in 0..TURN_ROUNDS {
            self.act_on_all(now, connector);
            let has_worked = self.runner.work(now, &mut self.machine);
            if !self.go_on_with_all(now, connector) && !has_worked {
                break;
            }
        }
        self.act_on_all(now, connector);
        self.runner.flush();
        self.exchanges.woken().end_turn();
        self.runner.end_turn(&self.machine);
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
                    self.life = BindingState::Closed;
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
        if let AuthAction::Changed(state) = &action {
            self.runner.authorization_changed(state);
        }
        if let Some(authorizing) = &mut self.authorizing {
            authorizing.begin(action);
        }
    }

    /// Polls the futures of the vault and of the person's consent, as long as one of them completes.
    #[cfg(feature = "auth")]
    fn authorize(
        &mut self,
        clock: &impl Clock,
        context: &mut Context<'_>,
        connector: &mut impl Connector,
    ) {
        for _ in 0..TURN_ROUNDS {
            let Some(authorizing) = &mut self.authorizing else { return };
            let machine = &mut self.machine;
            let now = clock.now();
            let has_come = authorizing.poll(now, clock.unix_time(), context, |answer| {
                machine.with_authorizer(now, answer);
            });
            if !has_come {
                return;
            }
            self.turn(now, context.waker(), connector);
        }
        context.waker().wake_by_ref();
    }

    /// Has the exchanges that were woken go on; false if there are none.
    fn go_on_with_all(&mut self, now: Instant, connector: &mut impl Connector) -> bool {
        let mut woken = core::mem::take(&mut self.woken);
        self.exchanges.take_woken(&mut woken);
        let has_some = !woken.is_empty();
        for exchange in woken.drain(..) {
            self.go_on(now, exchange, connector);
        }
        self.woken = woken;
        has_some
    }

    fn go_on(&mut self, now: Instant, id: ExchangeId, connector: &mut impl Connector) {
        for _ in 0..TURN_ROUNDS {
            match self.exchanges.poll(now, id, self.machine.url(), connector) {
                Poll::Pending => return,
                Poll::Ready(ResponseEvent::Head(head)) => self.machine.handle_head(now, id, &head),
                Poll::Ready(ResponseEvent::Body(data)) => self.machine.handle_body(now, id, data),
                Poll::Ready(ResponseEvent::End) => return self.machine.handle_end(now, id),
                Poll::Ready(ResponseEvent::Failed(failure)) => {
                    return self.machine.handle_failure(now, id, &failure.reason);
                }
            }
            self.act_on_all(now, connector);
        }
        // Others get their turn.
        self.exchanges.yield_now(id);
    }
}

/// The authorizer of a client with a sign-in. It shares `random` with the machine, which gets a
/// handle of its own.
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
