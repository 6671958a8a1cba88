//! A client on a byte stream, played through a script four times.
//!
//! Each time under the eyes of a [`Model`]: line by line, and with the same bytes whole, one by
//! one and seven at a time. The application acts at the same points, so the four must look the
//! same from outside.

mod model;
mod script;
pub(super) mod server;

use std::collections::VecDeque;

use mcp_proto::client::{CallId, CallOptions, Client, ClientEvent, InputId, InputReply, Listing};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{LoggingLevel, Root, SubscriptionFilter};
use mcp_proto::{Action, Binding, Bytes, Duration, ErrorData, Instant, Json, Machine, UsageError};

use super::cut::{Cut, play_all};
use model::Model;
pub use script::{ClientOp, ClientScript};
pub(super) use script::{capabilities, options};
use server::{Hostile, Read};

/// Any bytes as a conversation; see the table of the script.
pub fn client_stdio(data: &[u8]) {
    run_client(&ClientScript::decode(data));
}

/// Plays a script and checks everything.
///
/// # Panics
///
/// If the machine does what it must not.
pub fn run_client(script: &ClientScript) {
    play_all(|cut| Play::new(script, cut).play(script));
}

/// Observable behaviour, in order.
#[derive(PartialEq, Debug)]
enum Entry {
    Sent(Vec<u8>),
    Event(String),
    Close,
    /// Result of a command.
    Done(String),
    /// After each step: the next deadline, and whether more is wanted.
    Rest(Option<Instant>, bool),
}

struct Play {
    connection: Connection<Client>,
    cut: Cut,
    now: Instant,
    model: Model,
    server: Hostile,
    /// Text of the server that is held back.
    pending: Option<Vec<u8>>,
    asked: VecDeque<InputReply>,
    void: VecDeque<InputReply>,
    dropped: Vec<InputId>,
    /// Number of calls, successful or not.
    tags: u64,
    log: Vec<Entry>,
}

impl Play {
    fn new(script: &ClientScript, cut: Cut) -> Self {
        Self {
            connection: Connection::client(script.config.clone()),
            cut,
            now: Instant::ZERO,
            model: Model::new(&script.config),
            server: Hostile::default(),
            pending: None,
            asked: VecDeque::new(),
            void: VecDeque::new(),
            dropped: Vec::new(),
            tags: 0,
            log: Vec::new(),
        }
    }

    fn play(mut self, script: &ClientScript) -> Vec<Entry> {
        // The application may be faster than the server.
        let early = |op: &&ClientOp| matches!(op, ClientOp::Call(_) | ClientOp::Subscribe(_));
        let early = script.ops.iter().take_while(early).count();
        let (before, after) = script.ops.split_at(early);
        for op in before {
            self.step(op);
        }
        self.model.opened();
        self.connection.handle_opened(self.now);
        self.settle();
        for op in after {
            self.step(op);
        }
        self.end();
        self.log
    }

    fn step(&mut self, op: &ClientOp) {
        match op {
            ClientOp::Bytes(bytes) => {
                self.flush();
                self.model.said(bytes);
                self.feed(bytes);
            }
            ClientOp::Answer(which, manner) => self.answer(*which, *manner),
            ClientOp::Tell(n) => {
                let line = self.server.tell(*n);
                self.say_line(&line);
            }
            ClientOp::Ask(n) => self.say_line(&server::ask(*n)),
            ClientOp::Hold => self.pending = Some(self.pending.take().unwrap_or_default()),
            ClientOp::Eof => {
                self.flush();
                self.connection.handle_eof(self.now);
            }
            ClientOp::Tick(time) => {
                self.now = self.now + *time;
                self.timeout();
            }
            ClientOp::Wait(time) => self.now = self.now + *time,
            ClientOp::Deadline => {
                let next = self.connection.poll_timeout();
                self.now = self.now.max(next.unwrap_or(self.now));
                self.timeout();
            }
            ClientOp::Reopen if !self.model.is_unopened() => {}
            ClientOp::Reopen => {
                self.server.start();
                self.model.opened();
                self.connection.handle_opened(self.now);
            }
            ClientOp::Opened if self.model.is_unopened() => {}
            ClientOp::Opened => self.connection.handle_opened(self.now),
            ClientOp::Call(_)
            | ClientOp::List(_)
            | ClientOp::LogLevel(_)
            | ClientOp::Ping(_)
            | ClientOp::Cancel(_)
            | ClientOp::Task(_)
            | ClientOp::Subscribe(_)
            | ClientOp::Unsubscribe(_)
            | ClientOp::Give(_)
            | ClientOp::GiveVoid(_)
            | ClientOp::Drop
            | ClientOp::Roots(_)
            | ClientOp::Capabilities(_)
            | ClientOp::Notify(_)
            | ClientOp::Close => self.act(op),
        }
        self.settle();
    }

