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
#[derive(Debug)]
pub(in super::super) struct Caller {
    pub(in super::super) session: Token,
    /// `MCP-Protocol-Version`.
    pub(in super::super) version: Option<String>,
    pub(in super::super) principal: Option<Arc<str>>,
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
    pub(in super::super) primes: bool,
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
        let digits = core::str::from_utf8(header).ok().filter(|text| text.len() == 32);
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let digits = digits.filter(|text| text.bytes().all(is_digit));
        digits
            .and_then(|digits| u128::from_str_radix(digits, 16).ok())
            .map_or(Self::Invalid, Self::Id)
    }
}

impl Place {
    /// The session, as its header has it.
    pub(in super::super) fn session_id(&self) -> String {
        alloc::format!("{:032x}", self.session)
    }

    /// The event that the reader had last.
    pub(in super::super) fn event_id(&self) -> String {
        event_id(self.stream, self.after)
    }
}

/// Whether the header names a revision with sessions. One that the session does not have is
/// reported, and that of the session counts.
pub(super) fn check_version<W: Clone>(
    session: &Session<W>,
    caller: &Caller,
    queue: &mut Queue<W>,
) -> Result<(), ProtocolError> {
    let Some(header) = &caller.version else { return Ok(()) };
    let version = ProtocolVersion::from_name(header);
    let version = version.filter(|version| version.era() == Era::Legacy);
    let not_served = || ProtocolError::VersionNotServed { version: header.clone() };
    let version = version.ok_or_else(not_served)?;
    if let Some(expected) = session.version()
        && expected != version
    {
        let (header, expected) = (header.clone(), expected.as_str().into());
        let error = ProtocolError::VersionDiffers { header, expected };
        queue.push_back(EndpointAction::Event(ServerEvent::PeerFault(error)));
    }
    Ok(())
}

/// What is wrong if the header of an `initialize` names another version than its body.
pub(super) fn differs(caller: &Caller, incoming: &Incoming) -> Option<ProtocolError> {
    let header = caller.version.clone()?;
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
