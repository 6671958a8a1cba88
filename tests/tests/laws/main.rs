//! The laws of the machines, each as a test that bears its name.
//!
//! `mcp_tests::fuzz::run` plays a conversation under the eyes of a model, four times with other
//! cuts of the same bytes: it holds chunking, the one answer, and the bounds in flight at once.
//! Here are the conversations; `memory.rs` measures bytes.

mod client;
mod clocks;
mod connections;
mod disorder;
mod dropped;
mod early_eof;
mod executions;
mod fairness;
mod generate;
mod heads;
mod http;
mod http_client;
mod session_ends;
mod site;
mod store_faults;
mod suspended;
mod texts;
mod wakers;

use std::collections::VecDeque;

use mcp_proto::message::MessageReader;
use mcp_proto::server::{
    Config, Notification, Outcome, Progress, Reply, ReplyId, Server, ServerEvent,
};
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Binding, Bytes, Instant, Json, Limits, Machine};
use mcp_tests::fuzz::{self, Op, Script};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use generate::{Call, calls, config, conversation, noise, ops, text};

/// The same cases on every machine, and no files of those that failed.
fn cases(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(cases);
    config.rng_seed = RngSeed::Fixed(20_260_728);
    config.failure_persistence = None;
    config
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn chunking_never_matters_and_everything_is_answered_once(script in conversation()) {
        fuzz::run(&script);
    }

    #[test]
    fn no_bytes_make_a_machine_panic(data in noise()) {
        fuzz::server_stdio(&data);
        fuzz::message(&data);
        fuzz::line(&data);
    }

    #[test]
    fn almost_valid_messages_are_read_as_others_read_them(text in text()) {
        fuzz::message(text.as_bytes());
    }

    #[test]
    fn a_reader_reads_each_text_as_if_it_were_the_first(
        texts in prop::collection::vec((text(), text(), 1_usize..4), 1..12),
    ) {
        let limits = Limits::default();
        let mut reader = MessageReader::new();
        for (text, other, times) in texts {
            for _ in 0..times {
                fuzz::read(&mut reader, text.as_bytes(), &limits);
            }
            fuzz::read(&mut reader, other.as_bytes(), &limits);
            fuzz::read(&mut reader, text.as_bytes(), &limits);
        }
    }

    #[test]
    fn broken_messages_do_no_harm(
        config in config(),
        texts in prop::collection::vec((text(), any::<prop::sample::Index>(), any::<u8>()), 1..8),
        rest in ops(),
    ) {
        let mut script = Script { config, ops: Vec::new() };
        for (text, at, byte) in texts {
            let mut bytes = text.into_bytes();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                match byte % 3 {
                    0 => bytes.truncate(at),
                    1 => bytes[at] = byte,
                    _ => bytes.insert(at, byte),
                }
            }
            fuzz::message(&bytes);
            bytes.push(b'\n');
            script.push(Op::Bytes(bytes));
        }
        for op in rest {
            script.push(op);
        }
        fuzz::run(&script);
    }

    #[test]
    fn calls_may_come_in_any_order(config in config(), calls in calls()) {
        Disorder::new(&config).make(&calls);
    }
}

#[test]
fn a_cancelled_request_is_never_answered() {
    let open = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\
        \"protocolVersion\":\"2025-03-26\",\"capabilities\":{},\
        \"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n";
    let hold = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\
        \"params\":{\"name\":\"hold\"}}";
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
        \"params\":{\"requestId\":7.0}}";
    for (name, text) in [
        ("alone", format!("{open}{hold}\n{cancel}\n")),
        ("in a batch", format!("{open}[{hold}]\n{cancel}\n")),
        ("by a batch", format!("{open}{hold}\n[{cancel}]\n")),
        ("within a batch", format!("{open}[{hold},{cancel}]\n")),
    ] {
        let registry = fuzz::registry();
        let mut server = Connection::server(registry.declaration(), Config::default());
        server.handle_bytes(Instant::ZERO, Bytes::from(text));
        let (mut output, mut replies) = (String::new(), Vec::new());
        let mut take = |server: &mut Connection<Server>, replies: &mut Vec<Reply>| {
            while let Some(action) = server.poll_action() {
                if let Action::Transmit(bytes) = &action {
                    output += str::from_utf8(bytes).unwrap();
                } else if let Action::Event(ServerEvent::Request(request)) = action {
                    replies.push(request.reply);
                }
            }
            output.lines().count()
        };
        assert_eq!(take(&mut server, &mut replies), 1, "{name}: the answer to initialize");
        let reply = replies.pop().expect(name);
        server.with(Instant::ZERO, |server| {
            server.respond(Instant::ZERO, reply, Outcome::Complete(Json::EMPTY_OBJECT));
        });
        server.handle_eof(Instant::ZERO);
        assert_eq!(take(&mut server, &mut replies), 1, "{name}: nothing more");
        assert_eq!(server.machine().dropped_replies(), 1, "{name}");
    }
}

