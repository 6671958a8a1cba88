//! Bytes as a conversation with a server on a byte stream, from the client's side.
//!
//! Bytes are text of the server, as it is. Controls that no JSON text holds are what happens
//! beside: the application acts, time passes, and the server says what fits to what it has read.
//!
//! | control | then | what happens |
//! |---|---|---|
//! | `0E` | six bytes | as the first byte alone: the settings of the client |
//! | `01` | n | n × 20 ms pass, and the driver says so |
//! | `02` | n | n × 20 ms pass, unnoticed |
//! | `03` | | the next deadline comes |
//! | `04` | n | a call of kind n |
//! | `05` | n | a whole list, n mod 4, with options n / 4 |
//! | `06` | n | the application wants log messages of level n mod 8 |
//! | `07` | | what the server writes ends |
//! | `08` | n | the n-th open call is cancelled; from 128 on one that is over |
//! | `0B` | n | a subscription of kind n |
//! | `0C` | n | the n-th open subscription ends; from 128 on one that is over |
//! | `0F` | n | the oldest input is given, in manner n; from 128 on the newest |
//! | `10` | byte | the server writes that byte |
//! | `11` | n | other roots |
//! | `12` | n | other capabilities |
//! | `13` | n | the server is pinged, with options n |
//! | `14` | n | a notification of kind n |
//! | `15` | | the application is done |
//! | `16` | | the server is there, if it is to be started anew |
//! | `17` | which, manner | the server answers a request |
//! | `18` | n | the server tells something |
//! | `19` | n | the server asks for something |
//! | `1A` | n | an input that is void is given, in manner n |
//! | `1B` | | the oldest input is never given |
//! | `1C` | | the server is there, though nobody has asked for it |
//! | `1D` | | what the server says next goes out with what it says after that |
//! | `1E` | n | a call that takes a task, one that follows a task, or the end of following |

use mcp_proto::client::{CacheConfig, CacheLimits, CallOptions, Config, Negotiation, Verdict};
use mcp_proto::types::{ClientCapabilities, Implementation};
use mcp_proto::{Duration, Json, ProtocolVersion};

/// One step of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientOp {
    /// The server writes.
    Bytes(Vec<u8>),
    /// Time passes, and the driver says so.
    Tick(Duration),
    /// Time passes.
    Wait(Duration),
    /// The next deadline comes.
    Deadline,
    /// The application calls a method.
    Call(u8),
    /// It fetches a list.
    List(u8),
    /// It wants log messages.
    LogLevel(u8),
    /// It asks for a sign of life.
    Ping(u8),
    /// It does not want a response any more.
    Cancel(u8),
    /// It wants to hear of changes.
    Subscribe(u8),
    /// It does not want to hear of them any more.
    Unsubscribe(u8),
    /// It gives the input that was asked for.
    Give(u8),
    /// It gives input that nobody waits for.
    GiveVoid(u8),
    /// It will not give the input that was asked for.
    Drop,
    /// It has other roots.
    Roots(u8),
    /// It supports something else.
    Capabilities(u8),
    /// It notifies the server.
    Notify(u8),
    /// It is done.
    Close,
    /// The server is there again, as it was asked to be.
    Reopen,
    /// The server is there.
    Opened,
    /// The server writes nothing more.
    Eof,
    /// The server answers one of the requests that it has read, in one of many manners.
    Answer(u8, u8),
    /// The server notifies the client.
    Tell(u8),
    /// The server asks the client.
    Ask(u8),
    /// The application calls a tool and takes its task, follows a task, or leaves one.
    Task(u8),
    /// Keeps the next text of the server back until the text after it.
    Hold,
}

/// A client's settings, and a conversation with it.
#[derive(Clone, Debug)]
pub struct ClientScript {
    /// Settings of the client.
    pub config: Config,
    /// Steps, in order. The server is connected before the first. The server is there before.
    pub ops: Vec<ClientOp>,
}

