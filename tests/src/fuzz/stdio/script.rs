//! Bytes as a conversation with a server on a byte stream.
//!
//! Bytes are text of the client, as it is, so that a transcript is a script. Controls that no JSON
//! text holds are what happens beside: time passes, the application acts, the input ends.
//!
//! | control | then | what happens |
//! |---|---|---|
//! | `0E` | five bytes | as the first byte alone: the settings of the server |
//! | `01` | n | n × 20 ms pass, and the driver says so |
//! | `02` | n | n × 20 ms pass, unnoticed |
//! | `03` | | the next deadline comes |
//! | `04` | n | the oldest request that is held is answered, in manner n |
//! | `05` | n | the newest |
//! | `06` | | the newest reply is dropped |
//! | `07` | | the input ends |
//! | `08` | n | a reply that is void is answered, in manner n |
//! | `0B` | n | the oldest request makes progress n |
//! | `0C` | n | a request that is gone makes progress n |
//! | `10` | byte | the client writes that byte |
//! | `11` | n | the n-th of several things changes |
//! | `12` | | another declaration takes the place of the one there is |
//! | `13` | n | the client is pinged, and has n × 20 ms; 255 is forever |
//! | `14` | n | the oldest request logs at level n; from 128 on one that is gone |
//! | `15` | n | the oldest request needs input, in manner n |
//! | `16` | n | the oldest request says something else, in manner n |
//! | `18` | n | the client is asked for input about no request, in manner n |
//! | `19` | n | one of these requests is withdrawn, perhaps one that is over |
//! | `1A` | n | the client is told something about no request, in manner n |
//! | `17` | n | the client answers the server's request n mod 32, in manner n / 32 |

use mcp_proto::server::Config;
use mcp_proto::{Duration, EraPolicy};

/// One step of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// The client writes.
    Bytes(Vec<u8>),
    /// Time passes, and the driver says so.
    Tick(Duration),
    /// Time passes.
    Wait(Duration),
    /// The next deadline comes.
    Deadline,
    /// The oldest request that is held is answered, in one of several manners.
    AnswerOldest(u8),
    /// The newest request that is held is answered.
    AnswerNewest(u8),
    /// The newest reply is dropped.
    Drop,
    /// The client writes nothing more.
    Eof,
    /// A reply to a request that was cancelled is given back all the same.
    AnswerVoid(u8),
    /// The oldest request makes progress.
    Progress(u8),
    /// A request that is not in flight makes progress.
    ProgressVoid(u8),
    /// Something changes.
    Publish(u8),
    /// Another declaration takes effect.
    Declare,
    /// The client is asked for a sign of life.
    Ping(u8),
    /// A request logs.
    Log(u8),
    /// The oldest request that is held needs input.
    Ask(u8),
    /// The oldest request says something that the specification does not have.
    Say(u8),
    /// The application asks for input about no request.
    AskOutside(u8),
    /// It withdraws one of these requests.
    Withdraw(u8),
    /// It tells the client something about no request.
    TellOutside(u8),
}

/// A server's settings, and a conversation with it.
#[derive(Clone, Debug)]
pub struct Script {
    /// Settings of the server.
    pub config: Config,
    /// Steps, in order.
    pub ops: Vec<Op>,
}

