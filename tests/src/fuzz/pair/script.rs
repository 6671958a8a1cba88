//! Bytes as what two sides do to each other.
//!
//! Eight bytes are settings, and each two after them a step; the table is that of [`PairOp`]. Over
//! HTTP the last of the eight says more of the server and of the network, and there are more steps.

use mcp_proto::client::{self, CacheConfig, CacheLimits, Negotiation, Restart, Verdict};
use mcp_proto::http::{self, Sessions};
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, Era, EraPolicy, ProtocolVersion};
use mcp_service::testing::Network;

/// One step; the number in brackets is the first of its two bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PairOp {
    /// (0) A tool gives back what it was given.
    Echo(u8),
    /// (1) It takes its time first.
    Wait(u8),
    /// (2) It tells of progress meanwhile.
    Count(u8),
    /// (3) It asks for input first, once or twice.
    Ask(u8),
    /// (4) It asks for the roots.
    Roots,
    /// (5) It fails.
    Fail,
    /// (6) It panics.
    Panic,
    /// (7) It logs.
    Log,
    /// (8) The application fetches a list.
    List(u8),
    /// (9) It asks for a sign of life.
    Ping,
    /// (10) It reads a resource.
    Read(u8),
    /// (11) It gets a prompt.
    Prompt(u8),
    /// (12) It sets the level of logs.
    LogLevel(u8),
    /// (13) It wants to hear of changes.
    Subscribe(u8),
    /// (14) It does not want to hear of them any more.
    Unsubscribe(u8),
    /// (15) Something changes.
    Publish(u8),
    /// (16) There is another tool.
    Update,
    /// (17) The application does not want the response to a call any more.
    Cancel(u8),
    /// (18) It waits for one 20 ms times n at most, and calls that never ends.
    Hang(u8),
    /// (19) It has other roots.
    SetRoots(u8),
    /// (20, n below 128) It notifies the server.
    Notify,
    /// (20, the others) The server sends something outside of requests.
    Outside(u8),
    /// (21) n × 20 ms pass.
    Pass(u8),
    /// (22) n minutes pass.
    PassLong(u8),
    /// (23) The pipe breaks.
    Cut,
    /// (24) The client's side of it ends.
    EndOfClient,
    /// (25) The server's side of it ends.
    EndOfServer,
    /// (26) The application is done.
    Close,
    /// (27, over HTTP) A request is cut behind so many times 8 bytes.
    CutRequest(u8),
    /// (28, over HTTP) A response is.
    CutResponse(u8),
    /// (29, over HTTP) Nobody is accepted for n × 100 ms.
    Refuse(u8),
    /// (30, over HTTP) The server is started anew.
    Restart,
    /// (31, over HTTP) Another server is started in its place.
    RestartAs(u8),
}

/// Transport between the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    Pipe,
    Http { sessions: Sessions, listens: bool },
}

#[derive(Clone, Debug)]
pub(super) struct PairScript {
    pub(super) over: Over,
    pub(super) era_policy: EraPolicy,
    pub(super) config: client::Config,
    pub(super) network: Network,
    /// True if each way takes seconds.
    pub(super) is_slow: bool,
    pub(super) seed: u64,
    /// Way in which the application gives input.
    pub(super) gives: u8,
    pub(super) ops: Vec<PairOp>,
}

impl PairScript {
    /// A script for a pair with a pipe.
    pub(super) fn decode(data: &[u8]) -> Self {
        Self::decode_over(Over::Pipe, 27, data)
    }

    /// A script for a pair over HTTP.
    pub(super) fn decode_http(data: &[u8]) -> Self {
        let byte = data.get(7).copied().unwrap_or_default();
        let over = Over::Http { sessions: mode(byte), listens: byte < 128 };
        let mut script = Self::decode_over(over, 32, data);
        // Silence is no verdict there.
        script.config.probe_timeout = Duration::from_secs(60);
        let (cuts, refusals) = match byte / 3 % 4 {
            0 => (0, 0),
            1 => (4, 0),
            2 => (0, 4),
            _ => (3, 6),
        };
        script.network = script.network.cuts(cuts).refusals(refusals);
        script
    }

