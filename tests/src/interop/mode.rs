//! Modes in which a client is connected, and their expected results.

use std::str::FromStr;

use mcp_proto::client::{ConnectError, Negotiation, Verdict};
use mcp_proto::{Era, ProtocolVersion};

use super::Outcome;
use super::servers::Server;
use super::serving::Serving;

/// Mode in which a client is connected.
pub(super) enum Mode {
    /// With nothing stored.
    Fresh(Negotiation),
    /// With what a client before has found out.
    Stored,
    /// With what was never true: that a legacy server is a modern one.
    Stale,
    /// With nothing stored, and closed while a call runs.
    Busy,
    /// Over HTTP: with nothing stored, and the server is started anew while a call runs.
    Restarted,
    /// Over HTTP: without asking for what a server says by itself.
    Deaf,
}

/// Expected result of connecting.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    Connected(ProtocolVersion),
    Fails(fn(&ConnectError) -> bool),
}

impl Mode {
    pub(super) fn negotiation(&self) -> Negotiation {
        match self {
            Self::Fresh(negotiation) => *negotiation,
            Self::Stored | Self::Stale | Self::Busy | Self::Restarted | Self::Deaf => {
                Negotiation::Auto
            }
        }
    }

    /// Expected result on stdio, or over HTTP.
    pub(super) fn expected(&self, server: &Server, serving: Option<Serving>) -> Expected {
        let negotiation = self.negotiation();
        let is_sse = serving == Some(Serving::Sse);
        let Negotiation::Pinned(version) = negotiation else {
            let is_modern = negotiation == Negotiation::Auto && server.is_dual() && !is_sse;
            let modern = ProtocolVersion::LATEST_MODERN;
            return Expected::Connected(if is_modern { modern } else { server.newest_legacy });
        };
        if is_sse && version != ProtocolVersion::V2024_11_05 {
            // So it refuses a POST to the URL of its stream.
            Expected::Fails(|error| matches!(error, ConnectError::Http { status: 404 | 405 }))
        } else if server.speaks(version) {
            Expected::Connected(version)
        } else if version.era() == Era::Modern {
            Expected::Fails(if serving.is_some() {
                server.no_modern_http
            } else {
                server.no_modern
            })
        } else {
            Expected::Fails(|error| matches!(error, ConnectError::NoCommonVersion { .. }))
        }
    }
}

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "auto" => Self::Fresh(Negotiation::Auto),
            "legacy" => Self::Fresh(Negotiation::Legacy),
            "stored" => Self::Stored,
            "stale" => Self::Stale,
            "busy" => Self::Busy,
            "restarted" => Self::Restarted,
            "deaf" => Self::Deaf,
            version => {
                let version = ProtocolVersion::from_name(version).ok_or(super::USAGE)?;
                Self::Fresh(Negotiation::Pinned(version))
            }
        })
    }
}

/// That a legacy server is a modern one.
pub(super) fn stale(server: &Server) -> Outcome<Verdict> {
    if server.is_dual() {
        return Err("no verdict about a server of both eras is stale".into());
    }
    Ok(Verdict::new(ProtocolVersion::LATEST_MODERN))
}
