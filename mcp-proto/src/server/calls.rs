//! The requests in flight: by id, for duplicates and cancellation, and by reply.
//!
//! In: requests and their handlers, cancellations, time. Out: events for handlers, and errors for
//! requests that were refused or timed out. [`Calls::set_aside`] removes a request from its
//! handler. The request stays in flight until it is settled or passed to a handler again.
//!
//! All handlers have the same timeout, so the oldest request is due first. A separate deadline for
//! each call would cost 2 % of a call on stdio. A forwarded subscription has no timeout: the client
//! or the other server ends the subscription.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::call::{
    Call, CallKind, CallProgress, Forward, PER_CALL, ReplyPath, Requester, RetryContext,
};
use super::context::{Context, ServerChannel};
use super::event::{CancelCause, Reply, Request, ServerEvent};
use super::forward;
use super::ids::Ids;
use super::serve::Target;
use crate::budget::{Charge, SMALL};
use crate::error::{ProtocolError, ValidationStep};
use crate::limits::Limits;
use crate::message::batches::Batches;
use crate::message::{self, ErrorData, Method, Outgoing, Params, RequestId};
use crate::meta;
use crate::seq_map::remove_at;
use crate::time::Instant;
use crate::trace::TraceContext;
use crate::version::Era;

/// The requests in flight.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The requests in handlers, oldest first, with increasing serial numbers, so that a binary
    /// search finds them. Most answers arrive in order, so removal moves few elements.
    queue: VecDeque<(u64, Call)>,
    /// All requests in flight: in handlers, waiting for input, and subscriptions.
    by_id: Ids,
    /// Number of subscriptions in flight.
    reserved: usize,
    bytes: usize,
    /// The part of `bytes` that is input.
    input: usize,
    serials: u64,
}

