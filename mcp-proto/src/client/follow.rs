//! Handling of a call that follows its task, as [`task::TABLE`] defines it.
//!
//! In: a result that is a task, answers to polls, failures of polls, inputs, the time. Out:
//! `tasks/get`, `tasks/update`, `tasks/cancel`; `Task` and `Input` events; finally the `Response`
//! of the call.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::call::{Call, Goal};
use super::calls;
use super::client_core::ClientCore;
use super::event::{CallId, CallOptions, ClientEvent};
use super::result::ResultType;
use super::task::{self, FollowEvent, FollowStep, FollowedTask, PolledContent, PolledTask};
use super::{CallError, Client};
use crate::error::{ProtocolError, UsageError};
use crate::json::Json;
use crate::message::RequestId;
use crate::time::{Duration, Instant};
use crate::types::{InputRequest, TaskStatus};

impl Client {
    /// Calls a tool by `tools/call` with these parameters. If the server makes a task of the call,
    /// the response contains the task, a [`CreateTaskResult`](crate::types::CreateTaskResult), and
    /// the client does not follow it.
    ///
    /// Fails as [`Client::call`] does.
    pub fn start_tool(
        &mut self,
        now: Instant,
        params: Json,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        let goal = Goal::Answer { takes_task: true };
        self.start(now, "tools/call".into(), params, options, goal)
    }

    /// Follows the task with this id, which this client or an earlier client has started. The
    /// response has the result of the task's tool. [`Client::cancel`] ends the call without
    /// cancelling the task.
    ///
    /// Fails as [`Client::call`] does, and with [`UsageError::UndeclaredByClient`] without
    /// [`Config::follow_tasks`](super::Config::follow_tasks).
    pub fn follow_task(
        &mut self,
        now: Instant,
        task_id: impl Into<String>,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        if !self.core.config.follow_tasks {
            return Err(UsageError::UndeclaredByClient { capability: "extensions (tasks)" });
        }
        let following = FollowedTask::resumed(now, task_id.into(), now + options.max_total);
        let params = following.params();
        self.start(now, "tasks/get".into(), params, options, Goal::Task(following.into()))
    }

    /// Stops following the task of a call; the task continues at the server. The call gets its
    /// response at once, [`CallError::TaskLeft`] with the id of the task.
    ///
    /// Fails with [`UsageError::NotInFlight`] if the call has had its response, or has no task.
    pub fn leave_task(&mut self, now: Instant, call: CallId) -> Result<(), UsageError> {
        let number = self.core.calls.find(call).ok_or(UsageError::NotInFlight)?;
        let task_id = self.task_id(number).ok_or(UsageError::NotInFlight)?;
        self.end_call(now, (number, None), CallError::TaskLeft { task_id });
        Ok(())
    }

    /// Ends a call whose response is no longer needed, and cancels its own task.
    pub(super) fn stop_call(&mut self, now: Instant, number: u64, error: CallError) {
        self.stop_because(now, (number, None), error);
    }

    /// Does the same as `stop_call`, with a reason for the server.
    pub(super) fn stop_because(
        &mut self,
        now: Instant,
        (number, reason): (u64, Option<&str>),
        error: CallError,
    ) {
        let task_id = self.core.calls.get(number).and_then(own_task);
        self.end_call(now, (number, reason), error);
        if let Some(task_id) = task_id {
            self.cancel_task(now, &task_id);
        }
    }

    /// Ends a call whose response is no longer needed, with this error; a reason for the server may
    /// be given.
    pub(super) fn end_call(
        &mut self,
        now: Instant,
        withdrawn: (u64, Option<&str>),
        error: CallError,
    ) {
        if let Some(call) = self.core.withdraw(&self.conn, withdrawn) {
            self.core.finish(now, &mut self.conn, call, Err(error));
        }
    }

