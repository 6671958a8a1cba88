//! Expected results of each cell: the specification's matrix, and its rules for persisted eras.
//!
//! In: a cell. Out: a version, or a failure; and how often the server is started. Nothing of it is
//! read from the code under test.

use mcp_proto::client::Negotiation;
use mcp_proto::{Era, ProtocolVersion};

use super::{Belief, Cell, ServerKind};

/// Expected result of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected {
    /// The version that is spoken in the end, or why there is none.
    pub outcome: Result<ProtocolVersion, Failure>,
    /// Number of times that the server is started.
    pub starts: usize,
}

/// Why there is no connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A legacy client has opened with `initialize`; the error "SHOULD name the protocol versions"
    /// that a modern server supports.
    RefusedWithVersions,
    /// A modern client has asked with `server/discover`, or at once with what it wanted.
    Refused,
    /// It was not answered.
    TimedOut,
    /// The server has ended.
    Closed,
}

/// The eras of a client, as the specification calls them.
enum Client {
    Dual,
    Modern,
    /// With the version that it asks for.
    Legacy(ProtocolVersion),
}

impl Cell {
    /// Result that the specification requires.
    pub fn expected(self) -> Expected {
        match self.client() {
            Client::Dual => self.dual(),
            Client::Modern => self.modern(),
            Client::Legacy(version) => self.legacy(version),
        }
    }

    fn client(self) -> Client {
        match self.negotiation {
            Negotiation::Pinned(version) if version.era() == Era::Modern => Client::Modern,
            Negotiation::Pinned(version) => Client::Legacy(version),
            Negotiation::Legacy => Client::Legacy(ProtocolVersion::LATEST_LEGACY),
            Negotiation::Auto => Client::Dual,
            other => unreachable!("{other:?} is no way of the matrix"),
        }
    }

    /// "Dual-era: works", whatever the server is.
    fn dual(self) -> Expected {
        let legacy = ProtocolVersion::LATEST_LEGACY;
        let (version, starts) = match (self.server, self.believed()) {
            // What is believed of a server and works is not looked at again.
            (ServerKind::Auto | ServerKind::Exits, Some(Era::Legacy))
            | (ServerKind::LegacyOnly | ServerKind::Silent, _) => (legacy, 1),
            (ServerKind::Auto | ServerKind::ModernOnly, _) => (ProtocolVersion::LATEST_MODERN, 1),
            // What it hears first ends it.
            (ServerKind::Exits, _) => (legacy, 2),
        };
        Expected { outcome: Ok(version), starts }
    }

    /// "Modern, legacy: fails."
    fn modern(self) -> Expected {
        let outcome = match self.server {
            ServerKind::Auto | ServerKind::ModernOnly => Ok(ProtocolVersion::LATEST_MODERN),
            ServerKind::LegacyOnly => Err(Failure::Refused),
            ServerKind::Silent => Err(Failure::TimedOut),
            ServerKind::Exits => Err(Failure::Closed),
        };
        Expected { outcome, starts: 1 }
    }

    /// "Legacy, modern: fails. Legacy clients have no fall-forward mechanism."
    fn legacy(self, version: ProtocolVersion) -> Expected {
        let outcome = match self.server {
            ServerKind::ModernOnly => Err(Failure::RefusedWithVersions),
            ServerKind::Auto | ServerKind::LegacyOnly | ServerKind::Exits | ServerKind::Silent => {
                Ok(version)
            }
        };
        Expected { outcome, starts: 1 }
    }

    /// The era that the client takes the server's to be.
    fn believed(self) -> Option<Era> {
        match self.belief {
            Belief::Nothing => None,
            Belief::Modern | Belief::Discovered => Some(Era::Modern),
            Belief::Legacy | Belief::OldLegacy => Some(Era::Legacy),
        }
    }
}
