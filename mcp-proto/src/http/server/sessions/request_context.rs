//! Context of a legacy client's request, and the position from which its answer is read.
//!
//! In: the head of a request, and a session. Out: errors in the head.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::net::IpAddr;

use super::super::action::{EndpointAction, Queue};
use super::super::unsent::Unsent;
use super::session::Session;
use super::stream::event_id;
use crate::error::ProtocolError;
use crate::json::Raw;
use crate::message::{Incoming, Member, Message};
use crate::server::{Extensions, ServerEvent};
use crate::version::{Era, ProtocolVersion};

/// Context of a legacy client's request: its MCP headers, principal and peer address.
#[derive(Clone, Debug)]
pub(in super::super) struct RequestContext {
    pub(in super::super) session: SessionHeader,
    /// `MCP-Protocol-Version`.
    pub(in super::super) version: VersionHeader,
    pub(in super::super) principal: Option<Arc<str>>,
    /// The values for handlers.
    pub(in super::super) extensions: Extensions,
    /// The address of the client, if an adapter has set it.
    pub(in super::super) peer: Option<IpAddr>,
}

/// A header field that may occur at most once in a head.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Field<'a> {
    Absent,
    Once(&'a [u8]),
    Repeated,
}

impl<'a> Field<'a> {
    /// Adds an occurrence of the field.
    pub(in super::super) fn add(&mut self, value: &'a [u8]) {
        *self = match self {
            Self::Absent => Self::Once(value),
            Self::Once(_) | Self::Repeated => Self::Repeated,
        };
    }
}

const REPEATED_VERSION: ProtocolError =
    ProtocolError::RepeatedHeader { name: "MCP-Protocol-Version" };

/// The revision in a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum VersionHeader {
    Absent,
    Known(ProtocolVersion),
    Unknown(Box<str>),
    /// There are several fields, perhaps with different values.
    Repeated,
}

impl VersionHeader {
    pub(in super::super) fn read(header: Field<'_>) -> Self {
        let header = match header {
            Field::Absent => return Self::Absent,
            Field::Once(header) => header,
            Field::Repeated => return Self::Repeated,
        };
        let known = |name: &[u8]| {
            ProtocolVersion::ALL.iter().copied().find(|known| known.as_str().as_bytes() == name)
        };
        let copies = || known(copies(header)?).filter(|known| known.era() == Era::Legacy);
        let unknown = || Self::Unknown(String::from_utf8_lossy(header).into());
        known(header).or_else(copies).map_or_else(unknown, Self::Known)
    }

    /// The legacy revision that the header names. Fails if the header names any other revision, or
    /// occurs several times.
    pub(in super::super) fn legacy(&self) -> Result<Option<ProtocolVersion>, ProtocolError> {
        let version = match self {
            Self::Absent => return Ok(None),
            Self::Known(version) if version.era() == Era::Legacy => return Ok(Some(*version)),
            Self::Known(version) => version.as_str().into(),
            Self::Unknown(version) => version.to_string(),
            Self::Repeated => return Err(REPEATED_VERSION),
        };
        Err(ProtocolError::VersionNotServed { version })
    }

    /// The revision of errors before the session is looked up. Modern clients have no sessions.
    pub(in super::super) fn error_revision(&self, session: SessionHeader) -> ProtocolVersion {
        match self {
            Self::Known(version) => *version,
            Self::Absent | Self::Unknown(_) | Self::Repeated
                if session == SessionHeader::Absent =>
            {
                ProtocolVersion::LATEST_MODERN
            }
            Self::Absent | Self::Unknown(_) | Self::Repeated => ProtocolVersion::LATEST_LEGACY,
        }
    }

    /// Returns whether the header names a modern revision.
    pub(in super::super) fn is_modern(&self) -> bool {
        matches!(self, Self::Known(version) if version.era() == Era::Modern)
    }
}

/// The value of which a field is a list of copies. Claude Code sets the version at two places, and
/// its HTTP stack joins the values; so do some proxies.
fn copies(header: &[u8]) -> Option<&[u8]> {
    let mut values = header.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// `Mcp-Session-Id`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum SessionHeader {
    Absent,
    /// A value that this server never uses as an id.
    Invalid,
    /// There are several fields.
    Repeated,
    Id(SessionKey),
}

/// A session id. As bytes, since the alignment of a number would make each request larger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct SessionKey([u8; 16]);

impl SessionKey {
    fn new(key: u128) -> Self {
        Self(key.to_ne_bytes())
    }

    fn get(self) -> u128 {
        u128::from_ne_bytes(self.0)
    }
}

/// A reader's position in a stream.
#[derive(Debug)]
pub(in super::super) struct StreamCursor {
    pub(super) session: u128,
    pub(super) stream: u64,
    pub(super) reader: u64,
    /// The last event that the reader has received.
    pub(super) after: u64,
    /// True if the client's revision allows events without data.
    pub(super) priming: bool,
}

#[derive(Debug)]
pub(in super::super) enum PostOutcome {
    /// The response is 202.
    Accepted,
    /// The answer is read from this position.
    Asked(StreamCursor),
    /// The answer is read from this position, but there is no event yet: the reader is woken later.
    Pending(StreamCursor),
    /// The answer is read from this position, and the session is new.
    Opened(StreamCursor),
    /// A refusal, or an `initialize` that was answered with an error.
    Answered { status: u16, message: Unsent },
}

