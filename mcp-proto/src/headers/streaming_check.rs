//! Check of a body against its head while the body is forwarded, for gateways.
//!
//! In: the [`Claim`] of a head, and the body in pieces, split anywhere. Out: the contradiction, at
//! the first piece that shows it. Only the few mirrored strings of the body are stored, each until
//! it is compared.
//!
//! [Specification: Server Validation](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation)

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use super::body::BodyError;
use super::check::{Claim, same};
use super::name::{METHOD, NAME, PROTOCOL_VERSION, name_member};
use crate::error::{HeaderError, ProtocolError};
use crate::json::Raw;
use crate::json::scan::{MAX_DEPTH, ScanError};
use crate::json::walk::{Part, Walker};
use crate::message::Member;

/// The maximum bytes of an escaped byte of a text, as in `\u0061`.
const LONGEST_ESCAPE: usize = 6;

/// The minimum bytes of a text that are collected for an error.
const SHOWN: usize = 600;

/// Checks a body against its head while the body is forwarded.
///
/// Each piece is checked before it is forwarded. The piece that shows a difference is refused, at
/// the latest the piece that ends the message. No server behind the gateway therefore gets a whole
/// body that differs. After an error, abort the request to the server; do not complete it.
///
/// ```
/// use mcp_proto::headers::{BodyCheck, MirroredHeaders};
///
/// let head = MirroredHeaders::of([
///     ("mcp-protocol-version", &b"2026-07-28"[..]),
///     ("mcp-method", b"tools/call"),
///     ("mcp-name", b"add"),
/// ]);
/// let mut check = BodyCheck::of(&head.claim()?);
/// check.pass(br#"{"jsonrpc":"2.0","id":1,"method":"tools/"#)?;
/// check.pass(br#"call","params":{"arguments":{"#)?;
/// check.pass(br#""n":1},"name":"drop"#)?;
/// let error = check.pass(br#"","_me"#).unwrap_err();
/// assert!(error.to_string().starts_with(r#"Mcp-Name says "add", and the body "drop""#));
/// # Ok::<(), mcp_proto::headers::BodyError>(())
/// ```
///
/// The errors are those of [`MirroredHeaders::check_body`](super::MirroredHeaders::check_body) for
/// a whole body, with four exceptions. Errors come in the order of the body. A member that leads
/// to a mirrored value must not be duplicate, as parsers differ in the value that they use.
/// A notification does not pass unchecked: each mirrored member that it has is compared.
/// `Mcp-Param-*` are left to the server, as their meaning depends on the tool. All other checks are
/// left to the server, too: of texts, numbers and literals that no header mirrors, this check only
/// finds the ends.
///
/// One text is stored at a time, and only a text that may be a value of the claim. A stored text
/// takes up to six times the bytes of the value, if all are escaped, or 600 bytes. Messages are
/// nested at most 128 deep.
#[derive(Clone, Debug)]
pub struct BodyCheck {
    walker: Walker,
    reader: BodyReader,
    /// The error, which all later calls return.
    failed: Option<BodyError>,
}

/// Position of the walk in the message, and the values read so far.
#[derive(Clone, Debug)]
struct BodyReader {
    protocol_version: String,
    method: String,
    name: String,
    /// The member that `name` mirrors.
    name_member: Option<&'static str>,
    /// Number of open containers.
    depth: usize,
    /// Number of containers, from the outside, that lead to watched members: the message, `params`,
    /// `_meta`.
    level: usize,
    /// The key of the next value, if it is watched.
    key: Option<WatchedMember>,
    /// The current key or string, from its first quote on.
    text: Vec<u8>,
    reading: ReadingState,
    seen: Vec<WatchedMember>,
    is_done: bool,
}

/// Use of the text of a key or a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReadingState {
    Nothing,
    Key,
    Value(WatchedMember),
}

/// A member that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WatchedMember {
    Id,
    Method,
    Params,
    Name,
    Meta,
    ProtocolVersion,
    /// Only its presence is checked.
    ClientCapabilities,
}

impl BodyCheck {
    /// The check of a body whose head has this claim.
    pub fn of(claim: &Claim<'_>) -> Self {
        let reader = BodyReader {
            protocol_version: claim.protocol_version.to_owned(),
            method: claim.method.to_owned(),
            name: claim.name.as_deref().unwrap_or_default().to_owned(),
            name_member: name_member(claim.method),
            depth: 0,
            level: 0,
            key: None,
            text: Vec::new(),
            reading: ReadingState::Nothing,
            seen: Vec::new(),
            is_done: false,
        };
        Self { walker: Walker::new(MAX_DEPTH), reader, failed: None }
    }

