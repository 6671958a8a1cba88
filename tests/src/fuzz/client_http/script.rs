//! Bytes as a conversation of a client over HTTP with a hostile server.
//!
//! A byte says what happens, those behind it how. Requests of the client are numbered in the order
//! in which it opens them, from 0; a number beyond the last begins anew.
//!
//! | byte | then | what happens |
//! |---|---|---|
//! | `00` | six bytes | as the first byte alone: the settings |
//! | `01` | n | n × 50 ms pass |
//! | `02` | | the next deadline comes |
//! | `03` | | the server is there |
//! | `04` | request, status, kind | the head of an answer |
//! | `05` | request, length, bytes | some of its body, at most 255 bytes |
//! | `06` | request | its end |
//! | `07` | request | there is no connection, or it broke |
//! | `08` | request, manner | the response to it, as a body or an event, in one of many manners |
//! | `09` | request, n | an event that tells something |
//! | `0A` | request, n | an event that asks for something |
//! | `0B` | request, n | an event of no message: an id, `retry`, a comment, or half of one; from `F0` on the event `endpoint` of HTTP+SSE |
//! | `0C` | request, other, manner | the response to another request |
//! | `10` | n | the application calls a method |
//! | `11` | n | it fetches a list |
//! | `12` | n | it asks for a sign of life |
//! | `13` | n | it wants log messages |
//! | `14` | n | it cancels a call |
//! | `15` | n | it wants to hear of changes |
//! | `16` | n | it does not want to any more |
//! | `17` | n | it gives the input that was asked for |
//! | `18` | n | it notifies the server |
//! | `19` | n | it has other roots |
//! | `1A` | n | it supports something else |
//! | `1B` | n | it sets a field |
//! | `1C` | | it is done |
//! | `1D` | n | it calls a tool and takes its task, follows a task, or leaves one |
//!
//! Anything else is nothing.

use mcp_proto::client::{self, CacheConfig, CacheLimits, Negotiation, Transport, Verdict};
use mcp_proto::http::Url;
use mcp_proto::http::client::Config;
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, ProtocolVersion};

use super::super::client::capabilities;

/// One step of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the table of the script says what they are")]
pub enum HttpOp {
    Tick(Duration),
    Deadline,
    Open,
    Head { request: u8, status: u16, kind: u8 },
    Body { request: u8, bytes: Vec<u8> },
    End(u8),
    Fail(u8),
    Respond { request: u8, manner: u8 },
    Tell { request: u8, n: u8 },
    Ask { request: u8, n: u8 },
    Event { request: u8, n: u8 },
    Cross { request: u8, other: u8, manner: u8 },
    Call(u8),
    List(u8),
    Ping(u8),
    LogLevel(u8),
    Cancel(u8),
    Subscribe(u8),
    Unsubscribe(u8),
    Give(u8),
    Notify(u8),
    Roots(u8),
    Capabilities(u8),
    Field(u8),
    Close,
    Task(u8),
}

/// A client's settings, and a conversation with it.
#[derive(Clone, Debug)]
pub struct HttpScript {
    /// Settings of the client; `None` if they cannot be used.
    pub config: Option<Config>,
    /// Random byte of the settings.
    pub random: u8,
    /// Steps, in order.
    pub ops: Vec<HttpOp>,
}

/// Statuses of a server's answers.
const STATUSES: &[u16] =
    &[200, 202, 204, 307, 308, 302, 400, 401, 403, 404, 405, 406, 500, 503, 100, 600, 201, 413];

impl HttpScript {
    /// Reads any bytes as a script.
    pub fn decode(data: &[u8]) -> Self {
        let (settings, mut rest) = match data {
            [0, negotiation, verdict, calls, offers, times, random, rest @ ..] => {
                ([*negotiation, *verdict, *calls, *offers, *times, *random], rest)
            }
            _ => ([0, 0, 0, 255, 0, 0], data),
        };
        let [.., random] = settings;
        let mut script = Self { config: config(settings), random, ops: Vec::new() };
        while let Some((op, length)) = op(rest) {
            script.ops.extend(op);
            rest = rest.get(length..).unwrap_or_default();
        }
        script
    }
}

