//! Ways to serve over HTTP, and the features that each lacks.

use std::str::FromStr;

use mcp_proto::{Era, ProtocolVersion};

use super::mode::Mode;
use super::servers::Server;

/// Way in which a server is served over HTTP, as far as the SDK has a choice. Sessions concern only
/// the legacy era.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Serving {
    /// With sessions, and answers that are streams.
    Sessions,
    /// Without sessions.
    Stateless,
    /// With answers in one piece.
    Json,
    /// By HTTP+SSE, which has the legacy era only.
    Sse,
}

/// Feature that is not tested where a server lacks it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    /// Progress is told.
    Progress,
    /// Input is asked for.
    Input,
    /// Changes are told.
    Changes,
    /// A call that is cancelled hears of it.
    Cancellation,
}

impl Feature {
    /// Features that a conversation lacks.
    pub(super) fn lacking(
        server: &Server,
        serving: Option<Serving>,
        version: ProtocolVersion,
        mode: &Mode,
    ) -> Vec<Self> {
        let era = version.era();
        let mut lacks = serving.map_or_else(Vec::new, |it| (server.lacks)(it, era).to_vec());
        // They had no forms.
        if [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26].contains(&version) {
            lacks.push(Self::Input);
        }
        // Some servers ask there, too.
        if matches!(mode, Mode::Deaf) && era == Era::Legacy {
            lacks.extend([Self::Changes, Self::Input]);
        }
        lacks
    }
}

impl FromStr for Serving {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "sessions" => Self::Sessions,
            "stateless" => Self::Stateless,
            "json" => Self::Json,
            "sse" => Self::Sse,
            _ => return Err(super::USAGE),
        })
    }
}
