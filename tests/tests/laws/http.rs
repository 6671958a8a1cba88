//! The laws of sockets that share an endpoint: whatever is said on them, in whatever order their
//! verbs are called, nothing panics, every request has one answer, and nothing stays.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::VecDeque;
use std::sync::Arc;

use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{
    Change, InputRequired, List, Notification, Outcome, Progress, Reply, ReplyId, ServerEvent,
};
use mcp_proto::types::LoggingMessageNotificationParams;
use mcp_proto::{Action, Bytes, Duration, Instant, Json, Machine};
use mcp_tests::fuzz;
use mcp_tests::transcript::Transcript;
use proptest::prelude::*;
use proptest::sample::select;

const SOCKETS: usize = 3;

proptest! {
    #![proptest_config(super::cases(150))]

    #[test]
    fn chunking_never_matters_over_http(lines in prop::collection::vec(line(), 1..24)) {
        let settings = "= transport http\n= list-changed tools\n= logging\n= subscribe\n\
            = resources text\n= limit max_replay_events 3\n= limit max_sessions 2\n";
        let text = format!("# Whatever comes.\n{settings}{}\n", lines.join("\n"));
        let transcript = Transcript::parse("law", &text).unwrap();
        transcript.keeps_laws().map_err(TestCaseError::fail)?;
    }

    #[test]
    fn calls_over_http_may_come_in_any_order(calls in prop::collection::vec(call(), 1..80)) {
        let mut disorder = Disorder::new();
        for (at, which, call) in calls {
            disorder.make(at, usize::from(which), call);
        }
        disorder.end();
    }

    #[test]
    fn answer_is_the_same_if_its_visit_brings_it(
        calls in prop::collection::vec(prop_oneof![call(), call_in_session()], 1..80),
    ) {
        let (mut brought, mut left) = (Disorder::new(), Disorder::new());
        left.leaves_answers = true;
        let opening = [Call::Bytes(post(INITIALIZE, "").into_bytes()), Call::Visit];
        let opening = opening.into_iter().map(|call| (Instant::ZERO, 0, call));
        for (at, which, call) in opening.chain(calls) {
            for disorder in [&mut brought, &mut left] {
                disorder.make(at, usize::from(which), call.clone());
                disorder.make(at, usize::from(which), Call::Poll);
            }
            prop_assert_eq!(&brought.sent, &left.sent);
            prop_assert_eq!(brought.answered, left.answered);
            prop_assert_eq!(brought.endpoint.sessions(), left.endpoint.sessions());
            prop_assert_eq!(brought.endpoint.poll_timeout(), left.endpoint.poll_timeout());
            prop_assert_eq!(brought.endpoint.dropped_replies(), left.endpoint.dropped_replies());
        }
    }

    #[test]
    fn no_bytes_make_a_socket_panic(
        pieces in prop::collection::vec((message(), any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut disorder = Disorder::new();
        for (text, at, byte) in pieces {
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            disorder.make(Instant::ZERO, 0, Call::Bytes(bytes));
            disorder.make(Instant::ZERO, 0, Call::Visit);
            disorder.make(Instant::ZERO, 0, Call::Poll);
        }
        disorder.end();
    }
}

#[test]
fn t024_t026_sessions_that_come_and_go_leave_nothing() {
    let mut disorder = Disorder::new();
    for second in 0..200_u64 {
        let now = Instant::ZERO + Duration::from_secs(second);
        disorder.make(now, 0, Call::Bytes(post(INITIALIZE, "").into_bytes()));
        disorder.make(now, 0, Call::Visit);
        disorder.make(now, 0, Call::Poll);
        disorder.make(now, 0, Call::Timeout);
        // Each ends after the minute in which nothing follows.
        let alive = usize::try_from(second.min(59) + 1).unwrap();
        assert_eq!(disorder.endpoint.sessions(), alive, "after {second} s");
    }
    disorder.make(Instant::ZERO + Duration::from_secs(300), 0, Call::Timeout);
    assert_eq!(disorder.endpoint.sessions(), 0);
    assert_eq!(disorder.endpoint.poll_timeout(), None);
}

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":1}"#;
pub(super) const SESSION: &str = "Mcp-Session-Id: 00000000000000000000000000000001\r\n";

pub(super) fn post(body: &str, fields: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{fields}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(super) fn modern(method: &str, name: &str, params: &str) -> String {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{META}}}}}"#);
    let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
    post(&body, &format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"))
}