#[test]
fn a_key_is_the_same_however_it_is_spelled() {
    for text in [
        r#"{"jsonrpc":"2\u002e0","\u0069d":1,"m\u0065thod":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n\u0061me":"hold"}}"#,
    ] {
        fuzz::message(text.as_bytes());
        let mut server = Connection::server(fuzz::registry().declaration(), Config::default());
        server.handle_bytes(Instant::ZERO, Bytes::from(format!("{text}\n")));
        let Some(Action::Transmit(answer)) = server.poll_action() else { panic!("no answer") };
        assert!(answer.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,"), "{answer:?}");
    }
}

/// Two servers whose calls are made in an order that no driver would choose.
struct Disorder {
    servers: [Connection<Server>; 2],
    replies: VecDeque<Reply>,
    seen: Option<ReplyId>,
}

impl Disorder {
    fn new(config: &Config) -> Self {
        let declaration = fuzz::registry().declaration();
        let server = || Connection::server(declaration.clone(), config.clone());
        Self { servers: [server(), server()], replies: VecDeque::new(), seen: None }
    }

    fn make(&mut self, calls: &[(u8, Call)]) {
        for (which, call) in calls {
            let [one, other] = &mut self.servers;
            let server = if which & 1 == 0 { one } else { other };
            match call {
                Call::Bytes(at, text) => server.handle_bytes(*at, Bytes::from(text.clone())),
                Call::Eof(at) => server.handle_eof(*at),
                Call::Timeout(at) => {
                    server.handle_timeout(*at);
                    let next = server.poll_timeout();
                    assert!(next.is_none_or(|next| next > *at), "{next:?} is past at {at:?}");
                }
                Call::Poll(most) => {
                    for _ in 0..*most {
                        if let Some(Action::Event(ServerEvent::Request(request))) =
                            server.poll_action()
                        {
                            self.seen = Some(request.reply.id());
                            self.replies.push_back(request.reply);
                        }
                    }
                }
                Call::Respond(at) => {
                    let Some(reply) = self.replies.pop_front() else { continue };
                    let (before, owed) =
                        (server.machine().dropped_replies(), server.machine().owed().count());
                    let waits = server.machine().owed().any(|id| id == reply.id());
                    server.with(*at, |server| {
                        server.respond(*at, reply, Outcome::Complete(Json::EMPTY_OBJECT));
                    });
                    assert_eq!(server.machine().dropped_replies() - before, u64::from(!waits));
                    assert_eq!(owed - server.machine().owed().count(), usize::from(waits));
                }
                Call::Notify(at, progress) => {
                    let Some(about) = self.seen else { continue };
                    let before = format!("{server:?}");
                    let progress = Progress::new(*progress);
                    let told = server.with(*at, |server| {
                        server.notify(*at, about, Notification::Progress(progress))
                    });
                    if told.is_err() {
                        assert_eq!(format!("{server:?}"), before, "an error changed something");
                    }
                }
            }
        }
        for server in &mut self.servers {
            server.handle_eof(Instant::ZERO);
            server.handle_timeout(Instant::from_micros(u64::MAX));
            while server.poll_action().is_some() {}
            assert_eq!(server.machine().owed().count(), 0);
            assert_eq!(server.poll_timeout(), None);
            assert!(!server.wants_read());
        }
    }
}