impl Script {
    /// Reads any bytes as a script.
    pub fn decode(data: &[u8]) -> Self {
        let (settings, mut rest) = match data {
            [0x0E, policy, line, requests, bytes, times, rest @ ..] => {
                ([*policy, *line, *requests, *bytes, *times], rest)
            }
            _ => ([0; 5], data),
        };
        let mut script = Self { config: config(settings), ops: Vec::new() };
        while let [byte, tail @ ..] = rest {
            let argument = tail.first().copied().unwrap_or_default();
            let time = Duration::from_millis(20 * u64::from(argument));
            let (op, length) = match byte {
                0x01 => (Op::Tick(time), 2),
                0x02 => (Op::Wait(time), 2),
                0x03 => (Op::Deadline, 1),
                0x04 => (Op::AnswerOldest(argument), 2),
                0x05 => (Op::AnswerNewest(argument), 2),
                0x06 => (Op::Drop, 1),
                0x07 => (Op::Eof, 1),
                0x08 => (Op::AnswerVoid(argument), 2),
                0x0B => (Op::Progress(argument), 2),
                0x0C => (Op::ProgressVoid(argument), 2),
                0x10 => (Op::Bytes(vec![argument]), 2),
                0x11 => (Op::Publish(argument), 2),
                0x12 => (Op::Declare, 1),
                0x13 => (Op::Ping(argument), 2),
                0x14 => (Op::Log(argument), 2),
                0x15 => (Op::Ask(argument), 2),
                0x16 => (Op::Say(argument), 2),
                0x18 => (Op::AskOutside(argument), 2),
                0x19 => (Op::Withdraw(argument), 2),
                0x1A => (Op::TellOutside(argument), 2),
                0x17 => (Op::Bytes(answer(argument).into_bytes()), 2),
                _ => (Op::Bytes(vec![*byte]), 1),
            };
            script.push(op);
            rest = rest.get(length..).unwrap_or_default();
        }
        script
    }

    /// Adds a step; what the client writes without a pause is one step.
    pub fn push(&mut self, op: Op) {
        match (self.ops.last_mut(), op) {
            (Some(Op::Bytes(before)), Op::Bytes(bytes)) => before.extend(bytes),
            (_, op) => self.ops.push(op),
        }
    }
}

/// Answer of a client to a request of the server.
pub fn answer(n: u8) -> String {
    let body = match n / 32 {
        0 | 1 => "\"result\":{\"roots\":[]}",
        2 => "\"result\":{\"action\":\"accept\",\"content\":{\"a\":1}}",
        3 => "\"result\":{\"role\":\"assistant\",\"model\":\"m\"}",
        4 => "\"error\":{\"code\":-1,\"message\":\"no\"}",
        5 => "\"result\":[]",
        6 => "\"result\": {}",
        _ => return format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"result\":{{}}}}\n", n % 32),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{body}}}\n", n % 32)
}

/// Settings from five bytes: policy, the longest line, requests and bytes in flight, times.
/// All zero is a server for transcripts.
fn config([policy, line, requests, bytes, times]: [u8; 5]) -> Config {
    let mut config = Config::default();
    config.era_policy = match policy % 3 {
        0 => EraPolicy::Auto,
        1 => EraPolicy::LegacyOnly,
        _ => EraPolicy::ModernOnly,
    };
    let limits = &mut config.limits;
    limits.max_line_bytes = if line == 0 { 4096 } else { usize::from(line) * 8 - 8 };
    limits.max_in_flight = if requests == 0 { 4 } else { usize::from(requests % 8) };
    limits.max_in_flight_bytes = if bytes == 0 { 64 * 1024 } else { usize::from(bytes) * 16 };
    limits.max_depth = if times & 0x80 == 0 { 128 } else { 5 };
    limits.max_id_bytes = if times & 0x40 == 0 { 64 } else { 4 };
    limits.max_client_bytes = if times & 0x20 == 0 { 512 } else { 16 };
    limits.max_subscriptions = limits.max_in_flight + 1;
    limits.max_subscription_bytes = if bytes == 0 { 1024 } else { 8 };
    limits.max_input_rounds = 2;
    limits.input_timeout = match times & 0x11 {
        0x10 => Duration::MAX,
        0x11 => Duration::from_millis(20),
        _ => Duration::from_millis(300),
    };
    limits.handler_timeout = match times & 3 {
        0 => Duration::from_secs(1),
        1 => Duration::MAX,
        2 => Duration::ZERO,
        _ => Duration::from_millis(20),
    };
    limits.drain = match times >> 2 & 3 {
        0 => Duration::from_millis(200),
        1 => Duration::from_secs(60),
        2 => Duration::ZERO,
        _ => Duration::from_secs(2),
    };
    config
}