    /// Fails a call. A call that follows a task polls again later instead.
    pub(super) fn fail_call(&mut self, now: Instant, number: u64, error: CallError) {
        let event = self.core.calls.get(number).and_then(|call| {
            let gives = call.method == "tasks/update";
            call.following().map(|following| following.event_of(&error, gives))
        });
        let Some(event) = event else {
            return self.core.fail(now, &mut self.conn, number, error);
        };
        if let Some(call) = self.core.calls.remove(number) {
            self.advance(now, number, call, event, PolledContent::Error(error));
        }
    }

    /// Handles the timeout of a call, or the time of the next poll of its task.
    pub(super) fn expire_call(&mut self, now: Instant, number: u64) {
        let Some(call) = self.core.calls.get(number) else { return };
        let is_over = call.following().map(|following| following.is_over(now));
        if is_over.is_none() || is_over == Some(false) && call.ends <= now {
            return self.stop_call(now, number, CallError::TimedOut);
        }
        // A request that waits to be sent is late, too: another poll would wait in its place.
        let is_due = call.is_between_polls();
        let event = if is_due { FollowEvent::Due } else { FollowEvent::Unavailable };
        if let Some(call) = self.core.withdraw(&self.conn, (number, None)) {
            self.advance(now, number, call, event, PolledContent::Error(CallError::TimedOut));
        }
    }

    /// Polls at once the tasks whose changes were reported by subscriptions, instead of at the next
    /// poll.
    pub(super) fn poll_told_tasks(&mut self, now: Instant) {
        let ClientCore { subscriptions, calls, .. } = &mut self.core;
        while let Some(task_id) = subscriptions.next_changed_task() {
            let follows = |call: &Call| call.following().is_some_and(|it| it.task_id() == task_id);
            for number in calls.numbers_of(follows) {
                let Some(mut call) = calls.remove(number) else { continue };
                let is_between_polls = call.is_between_polls();
                let next =
                    call.following_mut().and_then(|it| it.handle_report(now, is_between_polls));
                if let Some(next) = next {
                    call.wait_for_poll(next);
                }
                calls.insert(number, call);
            }
        }
    }

    /// Records that the server refuses a negotiation, or a request about a task, for this time.
    pub(crate) fn handle_retry_after(
        &mut self,
        now: Instant,
        id: &RequestId,
        retry_after: Duration,
    ) {
        if self.is_probe(id) {
            return self.reconnect_rate.refused(now, retry_after);
        }
        let call = calls::number(id).and_then(|number| self.core.calls.get_mut(number));
        if let Some(following) = call.and_then(Call::following_mut) {
            following.refuse(now, retry_after);
        }
    }

    /// Returns whether a result is about a task.
    pub(super) fn is_of_task(&self, number: u64, kind: &ResultType) -> bool {
        self.core.config.follow_tasks && (kind.is_task() || self.task_id(number).is_some())
    }

    /// Handles a task as the answer to a call, or the answer to a request about a task.
    pub(super) fn task_answered(
        &mut self,
        now: Instant,
        number: u64,
        kind: &ResultType,
        result: Json,
    ) {
        let Some(call) = self.core.calls.remove(number) else { return };
        match &call.goal {
            Goal::Task(_) if !matches!(kind, ResultType::Complete | ResultType::Untyped) => {
                self.invalid(now, call, "complete: it is about a task");
            }
            Goal::Task(_) if call.method == "tasks/update" => {
                let nothing = PolledContent::Nothing;
                self.advance(now, number, call, FollowEvent::Accepted, nothing);
            }
            Goal::Task(_) => self.polled(now, number, call, &result),
            Goal::Answer { takes_task } if call.method == "tools/call" => {
                let takes_task = *takes_task;
                self.created(now, number, call, result, takes_task);
            }
            Goal::Answer { .. }
            | Goal::Pages(_)
            | Goal::Listen { .. }
            | Goal::Subscribe { .. }
            | Goal::Nobody
            | Goal::Notification => {
                self.invalid(now, call, "complete: the client follows no task of this request");
            }
        }
    }

