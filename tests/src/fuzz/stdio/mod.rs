//! A server on a byte stream, played through a script four times.
//!
//! First line by line under the eyes of a [`Model`]; then with the same bytes whole, one by one
//! and seven at a time. The application acts at the same points, so the four must look the same
//! from outside.

mod listeners;
mod model;
mod outside;
mod questions;
mod script;
mod seen;

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_proto::message::PlainText;
use mcp_proto::server::{
    Change, Declaration, InputId, InputRequired, List, Notification, Outcome, Progress, Registry,
    Reply, ReplyId, Request, Server, ServerEvent,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{
    CompletionReference, CreateMessageRequestParams, ElicitRequestFormParams,
    ElicitRequestURLParams, Implementation, InputRequest, LoggingLevel,
    LoggingMessageNotificationParams, Prompt, PromptArgument, RequestParams, RequestedSchema,
    Resource, ResourceTemplate, Tool,
};
use mcp_proto::{
    Action, Binding, Bytes, Duration, ErrorCode, ErrorData, Instant, Json, Machine, UsageError,
};

use super::cut::{Cut, play_all};
use model::Model;
pub use script::{Op, Script, answer};
use seen::Seen;

/// Time at which a tool of the test application answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answers {
    /// As soon as the client's bytes are read.
    AtOnce,
    /// At a later step of the script.
    Later,
}

/// Any bytes as a conversation; see the table of the script.
pub fn server_stdio(data: &[u8]) {
    run(&Script::decode(data));
}

/// Plays a script and checks everything.
///
/// # Panics
///
/// If the machine does what it must not.
pub fn run(script: &Script) {
    play_all(|cut| Play::new(script, cut).play(script));
}

