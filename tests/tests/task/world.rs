//! Servers whose tasks run in virtual time, in processes that share it: everything is polled by
//! hand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_proto::frame::http1::Head;
use mcp_proto::http::{self, Authorization};
use mcp_proto::resource_server::Claims;
use mcp_proto::server::{Config, Extensions};
use mcp_service::{
    Answering, Catalog, Clock, Drive, HttpServer, Part, Registry, Service, Spawned, TaskHost,
    TaskStore,
};
use serde_json::{Value, json};

const EPOCH: Duration = Duration::from_secs(1_800_000_000);

/// Everything that can be done at one instant is done after so many rounds.
const ROUNDS: usize = 30;

/// The time that all processes share.
#[derive(Clone, Default)]
pub(crate) struct Time(Arc<Mutex<TimeState>>);

#[derive(Default)]
struct TimeState {
    now: Instant,
    /// So much has the time of the calendar jumped.
    jumped: Duration,
    /// Those who sleep, and until when.
    sleepers: Vec<(Instant, Waker)>,
}

impl Time {
    pub(crate) fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }

    /// The time since the Unix epoch.
    fn unix_time(&self) -> Duration {
        let TimeState { now, jumped, .. } = &*self.0.lock().unwrap();
        EPOCH + now.duration_since(Instant::ZERO) + *jumped
    }

    /// The time of the calendar jumps, as after a laptop has slept.
    pub(crate) fn jump(&self, duration: Duration) {
        self.0.lock().unwrap().jumped += duration;
    }

    /// It is later, and whoever sleeps until then is woken.
    fn pass(&self, duration: Duration) {
        let due = {
            let TimeState { now, sleepers, .. } = &mut *self.0.lock().unwrap();
            *now = *now + duration;
            let (due, later) = sleepers.drain(..).partition(|(at, _)| *at <= *now);
            *sleepers = later;
            let due: Vec<(Instant, Waker)> = due;
            due
        };
        for (_, waker) in due {
            waker.wake();
        }
    }
}

struct TestClock(Time);

impl Clock for TestClock {
    fn now(&self) -> Instant {
        self.0.now()
    }

    /// Tasks ask their host instead.
    fn unix_time(&self) -> Duration {
        Duration::ZERO
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        if at <= self.now() {
            return Poll::Ready(());
        }
        self.0.0.lock().unwrap().sleepers.push((at, context.waker().clone()));
        Poll::Pending
    }
}

/// A process that serves a modern client on a byte stream, and others over HTTP.
pub(crate) struct Process {
    pub(crate) catalog: Catalog,
    pub(crate) time: Time,
    service: Service,
    http: HttpServer,
    tasks: Arc<Mutex<Vec<Spawned>>>,
    said: VecDeque<Value>,
    ids: u64,
}

impl Process {
    pub(crate) fn new(registry: Registry) -> Self {
        Self::at(&Time::default(), registry)
    }

    /// One with this store, beside others.
    pub(crate) fn sharing(time: &Time, store: &Arc<dyn TaskStore>, mut registry: Registry) -> Self {
        registry.task_store(store.clone());
        Self::at(time, registry)
    }

    fn at(time: &Time, registry: Registry) -> Self {
        let catalog = Catalog::from(registry);
        let tasks = Arc::<Mutex<Vec<Spawned>>>::default();
        let mut config = http::Config::default();
        config.authorize = Some(Arc::new(|head: &Head| {
            let text = |name| head.field(name).and_then(|it| core::str::from_utf8(it).ok());
            let user = text("X-User").map(Into::into);
            let claims = |scopes| Claims::new("https://a", "ann").with_scopes(scopes);
            match text("X-Scopes").map(claims) {
                Some(claims) => Authorization::AllowWith(user, Extensions::default().with(claims)),
                None => Authorization::Allow(user),
            }
        }));
        let service = Service::new(catalog.clone(), Config::default());
        let http = HttpServer::new(catalog.clone(), config, unique, |_| ());
        let said = VecDeque::new();
        let process = Self { catalog, time: time.clone(), service, http, tasks, said, ids: 0 };
        process.host_tasks();
        process
    }