    fn decode_over(over: Over, steps: u8, data: &[u8]) -> Self {
        let byte = |at: usize| data.get(at).copied().unwrap_or_default();
        let mut config = client::Config::new(Implementation::new("pair", "1.0.0"));
        let version = |n: u8| ProtocolVersion::ALL.get(usize::from(n)).copied();
        config.negotiation = match byte(1) % 8 {
            0 | 7 => Negotiation::Auto,
            1 => Negotiation::Legacy,
            n => version(n - 2).map_or(Negotiation::Auto, Negotiation::Pinned),
        };
        config.restart = match byte(2) / 6 % 3 {
            0 => Restart::Never,
            1 => Restart::OnCall,
            _ => Restart::Always,
        };
        config.verdict = (byte(2) % 6).checked_sub(1).and_then(version).map(Verdict::new);
        let legacy = config.verdict.as_ref().is_some_and(|verdict| verdict.era() == Era::Legacy);
        if legacy || config.negotiation != Negotiation::Auto {
            // Its probe may be the last thing that it tries.
            config.probe_timeout = Duration::from_secs(60);
        }
        let millis = Duration::from_millis;
        let network = match byte(3) % 4 {
            0 => Network::calm(),
            1 => Network::rough(),
            2 => Network::calm().latency(millis(0), millis(2000)),
            // Slower than the first answer is waited for.
            _ => Network::calm().latency(millis(3000), millis(7000)),
        };
        let is_slow = byte(3) % 4 == 3;
        let network = match byte(4) {
            0 => network,
            n => network.max_chunk(usize::from(n)),
        };
        let has_cache = byte(6) & 8 != 0;
        config.cache = has_cache.then(|| CacheConfig::memory(CacheLimits::default()));
        config.follow_tasks = byte(6) & 16 != 0;
        let era_policy = policy(byte(0));
        let ops = data.get(8..).unwrap_or_default().chunks_exact(2).take(64);
        let ops = ops.filter_map(|op| match op {
            [op, n] => Some(Self::op(*op % steps, *n)),
            _ => None,
        });
        let (seed, gives, ops) = (u64::from(byte(5)), byte(6), ops.collect());
        Self { over, era_policy, config, network, is_slow, seed, gives, ops }
    }

    fn op(op: u8, n: u8) -> PairOp {
        match op {
            0 => PairOp::Echo(n),
            1 => PairOp::Wait(n),
            2 => PairOp::Count(n),
            3 => PairOp::Ask(n),
            4 => PairOp::Roots,
            5 => PairOp::Fail,
            6 => PairOp::Panic,
            7 => PairOp::Log,
            8 => PairOp::List(n),
            9 => PairOp::Ping,
            10 => PairOp::Read(n),
            11 => PairOp::Prompt(n),
            12 => PairOp::LogLevel(n),
            13 => PairOp::Subscribe(n),
            14 => PairOp::Unsubscribe(n),
            15 => PairOp::Publish(n),
            16 => PairOp::Update,
            17 => PairOp::Cancel(n),
            18 => PairOp::Hang(n),
            19 => PairOp::SetRoots(n),
            20 if n < 128 => PairOp::Notify,
            20 => PairOp::Outside(n),
            21 => PairOp::Pass(n),
            22 => PairOp::PassLong(n),
            23 => PairOp::Cut,
            24 => PairOp::EndOfClient,
            25 => PairOp::EndOfServer,
            26 => PairOp::Close,
            27 => PairOp::CutRequest(n),
            28 => PairOp::CutResponse(n),
            29 => PairOp::Refuse(n),
            30 => PairOp::Restart,
            _ => PairOp::RestartAs(n),
        }
    }

    /// Returns whether there is a version that both sides may speak.
    pub(super) fn fits(&self) -> bool {
        let is_off = matches!(self.over, Over::Http { sessions: Sessions::Off, .. });
        let serves = |era: Era| match self.era_policy {
            _ if is_off && era == Era::Legacy => false,
            EraPolicy::LegacyOnly => era == Era::Legacy,
            EraPolicy::ModernOnly => era == Era::Modern,
            EraPolicy::Auto => true,
        };
        match self.config.negotiation {
            Negotiation::Legacy => serves(Era::Legacy),
            Negotiation::Pinned(version) => serves(version.era()),
            Negotiation::Auto | _ => serves(Era::Modern) || serves(Era::Legacy),
        }
    }

    /// Returns whether the version to speak has forms.
    pub(super) fn elicits(&self) -> bool {
        let without = [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26];
        let pinned =
            |version: &ProtocolVersion| self.config.negotiation == Negotiation::Pinned(*version);
        !without.iter().any(pinned) && !self.is_stateless()
    }

    /// Returns whether a list may be older than the call that fetches it.
    pub(super) fn caches(&self) -> bool {
        self.config.cache.is_some()
    }

    /// Returns whether tool calls may become tasks, which a pair with a pipe of its own cannot run.
    pub(super) fn has_tasks(&self) -> bool {
        self.config.follow_tasks && self.over != Over::Pipe
    }

    /// Returns whether whoever wants to hear of changes does.
    pub(super) fn hears(&self) -> bool {
        self.over == Over::Pipe
            || self.over == Over::Http { sessions: Sessions::Stateful, listens: true }
    }

    /// Returns whether a legacy client is not known from one request to the next.
    pub(super) fn is_stateless(&self) -> bool {
        matches!(self.over, Over::Http { sessions: Sessions::Stateless, .. })
    }
}

/// Settings of a server over HTTP.
pub(super) fn http_config(sessions: Sessions, era_policy: EraPolicy) -> http::Config {
    let mut config = http::Config::default();
    config.sessions = sessions;
    config.server.era_policy = era_policy;
    // Hours go by.
    config.server.limits.keep_alive = Duration::from_secs(60);
    config
}

pub(super) fn mode(n: u8) -> Sessions {
    match n % 3 {
        0 => Sessions::Stateful,
        1 => Sessions::Stateless,
        _ => Sessions::Off,
    }
}

pub(super) fn policy(n: u8) -> EraPolicy {
    match n % 3 {
        0 => EraPolicy::Auto,
        1 => EraPolicy::LegacyOnly,
        _ => EraPolicy::ModernOnly,
    }
}