    /// Checks that the next piece of the body may be forwarded. An error is final: all later calls
    /// return the same error.
    pub fn pass(&mut self, piece: &[u8]) -> Result<(), BodyError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let Self { walker, reader, failed } = self;
        let walked = walker.walk(piece, |part| reader.visit(part).map_err(CheckFailure));
        walked.map_err(|CheckFailure(error)| failed.insert(error).clone())
    }

    /// Returns whether the message is complete and agrees with the head; only whitespace may
    /// follow. No server accepts a body that ends earlier.
    pub fn is_done(&self) -> bool {
        self.reader.is_done && self.failed.is_none()
    }
}

impl BodyReader {
    fn visit(&mut self, part: Part<'_>) -> Result<(), BodyError> {
        match part {
            Part::Key => {
                let watches = self.depth == self.level;
                self.read(if watches { ReadingState::Key } else { ReadingState::Nothing });
            }
            Part::Text(text) => return self.collect(text),
            Part::TextEnd => return self.text_end(),
            Part::Close => {
                if self.depth == self.level {
                    self.level -= 1;
                }
                self.depth -= 1;
                if self.depth == 0 {
                    return self.end();
                }
            }
            Part::Object | Part::Array | Part::String | Part::Scalar => return self.value(part),
        }
        Ok(())
    }

    fn value(&mut self, part: Part<'_>) -> Result<(), BodyError> {
        let watched = self.key.take();
        let leads = match (watched, part) {
            (None, Part::Array) if self.depth == 0 => {
                return Err(ProtocolError::UnexpectedBatch.into());
            }
            (None, Part::Object) if self.depth == 0 => true,
            (None, _) if self.depth == 0 => return Err(ProtocolError::NotAMessage.into()),
            (Some(WatchedMember::Params | WatchedMember::Meta), Part::Object) => true,
            (Some(watched), part) => {
                watched.check_type(part)?;
                false
            }
            (None, _) => false,
        };
        if let Part::Object | Part::Array = part {
            self.depth += 1;
        } else {
            self.read(watched.map_or(ReadingState::Nothing, ReadingState::Value));
        }
        if leads {
            self.level += 1;
        }
        Ok(())
    }

    fn read(&mut self, reading: ReadingState) {
        self.reading = reading;
        self.text.clear();
        self.text.push(b'"');
    }

    /// Collects more of a text, as long as it may still match.
    fn collect(&mut self, text: &[u8]) -> Result<(), BodyError> {
        let compared = match self.reading {
            ReadingState::Nothing => return Ok(()),
            ReadingState::Key => Member::MetaProtocolVersion.name(),
            ReadingState::Value(watched) => match self.claimed_value(watched) {
                Some((_, claimed)) => claimed,
                None => return Ok(()),
            },
        };
        let longest = (LONGEST_ESCAPE * compared.len()).max(SHOWN);
        let room = longest.saturating_sub(self.text.len() - 1);
        self.text.extend(text.iter().take(room));
        if text.len() <= room {
            return Ok(());
        }
        match core::mem::replace(&mut self.reading, ReadingState::Nothing) {
            ReadingState::Nothing | ReadingState::Key => Ok(()),
            ReadingState::Value(watched) => {
                let beginning = self.text.get(1..).unwrap_or_default();
                self.compare(watched, &String::from_utf8_lossy(beginning))
            }
        }
    }

    fn text_end(&mut self) -> Result<(), BodyError> {
        if self.reading == ReadingState::Nothing {
            return Ok(());
        }
        self.text.push(b'"');
        let text = core::mem::take(&mut self.text);
        let string = Raw(&text).string();
        match core::mem::replace(&mut self.reading, ReadingState::Nothing) {
            ReadingState::Nothing => {}
            ReadingState::Key => {
                self.key = string.as_deref().and_then(|key| self.watched_member(key));
                if let Some(watched) = self.key {
                    if self.seen.contains(&watched) {
                        let member = self.name_of(watched);
                        return Err(ProtocolError::DuplicateMember { member }.into());
                    }
                    self.seen.push(watched);
                }
            }
            ReadingState::Value(watched) => match string {
                Some(said) => self.compare(watched, &said)?,
                None => return Err(watched.not_unicode()),
            },
        }
        Ok(())
    }

