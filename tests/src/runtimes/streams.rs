//! Servers and clients on a stream, which is a pair of sockets here.
//!
//! Nothing here sleeps but handlers, and no test depends on how long anything takes: what is waited
//! for comes, or the test fails.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use mcp_proto::UsageError;
use mcp_proto::client::{self, Negotiation};
use mcp_proto::server::Config;
use mcp_proto::types::Implementation;
use mcp_service::{Context, Handler, Registry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Suite;
use crate::http::Check;
use crate::http_client::{Connecting, Running};
use crate::outside::Outside;

type Named = (&'static str, fn(Suite) -> Check);

const CHECKS: &[Named] = &[
    ("a_modern_conversation", a_modern_conversation),
    ("a_legacy_conversation", a_legacy_conversation),
    ("a_deadline_moves_both_ways", a_deadline_moves_both_ways),
    ("a_handler_has_its_time_and_no_more", a_handler_has_its_time_and_no_more),
    ("the_end_lets_handlers_finish", the_end_lets_handlers_finish),
    ("the_end_cuts_off_what_takes_too_long", the_end_cuts_off_what_takes_too_long),
    ("a_client_that_is_gone_is_no_error", a_client_that_is_gone_is_no_error),
    ("every_call_is_answered_once_or_cancelled", every_call_is_answered_once_or_cancelled),
    ("our_clients_of_both_eras", our_clients_of_both_eras),
    (
        "second_hour_16_a_server_asks_outside_of_requests",
        second_hour_16_a_server_asks_outside_of_requests,
    ),
    ("a_server_that_ends_is_told_to_a_client", a_server_that_ends_is_told_to_a_client),
];

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// Nothing takes as long as this.
const TOO_LONG: Duration = Duration::from_secs(20);
const FOREVER: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(50);

pub(super) fn trials(suite: Suite) -> Vec<Trial> {
    let trial = |(name, check): &Named| {
        let (name, check) = (format!("{}::streams::{name}", suite.name), *check);
        Trial::test(name, move || check(suite).map_err(Failed::from))
    };
    CHECKS.iter().map(trial).collect()
}

fn a_modern_conversation(suite: Suite) -> Check {
    let mut client = Client::start(suite, Config::default())?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "wait", "arguments": {"millis": 1}, "_meta": meta});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))?;
    let (id, result) = answer(&client.line()?)?;
    assert_eq!((id, result.get("resultType")), (1, Some(&json!("complete"))));
    assert_eq!(result.pointer("/content/0/text"), Some(&json!("waited")));
    client.end()
}

fn a_legacy_conversation(suite: Suite) -> Check {
    let mut client = Client::open(suite, Config::default())?;
    client.wait(1, Duration::ZERO)?;
    assert_eq!(client.line()?, waited(1));
    client.send_text(PING)?;
    assert_eq!(client.line()?, PONG);
    client.end()
}

fn a_deadline_moves_both_ways(suite: Suite) -> Check {
    // A server takes the time before it reads: it may be that of the last message.
    let start = Instant::now();
    let mut client = Client::open(suite, in_no_time())?;
    client.wait(1, FOREVER)?;
    for (id, passed) in [(2, SHORT), (3, SHORT * 2)] {
        client.wait(id, SHORT)?;
        assert_eq!(client.line()?, waited(id));
        assert!(start.elapsed() >= passed, "{:?}", start.elapsed());
    }
    client.end()
}

fn a_handler_has_its_time_and_no_more(suite: Suite) -> Check {
    let mut config = Config::default();
    config.limits.handler_timeout = SHORT;
    let mut client = Client::open(suite, config)?;
    client.wait(1, FOREVER)?;
    let line = client.line()?;
    assert!(line.contains("Limits::handler_timeout"), "{line}");
    client.end()
}

fn the_end_lets_handlers_finish(suite: Suite) -> Check {
    let mut config = Config::default();
    config.limits.drain = FOREVER;
    let mut client = Client::open(suite, config)?;
    client.wait(1, SHORT)?;
    client.shutdown()?;
    assert_eq!(client.line()?, waited(1));
    client.end()
}

fn the_end_cuts_off_what_takes_too_long(suite: Suite) -> Check {
    let mut client = Client::open(suite, in_no_time())?;
    client.wait(1, FOREVER)?;
    client.end()
}

fn a_client_that_is_gone_is_no_error(suite: Suite) -> Check {
    let mut client = Client::start(suite, Config::default())?;
    client.send_text(&[PING; 1000].join("\n"))?;
    let Client { stream, server } = client;
    drop(stream);
    ended(server)
}

fn every_call_is_answered_once_or_cancelled(suite: Suite) -> Check {
    const CALLS: u64 = 500;
    let mut client = Client::open(suite, Config::default())?;
    let mut kept = BTreeSet::new();
    for id in 1..=CALLS {
        client.call(id, "wander", &json!({"steps": id % 7}))?;
        if id.is_multiple_of(3) {
            let method = "notifications/cancelled";
            let params = json!({"requestId": id});
            client.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))?;
        } else {
            kept.insert(id);
        }
    }
    let mut answered = BTreeSet::new();
    while !kept.is_subset(&answered) {
        let line = client.line()?;
        assert!(answered.insert(answer(&line)?.0), "it is answered twice: {line}");
    }
    // What was cancelled may have been answered before, and no other is.
    for line in client.finish()? {
        assert!(answered.insert(answer(&line)?.0), "it is answered twice: {line}");
    }
    assert!(answered.difference(&kept).all(|id| id.is_multiple_of(3)), "{answered:?}");
    Ok(())
}

