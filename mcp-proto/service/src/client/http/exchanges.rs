//! The exchanges in flight, each on its own connection.
//!
//! In: requests, wakes and time. Out: the parts of their responses.
//!
//! [`IdleConnections`] keeps connections for later requests; idle and active ones together are at
//! most `Limits::max_client_connections`. The server may close a kept connection just as it is
//! reused. If no byte of the response was received then, a request that is safe to repeat is sent
//! again on a new connection. A request is safe if it is idempotent ([`Request::is_idempotent`]),
//! or if it was not completely written, so that no server can have executed it. All other requests
//! fail: a tool must not be called twice.
//!
//! A server that closes each connection after its response may do so while the next request is in
//! flight. A request that must not be sent twice therefore reuses a connection only if the server
//! is known to keep connections open.
//!
//! [RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2),
//! [RFC 9112, section 9.3.1](https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1)

use alloc::boxed::Box;
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
use mcp_proto::internals::{Deadlines, LastRequest, SeqMap};
use mcp_proto::{Duration, Instant};

pub(super) struct Exchanges {
    /// By the numbers of their ids.
    all: SeqMap<Exchange>,
    idle: IdleConnections,
    /// The head of the last request on any connection.
    last_request: LastRequest,
    /// Deadlines of the connection attempts.
    deadlines: Deadlines<ExchangeId>,
    woken: Arc<ReadyQueue>,
    limits: Limits,
    connect_timeout: Duration,
    /// Number of connections to the server so far.
    connections: u64,
    make_wire: Option<Box<MakeWire>>,
}

/// Creates the trace of the connection with this number.
pub(super) type MakeWire = dyn FnMut(u64) -> Wire + Send;

struct Exchange {
    state: ExchangeState,
    /// True if the request was sent before, on a connection that broke.
    is_sent_again: bool,
    /// The URL of a request to another server, of the authorizer; its connection is not kept.
    other_url: Option<Box<Url>>,
    wake_handle: Arc<ExchangeWaker>,
    waker: Waker,
}

enum ExchangeState {
    /// With the request to send.
    Connecting(Connecting, Arc<Request>),
    Connected(Box<Connection>, Resend),
}

/// Request on a reused connection, which may have to be sent again; `None` once the response
/// begins.
type Resend = Option<Arc<Request>>;

impl Exchanges {
    pub(super) fn new(limits: Limits, connect_timeout: Duration) -> Self {
        Self {
            all: SeqMap::default(),
            idle: IdleConnections::default(),
            last_request: LastRequest::default(),
            deadlines: Deadlines::new(),
            woken: Arc::default(),
            limits,
            connect_timeout,
            connections: 0,
            make_wire: None,
        }
    }

    pub(super) fn set_wires(&mut self, make_wire: Box<MakeWire>) {
        self.make_wire = Some(make_wire);
    }

    #[cfg(feature = "auth")]
    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn woken(&self) -> &ReadyQueue {
        &self.woken
    }