/// A server with one of everything. The tool `echo` is answered at once, the others later; what
/// changes is declared of tools and resources, not of prompts.
pub fn registry() -> Registry<Answers> {
    let mut registry = Registry::new(Implementation::new("fuzzed", "1.0.0"));
    let later = Answers::Later;
    let json = |text: &'static str| Json::parse(text).unwrap_or(Json::EMPTY_OBJECT);
    let tool = |name| Tool::new(name, json(r#"{"type":"object"}"#));
    let hold = tool("hold").output_schema(json(r#"{"type":"array"}"#));
    let argument = PromptArgument::required("n");
    registry.page_size(1).logging().subscribe();
    registry.list_changed(List::Tools).list_changed(List::Resources);
    let added = (|| {
        registry
            .add_tool(tool("echo"), Answers::AtOnce)?
            .add_tool(hold, later)?
            .add_resource(Resource::new("a:b", "b"), later)?
            .add_resource_template(ResourceTemplate::new("t:{+x}", "t"), later)?
            .add_prompt(Prompt::new("p").argument(argument), later)?
            .add_completion(CompletionReference::prompt("p"), later)?
            .add_method("x/y", later)?
            .add_notification("notifications/x", later)?;
        Ok::<(), UsageError>(())
    })();
    debug_assert_eq!(added, Ok(()));
    registry
}

/// Adds a tool and a prompt.
fn grow(registry: &mut Registry<Answers>) {
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap_or(Json::EMPTY_OBJECT);
    let added = registry.add_tool(Tool::new("more", schema), Answers::Later).map(|_| ());
    debug_assert_eq!(added, Ok(()));
    let added = registry.add_prompt(Prompt::new("more"), Answers::Later).map(|_| ());
    debug_assert_eq!(added, Ok(()));
}

/// Observable behaviour, in order.
#[derive(PartialEq, Debug)]
enum Entry {
    Sent(Vec<u8>),
    Event(String),
    Close,
    /// After each step: the next deadline, the requests owed, the replies dropped.
    Rest(Option<Instant>, Vec<String>, u64, bool),
}

struct Held {
    id: ReplyId,
    /// `None` once the application has dropped it.
    reply: Option<Reply>,
    answers: Answers,
    arguments: Json,
}

struct Play {
    registry: Registry<Answers>,
    /// The one in use, and the other.
    declarations: [Arc<Declaration>; 2],
    connection: Connection<Server>,
    cut: Cut,
    model: Option<Model>,
    now: Instant,
    held: VecDeque<Held>,
    void: VecDeque<Reply>,
    gone: Option<ReplyId>,
    /// Requests for input outside of a request; some of them may be over.
    inputs: Vec<InputId>,
    log: Vec<Entry>,
}

impl Play {
    fn new(script: &Script, cut: Cut) -> Self {
        let mut registry = registry();
        let declaration = registry.declaration();
        grow(&mut registry);
        Self {
            connection: Connection::server(declaration.clone(), script.config.clone()),
            declarations: [declaration, registry.declaration()],
            registry,
            model: matches!(cut, Cut::Lines).then(|| Model::new(&script.config)),
            cut,
            now: Instant::ZERO,
            held: VecDeque::new(),
            void: VecDeque::new(),
            gone: None,
            inputs: Vec::new(),
            log: Vec::new(),
        }
    }

    fn play(mut self, script: &Script) -> Vec<Entry> {
        for op in &script.ops {
            self.step(op);
        }
        self.end();
        self.log
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Bytes(bytes) => self.bytes(bytes),
            Op::Tick(time) => {
                self.now = self.now + *time;
                self.timeout();
            }
            Op::Wait(time) => self.now = self.now + *time,
            Op::Deadline => {
                let next = self.connection.poll_timeout();
                self.now = self.now.max(next.unwrap_or(self.now));
                self.timeout();
            }
            Op::AnswerOldest(manner) => {
                let at = self.held.iter().position(|held| held.reply.is_some());
                self.answer(at, *manner);
            }
            Op::AnswerNewest(manner) => {
                let at = self.held.iter().rposition(|held| held.reply.is_some());
                self.answer(at, *manner);
            }
            Op::Drop => {
                if let Some(held) = self.held.back_mut() {
                    held.reply = None;
                }
            }
            Op::Eof => self.eof(),
            Op::AnswerVoid(manner) => {
                if let Some(reply) = self.void.pop_front() {
                    self.respond(reply, *manner, &Json::EMPTY_OBJECT);
                }
            }
            Op::Progress(n) => {
                if let Some(id) = self.held.front().map(|held| held.id) {
                    self.progress(id, *n);
                }
            }
            Op::ProgressVoid(n) => {
                if let Some(id) = self.gone {
                    self.progress(id, *n);
                }
            }
            Op::Publish(n) => self.publish(*n),
            Op::Declare => self.declare(),
            Op::Ping(n) => self.ping(*n),
            Op::Log(n) => {
                let held = self.held.front().map(|held| held.id);
                if let Some(id) = if *n < 128 { held } else { self.gone } {
                    self.log(id, *n);
                }
            }
            Op::Say(n) => {
                if let Some(id) = self.held.front().map(|held| held.id).or(self.gone) {
                    self.say(id, *n);
                }
            }
            Op::AskOutside(n) => self.ask_outside(*n),
            Op::Withdraw(n) => self.withdraw(*n),
            Op::TellOutside(n) => self.tell_outside(*n),
            Op::Ask(manner) => {
                let at = self.held.iter().position(|held| held.reply.is_some());
                if let Some(Held { id, reply: Some(reply), .. }) =
                    at.and_then(|at| self.held.remove(at))
                {
                    self.gone = Some(id);
                    self.give(reply, &Outcome::InputRequired(required(*manner)));
                }
            }
        }
        let owed: Vec<ReplyId> = self.connection.machine().owed().collect();
        assert!(self.held.iter().map(|held| held.id).eq(owed.iter().copied()));
        self.log.push(Entry::Rest(
            self.connection.poll_timeout(),
            owed.iter().map(|id| format!("{id:?}")).collect(),
            self.connection.machine().dropped_replies(),
            self.connection.wants_read(),
        ));
        self.check_early_timeout();
    }

    /// A deadline that is not due is handled: nothing happens.
    fn check_early_timeout(&mut self) {
        let next = self.connection.poll_timeout();
        if next.is_none_or(|next| next > self.now) {
            self.connection.handle_timeout(self.now);
            let action = self.connection.poll_action();
            assert!(action.is_none(), "before its time: {action:?}");
            assert_eq!(self.connection.poll_timeout(), next, "a deadline changes");
        }
    }

    /// The input ends, every deadline passes, and nothing more may come.
    fn end(&mut self) {
        self.step(&Op::Eof);
        self.step(&Op::AnswerOldest(0));
        while let Some(at) = self.connection.poll_timeout() {
            self.now = self.now.max(at);
            self.timeout();
        }
        for op in [
            Op::Bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".to_vec()),
            Op::AnswerVoid(0),
            Op::ProgressVoid(9),
            Op::Publish(0),
            Op::Declare,
            Op::Ping(1),
            Op::AskOutside(0),
            Op::Withdraw(0),
            Op::TellOutside(0),
            Op::Log(200),
            Op::Eof,
            Op::Tick(Duration::MAX),
        ] {
            self.step(&op);
        }
        assert_eq!(self.connection.machine().owed().count(), 0, "closed, and answers are owed");
        assert!(!self.connection.wants_read(), "closed, and it wants to read");
        let closes = self.log.iter().filter(|entry| matches!(entry, Entry::Close)).count();
        assert_eq!(closes, 1, "it closes once");
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for piece in self.cut.pieces(bytes) {
            let piece = Bytes::copy_from_slice(piece);
            self.connection.handle_bytes(self.now, piece.clone());
            let now = self.now;
            self.check(|model, seen| model.bytes(now, piece, seen));
        }
        while let Some(at) = self.held.iter().position(|held| held.answers == Answers::AtOnce) {
            self.answer(Some(at), 0);
        }
    }

    fn eof(&mut self) {
        let now = self.now;
        self.connection.handle_eof(now);
        self.check(|model, seen| model.eof(now, seen));
    }

    fn timeout(&mut self) {
        let now = self.now;
        self.connection.handle_timeout(now);
        self.check(|model, seen| model.timeout(now, seen));
        let next = self.connection.poll_timeout();
        assert!(next.is_none_or(|at| at > now), "a deadline in the past: {next:?} at {now:?}");
    }

    fn answer(&mut self, at: Option<usize>, manner: u8) {
        let Some(held) = at.and_then(|at| self.held.remove(at)) else { return };
        self.gone = Some(held.id);
        match held.reply {
            Some(reply) => self.respond(reply, manner, &held.arguments),
            None => assert!(held.reply.is_some(), "a reply that was dropped cannot be given"),
        }
    }

    fn respond(&mut self, reply: Reply, manner: u8, arguments: &Json) {
        self.give(reply, &outcome(manner, arguments));
    }

    fn give(&mut self, reply: Reply, outcome: &Outcome) {
        let (id, now) = (reply.id(), self.now);
        self.connection.with(now, |server| server.respond(now, reply, outcome.clone()));
        self.check(|model, seen| model.respond(now, id, outcome, seen));
    }

    fn publish(&mut self, n: u8) {
        let change = match n % 6 {
            0 => Change::ListChanged(List::Tools),
            1 => Change::ListChanged(List::Resources),
            2 => Change::ListChanged(List::Prompts),
            3 => Change::ResourceUpdated("a:b".into()),
            4 => Change::ResourceUpdated("t:1".into()),
            _ => Change::ResourceUpdated("t:2".into()),
        };
        let result = self.connection.with(self.now, |server| server.publish(self.now, &change));
        self.log.push(Entry::Event(format!("{result:?}")));
        self.check(|model, _| model.publish(&change, &result));
    }

    fn declare(&mut self) {
        self.declarations.swap(0, 1);
        let [declaration, _] = &self.declarations;
        self.connection.with(self.now, |server| server.declare(self.now, declaration.clone()));
        self.check(|model, _| model.declare());
    }

    fn ping(&mut self, n: u8) {
        let (now, millis) = (self.now, 20 * u64::from(n));
        let timeout = if n == 255 { Duration::MAX } else { Duration::from_millis(millis) };
        let result = self.connection.with(now, |server| server.ping(now, timeout));
        self.log.push(Entry::Event(format!("{result:?}")));
        self.check(|model, seen| model.ping(now, timeout, &result, seen));
    }

    fn log(&mut self, id: ReplyId, n: u8) {
        let level = match n % 4 {
            0 => LoggingLevel::Debug,
            1 => LoggingLevel::Notice,
            2 => LoggingLevel::Error,
            _ => LoggingLevel::Emergency,
        };
        let message = LoggingMessageNotificationParams::new(level, Json::EMPTY_OBJECT);
        let result = self
            .connection
            .with(self.now, |server| server.notify(self.now, id, Notification::Log(message)));
        self.log.push(Entry::Event(format!("{result:?}")));
        self.check(|model, seen| model.log(id, level, &result, seen));
    }

    fn say(&mut self, id: ReplyId, n: u8) {
        let method = match n % 4 {
            0 | 1 => "notifications/other",
            2 => "notifications/elicitation/complete",
            _ => "notifications/message",
        };
        let params = if n & 4 == 0 { "{\n}" } else { "[]" };
        let params = Json::parse(params).unwrap_or(Json::EMPTY_OBJECT);
        let said = Notification::Other { method: method.into(), params: params.clone() };
        let result = self.connection.with(self.now, |server| server.notify(self.now, id, said));
        self.log.push(Entry::Event(format!("{result:?}")));
        self.check(|model, seen| model.notify(id, method, &params, &result, seen));
    }

    fn progress(&mut self, id: ReplyId, n: u8) {
        let progress = match n {
            254 => f64::INFINITY,
            255 => f64::NAN,
            n => f64::from(n) / 4.0,
        };
        let mut progress = Progress::new(progress);
        progress.total = (n & 2 == 2).then_some(64.0);
        progress.message = (n & 1 == 1).then(|| format!("step\n\"{n}\""));
        let notification = Notification::Progress(progress.clone());
        let result =
            self.connection.with(self.now, |server| server.notify(self.now, id, notification));
        self.log.push(Entry::Event(format!("{result:?}")));
        self.check(|model, seen| model.progress(id, &progress, &result, seen));
    }

    /// Takes all actions; the model, if it looks on, expected exactly them.
    fn check(&mut self, expect: impl FnOnce(&mut Model, &mut Seen)) {
        let mut seen = Seen::default();
        while let Some(action) = self.connection.poll_action() {
            match action {
                Action::Transmit(bytes) => {
                    seen.transmit(&bytes);
                    match self.log.last_mut() {
                        Some(Entry::Sent(before)) => before.extend_from_slice(&bytes),
                        _ => self.log.push(Entry::Sent(bytes.into())),
                    }
                }
                Action::Event(event) => {
                    self.log.push(Entry::Event(format!("{event:?}")));
                    seen.event(&event);
                    self.event(event);
                }
                Action::Close => {
                    self.log.push(Entry::Close);
                    seen.close();
                }
            }
        }
        if let Some(model) = &mut self.model {
            expect(model, &mut seen);
            model.settled(&mut seen, &self.connection);
        }
    }

    fn event(&mut self, event: ServerEvent) {
        if let ServerEvent::Request(Request { reply, handler, arguments, .. }) = event {
            let answers = self.registry.handler(handler).copied().unwrap_or(Answers::Later);
            let id = reply.id();
            self.held.push_back(Held { id, reply: Some(reply), answers, arguments });
        } else if let ServerEvent::Cancelled { about, .. } = event
            && let Some(at) = self.held.iter().position(|held| held.id == about)
        {
            let held = self.held.remove(at);
            self.void.extend(held.and_then(|held| held.reply));
            self.gone = Some(about);
        }
    }
}

/// Outcome of a handler.
fn outcome(manner: u8, arguments: &Json) -> Outcome {
    let json = |text: &'static str| Json::parse(text).unwrap_or(Json::EMPTY_OBJECT);
    let error = |code| {
        let mut error = ErrorData::new(ErrorCode(code), "no \"such\"\nthing");
        error.data = Some(arguments.clone());
        Outcome::Error(error)
    };
    match manner % 13 {
        0 => Outcome::Complete(arguments.clone()),
        1 => Outcome::Complete(json("{\"content\":[]}")),
        2 => Outcome::Complete(json("{ }")),
        3 => Outcome::Complete(json("{\"_meta\":{\"a\":1},\n\"content\":[\"\\n\"]}")),
        4 => Outcome::Complete(json("{\"resultType\":\"complete\",\"content\":[]}")),
        5 => Outcome::Complete(json("{\"content\":[{\"_meta\":1}],\r\n\"_meta\":{}}")),
        6 => Outcome::Complete(json("[]")),
        7 => Outcome::Complete(json("\"{\"")),
        8 => error(-32002),
        9 => error(-32042),
        10 => error(-32603),
        11 => PlainText::new("a text").map_or_else(|_| error(0), Outcome::Text),
        _ => error(i64::from(manner) - 100),
    }
}

/// Input that a handler requires.
fn required(manner: u8) -> InputRequired {
    let roots = || InputRequest::ListRoots(RequestParams::default());
    let form = || {
        let form = ElicitRequestFormParams::new("who?", RequestedSchema::new());
        InputRequest::Elicit(form.into())
    };
    let url = ElicitRequestURLParams::new("pay", "https://example.com");
    let mut sampling = CreateMessageRequestParams::new(Vec::new(), 1);
    match manner % 8 {
        0 => InputRequired::new("a", roots()),
        1 => InputRequired::new("b", roots()).and("a", roots()).state("kept"),
        2 => InputRequired::default().state("a\nstate"),
        3 => InputRequired::default(),
        4 => InputRequired::new("a", form()).and("b", roots()),
        5 => InputRequired::new("\"", InputRequest::Elicit(url.into())),
        6 => InputRequired::new("", sampling),
        _ => {
            sampling.tools = Some(Vec::new());
            InputRequired::new("a", sampling).and("b", form()).state("")
        }
    }
}