    /// Runs an act of the application.
    fn act(&mut self, op: &ClientOp) {
        let now = self.now;
        match op {
            ClientOp::Call(n) => self.call(*n),
            ClientOp::List(n) => {
                let listing = match n & 3 {
                    0 => Listing::Tools,
                    1 => Listing::Prompts,
                    2 => Listing::Resources,
                    _ => Listing::ResourceTemplates,
                };
                let options = options(n >> 2);
                let call =
                    self.connection.with(now, |client| client.list(now, listing, options.clone()));
                self.called(call, None, &options);
            }
            ClientOp::LogLevel(n) => {
                let call = self.connection.with(now, |client| {
                    client.set_log_level(now, level(*n), CallOptions::default())
                });
                self.called(call, None, &CallOptions::default());
            }
            ClientOp::Ping(n) => {
                let options = options(*n);
                let call = self.connection.with(now, |client| client.ping(now, options.clone()));
                self.called(call, None, &options);
            }
            ClientOp::Cancel(n) => {
                let Some(call) = self.model.call(*n) else { return };
                let open = self.model.is_open(call);
                self.model.cancelled(call);
                let result = self.connection.with(now, |client| client.cancel(now, call));
                assert_eq!(result, if open { Ok(()) } else { Err(UsageError::NotInFlight) });
            }
            ClientOp::Task(n) => self.task(*n),
            ClientOp::Subscribe(n) => self.subscribe(*n),
            ClientOp::Unsubscribe(n) => {
                let Some(subscription) = self.model.subscription(*n) else { return };
                self.model.unsubscribed(subscription);
                assert_eq!(
                    self.connection.with(now, |client| client.unsubscribe(now, subscription)),
                    Ok(())
                );
                self.settle();
                let again =
                    self.connection.with(now, |client| client.unsubscribe(now, subscription));
                assert_eq!(again, Err(UsageError::NotInFlight));
            }
            ClientOp::Give(n) => {
                let newest = *n >= 128;
                let reply = if newest { self.asked.pop_back() } else { self.asked.pop_front() };
                let Some(reply) = reply else { return };
                self.model.given(reply.id());
                self.connection.with(now, |client| client.answer(now, reply, input(*n)));
            }
            ClientOp::GiveVoid(n) => {
                let Some(reply) = self.void.pop_front() else { return };
                self.connection.with(now, |client| client.answer(now, reply, input(*n)));
                assert!(self.connection.poll_action().is_none(), "void input is good for nothing");
            }
            ClientOp::Drop => self.dropped.extend(self.asked.pop_front().map(|reply| reply.id())),
            ClientOp::Roots(n) => {
                let roots = (0..n % 3).map(|n| Root::new(format!("file:///{n}"))).collect();
                let result = self.connection.with(now, |client| client.set_roots(now, roots));
                self.done(&result);
            }
            ClientOp::Capabilities(n) => {
                self.connection.with(self.now, |client| client.set_capabilities(capabilities(*n)));
            }
            ClientOp::Notify(n) => {
                let (method, params) = match n % 4 {
                    0 => ("notifications/x", "{\n}"),
                    1 => ("notifications/progress", "{\"progressToken\":1,\"progress\":1}"),
                    2 => ("notifications/cancelled", "{}"),
                    _ => ("notifications/x", "[]"),
                };
                let params = Json::parse(params).unwrap_or(Json::EMPTY_OBJECT);
                let result = self.connection.with(now, |client| client.notify(now, method, params));
                assert!(result.is_err() || n % 4 < 2);
                self.done(&result);
            }
            ClientOp::Close => self.connection.with(now, |client| client.close(now)),
            ClientOp::Bytes(_)
            | ClientOp::Tick(_)
            | ClientOp::Wait(_)
            | ClientOp::Deadline
            | ClientOp::Reopen
            | ClientOp::Opened
            | ClientOp::Eof
            | ClientOp::Answer(..)
            | ClientOp::Tell(_)
            | ClientOp::Ask(_)
            | ClientOp::Hold => {}
        }
    }