impl ClientScript {
    /// Reads any bytes as a script.
    pub fn decode(data: &[u8]) -> Self {
        let (settings, mut rest) = match data {
            [0x0E, negotiation, verdict, line, calls, offers, times, rest @ ..] => {
                ([*negotiation, *verdict, *line, *calls, *offers, *times], rest)
            }
            _ => ([0, 0, 0, 0, 255, 0], data),
        };
        let mut script = Self { config: config(settings), ops: Vec::new() };
        while let [byte, tail @ ..] = rest {
            let argument = tail.first().copied().unwrap_or_default();
            let second = tail.get(1).copied().unwrap_or_default();
            let time = Duration::from_millis(20 * u64::from(argument));
            let (op, length) = match byte {
                0x01 => (ClientOp::Tick(time), 2),
                0x02 => (ClientOp::Wait(time), 2),
                0x03 => (ClientOp::Deadline, 1),
                0x04 => (ClientOp::Call(argument), 2),
                0x05 => (ClientOp::List(argument), 2),
                0x06 => (ClientOp::LogLevel(argument), 2),
                0x07 => (ClientOp::Eof, 1),
                0x08 => (ClientOp::Cancel(argument), 2),
                0x0B => (ClientOp::Subscribe(argument), 2),
                0x0C => (ClientOp::Unsubscribe(argument), 2),
                0x0F => (ClientOp::Give(argument), 2),
                0x10 => (ClientOp::Bytes(vec![argument]), 2),
                0x11 => (ClientOp::Roots(argument), 2),
                0x12 => (ClientOp::Capabilities(argument), 2),
                0x13 => (ClientOp::Ping(argument), 2),
                0x14 => (ClientOp::Notify(argument), 2),
                0x15 => (ClientOp::Close, 1),
                0x16 => (ClientOp::Reopen, 1),
                0x17 => (ClientOp::Answer(argument, second), 3),
                0x18 => (ClientOp::Tell(argument), 2),
                0x19 => (ClientOp::Ask(argument), 2),
                0x1A => (ClientOp::GiveVoid(argument), 2),
                0x1B => (ClientOp::Drop, 1),
                0x1C => (ClientOp::Opened, 1),
                0x1D => (ClientOp::Hold, 1),
                0x1E => (ClientOp::Task(argument), 2),
                _ => (ClientOp::Bytes(vec![*byte]), 1),
            };
            script.push(op);
            rest = rest.get(length..).unwrap_or_default();
        }
        script
    }

    /// Adds a step; what the server writes without a pause is one step.
    pub fn push(&mut self, op: ClientOp) {
        match (self.ops.last_mut(), op) {
            (Some(ClientOp::Bytes(before)), ClientOp::Bytes(bytes)) => before.extend(bytes),
            (_, op) => self.ops.push(op),
        }
    }
}

/// Settings from six bytes: negotiation, verdict, the longest line, calls, what is supported,
/// times.
fn config([negotiation, verdict, line, calls, offers, times]: [u8; 6]) -> Config {
    let mut config = Config::new(Implementation::new("fuzzed", "1.0.0"));
    let pinned = |n: u8| ProtocolVersion::ALL.get(usize::from(n)).copied();
    config.negotiation = match negotiation % 8 {
        0 | 7 => Negotiation::Auto,
        1 => Negotiation::Legacy,
        n => pinned(n - 2).map_or(Negotiation::Auto, Negotiation::Pinned),
    };
    config.verdict = match verdict % 7 {
        0 => None,
        6 => Json::parse(VERDICT).ok().and_then(|json| json.decode::<Verdict>().ok()),
        n => pinned(n - 1).map(Verdict::new),
    };
    config.capabilities = capabilities(offers);
    let limits = &mut config.limits;
    limits.max_line_bytes = if line == 0 { 4096 } else { usize::from(line) * 8 - 8 };
    limits.max_in_flight = if calls == 0 { 6 } else { usize::from(calls % 8) };
    limits.max_depth = if calls & 0x80 == 0 { 128 } else { 5 };
    limits.max_id_bytes = if calls & 0x40 == 0 { 64 } else { 4 };
    config.cache = (calls & 0x08 != 0).then(|| CacheConfig::memory(CacheLimits::default()));
    config.follow_tasks = calls & 0x10 != 0;
    let limits = &mut config.limits;
    limits.max_input_rounds = 2;
    limits.max_pages = 3;
    limits.max_list_bytes = if calls & 0x20 == 0 { 1024 } else { 8 };
    config.probe_timeout = match times & 3 {
        0 => Duration::from_secs(5),
        1 => Duration::from_millis(100),
        2 => Duration::ZERO,
        _ => Duration::MAX,
    };
    config.initialize_timeout = match times >> 2 & 3 {
        0 => Duration::from_secs(60),
        1 => Duration::from_millis(100),
        2 => Duration::ZERO,
        _ => Duration::MAX,
    };
    config
}

const VERDICT: &str = r#"{"version":"2026-07-28","discover":{"resultType":"complete",
    "supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,
    "cacheScope":"private"}}"#;

/// Capabilities that a client may have.
pub(in super::super) fn capabilities(n: u8) -> ClientCapabilities {
    let mut members = Vec::new();
    let mut add = |bit: u8, text: &'static str| {
        if n & bit != 0 {
            members.push(text);
        }
    };
    add(1, r#""roots":{"listChanged":true}"#);
    add(2, r#""sampling":{"tools":{}}"#);
    add(4, r#""elicitation":{"form":{},"url":{}}"#);
    add(8, r#""extensions":{"x/y":{}}"#);
    let text = format!("{{{}}}", members.join(","));
    Json::parse(text).ok().and_then(|json| json.decode().ok()).unwrap_or_default()
}

/// Options of a call from four bits.
pub(in super::super) fn options(n: u8) -> CallOptions {
    let options = match n & 3 {
        0 => CallOptions::default(),
        1 => CallOptions::default().timeout(Duration::from_millis(100)),
        2 => CallOptions::default()
            .timeout(Duration::from_millis(200))
            .max_total(Duration::from_millis(500)),
        _ => CallOptions::default().timeout(Duration::MAX).max_total(Duration::MAX),
    };
    let options = if n & 4 == 0 { options } else { options.progress() };
    options.reset_on_progress(n & 8 == 0)
}