/// A request as bytes.
fn message() -> impl Strategy<Value = String> {
    let call = |id: u8| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hold","_meta":{{"progressToken":{id}}}}}}}"#
        )
    };
    let get = |fields: &str| format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
    select(vec![
        post(INITIALIZE, ""),
        post(INITIALIZE, "Connection: close\r\n"),
        post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, SESSION),
        post(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#, SESSION),
        post(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            SESSION,
        ),
        post(&call(1), SESSION),
        post(&call(2), SESSION),
        post(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#, SESSION),
        post("[]", SESSION),
        post("{", "Expect: 100-continue\r\n"),
        get(SESSION),
        get(&format!("{SESSION}Last-Event-ID: 2-0\r\n")),
        get(&format!("{SESSION}Last-Event-ID: 0-1\r\n")),
        get(""),
        format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{SESSION}\r\n"),
        modern("tools/call", "hold", r#""name":"hold","#),
        modern("tools/call", "echo", r#""name":"echo","#),
        modern("server/discover", "", ""),
        modern("subscriptions/listen", "", r#""notifications":{"toolsListChanged":true},"#),
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
            .into(),
        "GET / HTTP/1.0\r\n\r\n".into(),
    ])
}

/// A line of a transcript.
fn line() -> impl Strategy<Value = String> {
    let call = |method: &str, params: &str, id: u8| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
    };
    let sent = prop_oneof![
        4 => Just(INITIALIZE.to_owned()),
        4 => Just(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()),
        2 => Just(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.to_owned()),
        2 => Just(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#.to_owned()),
        6 => (1_u8..4).prop_map(move |id| call("tools/call", r#""name":"echo","arguments":{"message":"x"}"#, id)),
        6 => (1_u8..4, select(vec!["a", "b"])).prop_map(move |(id, name)| {
            call("tools/call", &format!(r#""name":"hold","arguments":{{"as":"{name}"}},"_meta":{{"progressToken":1}}"#), id)
        }),
        4 => (1_u8..4, select(vec!["c", "d"])).prop_map(move |(id, name)| {
            call("tools/call", &format!(r#""name":"hold","arguments":{{"as":"{name}"}},{META}"#), id)
        }),
        2 => Just(call("subscriptions/listen", &format!(r#""notifications":{{"toolsListChanged":true}},{META}"#), 9)),
        1 => Just("{".to_owned()),
    ];
    let socket = 1_u8..4;
    prop_oneof![
        8 => (socket.clone(), sent).prop_map(|(n, body)| format!("{n}> POST\n{n}> {body}\n@ 0s")),
        2 => socket.clone().prop_map(|n| format!("{n}> GET\n@ 0s")),
        2 => (socket.clone(), select(vec!["2-0", "2-1", "3-0", "0-0", "0-1"]))
            .prop_map(|(n, id)| format!("{n}> GET\n{n}> Last-Event-ID: {id}\n@ 0s")),
        1 => socket.clone().prop_map(|n| format!("{n}> DELETE\n@ 0s")),
        1 => socket.clone().prop_map(|n| format!("{n}* \"POST /mcp HTTP/1.1\\r\\nHost: x\"\n@ 0s")),
        1 => socket.clone().prop_map(|n| format!("! eof {n}")),
        2 => socket.prop_map(|n| format!("! disconnect {n}")),
        4 => select(vec!["a", "b", "c", "d"]).prop_map(|name| format!("! release {name}")),
        3 => select(vec!["a", "b", "c", "d"]).prop_map(|name| format!("! progress {name} 1")),
        2 => select(vec!["a", "b"]).prop_map(|name| format!("! close-stream {name}")),
        2 => select(vec!["a", "c"]).prop_map(|name| format!("! ask {name} {{\"r\":{{\"method\":\"roots/list\"}}}}")),
        2 => Just("! publish tools".to_owned()),
        2 => select(vec!["1s", "15s", "60s", "300s", "1800s"]).prop_map(|time| format!("@ {time}")),
        1 => Just("! count".to_owned()),
        1 => Just("! shutdown".to_owned()),
    ]
}

#[derive(Clone, Debug)]
enum Call {
    Bytes(Vec<u8>),
    Eof,
    Disconnect,
    Timeout,
    Visit,
    Poll,
    Respond,
    /// A visit with an answer.
    Bring,
    Ask,
    Notify,
    Log,
    CloseStream,
    Publish,
    Shutdown,
    ShutdownEndpoint,
}

/// A call that concerns the requests of a session.
fn call_in_session() -> impl Strategy<Value = (Instant, u8, Call)> {
    let request = |id: u8| {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hold","_meta":{{"progressToken":{id}}}}}}}"#
        );
        Call::Bytes(post(&call, SESSION).into_bytes())
    };
    let call = prop_oneof![
        4 => (1_u8..9).prop_map(request),
        4 => Just(Call::Visit),
        4 => Just(Call::Bring),
        1 => Just(Call::Notify),
        1 => Just(Call::CloseStream),
    ];
    (0_u64..9, 0_u8..3, call).prop_map(|(at, which, call)| (Instant::from_micros(at), which, call))
}

fn call() -> impl Strategy<Value = (Instant, u8, Call)> {
    let at = select(vec![0, 1, 5_000_000, 60_000_000, 3_600_000_000, u64::MAX]);
    let call = prop_oneof![
        8 => message().prop_map(|text| Call::Bytes(text.into_bytes())),
        1 => Just(Call::Eof),
        1 => Just(Call::Disconnect),
        3 => Just(Call::Timeout),
        6 => Just(Call::Visit),
        8 => Just(Call::Poll),
        4 => Just(Call::Respond),
        2 => Just(Call::Ask),
        3 => Just(Call::Notify),
        1 => Just(Call::Log),
        2 => Just(Call::CloseStream),
        2 => Just(Call::Publish),
        1 => select(vec![Call::Shutdown, Call::ShutdownEndpoint]),
    ];
    (at.prop_map(Instant::from_micros), 0_u8..3, call)
}

/// Sockets at an endpoint whose verbs are called in an order that no driver would choose.
struct Disorder {
    endpoint: Endpoint<usize>,
    sockets: Vec<Connection>,
    replies: VecDeque<Reply>,
    seen: Option<ReplyId>,
    cancelled: Vec<ReplyId>,
    answered: usize,
    /// What each socket has sent.
    sent: Vec<Vec<u8>>,
    /// True if an answer is left at the endpoint before the visit that would bring it.
    leaves_answers: bool,
}

impl Disorder {
    fn new() -> Self {
        let declaration = fuzz::registry().declaration();
        let config = Arc::new(Config::default());
        let mut count = 0_u128;
        let ids = move || {
            count += 1;
            count.to_be_bytes()
        };
        let socket = || Connection::new(Instant::ZERO, declaration.clone(), config.clone());
        Self {
            endpoint: Endpoint::new(declaration.clone(), config.clone(), Box::new(ids)),
            sockets: (0..SOCKETS).map(|_| socket()).collect(),
            replies: VecDeque::new(),
            seen: None,
            cancelled: Vec::new(),
            answered: 0,
            sent: vec![Vec::new(); SOCKETS],
            leaves_answers: false,
        }
    }

    fn make(&mut self, now: Instant, which: usize, call: Call) {
        let Self { endpoint, sockets, .. } = self;
        let socket = &mut sockets[which];
        match call {
            Call::Bytes(bytes) => socket.handle_bytes(now, Bytes::from(bytes)),
            Call::Eof => socket.handle_eof(now),
            Call::Disconnect => socket.handle_disconnect(now),
            Call::Timeout => {
                socket.handle_timeout(now);
                endpoint.handle_timeout(now);
                let due = endpoint.poll_timeout();
                assert!(due.is_none_or(|due| due > now), "{due:?} is past at {now:?}");
            }
            Call::Visit => socket.visit(now, endpoint, &which),
            Call::Poll => self.poll(which),
            Call::Respond => self.respond(now, Outcome::Complete(Json::EMPTY_OBJECT)),
            Call::Bring => self.bring(now, which),
            Call::Ask => {
                let roots = r#"{"r":{"method":"roots/list"}}"#.to_owned();
                let requests = Json::parse(roots).unwrap().decode().unwrap();
                let mut required = InputRequired::default();
                required.requests = requests;
                self.respond(now, Outcome::InputRequired(required));
            }
            Call::Notify => {
                let progress = Progress::new(1);
                self.notify(now, which, Notification::Progress(progress));
            }
            Call::Log => {
                let level = mcp_proto::types::LoggingLevel::Error;
                let params = LoggingMessageNotificationParams::new(level, Json::EMPTY_OBJECT);
                self.notify(now, which, Notification::Log(params));
            }
            Call::CloseStream => {
                if let Some(about) = self.seen {
                    let _ = endpoint.close_stream(now, about);
                }
            }
            Call::Publish => {
                let _ = endpoint.publish(now, &Change::ListChanged(List::Tools));
            }
            Call::Shutdown => socket.shutdown(now),
            Call::ShutdownEndpoint => endpoint.shutdown(now),
        }
    }

    fn poll(&mut self, which: usize) {
        while let Some(action) = self.sockets[which].poll_action() {
            match action {
                Action::Event(event) => self.event(event),
                Action::Transmit(bytes) => self.sent[which].extend_from_slice(&bytes),
                Action::Close => {}
            }
        }
        while let Some(action) = self.endpoint.poll_action() {
            if let EndpointAction::Event(event) = action {
                self.event(event);
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is owed anything")]
    fn event(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::Request(request) => {
                self.seen = Some(request.reply.id());
                self.replies.push_back(request.reply);
            }
            ServerEvent::Cancelled { about, .. } => self.cancelled.push(about),
            _ => {}
        }
    }

    fn respond(&mut self, now: Instant, outcome: Outcome) {
        let Some(reply) = self.replies.pop_front() else { return };
        self.answered += 1;
        if reply.is_shared() {
            return self.endpoint.respond(now, reply, outcome);
        }
        // Whose it is does not matter: it goes to the first one that is there.
        self.sockets[0].respond(now, reply, outcome);
    }

    /// Visits the endpoint with the next answer, whosever it is.
    fn bring(&mut self, now: Instant, which: usize) {
        let Some(reply) = self.replies.pop_front() else { return };
        self.answered += 1;
        let outcome = Outcome::Complete(Json::EMPTY_OBJECT);
        let Self { endpoint, sockets, .. } = self;
        if !reply.is_shared() {
            sockets[0].respond(now, reply, outcome);
        } else if self.leaves_answers {
            endpoint.respond(now, reply, outcome);
            sockets[which].visit(now, endpoint, &which);
        } else {
            sockets[which].visit_with(now, endpoint, &which, reply, outcome);
        }
    }

    fn notify(&mut self, now: Instant, which: usize, notification: Notification) {
        let Some(about) = self.seen else { return };
        let _ = if about.is_shared() {
            self.endpoint.notify(now, about, notification)
        } else {
            self.sockets[which].notify(now, about, notification)
        };
    }

    /// Everybody goes away: all that is in flight is cancelled, and nothing stays.
    fn end(mut self) {
        let last = Instant::from_micros(u64::MAX);
        for call in [Call::Poll, Call::Disconnect, Call::Visit, Call::Poll] {
            for which in 0..SOCKETS {
                self.make(last, which, call.clone());
            }
        }
        for _ in 0..8 {
            self.endpoint.handle_timeout(last);
            for which in 0..SOCKETS {
                self.make(last, which, Call::Timeout);
                self.make(last, which, Call::Visit);
                self.make(last, which, Call::Poll);
            }
        }
        for socket in &self.sockets {
            assert!(!socket.needs_endpoint());
            assert_eq!(socket.poll_timeout(), None);
            assert!(!socket.wants_read());
        }
        assert_eq!(self.endpoint.listeners(), 0);
        for reply in &self.replies {
            let id = reply.id();
            assert!(self.cancelled.contains(&id), "{id:?} is neither answered nor cancelled");
        }
    }
}