/// The step at the beginning, and its length; `None` at the end.
fn op(data: &[u8]) -> Option<(Option<HttpOp>, usize)> {
    let at = |n: usize| data.get(n).copied().unwrap_or_default();
    let (request, n) = (at(1), at(1));
    Some(match data.first()? {
        0x01 => (Some(HttpOp::Tick(Duration::from_millis(50 * u64::from(n)))), 2),
        0x02 => (Some(HttpOp::Deadline), 1),
        0x03 => (Some(HttpOp::Open), 1),
        0x04 => {
            let status = STATUSES.get(usize::from(at(2)) % STATUSES.len()).copied();
            let status = status.unwrap_or_default();
            (Some(HttpOp::Head { request, status, kind: at(3) }), 4)
        }
        0x05 => {
            let length = usize::from(at(2));
            let bytes: Vec<u8> = data.iter().skip(3).take(length).copied().collect();
            (Some(HttpOp::Body { request, bytes }), 3 + length)
        }
        0x06 => (Some(HttpOp::End(request)), 2),
        0x07 => (Some(HttpOp::Fail(request)), 2),
        0x08 => (Some(HttpOp::Respond { request, manner: at(2) }), 3),
        0x09 => (Some(HttpOp::Tell { request, n: at(2) }), 3),
        0x0A => (Some(HttpOp::Ask { request, n: at(2) }), 3),
        0x0B => (Some(HttpOp::Event { request, n: at(2) }), 3),
        0x0C => (Some(HttpOp::Cross { request, other: at(2), manner: at(3) }), 4),
        0x10 => (Some(HttpOp::Call(n)), 2),
        0x11 => (Some(HttpOp::List(n)), 2),
        0x12 => (Some(HttpOp::Ping(n)), 2),
        0x13 => (Some(HttpOp::LogLevel(n)), 2),
        0x14 => (Some(HttpOp::Cancel(n)), 2),
        0x15 => (Some(HttpOp::Subscribe(n)), 2),
        0x16 => (Some(HttpOp::Unsubscribe(n)), 2),
        0x17 => (Some(HttpOp::Give(n)), 2),
        0x18 => (Some(HttpOp::Notify(n)), 2),
        0x19 => (Some(HttpOp::Roots(n)), 2),
        0x1A => (Some(HttpOp::Capabilities(n)), 2),
        0x1B => (Some(HttpOp::Field(n)), 2),
        0x1C => (Some(HttpOp::Close), 1),
        0x1D => (Some(HttpOp::Task(n)), 2),
        _ => (None, 1),
    })
}

/// Settings from six bytes: negotiation, verdict, calls, what is supported, times, what is random.
fn config([negotiation, verdict, calls, offers, times, _]: [u8; 6]) -> Option<Config> {
    let mut client = client::Config::new(Implementation::new("fuzzed", "1.0.0"));
    let pinned = |n: u8| ProtocolVersion::ALL.get(usize::from(n)).copied();
    client.negotiation = match negotiation % 8 {
        0 | 7 => Negotiation::Auto,
        1 => Negotiation::Legacy,
        n => pinned(n - 2).map_or(Negotiation::Auto, Negotiation::Pinned),
    };
    client.verdict = match verdict % 6 {
        0 => None,
        n => pinned(n - 1).map(Verdict::new),
    };
    if let Some(known) = client.verdict.as_mut().filter(|_| verdict >= 0xC0) {
        known.transport = Transport::HttpSse;
    }
    client.capabilities = capabilities(offers);
    let limits = &mut client.limits;
    limits.max_in_flight = if calls == 0 { 6 } else { usize::from(calls % 8) };
    limits.max_line_bytes = if calls & 0x80 == 0 { 4096 } else { 64 };
    limits.max_sse_event_bytes = if calls & 0x40 == 0 { 4096 } else { 64 };
    client.cache = (calls & 0x08 != 0).then(|| CacheConfig::memory(CacheLimits::default()));
    client.follow_tasks = calls & 0x10 != 0;
    let limits = &mut client.limits;
    limits.max_input_rounds = 2;
    limits.max_pages = 3;
    limits.max_list_bytes = 1024;
    client.probe_timeout = Duration::from_secs(u64::from(times & 3));
    client.initialize_timeout = match times >> 2 & 3 {
        0 => Duration::from_secs(60),
        1 => Duration::from_millis(100),
        2 => Duration::ZERO,
        _ => Duration::MAX,
    };
    let mut config = Config::new(Url::parse("https://localhost/mcp").ok()?, client);
    config.listens = times & 0x10 == 0;
    config.field("Authorization", "Bearer 0").ok()
}
