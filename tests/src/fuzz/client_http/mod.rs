//! A client over HTTP, played through a script three times.
//!
//! Each time under the eyes of a [`Model`], with the same bodies whole, one byte at a time and
//! seven at a time. The three must look the same from outside. In the end time alone brings every
//! call to its end, and then the client closes.

mod model;
mod script;

use std::collections::VecDeque;

use mcp_proto::client::{CallId, CallOptions, ClientEvent, InputReply, Listing};
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::Client;
use mcp_proto::http::client::{Action, Config};
use mcp_proto::types::{Root, SubscriptionFilter};
use mcp_proto::{Binding, Bytes, Duration, Instant, Json, UsageError};

use super::client::server::{self, Hostile};
use super::client::{capabilities, input, level, options, task_call};
use model::Model;
pub use script::{HttpOp, HttpScript};

/// Any bytes as a conversation; see the table of the script.
pub fn client_http(data: &[u8]) {
    run_client_http(&HttpScript::decode(data));
}

/// Plays a script and checks everything.
///
/// # Panics
///
/// If the machine does what it must not.
pub fn run_client_http(script: &HttpScript) {
    let Some(config) = &script.config else { return };
    let observed = Play::new(config.clone(), script.random, usize::MAX).play(script);
    for size in [1, 7] {
        let log = Play::new(config.clone(), script.random, size).play(script);
        for (entry, expected) in log.iter().zip(&observed) {
            assert_eq!(entry, expected, "chunking mattered: {size}");
        }
        assert_eq!(log.len(), observed.len(), "chunking mattered: {size}");
    }
}