    /// Begins an exchange and queues it to be polled.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        id: ExchangeId,
        request: Arc<Request>,
        url: &Url,
        connector: &mut impl Connector,
    ) {
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
        let state = ExchangeState::Connecting(connecting, Arc::new(Request::from(fetch)));
        self.insert(id, state, Some(Box::new(fetch.url.clone())));
    }

    fn insert(&mut self, id: ExchangeId, state: ExchangeState, other_url: Option<Box<Url>>) {
        let wake_handle = ExchangeWaker::new(id, &self.woken);
        let waker = Waker::from(wake_handle.clone());
        wake_handle.wake_exchange();
        self.all.insert(
            id.number(),
            Exchange { state, is_sent_again: false, other_url, wake_handle, waker },
        );
        self.idle.trim(self.max_idle());
    }

    /// Sends a request on a kept connection; `None` if none fits.
    fn reuse(&mut self, now: Instant, request: &Request, url: &Url) -> Option<Box<Connection>> {
        self.idle.expire(now);
        let mut connection = self.idle.take(now, request.is_idempotent)?;
        connection.send(now, request, url.authority(), &mut self.last_request).ok()?;
        Some(connection)
    }

    /// The most idle connections, in addition to those in use.
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

    /// Drops an exchange and its connection.
    pub(super) fn abort(&mut self, id: ExchangeId) {
        self.deadlines.clear(id);
        self.all.remove(id.number());
    }

    /// Returns the next part of a response; nothing follows an end or a failure.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        id: ExchangeId,
        url: &Url,
        connector: &mut impl Connector,
    ) -> Poll<ResponseEvent> {
        let Some(exchange) = self.all.get(id.number()) else { return Poll::Pending };
        exchange.wake_handle.reset();
        let waker = exchange.waker.clone();
        let mut context = Context::from_waker(&waker);
        loop {
            let Some(exchange) = self.all.get_mut(id.number()) else { return Poll::Pending };
            let event = match &mut exchange.state {
                ExchangeState::Connecting(connecting, _) => {
                    match ready!(connecting.as_mut().poll(&mut context)) {
                        Err(error) => ResponseEvent::Failed(Failure::unsent(error.to_string())),
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
            let Some(exchange) = self.all.get_mut(id.number()) else { return Poll::Pending };
            match event {
                ResponseEvent::Head(_) => {
                    if exchange.forget_request() {
                        self.idle.prove();
                    }
                    return Poll::Ready(event);
                }
                ResponseEvent::Body(_) => return Poll::Ready(event),
                ResponseEvent::End => {
                    self.keep(now, id);
                    return Poll::Ready(event);
                }
                ResponseEvent::Failed(mut failure) => {
                    failure.is_unsent &= !exchange.is_sent_again;
                    if failure.is_stale {
                        self.idle.disprove();
                    }
                    let Some(request) = exchange.take_resend(&failure) else {
                        self.abort(id);
                        return Poll::Ready(ResponseEvent::Failed(failure));
                    };
                    self.send_again(now, id, request, url, connector);
                }
            }
        }
    }

    /// Sends a request on its new connection.
    fn send_first(
        &mut self,
        now: Instant,
        id: ExchangeId,
        url: &Url,
        socket: Box<dyn Socket>,
    ) -> Result<(), Failure> {
        self.deadlines.clear(id);
        let Some(exchange) = self.all.get_mut(id.number()) else { return Ok(()) };
        let other_url = exchange.other_url.as_deref();
        let ExchangeState::Connecting(_, request) = &exchange.state else { return Ok(()) };
        // Conversations with authorization servers are not shown.
        let mut make_wire = self.make_wire.as_mut().filter(|_| other_url.is_none());
        self.connections += u64::from(other_url.is_none());
        let wire = make_wire.as_mut().map(|make_wire| make_wire(self.connections));
        let mut connection = Connection::new(socket, &self.limits, wire);
        let host = other_url.unwrap_or(url).authority();
        let sent = connection.send(now, request, host, &mut self.last_request);
        exchange.state = ExchangeState::Connected(Box::new(connection), None);
        sent
    }

    /// Sends a request again, on a new connection.
    fn send_again(
        &mut self,
        now: Instant,
        id: ExchangeId,
        request: Arc<Request>,
        url: &Url,
        connector: &mut impl Connector,
    ) {
        let connecting = self.connect(now, id, url, connector);
        if let Some(exchange) = self.all.get_mut(id.number()) {
            exchange.state = ExchangeState::Connecting(connecting, request);
            exchange.is_sent_again = true;
        }
    }

    /// Queues an exchange again, after the others.
    pub(super) fn yield_now(&self, id: ExchangeId) {
        if let Some(exchange) = self.all.get(id.number()) {
            exchange.wake_handle.wake_exchange();
        }
    }

    /// Ends an exchange after its response, and keeps its connection if possible.
    fn keep(&mut self, now: Instant, id: ExchangeId) {
        if let Some(Exchange {
            state: ExchangeState::Connected(connection, _),
            other_url: None,
            ..
        }) = self.all.remove(id.number())
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

    /// Removes the next exchange whose connection attempt has timed out; returns the failure.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(ExchangeId, Failure)> {
        self.idle.expire(now);
        let id = self.deadlines.expire(now)?;
        let exchange = self.all.remove(id.number());
        let timeout = self.connect_timeout;
        let mut failure = Failure::unsent(format!("no connection within {timeout:?}"));
        failure.is_unsent = exchange.is_some_and(|it| !it.is_sent_again);
        Some((id, failure))
    }

    /// Closes all connections.
    pub(super) fn clear(&mut self) {
        self.all = SeqMap::default();
        self.idle.clear();
        self.deadlines = Deadlines::new();
    }

    /// Swaps the ids of the woken exchanges with `ids`, which must be empty.
    pub(super) fn take_woken(&self, ids: &mut Vec<ExchangeId>) {
        self.woken.take(ids);
    }
}

impl Exchange {
    /// Takes the request if it can be sent again safely.
    fn take_resend(&mut self, failure: &Failure) -> Resend {
        let ExchangeState::Connected(_, resend) = &mut self.state else { return None };
        resend.take().filter(|request| {
            let is_safe = request.is_idempotent || failure.is_cut;
            failure.is_stale && is_safe
        })
    }

    /// Drops the request, as the response has begun; returns whether there was one:
    /// whether the connection was reused.
    fn forget_request(&mut self) -> bool {
        match &mut self.state {
            ExchangeState::Connected(_, resend) => resend.take().is_some(),
            ExchangeState::Connecting(..) => false,
        }
    }
}
