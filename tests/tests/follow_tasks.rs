//! Calls that follow tasks: the decision table as a whole, and machines under random servers.
//!
//! Each row has a conversation in `tests/transcripts`; here every combination is walked, and the
//! rules that the table must keep are written down a second time, without looking at it.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcp_proto::client::task::{FollowEvent, FollowInput, FollowStep, TABLE};
use mcp_proto::client::{
    CallError, CallId, CallOptions, Client, ClientEvent, Config, InputId, InputReply,
};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{ClientCapabilities, ElicitationCapability, Implementation};
use mcp_proto::{Action, Binding, ErrorCode, ErrorData, Instant, Json, Machine};
use mcp_tests::stdio_client::sent;
use mcp_tests::transcript::{self, Transcript};
use serde_json::{Value, json};

#[test]
fn every_event_has_a_row_and_every_row_decides_one() {
    let reached: BTreeSet<&str> = all().map(|(.., name, _)| name).collect();
    let names: BTreeSet<&str> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), TABLE.rows().len(), "two rows have one name");
    assert_eq!(reached, names);
}

#[test]
fn every_row_has_a_conversation() {
    let shown = transcript::rows_of("follow", Transcript::plays_client);
    let names: BTreeSet<String> = TABLE.rows().iter().map(|row| row.name.to_owned()).collect();
    assert_eq!(shown, names, "the `# row: follow/…` comments, and the rows");
}

#[test]
fn the_end_of_a_task_is_the_end_of_its_call_at_any_time() {
    for (event, input, over, _, step) in all() {
        let expected = match event {
            FollowEvent::Completed => FollowStep::Done,
            FollowEvent::Failed | FollowEvent::Refused => FollowStep::Fail,
            FollowEvent::Cancelled => FollowStep::Cancelled,
            FollowEvent::Unknown => FollowStep::Gone,
            _ if over => FollowStep::GiveUp,
            _ => continue,
        };
        assert_eq!(step, expected, "{event:?} {input:?} {over}");
    }
}

#[test]
fn input_is_asked_for_once_and_sent_when_all_of_it_is_there() {
    for (event, input, over, _, step) in all() {
        let case = format!("{event:?} {input:?} {over}");
        if step == FollowStep::Ask {
            assert_eq!((event, input), (FollowEvent::InputRequired, FollowInput::New), "{case}");
        }
        if step == FollowStep::Update {
            assert_eq!(input, FollowInput::Complete, "{case}");
            // A task that works asks for nothing.
            assert_ne!(event, FollowEvent::Working, "{case}");
        }
        if event == FollowEvent::Due && !over {
            assert!(matches!(step, FollowStep::Poll | FollowStep::Update), "{case}");
        }
    }
}

#[test]
fn only_a_server_that_does_not_answer_is_asked_less_often() {
    for (event, input, over, _, step) in all() {
        let is_late = event == FollowEvent::Unavailable && !over;
        assert_eq!(step == FollowStep::Retry, is_late, "{event:?} {input:?} {over}");
    }
}

/// -32602 in answer to `tasks/update` may be about the input, so the next poll decides.
#[test]
fn call_whose_input_is_refused_polls_once_more() {
    for (event, input, over, _, step) in all() {
        if event == FollowEvent::Rejected && !over {
            assert_eq!(step, FollowStep::Wait, "{input:?}");
        }
    }
}

#[test]
fn errors_that_pass_are_told_from_those_that_stay() {
    let error =
        |code, status| CallError::Error { error: ErrorData::new(ErrorCode(code), "x"), status };
    for status in [408, 425, 429, 500, 502, 503, 504, 599] {
        let http = CallError::Http { status };
        assert_eq!(FollowEvent::of_error(&http), FollowEvent::Unavailable, "{status}");
        let busy = error(-32603, Some(status));
        assert_eq!(FollowEvent::of_error(&busy), FollowEvent::Unavailable, "{status}");
    }
    for status in [400, 401, 403, 404, 405, 410, 200, 302] {
        let http = CallError::Http { status };
        assert_eq!(FollowEvent::of_error(&http), FollowEvent::Refused, "{status}");
    }
    for status in [None, Some(200), Some(400), Some(404)] {
        assert_eq!(FollowEvent::of_error(&error(-32602, status)), FollowEvent::Unknown);
        assert_eq!(FollowEvent::of_error(&error(-32603, status)), FollowEvent::Unavailable);
        assert_eq!(FollowEvent::of_error(&error(-32601, status)), FollowEvent::Refused);
        assert_eq!(FollowEvent::of_error(&error(-32021, status)), FollowEvent::Refused);
    }
}

