//! The parameters of a request or notification, with the positions of the members that routing
//! reads.

use smallvec::SmallVec;

use crate::json::scan::{ScanError, Scanner, Span};
use crate::json::{Json, Raw};

/// A member of `params`, or of `params._meta`, that the machines read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Member {
    Arguments,
    Capabilities,
    ClientInfo,
    Cursor,
    InputResponses,
    Meta,
    Name,
    ProtocolVersion,
    Reason,
    RequestId,
    RequestState,
    TaskId,
    Uri,
    MetaClientCapabilities,
    MetaClientInfo,
    MetaLogLevel,
    MetaProgressToken,
    MetaProtocolVersion,
    MetaTraceparent,
    MetaTracestate,
    MetaBaggage,
}

impl Member {
    /// The member of `params` with this key, quotes included.
    fn of_params(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"\"_meta\"" => Self::Meta,
            b"\"arguments\"" => Self::Arguments,
            b"\"capabilities\"" => Self::Capabilities,
            b"\"clientInfo\"" => Self::ClientInfo,
            b"\"cursor\"" => Self::Cursor,
            b"\"inputResponses\"" => Self::InputResponses,
            b"\"name\"" => Self::Name,
            b"\"protocolVersion\"" => Self::ProtocolVersion,
            b"\"reason\"" => Self::Reason,
            b"\"requestId\"" => Self::RequestId,
            b"\"requestState\"" => Self::RequestState,
            b"\"taskId\"" => Self::TaskId,
            b"\"uri\"" => Self::Uri,
            _ => return None,
        })
    }

    /// The member of `params._meta` with this key, quotes included.
    fn of_meta(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"\"io.modelcontextprotocol/clientCapabilities\"" => Self::MetaClientCapabilities,
            b"\"io.modelcontextprotocol/clientInfo\"" => Self::MetaClientInfo,
            b"\"io.modelcontextprotocol/logLevel\"" => Self::MetaLogLevel,
            b"\"io.modelcontextprotocol/protocolVersion\"" => Self::MetaProtocolVersion,
            b"\"progressToken\"" => Self::MetaProgressToken,
            b"\"traceparent\"" => Self::MetaTraceparent,
            b"\"tracestate\"" => Self::MetaTracestate,
            b"\"baggage\"" => Self::MetaBaggage,
            _ => return None,
        })
    }

    /// Name of the member, without the names of its parents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Capabilities => "capabilities",
            Self::ClientInfo => "clientInfo",
            Self::Cursor => "cursor",
            Self::InputResponses => "inputResponses",
            Self::Meta => "_meta",
            Self::Name => "name",
            Self::ProtocolVersion => "protocolVersion",
            Self::Reason => "reason",
            Self::RequestId => "requestId",
            Self::RequestState => "requestState",
            Self::TaskId => "taskId",
            Self::Uri => "uri",
            Self::MetaClientCapabilities => "io.modelcontextprotocol/clientCapabilities",
            Self::MetaClientInfo => "io.modelcontextprotocol/clientInfo",
            Self::MetaLogLevel => "io.modelcontextprotocol/logLevel",
            Self::MetaProgressToken => "progressToken",
            Self::MetaProtocolVersion => "io.modelcontextprotocol/protocolVersion",
            Self::MetaTraceparent => "traceparent",
            Self::MetaTracestate => "tracestate",
            Self::MetaBaggage => "baggage",
        }
    }
}

/// The parameters of a message: the object, unchanged.
#[derive(Clone, Debug)]
pub struct Params {
    json: Json,
    members: Members,
}

impl Params {
    /// The whole object; `{}` if the message had none.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// A member, shared with the object.
    pub(crate) fn get(&self, member: Member) -> Option<Json> {
        self.members.get(member).map(|span| self.json.part(span))
    }

    /// A view of a member.
    pub(crate) fn raw(&self, member: Member) -> Option<Raw<'_>> {
        self.members.get(member).map(|span| Raw(span.of(self.json.as_bytes())))
    }

    /// Returns whether any of these members exists.
    pub(crate) fn has_any(&self, members: &[Member]) -> bool {
        self.members.spans.iter().any(|(member, _)| members.contains(member))
    }

    /// A copy that shares no memory with the message.
    pub(crate) fn detach(&self) -> Self {
        Self { json: self.json.detach(), members: self.members.clone() }
    }

    /// An empty object, as for missing parameters.
    pub(crate) fn empty() -> Self {
        Self::new(Json::EMPTY_OBJECT, Members::default())
    }

    pub(crate) fn new(json: Json, members: Members) -> Self {
        Self { json, members }
    }
}

/// The positions of the members, counted from the start of the object. A message has few of these
/// members, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    spans: SmallVec<[(Member, Span); 6]>,
    /// The first duplicate member.
    pub(crate) duplicate: Option<Member>,
}

impl Members {
    pub(super) fn new(
        spans: impl Iterator<Item = (Member, Span)>,
        duplicate: Option<Member>,
    ) -> Self {
        let mut members = Self { duplicate, ..Self::default() };
        // One by one, since most messages have few.
        spans.for_each(|span| members.spans.push(span));
        members
    }

    /// The members and their positions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Member, Span)> {
        self.spans.iter().copied()
    }

    pub(super) fn get(&self, member: Member) -> Option<Span> {
        self.spans.iter().find(|(at, _)| *at == member).map(|(_, span)| *span)
    }

    fn set_span(&mut self, member: Member, span: Span) {
        match self.spans.iter_mut().find(|(at, _)| *at == member) {
            None => self.spans.push((member, span)),
            Some((_, before)) => {
                self.duplicate.get_or_insert(member);
                *before = span;
            }
        }
    }

    /// Scans the next object.
    pub(crate) fn scan(
        &mut self,
        scanner: &mut Scanner<'_>,
        text: &[u8],
    ) -> Result<Span, ScanError> {
        let object = scanner.members(|scanner, key| {
            match Raw(key.of(text)).lookup(Member::of_params) {
                Some(Member::Meta) if scanner.peek() == Some(b'{') => {
                    let meta = self.scan_meta(scanner, text)?;
                    self.set_span(Member::Meta, meta);
                }
                Some(member) => {
                    let value = scanner.skip_value()?;
                    self.set_span(member, value);
                }
                None => {
                    scanner.skip_value()?;
                }
            }
            Ok(())
        })?;
        for (_, span) in &mut self.spans {
            *span = span.within(object);
        }
        Ok(object)
    }

    fn scan_meta(&mut self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<Span, ScanError> {
        scanner.members(|scanner, key| {
            let value = scanner.skip_value()?;
            if let Some(member) = Raw(key.of(text)).lookup(Member::of_meta) {
                self.set_span(member, value);
            }
            Ok(())
        })
    }
}