    /// Handles a late answer to a cancelled call: cancels the task in the answer.
    pub(super) fn drop_task(&mut self, now: Instant, result: &Json) {
        if self.core.config.follow_tasks
            && ResultType::of(result).is_task()
            && let Ok(task) = task::task(result)
        {
            self.cancel_task(now, &task.task_id);
        }
    }

    /// Handles an input, or its refusal, for the task of a call.
    pub(super) fn task_given(
        &mut self,
        now: Instant,
        number: u64,
        key: String,
        answer: Result<Json, CallError>,
    ) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.stop_call(now, number, error),
        };
        let Some(call) = self.core.calls.get_mut(number) else { return };
        let is_between_polls = call.is_between_polls();
        if let Some(following) = call.following_mut() {
            following.give(key, answer);
        }
        // If a request is in flight, its answer will list the inputs that are still needed.
        if is_between_polls && let Some(call) = self.core.calls.remove(number) {
            self.advance(now, number, call, FollowEvent::Given, PolledContent::Nothing);
        }
    }

    fn created(
        &mut self,
        now: Instant,
        number: u64,
        mut call: Box<Call>,
        result: Json,
        takes_task: bool,
    ) {
        let task = match task::task(&result) {
            Ok(task) => task,
            Err(error) => return self.faulty(now, call, error),
        };
        if takes_task {
            return self.core.finish(now, &mut self.conn, call, Ok(result));
        }
        let following = FollowedTask::created(now, &task, call.ends);
        call.ends = following.ends();
        let polls_at_once = following.is_slow() || task.status != TaskStatus::Working;
        let next = now + following.interval();
        self.core.outbox.event(ClientEvent::Task { call: call.id, task: Box::new(task) });
        call.follow(following);
        if polls_at_once {
            self.send_anew(now, call);
        } else {
            call.wait_for_poll(next);
            self.core.calls.insert(number, call);
        }
    }

    fn polled(&mut self, now: Instant, number: u64, mut call: Box<Call>, result: &Json) {
        let id = call.id;
        let Some(following) = call.following_mut() else { return };
        let PolledTask { task, event, content } =
            match PolledTask::read(following.task_id(), result) {
                Ok(polled) => polled,
                Err(error) => return self.faulty(now, call, error),
            };
        let is_news = following.observe(&task);
        let listed: &[(String, InputRequest)] =
            if let PolledContent::Requests(requests, _) = &content { requests } else { &[] };
        let is_listed = |key: &str| listed.iter().any(|(listed, _)| listed == key);
        following.keep(is_listed);
        let refusal = following.repeat_refused(is_listed);
        call.ends = following.ends();
        while let Some(dropped) = self.core.inputs.drop_unlisted(id, is_listed) {
            self.core.drop_input(&mut self.conn, dropped);
        }
        if is_news {
            self.core.outbox.event(ClientEvent::Task { call: id, task: Box::new(task) });
        }
        if let Some(error) = refusal {
            return self.abandon_task(now, call, error);
        }
        self.advance(now, number, call, event, content);
    }

    /// Carries out the step from the table.
    fn advance(
        &mut self,
        now: Instant,
        number: u64,
        mut call: Box<Call>,
        event: FollowEvent,
        content: PolledContent,
    ) {
        let Some(following) = call.following_mut() else { return };
        if event == FollowEvent::Accepted {
            following.accept();
        }
        let (mut requests, mut bytes) = (Vec::new(), 0);
        let mut end = Err(CallError::TimedOut);
        match content {
            PolledContent::Nothing => {}
            PolledContent::Requests(all, length) => (requests, bytes) = (all, length),
            PolledContent::Result(result) => end = Ok(result),
            PolledContent::Error(error) if event == FollowEvent::Rejected => {
                following.reject(error);
            }
            PolledContent::Error(error) => end = Err(error),
        }
        requests.retain(|(key, _)| following.is_new(key));
        let case = (event, following.input(!requests.is_empty()), following.is_over(now));
        let Some(row) = task::TABLE.find(case) else { return };
        let task_id = following.task_id();
        let end = match row.then {
            FollowStep::Poll | FollowStep::Update if following.refused_until() > now => {
                let next = following.refused_until();
                call.wait_for_poll(next);
                return self.core.calls.insert(number, call);
            }
            FollowStep::Poll | FollowStep::Update => {
                call.ask_about_task(row.then == FollowStep::Update);
                return self.send_anew(now, call);
            }
            FollowStep::Wait | FollowStep::Retry => {
                let is_late = row.then == FollowStep::Retry;
                let delay =
                    if is_late { following.fail(now) } else { following.record_answer(now) };
                call.wait_for_poll(now + delay);
                return self.core.calls.insert(number, call);
            }
            FollowStep::Stay => return self.core.calls.insert(number, call),
            FollowStep::Ask => return self.ask_for_task(now, number, call, requests, bytes),
            FollowStep::Done | FollowStep::Fail => end,
            FollowStep::Cancelled => Err(CallError::Cancelled),
            FollowStep::Gone => Err(CallError::TaskGone { task_id: task_id.into() }),
            FollowStep::GiveUp => Err(CallError::TimedOut),
        };
        self.core.finish(now, &mut self.conn, call, end);
    }

    /// Asks the application for the new inputs of a task.
    fn ask_for_task(
        &mut self,
        now: Instant,
        number: u64,
        mut call: Box<Call>,
        requests: Vec<(String, InputRequest)>,
        bytes: usize,
    ) {
        let core = &mut self.core;
        let keys = requests.iter().map(|(key, _)| key);
        let room = call.following().map_or(Ok(()), |following| following.admit(keys));
        let awaiting = room.and_then(|()| {
            let ClientCore { inputs, config, outbox, .. } = &mut *core;
            inputs.request_inputs(&call, requests, bytes, config, outbox)
        });
        let awaiting = match awaiting {
            Ok(awaiting) => awaiting,
            Err(error) => return self.abandon_task(now, call, CallError::Protocol(error)),
        };
        call.rounds += 1;
        if let Some(following) = call.following_mut() {
            following.record_requested(awaiting.missing, awaiting.responses);
            let next = now + following.record_answer(now);
            call.wait_for_poll(next);
        }
        self.advance(now, number, call, FollowEvent::Given, PolledContent::Nothing);
    }

    /// Ends a call whose task gets no input. The task would wait forever, so it is cancelled.
    fn abandon_task(&mut self, now: Instant, call: Box<Call>, error: CallError) {
        let task_id = own_task(&call);
        self.core.finish(now, &mut self.conn, call, Err(error));
        if let Some(task_id) = task_id {
            self.cancel_task(now, &task_id);
        }
    }

    fn cancel_task(&mut self, now: Instant, task_id: &str) {
        if self.conn.is_legacy() {
            return;
        }
        let params = task::about_task(task_id);
        let method = Cow::Borrowed("tasks/cancel");
        // If there is no room for the request, the task ends with its TTL.
        let _ = self.start(now, method, params, CallOptions::default(), Goal::Nobody);
    }

    fn invalid(&mut self, now: Instant, call: Box<Call>, expected: &'static str) {
        self.faulty(now, call, ProtocolError::InvalidResult { expected });
    }

    /// Ends a call whose answer is invalid.
    fn faulty(&mut self, now: Instant, call: Box<Call>, error: ProtocolError) {
        self.core.outbox.fault(error.clone());
        self.core.finish(now, &mut self.conn, call, Err(CallError::Protocol(error)));
    }

    /// The id of the task that a call follows.
    fn task_id(&self, number: u64) -> Option<String> {
        let following = self.core.calls.get(number)?.following()?;
        Some(following.task_id().into())
    }
}

/// The id of the task that the server has made of this call.
fn own_task(call: &Call) -> Option<String> {
    let following = call.following().filter(|following| following.is_own())?;
    Some(following.task_id().into())
}