/// A server that answers anything at any time, and an application that does anything: every call
/// has one response, in its time, and every input is asked for once and comes to an end.
#[test]
fn task_t13_t14_no_server_keeps_a_call_for_ever() {
    let mut ends = BTreeMap::<String, usize>::new();
    for seed in 0..600 {
        let mut run = Run::new(seed);
        run.play();
        for end in run.ends {
            *ends.entry(end).or_default() += 1;
        }
    }
    // The runs reach all ends that there are.
    let ended =
        ["result", "-32603", "-32021", "-32602", "gone", "left", "cancelled", "refused", "late"];
    for end in ended.into_iter().chain(["protocol"]) {
        assert!(ends.contains_key(end), "no run ends with `{end}`: {ends:?}");
    }
}

#[test]
fn client_that_follows_no_tasks_declares_nothing_and_keeps_no_more() {
    assert!(!Config::new(Implementation::new("a", "1")).follow_tasks);
    let mut client = client(Config::new(Implementation::new("a", "1")));
    let now = Instant::ZERO;
    let call = client
        .with(now, |client| client.start_tool(now, params("x"), CallOptions::default()).unwrap());
    let sent = sent(&mut client);
    assert_eq!(sent.len(), 1);
    let declared = &sent[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(declared, &json!({}));
    client.with(now, |client| client.leave_task(now, call).unwrap_err());
}

#[test]
fn poll_that_waits_to_be_sent_is_late_like_one_that_was_sent() {
    for timeout in [Duration::ZERO, Duration::from_secs(1)] {
        let mut client = client(Config::new(Implementation::new("a", "1")).follow_tasks());
        let mut now = Instant::ZERO;
        let options = CallOptions::default().timeout(timeout);
        client.with(now, |client| {
            client.handle_blocked();
            client.follow_task(now, "t", options).unwrap();
        });
        for _ in 0..10 {
            let due = client.poll_timeout().expect("the call has a timeout");
            now = now.max(due);
            client.handle_timeout(now);
            assert!(client.poll_timeout() > Some(now), "{timeout:?}: it is due at {now} again");
            assert!(sent(&mut client).is_empty(), "{timeout:?}: the server does not read");
        }
    }
}

fn all() -> impl Iterator<Item = (FollowEvent, FollowInput, bool, &'static str, FollowStep)> {
    TABLE.cases().map(|((event, input, over), row)| {
        let row = row.expect("the table has a gap");
        (event, input, over, row.name, row.then)
    })
}

/// A client that is connected to a modern server.
fn client(config: Config) -> Connection<Client> {
    let mut client = Connection::client(config);
    client.handle_opened(Instant::ZERO);
    let discover = sent(&mut client);
    let answer = json!({ "jsonrpc": "2.0", "id": discover[0]["id"], "result": {
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
    } });
    client.handle_bytes(Instant::ZERO, format!("{answer}\n").into());
    assert!(sent(&mut client).is_empty());
    client
}

fn params(tool: &str) -> Json {
    Json::encode(&json!({ "name": tool })).unwrap()
}

/// One conversation with one call that may have a task.
struct Run {
    random: u64,
    now: Instant,
    client: Connection<Client>,
    call: CallId,
    /// The requests of the client that the server has not answered.
    open: Vec<(Value, String)>,
    /// The task was told of, and is not over.
    follows: bool,
    /// The server has answered -32602 to input.
    refuses_input: bool,
    inputs: BTreeMap<InputId, (String, InputReply)>,
    /// How often the application was asked for each key, unless that was cancelled.
    asked: BTreeMap<String, usize>,
    responses: usize,
    polled: Option<Instant>,
    ends: Vec<String>,
}

const MAX_TOTAL: Duration = Duration::from_secs(600);

impl Run {
    fn new(seed: u64) -> Self {
        let mut config = Config::new(Implementation::new("a", "1")).follow_tasks();
        let mut has = ClientCapabilities::default();
        has.elicitation = Some(ElicitationCapability::default());
        config.capabilities = has;
        let mut client = client(config);
        let now = Instant::ZERO;
        let options = CallOptions::default().timeout(Duration::from_secs(7)).max_total(MAX_TOTAL);
        let by_hand = seed.is_multiple_of(5);
        let call = client.with(now, |client| {
            if by_hand {
                client.follow_task(now, "t", options).unwrap()
            } else {
                client.call(now, "tools/call", params("x"), options).unwrap()
            }
        });
        Self {
            random: seed,
            now,
            client,
            call,
            open: Vec::new(),
            follows: by_hand,
            refuses_input: false,
            inputs: BTreeMap::new(),
            asked: BTreeMap::new(),
            responses: 0,
            polled: None,
            ends: Vec::new(),
        }
    }

    fn play(&mut self) {
        self.drain();
        let mut steps = 0;
        while self.responses == 0 {
            steps += 1;
            assert!(steps < 40_000, "it does not end");
            match self.pick(8) {
                0..=3 if !self.open.is_empty() => self.answer(),
                4 if !self.inputs.is_empty() => self.give(),
                5 if self.pick(60) == 0 => self.stop(),
                _ => self.elapse(),
            }
            self.drain();
        }
        assert!(self.now <= Instant::ZERO + MAX_TOTAL, "{}", self.now);
        // Whatever comes late: no second response, and no poll.
        for _ in 0..20 {
            if self.open.is_empty() {
                self.elapse();
            } else {
                self.answer();
            }
            self.drain();
        }
        assert_eq!(self.responses, 1);
        assert!(self.inputs.is_empty(), "an input outlives its call");
        assert!(self.asked.values().all(|times| *times <= 1), "{:?}", self.asked);
    }

    /// The server answers the oldest request.
    fn answer(&mut self) {
        let (id, method) = self.open.remove(0);
        let body = match (&*method, self.pick(40)) {
            (_, 0) => json!({ "error": { "code": -32603, "message": "no" } }),
            ("tasks/get" | "tasks/update", 39) => {
                json!({ "error": { "code": -32021, "message": "undeclared" } })
            }
            ("tasks/get", 1) | ("tasks/update", 1 | 6..=24) => {
                self.refuses_input |= method == "tasks/update";
                json!({ "error": { "code": -32602, "message": "who" } })
            }
            // It never answers.
            (_, 2..=5) => return,
            ("tools/call", 6) => json!({ "result": { "resultType": "complete", "content": [] } }),
            ("tools/call", _) => json!({ "result": self.task("task") }),
            ("tasks/get", _) => json!({ "result": self.task("complete") }),
            _ => json!({ "result": { "resultType": "complete" } }),
        };
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        message.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let line = format!("{message}\n");
        self.client.handle_bytes(self.now, line.into());
    }

    fn task(&mut self, kind: &str) -> Value {
        let status = match self.pick(30) {
            0 => "completed",
            1 => "failed",
            2 => "cancelled",
            3..=12 => "input_required",
            13 => "resting",
            _ => "working",
        };
        let ttl = [Value::Null, json!(0), json!(90_000), json!(1e300)][self.pick(4)].clone();
        let mut task = json!({
            "resultType": kind, "taskId": "t", "status": status, "createdAt": "", "lastUpdatedAt": "",
            "ttlMs": ttl,
            "result": { "content": [] }, "error": { "code": -32603, "message": "failed" },
        });
        let interval =
            [Value::Null, json!(0), json!(-3), json!(700), json!(1e18)][self.pick(5)].clone();
        task["pollIntervalMs"] = interval;
        let form = json!({ "method": "elicitation/create", "params": {
            "message": "?", "requestedSchema": { "type": "object", "properties": {} } } });
        let mut requests = json!({});
        for key in ["k", "l", "m"] {
            if self.pick(2) == 0 {
                requests[key] = form.clone();
                requests[key]["params"]["message"] = json!(key);
            }
        }
        task["inputRequests"] = requests;
        task
    }

    fn give(&mut self) {
        let (_, (_, reply)) = self.inputs.pop_first().unwrap();
        let answer = if self.pick(20) == 0 {
            Err(ErrorData::new(ErrorCode(-32603), "no"))
        } else {
            Ok(Json::encode(&json!({ "action": "decline" })).unwrap())
        };
        self.client.with(self.now, |client| client.answer(self.now, reply, answer));
    }

    /// The application cancels the call, or detaches it.
    fn stop(&mut self) {
        let detaches = self.pick(2) == 0;
        let (now, call) = (self.now, self.call);
        self.client.with(now, |client| {
            if detaches {
                // It may have no task yet.
                let _ = client.leave_task(now, call);
            } else {
                client.cancel(now, call).unwrap();
            }
        });
    }

    fn elapse(&mut self) {
        let due = self.client.poll_timeout().unwrap_or(self.now + Duration::from_millis(50));
        assert!(due > self.now, "a deadline is not kept");
        self.now = due.min(self.now + Duration::from_millis(900));
        self.client.handle_timeout(self.now);
    }

    fn drain(&mut self) {
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Transmit(bytes) => self.sent(&serde_json::from_slice(&bytes).unwrap()),
                Action::Event(event) => self.event(event),
                Action::Close => panic!("nobody closes it"),
            }
        }
    }

    fn sent(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap();
        if method == "notifications/cancelled" {
            let id = &message["params"]["requestId"];
            return self.open.retain(|(open, _)| open != id);
        }
        if matches!(method, "tasks/get" | "tasks/update") {
            assert!(self.follows, "{method} without a task");
            let in_flight = self.open.iter().filter(|(_, method)| method.starts_with("tasks/"));
            assert_eq!(in_flight.count(), 0, "one request of a task at a time");
        }
        if method == "tasks/get" {
            let pause = self.polled.map(|at| self.now.duration_since(at));
            // The first one may follow the call at once.
            assert!(pause.is_none_or(|pause| pause >= Duration::from_millis(100)), "{pause:?}");
            self.polled = Some(self.now);
        }
        self.open.push((message["id"].clone(), method.into()));
    }

    fn event(&mut self, event: ClientEvent) {
        match event {
            ClientEvent::Task { .. } => {
                assert_eq!(self.responses, 0, "a status after the end");
                self.follows = true;
            }
            ClientEvent::Input(input) => {
                let request = Json::encode(&input.request).unwrap().decode::<Value>().unwrap();
                let key = request["params"]["message"].as_str().unwrap().to_owned();
                *self.asked.entry(key.clone()).or_default() += 1;
                self.inputs.insert(input.reply.id(), (key, input.reply));
            }
            ClientEvent::InputCancelled { input } => {
                let dropped = self.inputs.remove(&input);
                let (key, _) = dropped.expect("an input that was given is cancelled");
                // It may be asked for again.
                *self.asked.get_mut(&key).unwrap() -= 1;
            }
            ClientEvent::Response { result, .. } => {
                self.responses += 1;
                self.follows = false;
                let end = match result {
                    Ok(_) => "result",
                    Err(CallError::Error { error, .. }) => match error.code.0 {
                        -32603 => "-32603",
                        -32021 => "-32021",
                        // To a poll it means that the task is gone.
                        -32602 if self.refuses_input => "-32602",
                        code => panic!("{code}"),
                    },
                    Err(CallError::TaskGone { .. }) => "gone",
                    Err(CallError::TaskLeft { .. }) => "left",
                    Err(CallError::Cancelled) => "cancelled",
                    Err(CallError::InputRefused(_)) => "refused",
                    Err(CallError::TimedOut) => "late",
                    Err(CallError::Protocol(_)) => "protocol",
                    Err(error) => panic!("{error}"),
                };
                self.ends.push(end.into());
            }
            ClientEvent::Connected(_) | ClientEvent::PeerFault(_) => {}
            event => panic!("{event:?}"),
        }
    }

    /// A number below `count`.
    fn pick(&mut self, count: u64) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from((self.random >> 33) % count).unwrap()
    }
}