/// The tools of a server that has headers for some, and a tool that is none.
const TOOLS: &str = r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[
    {"name":"t","inputSchema":{"type":"object","properties":{"tag":{"type":"integer","x-mcp-header":"Tag"},"n":{"type":"string","x-mcp-header":"N"}}}},
    {"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}}]}"#;

/// An event that names the target of messages, or none that is of use.
fn server_endpoint(n: u8) -> String {
    let to = ["/messages?s=1", "messages", "https://example.com/", "?a=b", "\u{1}", ""];
    let to = to.get(usize::from(n & 0xF) % to.len()).copied().unwrap_or_default();
    format!("event: endpoint\ndata: {to}\n\n")
}

struct Play {
    client: Client,
    /// Length of the pieces of a body.
    size: usize,
    now: Instant,
    model: Model,
    hostile: Hostile,
    asked: VecDeque<InputReply>,
    /// Number of calls, successful or not.
    tags: u64,
    /// True if a call may take for ever.
    endless: bool,
    /// Observable behaviour, in order.
    log: Vec<String>,
}

impl Play {
    fn new(config: Config, random: u8, size: usize) -> Self {
        let model = Model::new(config.client.limits.max_in_flight);
        let endless = config.client.initialize_timeout == Duration::MAX;
        let mut byte = random;
        let random = move || {
            byte = byte.wrapping_mul(5).wrapping_add(1);
            [byte; 16]
        };
        Self {
            client: Client::new(config, Box::new(random)),
            size,
            now: Instant::ZERO,
            model,
            hostile: Hostile::default(),
            asked: VecDeque::new(),
            tags: 0,
            endless,
            log: Vec::new(),
        }
    }

    fn play(mut self, script: &HttpScript) -> Vec<String> {
        for op in &script.ops {
            self.step(op);
            self.settle();
        }
        self.end();
        self.log
    }

    fn step(&mut self, op: &HttpOp) {
        match op {
            HttpOp::Tick(time) => {
                self.now = self.now + *time;
                self.client.handle_timeout(self.now);
            }
            HttpOp::Deadline => self.deadline(),
            HttpOp::Open => self.client.handle_opened(self.now),
            HttpOp::Head { request, status, kind } => self.head(*request, *status, *kind),
            HttpOp::Body { request, bytes } => self.body(self.at(*request), bytes),
            HttpOp::End(request) => {
                let at = self.at(*request);
                let Some(id) = self.model.exchanges.get(at).map(|it| it.id) else { return };
                self.model.ended(at);
                self.client.handle_end(self.now, id);
            }
            HttpOp::Fail(request) => {
                let at = self.at(*request);
                let Some(id) = self.model.exchanges.get(at).map(|it| it.id) else { return };
                self.model.ended(at);
                self.client.handle_failure(self.now, id, "broken");
            }
            HttpOp::Respond { request, manner } => {
                let at = self.at(*request);
                self.respond(at, at, *manner);
            }
            HttpOp::Cross { request, other, manner } => {
                self.respond(self.at(*request), self.at(*other), *manner);
            }
            HttpOp::Tell { request, n } => {
                let text = self.hostile.tell(*n);
                self.say(self.at(*request), &text);
            }
            HttpOp::Ask { request, n } => self.say(self.at(*request), &server::ask(*n)),
            HttpOp::Event { request, n } => {
                let text = match n % 8 {
                    // A server of HTTP+SSE names where messages go.
                    _ if *n >= 0xF0 => server_endpoint(*n),
                    0 => "id: 1-0\ndata: \n\n".to_owned(),
                    1 => format!("id: {n}\n\n"),
                    2 => "retry: 0\n".to_owned(),
                    3 => "retry: 100\nid: a b\n\n".to_owned(),
                    4 => "retry: 18446744073709551615\n\n".to_owned(),
                    5 => ": x\r\n\r\n".to_owned(),
                    6 => "id\ndata: {\n\n".to_owned(),
                    _ => "data: {\"jsonrpc\"".to_owned(),
                };
                self.body(self.at(*request), text.as_bytes());
            }
            HttpOp::Call(_)
            | HttpOp::List(_)
            | HttpOp::Ping(_)
            | HttpOp::LogLevel(_)
            | HttpOp::Cancel(_)
            | HttpOp::Subscribe(_)
            | HttpOp::Unsubscribe(_)
            | HttpOp::Give(_)
            | HttpOp::Notify(_)
            | HttpOp::Roots(_)
            | HttpOp::Capabilities(_)
            | HttpOp::Field(_)
            | HttpOp::Task(_)
            | HttpOp::Close => self.act(op),
        }
    }

    /// Runs an act of the application.
    fn act(&mut self, op: &HttpOp) {
        let now = self.now;
        match op {
            HttpOp::Call(n) => self.call(*n),
            HttpOp::List(n) => {
                let list = match n & 3 {
                    0 | 1 => Listing::Tools,
                    2 => Listing::Prompts,
                    _ => Listing::Resources,
                };
                let options = options(n >> 2);
                let call = self.client.with(now, |client| client.list(now, list, options.clone()));
                self.called(&call, &options);
            }
            HttpOp::Ping(n) => {
                let options = options(*n);
                let call = self.client.with(now, |client| client.ping(now, options.clone()));
                self.called(&call, &options);
            }
            HttpOp::LogLevel(n) => {
                let options = CallOptions::default();
                let call = self
                    .client
                    .with(now, |client| client.set_log_level(now, level(*n), options.clone()));
                self.called(&call, &options);
            }
            HttpOp::Cancel(n) => {
                let Some((call, is_open)) = self.model.call(*n) else { return };
                let done = self.client.with(now, |client| client.cancel(now, call));
                assert_eq!(done, if is_open { Ok(()) } else { Err(UsageError::NotInFlight) });
            }
            HttpOp::Subscribe(n) => {
                let mut filter = SubscriptionFilter::default();
                filter.tools_list_changed = n & 1 != 0;
                let uris = [(2, "t:1"), (4, "t:2")].into_iter();
                let uris = uris.filter(|(bit, _)| n & bit != 0).map(|(_, uri)| uri.to_owned());
                filter.resource_subscriptions = uris.collect();
                if let Ok(subscription) =
                    self.client.with(now, |client| client.subscribe(now, filter))
                {
                    self.model.subscribed(subscription);
                }
            }
            HttpOp::Unsubscribe(n) => {
                let Some((id, is_open)) = self.model.subscription(*n) else { return };
                let done = self.client.with(now, |client| client.unsubscribe(now, id));
                assert_eq!(done, if is_open { Ok(()) } else { Err(UsageError::NotInFlight) });
            }
            HttpOp::Give(n) => {
                let Some(reply) = self.asked.pop_front() else { return };
                self.model.given(reply.id());
                self.client.with(now, |client| client.answer(now, reply, input(*n)));
            }
            HttpOp::Notify(n) => {
                let method = if n % 2 == 0 { "notifications/x" } else { "notifications/é" };
                let done =
                    self.client.with(now, |client| client.notify(now, method, Json::EMPTY_OBJECT));
                self.log.push(format!("{done:?}"));
            }
            HttpOp::Roots(n) => {
                let roots = (0..n % 3).map(|n| Root::new(format!("file:///{n}"))).collect();
                let done = self.client.with(now, |client| client.set_roots(now, roots));
                self.log.push(format!("{done:?}"));
            }
            HttpOp::Capabilities(n) => {
                self.client.with(self.now, |client| client.set_capabilities(capabilities(*n)));
            }
            HttpOp::Field(n) => {
                let done = self.client.set_field(now, "authorization", &format!("Bearer {n}"));
                assert_eq!(done, Ok(()));
                self.model.token = *n;
                for (name, value) in [("Mcp-Session-Id", "a"), ("a b", "c"), ("A", "b\r\nC: d")] {
                    assert!(self.client.set_field(now, name, value).is_err());
                }
            }
            HttpOp::Task(n) => self.task(*n),
            HttpOp::Close => self.client.with(now, |client| client.close(now)),
            HttpOp::Tick(_)
            | HttpOp::Deadline
            | HttpOp::Open
            | HttpOp::Head { .. }
            | HttpOp::Body { .. }
            | HttpOp::End(_)
            | HttpOp::Fail(_)
            | HttpOp::Respond { .. }
            | HttpOp::Tell { .. }
            | HttpOp::Ask { .. }
            | HttpOp::Event { .. }
            | HttpOp::Cross { .. } => {}
        }
    }

    fn call(&mut self, n: u8) {
        let method = match n & 3 {
            0 | 1 => "tools/call",
            2 => "resources/read",
            _ => "x/y",
        };
        self.tags += 1;
        let tag = self.tags;
        let params = match n >> 6 {
            0 => format!("{{\"name\":\"t\",\"arguments\":{{\"tag\":{tag}}}}}"),
            1 => {
                "{\"name\":\" é\",\"uri\":\"=?base64??=\",\"arguments\":{\"n\":\"\\n\"}}".to_owned()
            }
            2 => "{\"name\":\"t\",\"arguments\":{\"tag\":1e999,\"n\":null}}".to_owned(),
            _ => "{\"uri\":\"a:1\",\"arguments\":[]}".to_owned(),
        };
        let params = Json::parse(params).unwrap_or(Json::EMPTY_OBJECT);
        let options = options(n >> 2);
        let call = self
            .client
            .with(self.now, |client| client.call(self.now, method, params, options.clone()));
        self.called(&call, &options);
    }

    /// Calls a tool and takes its task, follows a task, or leaves one.
    fn task(&mut self, n: u8) {
        let (now, options) = (self.now, options(n >> 2));
        let call = match n & 3 {
            0 | 1 => task_call(&mut self.client, now, n, options.clone()),
            _ => {
                let Some((call, is_open)) = self.model.call(n >> 2) else { return };
                let left = self.client.with(now, |client| client.leave_task(now, call));
                assert!(is_open || left == Err(UsageError::NotInFlight), "{left:?}");
                return self.log.push(format!("{left:?}"));
            }
        };
        self.called(&call, &options);
    }

    fn called(&mut self, call: &Result<CallId, UsageError>, options: &CallOptions) {
        self.log.push(format!("{call:?}"));
        if call.is_err() {
            let action = self.client.poll_action();
            assert!(action.is_none(), "a command that failed changes something: {action:?}");
        }
        if let Ok(call) = call {
            self.endless |= options.max_total == Duration::MAX;
            self.model.called(*call);
        }
    }

    /// The place of a request among all.
    fn at(&self, request: u8) -> usize {
        usize::from(request) % self.model.exchanges.len().max(1)
    }

    fn head(&mut self, request: u8, status: u16, kind: u8) {
        let at = self.at(request);
        let Some(exchange) = self.model.exchanges.get_mut(at) else { return };
        let id = exchange.id;
        let mut head = StatusHead::new(status);
        let media = ["application/json", "text/event-stream", "text/html", ""];
        let media = media.get(usize::from(kind & 3)).copied().unwrap_or_default();
        head.push("Content-Type", media.as_bytes());
        exchange.has_events = media == "text/event-stream";
        if kind & 4 != 0 {
            let session = format!("s-{at}");
            head.push("Mcp-Session-Id", session.as_bytes());
            self.model.named(at, &session);
        }
        let to = ["/mcp", "other", "https://example.com/", "//evil/x", "?a=b", "/\u{1}"];
        head.push("Location", to.get(usize::from(kind >> 3) % to.len()).unwrap_or(&"/").as_bytes());
        head.push("WWW-Authenticate", b"Bearer realm=\"a\", error=\"x");
        self.client.handle_head(self.now, id, &head);
    }

    /// The response to the request `of`, on the answer to the one at `at`.
    fn respond(&mut self, at: usize, of: usize, manner: u8) {
        let Some(read) = self.model.exchanges.get(of).and_then(|it| it.read.clone()) else {
            return;
        };
        let id = &read.id;
        let text = match (manner, &*read.method) {
            (0xE0..=0xE7, _) => format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32020,\"message\":\"no\"}}}}"
            ),
            (0xE8..=0xEF, _) => {
                "{\"jsonrpc\":\"2.0\",\"id\":\"e\",\"error\":{\"code\":-32600,\"message\":\"\"}}"
                    .into()
            }
            (0xF0..=0xF7, _) => format!("[{}]", server::response(&read, manner & 7)),
            (0x00..=0x0F, "tools/list") => {
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}}",
                    TOOLS.replace('\n', "")
                )
            }
            _ => server::response(&read, manner),
        };
        self.say(at, &text);
    }

    /// A message on an answer: as an event if that is what its head says.
    fn say(&mut self, at: usize, text: &str) {
        let has_events = self.model.exchanges.get(at).is_some_and(|exchange| exchange.has_events);
        let text = if has_events { format!("\ndata: {text}\n\n") } else { text.to_owned() };
        self.body(at, text.as_bytes());
    }

    fn body(&mut self, at: usize, bytes: &[u8]) {
        let Some(id) = self.model.exchanges.get(at).map(|exchange| exchange.id) else { return };
        for piece in bytes.chunks(self.size.min(bytes.len().max(1))) {
            self.client.handle_body(self.now, id, Bytes::copy_from_slice(piece));
            self.take();
        }
    }

    fn deadline(&mut self) {
        let next = self.client.poll_timeout();
        self.now = self.now.max(next.unwrap_or(self.now));
        self.client.handle_timeout(self.now);
    }

    /// Takes all actions.
    fn take(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Open { exchange, request } => {
                    self.model.opened(exchange, &request);
                    if let Ok(text) = std::str::from_utf8(&request.body) {
                        self.hostile.read(text);
                    }
                    let (target, body) = (&request.target, &request.body);
                    let fields = &request.fields;
                    self.log.push(format!("{} {target} {fields:?} {body:?}", request.method));
                }
                Action::Abort { exchange } => {
                    self.model.aborted(exchange);
                    self.log.push(format!("abort {exchange:?}"));
                }
                Action::Event(event) => {
                    self.model.event(&event);
                    self.log.push(format!("{event:?}"));
                    self.event(event);
                }
                Action::Close => {
                    self.model.close();
                    self.log.push("close".to_owned());
                }
                Action::Fetch { exchange, .. } => {
                    assert_eq!(exchange.number(), 0, "there is no authorizer");
                }
                Action::Authorize(action) => {
                    assert_eq!(format!("{action:?}"), "", "there is no authorizer");
                }
                other => assert_eq!(format!("{other:?}"), "", "an action of another kind"),
            }
        }
    }

    fn event(&mut self, event: ClientEvent) {
        if let ClientEvent::Input(input) = event {
            self.asked.push_back(input.reply);
        } else if let ClientEvent::InputCancelled { input } = event {
            self.asked.retain(|reply| reply.id() != input);
        }
    }

    fn settle(&mut self) {
        self.take();
        if self.client.poll_timeout().is_some_and(|next| next <= self.now) {
            self.client.handle_timeout(self.now);
            self.take();
        }
        let next = self.client.poll_timeout();
        self.model.settled(self.now, next);
        self.log.push(format!("{next:?}"));
        // Nothing is due, so nothing happens.
        self.client.handle_timeout(self.now);
        let action = self.client.poll_action();
        assert!(action.is_none(), "before its time: {action:?}");
        assert_eq!(self.client.poll_timeout(), next, "a deadline changes");
    }

    /// Nothing comes any more but time: every call that does not want to wait for ever has its
    /// response. Then the client closes.
    fn end(&mut self) {
        self.client.handle_opened(self.now);
        self.settle();
        let mut steps = 0;
        while self.client.poll_timeout().is_some() && !self.model.closed {
            self.deadline();
            self.settle();
            steps += 1;
            // It connects again for what is subscribed to, as long as it is there.
            if steps > 500 && self.model.only_subscribes() {
                break;
            }
            assert!(steps < 2000, "time does not bring it to an end");
        }
        assert!(self.endless || self.model.pending() == 0, "a call waits for ever");
        if !self.model.closed && self.client.poll_timeout().is_none() {
            self.model.idle(self.endless);
        }
        self.client.with(self.now, |client| client.close(self.now));
        self.settle();
        while self.client.poll_timeout().is_some() {
            self.deadline();
            self.settle();
        }
        assert!(self.model.closed, "it does not close");
        let before = self.log.len();
        for op in [HttpOp::Open, HttpOp::Respond { request: 0, manner: 0 }, HttpOp::End(0)] {
            self.step(&op);
            self.take();
        }
        assert_eq!(self.log.len(), before, "something after the end");
        assert!(
            self.client
                .with(self.now, |client| client.ping(self.now, CallOptions::default()))
                .is_err()
        );
    }
}