    fn call(&mut self, n: u8) {
        let method = ["tools/call", "x/y", "resources/read", "prompts/get"];
        let method = method.get(usize::from(n & 3)).copied().unwrap_or("initialize");
        let options = options(n >> 2);
        self.tags += 1;
        let tag = self.tags.to_string();
        let params = match n >> 6 {
            0 | 1 => format!("{{\"name\":\"t\",\"tag\":{tag}}}"),
            2 => format!(
                "{{\"_meta\":{{\"a\":[\"\\n\"],\"progressToken\":\"mine\"}},\n\"tag\":{tag}}}"
            ),
            _ if n & 0x10 == 0 => {
                format!("{{\"inputResponses\":{{}},\"tag\":{tag},\"requestState\":1,\"_meta\":[]}}")
            }
            _ => "[]".to_owned(),
        };
        let is_object = params.starts_with('{');
        let params = Json::parse(params).unwrap_or(Json::EMPTY_OBJECT);
        let call = self
            .connection
            .with(self.now, |client| client.call(self.now, method, params, options.clone()));
        assert!(is_object || call.is_err());
        self.called(call, Some(tag), &options);
    }

    /// Calls a tool and takes its task, follows a task, or leaves one.
    fn task(&mut self, n: u8) {
        let (now, options) = (self.now, options(n >> 2));
        let call = match n & 3 {
            0 | 1 => task_call(&mut self.connection, now, n, options.clone()),
            _ => {
                let Some(call) = self.model.call(n >> 2) else { return };
                let open = self.model.is_open(call);
                let left = self.connection.with(now, |client| client.leave_task(now, call));
                assert!(open || left == Err(UsageError::NotInFlight), "{left:?}");
                return self.done(&left);
            }
        };
        self.called(call, None, &options);
    }

    fn called(
        &mut self,
        call: Result<CallId, UsageError>,
        tag: Option<String>,
        options: &CallOptions,
    ) {
        self.done(&call);
        match call {
            Ok(call) => self.model.called(self.now, call, tag, options),
            // It does not follow tasks.
            Err(UsageError::UndeclaredByClient { .. }) => {}
            Err(error) => assert_eq!(error == UsageError::Closed, self.model.is_closed()),
        }
    }

    fn subscribe(&mut self, n: u8) {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = n & 1 != 0;
        filter.resources_list_changed = n & 2 != 0;
        let uris = [(4, "t:1"), (8, "t:2"), (16, "t:1")].into_iter();
        let uris = uris.filter(|(bit, _)| n & bit != 0).map(|(_, uri)| uri.to_owned());
        filter.resource_subscriptions = uris.collect();
        let subscription =
            self.connection.with(self.now, |client| client.subscribe(self.now, filter));
        self.done(&subscription);
        if let Ok(subscription) = subscription {
            self.model.subscribed(subscription);
        }
    }

    fn done<T: std::fmt::Debug>(&mut self, result: &Result<T, UsageError>) {
        if result.is_err() {
            let action = self.connection.poll_action();
            assert!(action.is_none(), "a command that failed changes something: {action:?}");
        }
        self.log.push(Entry::Done(format!("{result:?}")));
    }

    fn answer(&mut self, which: u8, manner: u8) {
        let (line, read) = self.server.answer(which, manner);
        if let Some(read) = &read {
            self.model.replied(read);
        }
        let whole = self.pending.is_none() && !self.model.is_unopened();
        let whole = whole && !["\"error\":{}", "id\":null"].iter().any(|odd| line.contains(odd));
        let awaits = read.filter(|_| whole).map(|read: Read| self.model.awaits(&read));
        self.say_line(&line);
        self.settle();
        if let Some(awaits) = awaits {
            self.model.answered(awaits);
        }
    }

    /// The server says a line, after whatever it has begun to say.
    fn say_line(&mut self, line: &str) {
        match &mut self.pending {
            Some(pending) => pending.extend_from_slice(format!("\n{line}\n").as_bytes()),
            None => self.feed(format!("\n{line}\n").as_bytes()),
        }
    }

    /// Sends the text that was held back.
    fn flush(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.feed(&pending);
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        for piece in self.cut.pieces(bytes) {
            self.connection.handle_bytes(self.now, Bytes::copy_from_slice(piece));
            self.take();
        }
    }

