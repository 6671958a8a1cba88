//! Bytes as a script: settings, then what clients, handlers, the application and time do.
//!
//! | byte | then | step |
//! |---|---|---|
//! | 0 to 127 | an argument | the client of connection `byte % 4` sends request `byte / 4` of [`requests`](super::requests) |
//! | 128 | a length up to 15, and so many bytes | a client writes them |
//! | 129, 130, 131 | a connection | the end of its input; a reset; its driver stops to look, or looks again |
//! | 132; 133, or any other | tens of milliseconds; nothing | time passes; up to the next deadline |
//! | 134 to 139 | which one | a handler answers, answers what is void, tells, logs, or closes its stream |
//! | 140, 141, 142 | what | a change; another declaration; the end |
//! | 143, then a session | what | the application says or asks something outside of a request |
//! | 144, 145 | | the session that is idle longest ends; everything may have changed |
//! | 146 to 149 | a number, an argument | the client of connection `byte - 146` sends request `128 + number` |

use mcp_proto::http::{Config, Sessions};
use mcp_proto::{Duration, EraPolicy};

use super::unmarked::UNMARKED;

/// Number of connections of a script at a time.
pub(super) const CONNECTIONS: usize = 4;

#[derive(Clone, Debug)]
pub(super) enum Op {
    Send { slot: usize, request: u8, argument: u8 },
    Bytes { slot: usize, bytes: Vec<u8> },
    Eof(usize),
    Disconnect(usize),
    Drive(usize),
    Tick(Duration),
    Deadline,
    Respond { at: usize, manner: u8 },
    RespondVoid,
    Notify { at: usize, logs: bool },
    CloseStream(usize),
    Publish(u8),
    Declare,
    Shutdown,
    Outside { at: usize, n: u8 },
    EndIdle,
    PublishAll,
}

pub(super) struct Script {
    pub(super) config: Config,
    pub(super) ops: Vec<Op>,
}

/// So many steps are enough.
const MAX_OPS: usize = 300;

impl Script {
    pub(super) fn decode(data: &[u8]) -> Self {
        let (settings, rest) = match data {
            [mode, bounds, times, rest @ ..] => ([*mode, *bounds, *times], rest),
            _ => ([0; 3], data),
        };
        let mut bytes = rest.iter().copied();
        let mut ops = Vec::new();
        while let Some(byte) = bytes.next()
            && ops.len() < MAX_OPS
        {
            let mut next = || bytes.next().unwrap_or_default();
            let op = match byte {
                0..128 => {
                    Op::Send { slot: usize::from(byte % 4), request: byte / 4, argument: next() }
                }
                128 => {
                    let head = next();
                    let bytes = (0..head / 16).map(|_| next()).collect();
                    Op::Bytes { slot: usize::from(head % 4), bytes }
                }
                129 => Op::Eof(usize::from(next() % 4)),
                130 => Op::Disconnect(usize::from(next() % 4)),
                131 => Op::Drive(usize::from(next() % 4)),
                132 => Op::Tick(Duration::from_millis(10 * u64::from(next()))),
                134 | 135 => {
                    let byte = next();
                    Op::Respond { at: usize::from(byte / 4), manner: byte % 4 }
                }
                136 => Op::RespondVoid,
                137 => Op::Notify { at: usize::from(next()), logs: false },
                138 => Op::Notify { at: usize::from(next()), logs: true },
                139 => Op::CloseStream(usize::from(next())),
                140 => Op::Publish(next()),
                141 => Op::Declare,
                142 => Op::Shutdown,
                143 => Op::Outside { at: usize::from(next()), n: next() },
                144 => Op::EndIdle,
                145 => Op::PublishAll,
                146..150 => Op::Send {
                    slot: usize::from(byte - 146),
                    request: UNMARKED.saturating_add(next() % UNMARKED),
                    argument: next(),
                },
                _ => Op::Deadline,
            };
            ops.push(op);
        }
        Self { config: config(settings), ops }
    }
}

/// Small bounds and short times, so that scripts reach them.
#[expect(clippy::indexing_slicing, reason = "two bits choose one of four")]
fn config([mode, bounds, times]: [u8; 3]) -> Config {
    let mut config = Config::default();
    config.sessions = match mode % 8 {
        6 => Sessions::Stateless,
        7 => Sessions::Off,
        _ => Sessions::Stateful,
    };
    config.server.era_policy = match mode / 8 % 8 {
        6 => EraPolicy::LegacyOnly,
        7 => EraPolicy::ModernOnly,
        _ => EraPolicy::Auto,
    };
    let limits = &mut config.server.limits;
    limits.max_sessions = 1 + usize::from(bounds % 4);
    limits.max_in_flight = 1 + usize::from(bounds / 4 % 4);
    limits.max_replay_events = usize::from(bounds / 16 % 4);
    limits.max_replay_bytes = [0, 200, 600, 10_000][usize::from(bounds / 64)];
    limits.max_subscriptions = 3;
    limits.max_input_rounds = 2;
    limits.max_body_bytes = 2000;
    limits.max_head_bytes = 1000;
    let millis = Duration::from_millis;
    limits.keep_alive = [millis(50), millis(300), Duration::MAX, millis(1)][usize::from(times % 4)];
    limits.replay_timeout =
        [millis(500), millis(20), Duration::MAX, Duration::ZERO][usize::from(times / 4 % 4)];
    let (init, idle) =
        [(1000, 2000), (10, 30), (60_000, 60_000), (0, 0)][usize::from(times / 16 % 4)];
    (limits.session_init_timeout, limits.session_idle_timeout) = (millis(init), millis(idle));
    limits.handler_timeout =
        [millis(1000), Duration::MAX, millis(40), millis(5)][usize::from(times / 64)];
    limits.input_timeout = millis(300);
    limits.drain = millis(100);
    config
}