    /// Runs the tasks of the catalog from now on.
    pub(crate) fn host_tasks(&self) {
        let (spawned, timers, unix) = (self.tasks.clone(), self.time.clone(), self.time.clone());
        let host = TaskHost::new(
            move || TestClock(timers.clone()),
            move |task| spawned.lock().unwrap().push(task),
            unique,
        );
        self.catalog.tasks().host(host.time_from(move || unix.unix_time()));
    }

    /// Sends a request of a client that declares the extension; returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.send_as(method, params, true)
    }

    pub(crate) fn send_as(&mut self, method: &str, params: Value, declares: bool) -> u64 {
        self.ids += 1;
        let message = request(self.ids, method, params, declares);
        self.line(&message);
        self.ids
    }

    pub(crate) fn line(&mut self, message: &Value) {
        self.lines(std::slice::from_ref(message));
    }

    /// Sends messages that are read at once.
    pub(crate) fn lines(&mut self, messages: &[Value]) {
        let mut lines: Vec<String> = messages.iter().map(Value::to_string).collect();
        lines.push(String::new());
        self.service.handle_bytes(self.time.now(), Bytes::from(lines.join("\n")));
    }

    /// The answer to a request that takes no time.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id).unwrap()
    }

    /// Calls the tool `t`, and returns its result.
    pub(crate) fn call(&mut self) -> Value {
        self.ask("tools/call", json!({"name": "t", "arguments": {}}))["result"].clone()
    }

    /// Calls the tool `t`, which becomes a task with this id.
    pub(crate) fn task(&mut self) -> String {
        let result = self.call();
        assert_eq!(result["resultType"], "task", "{result}");
        result["taskId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn get(&mut self, id: &str) -> Value {
        self.ask("tasks/get", json!({"taskId": id}))["result"].clone()
    }

    pub(crate) fn cancel(&mut self, id: &str) -> Value {
        self.ask("tasks/cancel", json!({"taskId": id}))["result"].clone()
    }

    pub(crate) fn update(&mut self, id: &str, responses: Value) -> Value {
        let params = json!({"taskId": id, "inputResponses": responses});
        self.ask("tasks/update", params)["result"].clone()
    }

    /// What was answered to a request, if anything was.
    pub(crate) fn answer(&mut self, id: u64) -> Option<Value> {
        self.run();
        let at = self.said.iter().position(|said| said["id"] == id)?;
        self.said.remove(at)
    }

    /// All that was said and is no answer that somebody has taken.
    pub(crate) fn said(&mut self) -> Vec<Value> {
        self.run();
        self.said.drain(..).collect()
    }

    /// Does all that can be done at this instant.
    pub(crate) fn run(&mut self) {
        for _ in 0..ROUNDS {
            self.service.turn(self.time.now(), Waker::noop());
            let out = self.service.output().to_vec();
            self.service.handle_written(out.len());
            let lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            self.said.extend(lines.map(|line| serde_json::from_slice(line).unwrap()));
            poll_all(&self.tasks);
        }
    }

    /// Polls the tasks once, and the service not at all.
    pub(crate) fn run_tasks(&self) {
        poll_all(&self.tasks);
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, duration: Duration) {
        pass(&mut [self], duration);
    }

    /// The number of handlers that run detached.
    pub(crate) fn running(&mut self) -> usize {
        self.run();
        self.tasks.lock().unwrap().len()
    }

    /// Its tasks are gone without a word.
    pub(crate) fn crash(&mut self) {
        self.tasks.lock().unwrap().clear();
    }

    /// Runs pending handlers in tasks of their own.
    pub(crate) fn spawn_handlers(&mut self) {
        let tasks = self.tasks.clone();
        self.service.spawn_with(move |handler| tasks.lock().unwrap().push(handler));
    }

    /// Drops the connection of the client, which connects again.
    pub(crate) fn reconnect(&mut self) {
        self.service = Service::new(self.catalog.clone(), Config::default());
    }

    pub(crate) fn show_wire(&mut self) -> Arc<Mutex<String>> {
        let shown = Arc::<Mutex<String>>::default();
        let text = shown.clone();
        self.service.show_wire(Instant::ZERO, move |line| {
            text.lock().unwrap().push_str(line);
        });
        shown
    }

    /// A subscription over HTTP, which is acknowledged.
    pub(crate) fn listen(&mut self, fields: &[(&str, &str)], message: &Value) -> HttpListener {
        let (http, time) = (self.http.clone(), self.time.clone());
        let background = Box::pin(async move { http.run_background(&mut TestClock(time)).await });
        let answering = self.answering(fields, message);
        let mut listener = HttpListener { answering, background, text: String::new() };
        let said = listener.said(self);
        listener.text =
            said.iter().fold(String::new(), |text, said| text + &format!("data: {said}\n"));
        listener
    }

    /// A request over HTTP: its status, and the message.
    pub(crate) fn post(&mut self, fields: &[(&str, &str)], message: &Value) -> (u16, Value) {
        let mut answering = self.answering(fields, message);
        for _ in 0..ROUNDS {
            if let Some(part) = answering.turn(self.time.now(), Waker::noop()) {
                let Part::Whole(head, body) = part else { panic!("{part:?}") };
                return (head.status, serde_json::from_slice(&body).unwrap());
            }
            poll_all(&self.tasks);
        }
        panic!("no answer")
    }

    /// A request over HTTP. Dropping it closes its connection.
    pub(crate) fn answering(&self, fields: &[(&str, &str)], message: &Value) -> Answering {
        let mut head = Head::new("POST", "/mcp");
        let method = message["method"].as_str().unwrap();
        let standard = [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        for (name, value) in standard.iter().chain(fields) {
            head.push(name, value.as_bytes());
        }
        self.http.answer(self.time.now(), head, &Bytes::from(message.to_string()))
    }
}

/// The stream of a subscription over HTTP.
pub(crate) struct HttpListener {
    answering: Answering,
    background: Spawned,
    text: String,
}

impl HttpListener {
    /// The messages that have come, each once.
    pub(crate) fn said(&mut self, process: &Process) -> Vec<Value> {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..ROUNDS {
            assert!(self.background.as_mut().poll(&mut context).is_pending());
            match self.answering.turn(process.time.now(), Waker::noop()) {
                Some(Part::Data(data)) => self.text.push_str(str::from_utf8(&data).unwrap()),
                Some(Part::Head(head)) => assert_eq!(head.status, 200),
                Some(part) => panic!("{part:?}"),
                None => {}
            }
            poll_all(&process.tasks);
        }
        let text = std::mem::take(&mut self.text);
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Polls all futures, and drops those that have ended.
fn poll_all(tasks: &Mutex<Vec<Spawned>>) {
    let polled = std::mem::take(&mut *tasks.lock().unwrap());
    let mut context = Context::from_waker(Waker::noop());
    let pending = polled
        .into_iter()
        .filter_map(|mut task| task.as_mut().poll(&mut context).is_pending().then_some(task));
    let pending: Vec<_> = pending.collect();
    tasks.lock().unwrap().extend(pending);
}

/// A modern request.
pub(crate) fn request(id: u64, method: &str, mut params: Value, declares: bool) -> Value {
    let mut capabilities = json!({"elicitation": {}, "roots": {}});
    if declares {
        capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
    }
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Lets time pass in all processes.
pub(crate) fn pass(processes: &mut [&mut Process], duration: Duration) {
    const STEPS: u32 = 40;
    for _ in 0..STEPS {
        processes[0].time.pass(duration / STEPS);
        for process in &mut *processes {
            process.run();
        }
    }
}

/// 128 bits that no other process has.
fn unique() -> [u8; 16] {
    static SERIALS: Mutex<u128> = Mutex::new(0x5eed << 96);
    let mut serial = SERIALS.lock().unwrap();
    *serial += 0x1_0001;
    serial.to_be_bytes()
}