    fn timeout(&mut self) {
        self.connection.handle_timeout(self.now);
        self.settle();
        self.model.timed(self.now, self.connection.poll_timeout());
    }

    /// Takes all actions.
    fn take(&mut self) {
        while let Some(action) = self.connection.poll_action() {
            match action {
                Action::Transmit(bytes) => {
                    for line in self.model.transmit(&bytes) {
                        self.server.read(&line);
                    }
                    match self.log.last_mut() {
                        Some(Entry::Sent(before)) => before.extend_from_slice(&bytes),
                        _ => self.log.push(Entry::Sent(bytes.into())),
                    }
                }
                Action::Event(event) => {
                    self.log.push(Entry::Event(format!("{event:?}")));
                    self.model.event(&event);
                    self.event(event);
                }
                Action::Close => {
                    self.log.push(Entry::Close);
                    self.model.close();
                }
            }
        }
    }

    fn event(&mut self, event: ClientEvent) {
        if let ClientEvent::Input(input) = event {
            self.asked.push_back(input.reply);
        } else if let ClientEvent::InputCancelled { input } = event
            && let Some(at) = self.asked.iter().position(|reply| reply.id() == input)
        {
            self.void.extend(self.asked.remove(at));
        }
    }

    fn settle(&mut self) {
        self.take();
        let (next, wants_read) = (self.connection.poll_timeout(), self.connection.wants_read());
        self.model.settled(self.now, next, wants_read);
        self.log.push(Entry::Rest(next, wants_read));
        if next.is_none_or(|next| next > self.now) {
            // Nothing is due, so nothing happens.
            self.connection.handle_timeout(self.now);
            let action = self.connection.poll_action();
            assert!(action.is_none(), "before its time: {action:?}");
            assert_eq!(self.connection.poll_timeout(), next, "a deadline changes");
        }
    }

    /// Deadlines pass, the input ends, and nothing more may come.
    fn end(&mut self) {
        self.flush();
        for _ in 0..16 {
            self.step(&ClientOp::Deadline);
        }
        self.step(if self.tags.is_multiple_of(2) { &ClientOp::Eof } else { &ClientOp::Close });
        self.step(&ClientOp::Eof);
        assert!(self.model.is_closed(), "it does not close");
        for op in [
            ClientOp::Bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{}\n[".to_vec()),
            ClientOp::Opened,
            ClientOp::Call(0),
            ClientOp::List(0),
            ClientOp::Ping(0),
            ClientOp::LogLevel(0),
            ClientOp::Cancel(128),
            ClientOp::Subscribe(7),
            ClientOp::GiveVoid(0),
            ClientOp::Roots(2),
            ClientOp::Capabilities(0),
            ClientOp::Notify(0),
            ClientOp::Close,
            ClientOp::Eof,
            ClientOp::Tick(Duration::MAX),
        ] {
            let before = self.log.len();
            self.step(&op);
            let sent = |entry: &Entry| !matches!(entry, Entry::Rest(..) | Entry::Done(_));
            assert!(!self.log.iter().skip(before).any(sent), "{op:?} after the end");
        }
    }
}

/// Calls a tool and takes its task, or follows a task.
pub(super) fn task_call(
    connection: &mut impl Binding<Machine = Client>,
    now: Instant,
    n: u8,
    options: CallOptions,
) -> Result<CallId, UsageError> {
    connection.with(now, |client| match n & 3 {
        0 => {
            let params = Json::parse("{\"name\":\"t\"}").unwrap_or(Json::EMPTY_OBJECT);
            client.start_tool(now, params, options)
        }
        _ => client.follow_task(now, format!("k{}", n >> 7), options),
    })
}

pub(super) fn level(n: u8) -> LoggingLevel {
    match n % 4 {
        0 => LoggingLevel::Debug,
        1 => LoggingLevel::Notice,
        2 => LoggingLevel::Error,
        _ => LoggingLevel::Emergency,
    }
}

/// Input that an application may give.
pub(super) fn input(n: u8) -> Result<Json, ErrorData> {
    let text = match n & 7 {
        0 | 1 => "{\"action\":\"accept\",\"content\":{}}",
        2 => {
            "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"\"},\"model\":\"m\"}"
        }
        3 => "{ \"a\" :\n1}",
        4 => "[]",
        5 => "{}",
        _ => return Err(ErrorData::invalid_params("no \"such\"\nthing")),
    };
    Ok(Json::parse(text).unwrap_or(Json::EMPTY_OBJECT))
}