impl SessionHeader {
    /// The session id. Fails if the header has none.
    pub(super) fn key(self, serves_modern: bool) -> Result<u128, ProtocolError> {
        match self {
            Self::Id(key) => Ok(key.get()),
            Self::Invalid => Err(ProtocolError::SessionNotFound),
            Self::Repeated => Err(ProtocolError::RepeatedHeader { name: "Mcp-Session-Id" }),
            Self::Absent => Err(ProtocolError::BeforeInitialize { serves_modern }),
        }
    }

    /// Reads the header. An empty one is sent by clients that have no session yet: "The session ID
    /// MUST only contain visible ASCII characters".
    pub(in super::super) fn read(header: Field<'_>) -> Self {
        let header = match header {
            Field::Absent | Field::Once([]) => return Self::Absent,
            Field::Once(header) => header,
            Field::Repeated => return Self::Repeated,
        };
        if header.len() != 32 {
            return Self::Invalid;
        }
        let (words, _) = header.as_chunks();
        let id =
            words.iter().try_fold(0_u128, |id, word| Some(id << 32 | u128::from(digits(*word)?)));
        id.map_or(Self::Invalid, |id| Self::Id(SessionKey::new(id)))
    }
}

/// The number that eight lower-case hexadecimal digits encode.
fn digits(text: [u8; 8]) -> Option<u32> {
    const fn all(byte: u8) -> u64 {
        u64::from_be_bytes([byte; 8])
    }
    let text = u64::from_be_bytes(text);
    // Digits have bit 4 and letters bit 6; letters are counted from 1.
    let letters = text >> 6 & all(1);
    let nibbles = (text & all(0xF)) + 9 * letters;
    // Any other character would be encoded differently.
    let letters_again = (nibbles + all(6)) >> 4 & all(1);
    let spelled = nibbles + all(b'0') + letters_again * u64::from(b'a' - b'9' - 1);
    if nibbles & !all(0xF) != 0 || spelled != text {
        return None;
    }
    let pairs = (nibbles | nibbles >> 4) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF;
    u32::try_from((fours | fours >> 16) & 0xFFFF_FFFF).ok()
}

impl StreamCursor {
    /// The session id, in the form of the header.
    pub(in super::super) fn session_id(&self) -> String {
        alloc::format!("{:032x}", self.session)
    }

    /// Returns whether this is the stream of a GET, which answers no request.
    pub(in super::super) fn is_common(&self) -> bool {
        self.stream == super::streams::GET_STREAM
    }

    /// The last event that the reader has received.
    pub(in super::super) fn after(&self) -> u64 {
        self.after
    }

    /// Event id of the last event that the reader has received.
    pub(in super::super) fn event_id(&self) -> String {
        event_id(self.stream, self.after)
    }

    /// Id of the priming event for a reader whose last event was `after`. A priming event has no
    /// data and comes before all others. `None` if the client does not know events without data.
    pub(in super::super) fn priming(&self, after: u64) -> Option<String> {
        self.priming.then(|| event_id(self.stream, after))
    }
}

/// Checks that the header names a revision with sessions. A revision other than that of the session
/// is reported as the client's fault, and the session's revision applies.
pub(super) fn check_version<W: Clone>(
    session: &Session<W>,
    context: &RequestContext,
    queue: &mut Queue<W>,
) -> Result<(), ProtocolError> {
    let Some(version) = context.version.legacy()? else { return Ok(()) };
    if let Some(expected) = session.version()
        && expected != version
    {
        let header = version.as_str().into();
        let expected = expected.as_str().into();
        let error = ProtocolError::VersionDiffers { header, expected };
        queue.push_back(EndpointAction::Event(ServerEvent::PeerFault(error)));
    }
    Ok(())
}

/// Returns an error if the header of an `initialize` names another version than its body.
pub(super) fn differs(context: &RequestContext, incoming: &Incoming) -> Option<ProtocolError> {
    let header = match &context.version {
        VersionHeader::Absent => return None,
        VersionHeader::Known(version) => version.as_str().into(),
        VersionHeader::Unknown(version) => version.to_string(),
        VersionHeader::Repeated => return Some(REPEATED_VERSION),
    };
    let Incoming::Message(Message::Request(request)) = incoming else { return None };
    let asked = request.params.raw(Member::ProtocolVersion);
    let expected = asked.and_then(Raw::string)?.into_owned();
    (header != expected).then_some(ProtocolError::VersionDiffers { header, expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_digits_in_lower_case_and_nothing_else() {
        let id = b"0123456789abcdeffedcba9876543210";
        assert_eq!(
            SessionHeader::read(Field::Once(id)),
            SessionHeader::Id(SessionKey::new(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210))
        );
        for at in 0..id.len() {
            for byte in 0..=u8::MAX {
                let mut other = *id;
                other[at] = byte;
                let plain = core::str::from_utf8(&other).ok().filter(|text| {
                    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
                });
                let number = plain.and_then(|text| u128::from_str_radix(text, 16).ok());
                let id = |number| SessionHeader::Id(SessionKey::new(number));
                let expected = number.map_or(SessionHeader::Invalid, id);
                assert_eq!(SessionHeader::read(Field::Once(&other)), expected, "{byte:#x} at {at}");
            }
        }
        assert_eq!(SessionHeader::read(Field::Once(&id[1..])), SessionHeader::Invalid);
        assert_eq!(SessionHeader::read(Field::Absent), SessionHeader::Absent);
    }
}