    fn compare(&self, watched: WatchedMember, said: &str) -> Result<(), BodyError> {
        let Some((header, claimed)) = self.claimed_value(watched) else { return Ok(()) };
        same(Cow::Borrowed(header), claimed, said).map_err(BodyError::Header)
    }

    /// Handles the end of the message: checks the required members.
    fn end(&mut self) -> Result<(), BodyError> {
        if !self.seen.contains(&WatchedMember::Method) {
            return Err(ProtocolError::UnexpectedResponse.into());
        }
        // A notification needs no claim.
        if self.seen.contains(&WatchedMember::Id)
            && !self.seen.contains(&WatchedMember::ProtocolVersion)
        {
            let client_capabilities = !self.seen.contains(&WatchedMember::ClientCapabilities);
            return Err(
                ProtocolError::MissingMeta { protocol_version: true, client_capabilities }.into()
            );
        }
        self.is_done = true;
        Ok(())
    }

    /// The header that mirrors a member, and its value.
    fn claimed_value(&self, watched: WatchedMember) -> Option<(&'static str, &str)> {
        match watched {
            WatchedMember::Method => Some((METHOD, &self.method)),
            WatchedMember::Name => Some((NAME, &self.name)),
            WatchedMember::ProtocolVersion => Some((PROTOCOL_VERSION, &self.protocol_version)),
            WatchedMember::Id
            | WatchedMember::Params
            | WatchedMember::Meta
            | WatchedMember::ClientCapabilities => None,
        }
    }

    /// The watched member with this key, in the innermost container.
    fn watched_member(&self, key: &str) -> Option<WatchedMember> {
        match (self.level, key) {
            (1, "id") => Some(WatchedMember::Id),
            (1, "method") => Some(WatchedMember::Method),
            (1, "params") => Some(WatchedMember::Params),
            (2, "_meta") => Some(WatchedMember::Meta),
            (2, key) if Some(key) == self.name_member => Some(WatchedMember::Name),
            (3, key) if key == Member::MetaProtocolVersion.name() => {
                Some(WatchedMember::ProtocolVersion)
            }
            (3, key) if key == Member::MetaClientCapabilities.name() => {
                Some(WatchedMember::ClientCapabilities)
            }
            _ => None,
        }
    }

    fn name_of(&self, watched: WatchedMember) -> &'static str {
        match watched {
            WatchedMember::Id => "id",
            WatchedMember::Method => "method",
            WatchedMember::Params => "params",
            WatchedMember::Name => self.name_member.unwrap_or_default(),
            WatchedMember::Meta => Member::Meta.name(),
            WatchedMember::ProtocolVersion => Member::MetaProtocolVersion.name(),
            WatchedMember::ClientCapabilities => Member::MetaClientCapabilities.name(),
        }
    }
}

impl WatchedMember {
    /// Checks the type of a watched value, given its first part.
    fn check_type(self, part: Part<'_>) -> Result<(), ProtocolError> {
        let key = Member::MetaProtocolVersion.name();
        match self {
            // The server reports invalid parameters itself.
            Self::Id | Self::Name | Self::ClientCapabilities => Ok(()),
            Self::Method | Self::ProtocolVersion if part == Part::String => Ok(()),
            Self::Method => Err(ProtocolError::InvalidMethod),
            Self::ProtocolVersion => Err(ProtocolError::InvalidMeta { key, expected: "a string" }),
            Self::Params => Err(ProtocolError::ParamsNotObject),
            Self::Meta => {
                let key = Member::Meta.name();
                Err(ProtocolError::InvalidMeta { key, expected: "an object" })
            }
        }
    }

    /// The error of a value that is not Unicode, which no header can mirror.
    fn not_unicode(self) -> BodyError {
        let header = match self {
            Self::Method => METHOD,
            Self::ProtocolVersion => PROTOCOL_VERSION,
            Self::Id | Self::Params | Self::Name | Self::Meta | Self::ClientCapabilities => NAME,
        };
        BodyError::Header(HeaderError::NotUnicode { header: header.into() })
    }
}

/// An error on the way through a walker.
struct CheckFailure(BodyError);

impl From<ScanError> for CheckFailure {
    fn from(error: ScanError) -> Self {
        Self(BodyError::Message(match error {
            ScanError::Syntax(at) => ProtocolError::Syntax { at },
            ScanError::Depth => ProtocolError::TooDeep { max_depth: MAX_DEPTH },
        }))
    }
}
