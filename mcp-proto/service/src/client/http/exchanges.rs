//! The exchanges that are under way, each on a connection of its own.
//!
//! In: requests, wakes and time. Out: what has come of their answers.
//!
//! Connections are kept for the next requests by [`IdleConnections`]; there are at most
//! `Limits::max_client_connections` with those in use. A kept connection may end at the moment at
//! which it is used, before any byte of an answer. The request is then sent again on a fresh
//! connection, if that is safe. It is safe if the request is idempotent
//! ([`Request::is_idempotent`]), or if not all of it was written, so that no server can have
//! executed it. All other requests fail: a tool must not be called twice.
//!
//! A server that closes each connection after its answer may do so while the next request is on its
//! way. A request that must not be sent twice therefore goes out on a connection that was kept only
//! if the server is known to keep connections.
//!
//! [RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2),
//! [RFC 9112, section 9.3.1](https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1)

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker, ready};

use super::super::super::wire::Wire;
use super::connection::{Connection, Failure, ResponseEvent};
use super::idle::IdleConnections;
use super::ready_queue::{ExchangeWaker, ReadyQueue};
use super::socket::{Connecting, Connector};
use crate::Socket;
use mcp_proto::Limits;
#[cfg(feature = "auth")]
use mcp_proto::auth::Fetch;
use mcp_proto::http::Url;
use mcp_proto::http::client::{ExchangeId, Request};
use mcp_proto::internals::Deadlines;
use mcp_proto::{Duration, Instant};

pub(super) struct Exchanges {
    all: BTreeMap<ExchangeId, Exchange>,
    idle: IdleConnections,
    /// The times by which connections are to be made.
    deadlines: Deadlines<ExchangeId>,
    woken: Arc<ReadyQueue>,
    limits: Limits,
    connect_timeout: Duration,
    /// Number of connections so far.
    connections: u64,
    shown: Option<Box<Shown>>,
}

/// Shows the connection with a number.
pub(super) type Shown = dyn FnMut(u64) -> Wire + Send;

struct Exchange {
    state: ExchangeState,
    /// The URL of a request that does not go to the server; its connection is not kept.
    elsewhere: Option<Box<Url>>,
    bell: Arc<ExchangeWaker>,
    waker: Waker,
}

enum ExchangeState {
    /// With what is to be sent.
    Connecting(Connecting, Box<Request>),
    Connected(Box<Connection>, Resend),
}

/// Request that may have to be sent again, on a connection that was kept, until an answer begins.
type Resend = Option<Box<Request>>;

impl Exchanges {
    pub(super) fn new(limits: Limits, connect_timeout: Duration) -> Self {
        Self {
            all: BTreeMap::new(),
            idle: IdleConnections::default(),
            deadlines: Deadlines::new(),
            woken: Arc::default(),
            limits,
            connect_timeout,
            connections: 0,
            shown: None,
        }
    }

    pub(super) fn show(&mut self, shown: Box<Shown>) {
        self.shown = Some(shown);
    }

    pub(super) fn woken(&self) -> &ReadyQueue {
        &self.woken
    }