fn our_clients_of_both_eras(suite: Suite) -> Check {
    for (negotiation, version) in
        [(Negotiation::Auto, "2026-07-28"), (Negotiation::Legacy, "2025-11-25")]
    {
        let Client { stream, server } = Client::start(suite, Config::default())?;
        let client = our_client(negotiation);
        let given = client.clone();
        let script = move |connecting: Connecting| {
            let said = async move {
                assert_eq!(connecting.await?.version.to_string(), version);
                let answer = given.call_tool("wait", &json!({"millis": 1})).await?;
                assert_eq!(
                    answer.content.first().and_then(|block| block.as_text()),
                    Some("waited")
                );
                given.close().await;
                Ok(())
            };
            Box::pin(said) as Running
        };
        (suite.meet)(client, stream.into_inner(), Box::new(script))?;
        ended(server)?;
    }
    Ok(())
}

fn second_hour_16_a_server_asks_outside_of_requests(suite: Suite) -> Check {
    let (outside, client) = (Outside::default(), our_client(Negotiation::Legacy));
    let Client { stream, server } = Client::of(suite, outside.registry()?, Config::default())?;
    let (heard, given) = (Outside::prepare(&client)?, client.clone());
    let script = move |connecting: Connecting| {
        let said = async move {
            connecting.await?;
            heard.all().await?;
            given.close().await;
            Ok(())
        };
        Box::pin(said) as Running
    };
    (suite.meet)(client, stream.into_inner(), Box::new(script))?;
    outside.ended()?;
    ended(server)
}

fn a_server_that_ends_is_told_to_a_client(suite: Suite) -> Check {
    let (ours, theirs) = UnixStream::pair()?;
    drop(theirs);
    let script = |connecting: Connecting| {
        let said = async {
            assert!(connecting.await.is_err(), "there is no server");
            Ok(())
        };
        Box::pin(said) as Running
    };
    (suite.meet)(our_client(Negotiation::Auto), ours, Box::new(script))
}

fn our_client(negotiation: Negotiation) -> mcp_service::Client {
    let mut config = client::Config::new(Implementation::new("suite", "1"));
    config.negotiation = negotiation;
    mcp_service::Client::new(config)
}

/// Settings of a server that does not wait for handlers at its end.
fn in_no_time() -> Config {
    let mut config = Config::default();
    config.limits.drain = SHORT;
    config.limits.handler_timeout = FOREVER * 2;
    config
}

#[derive(Deserialize, JsonSchema)]
struct Wait {
    millis: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Wander {
    steps: u32,
}

/// The tools `wait`, and `wander`, which sleeps again and again.
fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("suite", "1"));
    registry.tool("wait", "Waits", |wait: Wait, context: Context| async move {
        context.sleep(Duration::from_millis(wait.millis)).await;
        "waited"
    })?;
    registry.tool("wander", "Wanders", |wander: Wander, context: Context| async move {
        for _ in 0..wander.steps {
            context.sleep(Duration::from_micros(100)).await;
        }
        "arrived"
    })?;
    Ok(registry)
}

/// The client's end of a stream, and the server at the other.
struct Client {
    stream: BufReader<UnixStream>,
    server: JoinHandle<io::Result<()>>,
}

impl Client {
    fn start(suite: Suite, mut config: Config) -> Result<Self, Box<dyn Error>> {
        config.limits.max_in_flight = 10_000;
        Self::of(suite, registry()?, config)
    }

    /// A client of a server of something else.
    fn of(
        suite: Suite,
        registry: Registry<Handler>,
        config: Config,
    ) -> Result<Self, Box<dyn Error>> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(TOO_LONG))?;
        let server = thread::spawn(move || (suite.serve)(theirs, registry.into(), config));
        Ok(Self { stream: BufReader::new(ours), server })
    }

    /// A client in a legacy session.
    fn open(suite: Suite, config: Config) -> Result<Self, Box<dyn Error>> {
        let mut client = Self::start(suite, config)?;
        client.send_text(INITIALIZE)?;
        client.line()?;
        Ok(client)
    }

    fn wait(&mut self, id: u64, time: Duration) -> io::Result<()> {
        self.call(id, "wait", &json!({"millis": time.as_millis()}))
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) -> io::Result<()> {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        self.send_text(&message.to_string())
    }

    fn send_text(&mut self, text: &str) -> io::Result<()> {
        self.stream.get_mut().write_all(format!("{text}\n").as_bytes())
    }

    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.strip_suffix('\n').ok_or("the stream has ended")?.to_owned())
    }

    /// The client has nothing more to say.
    fn shutdown(&self) -> io::Result<()> {
        self.stream.get_ref().shutdown(Shutdown::Write)
    }

    /// Nothing more comes, and the server ends well.
    fn end(self) -> Check {
        assert_eq!(self.finish()?, [""; 0]);
        Ok(())
    }

    /// Shuts down the client's side, and returns the remaining lines.
    fn finish(self) -> Result<Vec<String>, Box<dyn Error>> {
        self.shutdown()?;
        let rest = self.stream.lines().collect::<io::Result<_>>()?;
        ended(self.server)?;
        Ok(rest)
    }
}

/// A server has ended well.
fn ended(server: JoinHandle<io::Result<()>>) -> Check {
    Ok(server.join().map_err(|_| "the server panicked")??)
}

/// The id and the result of an answer.
fn answer(line: &str) -> Result<(u64, Value), Box<dyn Error>> {
    let mut answer: Value = serde_json::from_str(line)?;
    let id = answer.get("id").and_then(Value::as_u64);
    let result = answer.get_mut("result").map(Value::take);
    Ok(id.zip(result).ok_or_else(|| format!("no answer: {line}"))?)
}

fn waited(id: u64) -> String {
    let content = r#"[{"type":"text","text":"waited"}]"#;
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":{content}}}}}"#)
}
