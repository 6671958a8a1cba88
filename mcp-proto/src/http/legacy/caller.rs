//! Who sends a legacy client's request, and where its answer comes from.
//!
//! In: the head of a request, and a session. Out: what is wrong with the head, if anything.

use alloc::string::String;
use alloc::sync::Arc;

use super::session::{Queue, Session};
use super::stream::event_id;
use crate::error::ProtocolError;
use crate::http::EndpointAction;
use crate::json::Raw;
use crate::message::{Incoming, Member, Message, Method};
use crate::server::ServerEvent;
use crate::version::{Era, ProtocolVersion};

/// What the head of a legacy client's request says.
#[derive(Clone, Debug)]
pub(in super::super) struct Caller {
    pub(in super::super) session: Token,
    /// `MCP-Protocol-Version`.
    pub(in super::super) version: Named,
    pub(in super::super) principal: Option<Arc<str>>,
}

/// A revision, as a header names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Named {
    Absent,
    Known(ProtocolVersion),
    Unknown(String),
}

impl Named {
    /// What a header says.
    pub(in super::super) fn read(header: Option<&[u8]>) -> Self {
        let Some(header) = header else { return Self::Absent };
        let known = ProtocolVersion::ALL.iter().find(|known| known.as_str().as_bytes() == header);
        let unknown = || Self::Unknown(String::from_utf8_lossy(header).into_owned());
        known.map_or_else(unknown, |known| Self::Known(*known))
    }

    /// The legacy revision that it names; an error if it names something else.
    pub(in super::super) fn legacy(&self) -> Result<Option<ProtocolVersion>, ProtocolError> {
        let version = match self {
            Self::Absent => return Ok(None),
            Self::Known(version) if version.era() == Era::Legacy => return Ok(Some(*version)),
            Self::Known(version) => version.as_str().into(),
            Self::Unknown(version) => version.clone(),
        };
        Err(ProtocolError::VersionNotServed { version })
    }

    /// Whether it names a modern revision.
    pub(in super::super) fn is_modern(&self) -> bool {
        matches!(self, Self::Known(version) if version.era() == Era::Modern)
    }
}

/// `Mcp-Session-Id`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Token {
    Absent,
    /// One that is never given out.
    Invalid,
    Id(u128),
}

/// A reader's place at a stream.
#[derive(Debug)]
pub(in super::super) struct Place {
    pub(super) session: u128,
    pub(super) stream: u64,
    pub(super) reader: u64,
    /// The event that it had last.
    pub(super) after: u64,
    /// Whether the client knows events without data.
    pub(super) primes: bool,
}

/// What comes of a POST.
#[derive(Debug)]
pub(in super::super) enum Posted {
    /// 202.
    Accepted,
    /// Its answer comes from here.
    Asked(Place),
    /// The same, and the session is new.
    Opened(Place),
    /// A refusal, or an `initialize` that was answered with an error.
    Answered { status: u16, data: bytes::Bytes },
}

impl Token {
    /// What a header says.
    pub(in super::super) fn read(header: Option<&[u8]>) -> Self {
        let Some(header) = header else { return Self::Absent };
        if header.len() != 32 {
            return Self::Invalid;
        }
        let half = |digits: &[u8]| {
            digits.iter().try_fold(0_u64, |id, byte| {
                let digit = match byte {
                    b'0'..=b'9' => byte - b'0',
                    b'a'..=b'f' => byte - b'a' + 10,
                    _ => return None,
                };
                Some(id << 4 | u64::from(digit))
            })
        };
        let (high, low) = header.split_at(16);
        match (half(high), half(low)) {
            (Some(high), Some(low)) => Self::Id(u128::from(high) << 64 | u128::from(low)),
            (None, _) | (_, None) => Self::Invalid,
        }
    }
}

impl Place {
    /// The session, as its header has it.
    pub(in super::super) fn session_id(&self) -> String {
        alloc::format!("{:032x}", self.session)
    }

    /// The event that the reader had last.
    pub(in super::super) fn after(&self) -> u64 {
        self.after
    }

    /// What that is called.
    pub(in super::super) fn event_id(&self) -> String {
        event_id(self.stream, self.after)
    }

    /// What the event without data is called that goes before all others, for a reader that had
    /// `after` last; `None` if the client knows no such event.
    pub(in super::super) fn priming(&self, after: u64) -> Option<String> {
        self.primes.then(|| event_id(self.stream, after))
    }
}

/// Whether the header names a revision with sessions. One that the session does not have is
/// reported, and that of the session counts.
pub(super) fn check_version<W: Clone>(
    session: &Session<W>,
    caller: &Caller,
    queue: &mut Queue<W>,
) -> Result<(), ProtocolError> {
    let Some(version) = caller.version.legacy()? else { return Ok(()) };
    if let Some(expected) = session.version()
        && expected != version
    {
        let (header, expected) = (version.as_str().into(), expected.as_str().into());
        let error = ProtocolError::VersionDiffers { header, expected };
        queue.push_back(EndpointAction::Event(ServerEvent::PeerFault(error)));
    }
    Ok(())
}

/// What is wrong if the header of an `initialize` names another version than its body.
pub(super) fn differs(caller: &Caller, incoming: &Incoming) -> Option<ProtocolError> {
    let header = match &caller.version {
        Named::Absent => return None,
        Named::Known(version) => version.as_str().into(),
        Named::Unknown(version) => version.clone(),
    };
    let Incoming::Message(Message::Request(request)) = incoming else { return None };
    let asked = request.params.raw(Member::ProtocolVersion);
    let expected = asked.and_then(Raw::string)?.into_owned();
    (header != expected).then_some(ProtocolError::VersionDiffers { header, expected })
}

pub(super) fn opens(incoming: &Incoming) -> bool {
    match incoming {
        Incoming::Message(Message::Request(request)) => {
            matches!(request.method, Method::Initialize)
        }
        Incoming::Message(Message::Notification(_) | Message::Response(_)) | Incoming::Batch(_) => {
            false
        }
    }
}