    /// Begins an exchange, which is woken at once.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        id: ExchangeId,
        request: Request,
        url: &Url,
        connector: &mut impl Connector,
    ) {
        let request = Box::new(request);
        let state = match self.reuse(now, &request, url) {
            Some(connection) => ExchangeState::Connected(connection, Some(request)),
            None => ExchangeState::Connecting(self.connect(now, id, url, connector), request),
        };
        self.insert(id, state, None);
    }

    /// Begins a request of the authorizer.
    #[cfg(feature = "auth")]
    pub(super) fn begin_fetch(
        &mut self,
        now: Instant,
        id: ExchangeId,
        fetch: &Fetch,
        connector: &mut impl Connector,
    ) {
        self.deadlines.set(id, now + self.connect_timeout);
        let connecting = connector.connect_within(&fetch.url, fetch.reach);
        let state = ExchangeState::Connecting(connecting, Box::new(Request::from(fetch)));
        self.insert(id, state, Some(Box::new(fetch.url.clone())));
    }

    fn insert(&mut self, id: ExchangeId, state: ExchangeState, elsewhere: Option<Box<Url>>) {
        let bell = ExchangeWaker::new(id, &self.woken);
        let waker = Waker::from(bell.clone());
        bell.wake_exchange();
        self.all.insert(id, Exchange { state, elsewhere, bell, waker });
        self.idle.trim(self.max_idle());
    }

    /// A connection that was kept, with a request on its way.
    fn reuse(&mut self, now: Instant, request: &Request, url: &Url) -> Option<Box<Connection>> {
        let mut connection = self.idle.take(now, request.is_idempotent)?;
        connection.send(now, request, url.authority()).ok()?;
        Some(connection)
    }

    /// The most connections that may be kept beside those in use.
    fn max_idle(&self) -> usize {
        self.limits.max_client_connections.saturating_sub(self.all.len())
    }

    fn connect(
        &mut self,
        now: Instant,
        id: ExchangeId,
        url: &Url,
        connector: &mut impl Connector,
    ) -> Connecting {
        self.deadlines.set(id, now + self.connect_timeout);
        connector.connect(url)
    }

    /// An answer is of no interest any more.
    pub(super) fn abort(&mut self, id: ExchangeId) {
        self.deadlines.clear(id);
        self.all.remove(&id);
    }

    /// Next part of an answer; nothing follows an end or a failure.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        id: ExchangeId,
        url: &Url,
        connector: &mut impl Connector,
    ) -> Poll<ResponseEvent> {
        let Some(exchange) = self.all.get(&id) else { return Poll::Pending };
        exchange.bell.reset();
        let waker = exchange.waker.clone();
        let mut context = Context::from_waker(&waker);
        loop {
            let Some(exchange) = self.all.get_mut(&id) else { return Poll::Pending };
            let heard = match &mut exchange.state {
                ExchangeState::Connecting(connecting, _) => {
                    match ready!(connecting.as_mut().poll(&mut context)) {
                        Err(error) => ResponseEvent::Failed(Failure::new(error.to_string())),
                        Ok(socket) => match self.send_first(now, id, url, socket) {
                            Ok(()) => continue,
                            Err(failure) => ResponseEvent::Failed(failure),
                        },
                    }
                }
                ExchangeState::Connected(connection, _) => {
                    ready!(connection.poll(now, &mut context))
                }
            };
            let Some(exchange) = self.all.get_mut(&id) else { return Poll::Pending };
            match heard {
                ResponseEvent::Head(_) => {
                    if exchange.forget_request() {
                        self.idle.prove();
                    }
                    return Poll::Ready(heard);
                }
                ResponseEvent::Body(_) => return Poll::Ready(heard),
                ResponseEvent::End => {
                    self.keep(now, id);
                    return Poll::Ready(heard);
                }
                ResponseEvent::Failed(failure) => {
                    if failure.is_stale {
                        self.idle.disprove();
                    }
                    let Some(request) = exchange.take_again(&failure) else {
                        self.abort(id);
                        return Poll::Ready(ResponseEvent::Failed(failure));
                    };
                    self.send_again(now, id, request, url, connector);
                }
            }
        }
    }

    /// Sends a request on the connection that was made for it.
    fn send_first(
        &mut self,
        now: Instant,
        id: ExchangeId,
        url: &Url,
        socket: Box<dyn Socket>,
    ) -> Result<(), Failure> {
        self.deadlines.clear(id);
        let Some(exchange) = self.all.get_mut(&id) else { return Ok(()) };
        let elsewhere = exchange.elsewhere.as_deref();
        let ExchangeState::Connecting(_, request) = &exchange.state else { return Ok(()) };
        // What an authorization server says is not shown.
        let mut shown = self.shown.as_mut().filter(|_| elsewhere.is_none());
        self.connections += u64::from(elsewhere.is_none());
        let wire = shown.as_mut().map(|shown| shown(self.connections));
        let mut connection = Connection::new(socket, &self.limits, wire);
        let sent = connection.send(now, request, elsewhere.unwrap_or(url).authority());
        exchange.state = ExchangeState::Connected(Box::new(connection), None);
        sent
    }

    /// Sends a request once more, on a fresh connection.
    fn send_again(
        &mut self,
        now: Instant,
        id: ExchangeId,
        request: Box<Request>,
        url: &Url,
        connector: &mut impl Connector,
    ) {
        let connecting = self.connect(now, id, url, connector);
        if let Some(exchange) = self.all.get_mut(&id) {
            exchange.state = ExchangeState::Connecting(connecting, request);
        }
    }

    /// An exchange that is not done goes on behind others.
    pub(super) fn yield_now(&self, id: ExchangeId) {
        if let Some(exchange) = self.all.get(&id) {
            exchange.bell.wake_exchange();
        }
    }

    /// Keeps the connection whose answer has ended.
    fn keep(&mut self, now: Instant, id: ExchangeId) {
        if let Some(Exchange {
            state: ExchangeState::Connected(connection, _),
            elsewhere: None,
            ..
        }) = self.all.remove(&id)
            && connection.is_idle()
        {
            self.idle.keep(now, connection);
            self.idle.trim(self.max_idle());
        }
    }

    /// Time by which [`Exchanges::expire`] must be called.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.next().into_iter().chain(self.idle.next_deadline()).min()
    }

    /// The next exchange that has found no connection in time, and why.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(ExchangeId, Failure)> {
        self.idle.expire(now);
        let id = self.deadlines.expire(now)?;
        self.all.remove(&id);
        let timeout = self.connect_timeout;
        Some((id, Failure::new(format!("no connection within {timeout:?}"))))
    }

    /// Closes all connections.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.idle.clear();
        self.deadlines = Deadlines::new();
    }

    /// Takes those that were woken, and leaves `ids`, which are none, for more.
    pub(super) fn take_woken(&self, ids: &mut Vec<ExchangeId>) {
        self.woken.take(ids);
    }
}

impl Exchange {
    /// The request, if it is to be sent once more.
    fn take_again(&mut self, failure: &Failure) -> Resend {
        let ExchangeState::Connected(_, again) = &mut self.state else { return None };
        again.take().filter(|request| {
            let is_safe = request.is_idempotent || failure.is_cut;
            failure.is_stale && is_safe
        })
    }

    /// An answer has begun; returns whether that is the first thing on a connection that was kept.
    fn forget_request(&mut self) -> bool {
        match &mut self.state {
            ExchangeState::Connected(_, again) => again.take().is_some(),
            ExchangeState::Connecting(..) => false,
        }
    }
}
