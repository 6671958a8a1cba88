//! Bytes as what two sides do to each other.
//!
//! Eight bytes are settings, and each two after them a step; the table is that of [`PairOp`].

use mcp_proto::client::{self, Negotiation, Verdict};
use mcp_proto::testing::Network;
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, Era, EraPolicy, ProtocolVersion};

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
    /// (20) It notifies the server.
    Notify,
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
}

#[derive(Clone, Debug)]
pub(super) struct PairScript {
    pub(super) era_policy: EraPolicy,
    pub(super) config: client::Config,
    pub(super) network: Network,
    pub(super) seed: u64,
    /// How the application gives input.
    pub(super) gives: u8,
    pub(super) ops: Vec<PairOp>,
}

impl PairScript {
    pub(super) fn decode(data: &[u8]) -> Self {
        let byte = |at: usize| data.get(at).copied().unwrap_or_default();
        let mut config = client::Config::new(Implementation::new("pair", "1.0.0"));
        let version = |n: u8| ProtocolVersion::ALL.get(usize::from(n)).copied();
        config.negotiation = match byte(1) % 8 {
            0 | 7 => Negotiation::Auto,
            1 => Negotiation::Legacy,
            n => version(n - 2).map_or(Negotiation::Auto, Negotiation::Pinned),
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
        let network = match byte(4) {
            0 => network,
            n => network.max_chunk(usize::from(n)),
        };
        let era_policy = match byte(0) % 3 {
            0 => EraPolicy::Auto,
            1 => EraPolicy::LegacyOnly,
            _ => EraPolicy::ModernOnly,
        };
        let ops = data.get(8..).unwrap_or_default().chunks_exact(2).take(64);
        let ops = ops.filter_map(|op| match op {
            [op, n] => Some(Self::op(*op, *n)),
            _ => None,
        });
        let (seed, gives, ops) = (u64::from(byte(5)), byte(6), ops.collect());
        Self { era_policy, config, network, seed, gives, ops }
    }

    fn op(op: u8, n: u8) -> PairOp {
        match op % 27 {
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
            20 => PairOp::Notify,
            21 => PairOp::Pass(n),
            22 => PairOp::PassLong(n),
            23 => PairOp::Cut,
            24 => PairOp::EndOfClient,
            25 => PairOp::EndOfServer,
            _ => PairOp::Close,
        }
    }

    /// Whether there is a version that both sides may speak.
    pub(super) fn fits(&self) -> bool {
        let serves = |era: Era| match self.era_policy {
            EraPolicy::LegacyOnly => era == Era::Legacy,
            EraPolicy::ModernOnly => era == Era::Modern,
            EraPolicy::Auto => true,
        };
        match self.config.negotiation {
            Negotiation::Legacy => serves(Era::Legacy),
            Negotiation::Pinned(version) => serves(version.era()),
            Negotiation::Auto | _ => true,
        }
    }

    /// Whether the version to speak has forms.
    pub(super) fn elicits(&self) -> bool {
        let without = [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26];
        let pinned =
            |version: &ProtocolVersion| self.config.negotiation == Negotiation::Pinned(*version);
        !without.iter().any(pinned)
    }
}