impl Calls {
    /// Creates an empty table with room for `capacity` requests in handlers.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            queue: VecDeque::with_capacity(capacity),
            by_id: Ids::with_capacity(capacity),
            reserved: 0,
            bytes: 0,
            input: 0,
            serials: 0,
        }
    }

    /// Passes a request to its handler.
    pub(super) fn start(
        &mut self,
        now: Instant,
        context: &mut Context,
        request: &message::Request,
        target: Target,
        requester: Requester,
        path: ReplyPath,
    ) -> Result<(), ProtocolError> {
        let message::Request { id, method, params, size } = request;
        let token = meta::progress_token(params, context.limits())?;
        let charge = self.admit(context, *size)?;
        let era = requester.peer.version.era();
        // A modern client repeats its request itself. A legacy request is stored even if its
        // client supports no input: its handler may return only a state, to be called again.
        let retry = (era == Era::Legacy && target.handler.asks).then(|| {
            // The request may be in flight for long, so it must not keep its whole input buffer
            // alive.
            let method = method.clone();
            let params = params.detach();
            let extensions = context.extensions().clone();
            Box::new(RetryContext { method, params, extensions, rounds: 0, input: 0 })
        });
        context.begin_call(path);
        let call = Call {
            id: id.clone(),
            era,
            kind: target.kind,
            progress: token.map(|token| Box::new(CallProgress::new(Some(token)))),
            // The level of a session may change while the request is in flight.
            log_level: requester.log_level.filter(|_| era == Era::Modern),
            deadline: self.deadline_of_next(now, context),
            size: *size,
            path,
            asks: target.handler.asks,
            inputs: requester.inputs,
            retry,
            charge,
        };
        self.bytes = self.bytes.saturating_add(*size);
        self.hand_over(context, call, target, requester, method.clone(), params);
        Ok(())
    }

    /// Passes a request that was set aside to a handler again.
    pub(super) fn restart(
        &mut self,
        now: Instant,
        context: &mut Context,
        mut call: Call,
        target: Target,
        requester: Requester,
    ) {
        let Some(retry) = &call.retry else { return };
        let method = retry.method.clone();
        let params = retry.params.clone();
        call.deadline = self.deadline_of_next(now, context);
        call.asks = target.handler.asks;
        self.hand_over(context, call, target, requester, method, &params);
    }

    fn hand_over(
        &mut self,
        context: &mut Context,
        mut call: Call,
        target: Target,
        requester: Requester,
        method: Method,
        params: &Params,
    ) {
        let Target { handler, kind, arguments } = target;
        let retried = requester.input.is_some();
        let resource = matches!(kind, CallKind::Resource { .. });
        call.kind = if resource { CallKind::Resource { retried } } else { kind };
        let wants_progress = call.token().is_some();
        let charge = call.charge.take();
        let may_be_task = matches!(kind, CallKind::Tool { task: true, .. });
        let serial = self.push(call);
        context.event(ServerEvent::Request(Request {
            reply: Reply { id: context.reply_id(serial), charge },
            handler,
            method,
            params: params.json().clone(),
            arguments,
            input: requester.input,
            peer: requester.peer,
            wants_progress,
            may_be_task,
            log_level: requester.log_level,
            trace: TraceContext::read(params).map(Arc::new),
        }));
    }

    /// Deadline of a handler that starts now: never before the deadline of an older call, even if
    /// the clock went back.
    fn deadline_of_next(&self, now: Instant, context: &Context) -> Instant {
        let newest = self.queue.back().map_or(Instant::ZERO, |(_, call)| call.deadline);
        (now + context.limits().handler_timeout).max(newest)
    }

    /// Checks that another request of `size` bytes may be in flight.
    fn admit(&self, context: &Context, size: usize) -> Result<Option<Charge>, ProtocolError> {
        let Limits { max_in_flight, max_in_flight_bytes, .. } = *context.limits();
        if self.len() >= max_in_flight {
            return Err(ProtocolError::TooManyInFlight { max_in_flight });
        }
        if self.len() > 0 && !self.has_room(context, size) {
            return Err(ProtocolError::TooManyBytesInFlight { max_in_flight_bytes });
        }
        let size = size.saturating_add(context.extensions().head_bytes());
        // Each connection has one modern request in flight, but a session may have any number.
        if size <= SMALL && context.channel() != ServerChannel::Session {
            return Ok(None);
        }
        context.config().admit(size.saturating_add(PER_CALL)).map(Some)
    }

    /// Returns whether `bytes` more bytes may be in flight.
    fn has_room(&self, context: &Context, bytes: usize) -> bool {
        let batches = context.batches().map_or(0, Batches::bytes);
        let now = self.bytes.saturating_add(batches);
        now.saturating_add(bytes) <= context.limits().max_in_flight_bytes
    }

    /// The limit that leaves no room for `bytes` more bytes of input; `None` if there is room. One
    /// request is accepted at any size, and its size does not count against its own input.
    pub(super) fn limit_of_input(&self, context: &Context, bytes: usize) -> Option<&'static str> {
        if !context.config().has_room(bytes) {
            return Some("Limits::max_endpoint_bytes");
        }
        let has_room = if self.len() > 1 {
            self.has_room(context, bytes)
        } else {
            self.input.saturating_add(bytes) <= context.limits().max_in_flight_bytes
        };
        (!has_room).then_some("Limits::max_in_flight_bytes")
    }

    /// Takes a request from its handler, and ends it without an answer.
    pub(super) fn cancel(&mut self, context: &mut Context, serial: u64, cause: CancelCause) {
        if let Some(call) = self.set_aside(serial) {
            let about = context.reply_id(serial);
            self.settle(&call);
            context.event(ServerEvent::Cancelled { about, cause });
            context.end_without_answer(call.path);
        }
    }

    /// Cancels all requests in handlers.
    pub(super) fn cancel_all(&mut self, context: &mut Context, cause: &CancelCause) {
        while let Some((serial, _)) = self.queue.front() {
            self.cancel(context, *serial, cause.clone());
        }
    }

    /// Ends the requests whose handlers have timed out.
    pub(super) fn handle_timeout(&mut self, now: Instant, context: &mut Context) {
        while let Some((serial, _)) = self.first_due().filter(|(_, call)| call.deadline <= now) {
            let serial = *serial;
            let Some(call) = self.set_aside(serial) else { return };
            let about = context.reply_id(serial);
            context.event(ServerEvent::Cancelled { about, cause: CancelCause::TimedOut });
            let error = ErrorData::internal("the handler took longer than Limits::handler_timeout");
            self.fail(context, call, None, error);
        }
    }

    /// Ends the forwarded subscriptions, since the client does not listen any more.
    pub(super) fn end_forwarded(&mut self, context: &mut Context) {
        let found = self.queue.iter().filter(|(_, call)| call.is_forwarded_subscription());
        let found: Vec<u64> = found.map(|(serial, _)| *serial).collect();
        for serial in found {
            let Some(call) = self.set_aside(serial) else { continue };
            let about = context.reply_id(serial);
            context.event(ServerEvent::Cancelled { about, cause: CancelCause::Closed });
            self.settle(&call);
            let result = forward::end_of_subscription(&call.id).into();
            let answer = Outgoing::Result { id: call.id, stamp: Bytes::new(), result };
            context.end_subscription(call.path, answer);
        }
    }

    /// Fails a request that was set aside.
    pub(super) fn fail(
        &mut self,
        context: &mut Context,
        call: Call,
        step: Option<ValidationStep>,
        error: ErrorData,
    ) {
        self.settle(&call);
        context.end_with_answer(call.path, step, Outgoing::Error { id: Some(call.id), error });
    }

    /// The serial number of the next request.
    pub(super) fn next_serial(&self) -> u64 {
        self.serials + 1
    }

    /// Reserves the id of a request that has no handler. Returns the serial number of the request.
    pub(super) fn reserve_id(&mut self, id: &RequestId) -> u64 {
        self.serials += 1;
        self.reserved += 1;
        self.by_id.insert(id, self.serials);
        self.serials
    }

    /// Frees an id that [`Calls::reserve_id`] reserved.
    pub(super) fn release_id(&mut self, id: &RequestId) {
        if self.by_id.remove(id) {
            self.reserved -= 1;
        }
    }

    /// Removes a request from its handler; the request stays in flight until it is restarted or
    /// settled.
    pub(super) fn set_aside(&mut self, serial: u64) -> Option<Call> {
        let at = self.position(serial)?;
        remove_at(&mut self.queue, at).map(|(_, call)| call)
    }

    /// Charges `bytes` more bytes of input to a request that was set aside. A small request on a
    /// byte stream is charged from the first large input on.
    pub(super) fn charge_input(&mut self, context: &Context, call: &mut Call, bytes: usize) {
        let Some(retry) = &mut call.retry else { return };
        retry.input = retry.input.saturating_add(bytes);
        self.input = self.input.saturating_add(bytes);
        call.size = call.size.saturating_add(bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        let size = call.size.saturating_add(retry.extensions.head_bytes());
        if call.charge.is_none() && size > SMALL {
            call.charge = Some(context.config().uncharged());
        }
        if let Some(charge) = &mut call.charge {
            charge.set(size.saturating_add(PER_CALL));
        }
    }

    /// Releases the bytes of input of a request that was set aside, after its handler used the
    /// input.
    pub(super) fn release_input(&mut self, call: &mut Call) {
        let Some(retry) = &mut call.retry else { return };
        let bytes = core::mem::take(&mut retry.input);
        call.size = call.size.saturating_sub(bytes);
        self.input = self.input.saturating_sub(bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Removes a request that was set aside.
    pub(super) fn settle(&mut self, call: &Call) {
        self.by_id.remove(&call.id);
        self.bytes = self.bytes.saturating_sub(call.size);
        let input = call.retry.as_ref().map_or(0, |retry| retry.input);
        self.input = self.input.saturating_sub(input);
    }

    pub(super) fn get_mut(&mut self, serial: u64) -> Option<&mut Call> {
        let at = self.position(serial)?;
        self.queue.get_mut(at).map(|(_, call)| call)
    }

    pub(super) fn get(&self, serial: u64) -> Option<&Call> {
        self.queue.get(self.position(serial)?).map(|(_, call)| call)
    }

    pub(super) fn is_in_handler(&self, serial: u64) -> bool {
        self.position(serial).is_some()
    }

    pub(super) fn find(&self, id: &RequestId) -> Option<u64> {
        self.by_id.get(id)
    }

    /// The serial numbers of the requests in handlers, oldest first.
    pub(super) fn serials(&self) -> impl Iterator<Item = u64> + '_ {
        self.queue.iter().map(|(serial, _)| *serial)
    }

    /// The request in a handler, if it is the only one and belongs to no batch.
    pub(super) fn only_request(&self) -> Option<&RequestId> {
        let mut calls = self.queue.iter().map(|(_, call)| call);
        let first = calls.next().filter(|call| call.path.batch.is_none())?;
        calls.next().is_none().then_some(&first.id)
    }

    /// Returns whether a forwarded `initialize` is in flight.
    pub(super) fn is_initializing(&self) -> bool {
        let initialize = CallKind::Forwarded(Forward::Initialize);
        self.queue.iter().any(|(_, call)| call.kind == initialize)
    }

    /// Deadline of the oldest handler that has one.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.first_due().map(|(_, call)| call.deadline).filter(|at| *at != Instant::NEVER)
    }

    /// The oldest request with a timeout. Nearly always it is the oldest of all.
    fn first_due(&self) -> Option<&(u64, Call)> {
        let has_timeout = |it: &&(u64, Call)| !it.1.is_forwarded_subscription();
        self.queue.front().filter(has_timeout).or_else(|| self.queue.iter().find(has_timeout))
    }

    /// Number of calls that are in handlers or wait for input.
    pub(super) fn len(&self) -> usize {
        self.by_id.len() - self.reserved
    }

    /// Returns whether no handler is running.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Frees memory, if no request is in flight.
    pub(super) fn shrink(&mut self) {
        if self.by_id.is_empty() {
            self.by_id = Ids::default();
            self.queue = VecDeque::new();
        }
    }

    fn push(&mut self, call: Call) -> u64 {
        self.serials += 1;
        self.by_id.insert(&call.id, self.serials);
        self.queue.push_back((self.serials, call));
        self.serials
    }

    fn position(&self, serial: u64) -> Option<usize> {
        // Without a search if no request in front of it was answered out of order.
        let (first, _) = self.queue.front()?;
        let at = usize::try_from(serial.checked_sub(*first)?).ok()?;
        match self.queue.get(at) {
            Some((known, _)) if *known == serial => Some(at),
            _ => self.queue.binary_search_by_key(&serial, |(serial, _)| *serial).ok(),
        }
    }
}
