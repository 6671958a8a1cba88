//! The parameters of a request or notification, with the places of what routing reads.

use crate::json::scan::{ScanError, Scanner, Span};
use crate::json::{Json, Raw};

/// A member of `params`, or of `params._meta`, that a machine reads by itself.
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
    const COUNT: usize = Self::MetaBaggage as usize + 1;

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

    /// What it is called, from `params` on.
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

/// The parameters of a message: the object as it came.
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

    /// The same, sharing no memory with the message that it came in.
    pub(crate) fn detach(&self) -> Self {
        Self { json: self.json.detach(), members: self.members }
    }

    /// `{}`, or none at all.
    pub(crate) fn empty() -> Self {
        Self::new(Json::EMPTY_OBJECT, Members::default())
    }

    pub(crate) fn new(json: Json, members: Members) -> Self {
        Self { json, members }
    }
}

/// The places of the members, counted from the start of the object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Members {
    spans: [Span; Member::COUNT],
    /// The first member that stood twice.
    pub(crate) duplicate: Option<Member>,
}

impl Members {
    fn get(&self, member: Member) -> Option<Span> {
        self.spans.get(member as usize).copied().filter(|span| !span.is_empty())
    }

    fn set(&mut self, member: Member, span: Span) {
        if let Some(place) = self.spans.get_mut(member as usize) {
            if !place.is_empty() {
                self.duplicate.get_or_insert(member);
            }
            *place = span;
        }
    }

    /// Walks over the object that comes next.
    pub(crate) fn scan(
        &mut self,
        scanner: &mut Scanner<'_>,
        text: &[u8],
    ) -> Result<Span, ScanError> {
        let object = scanner.members(|scanner, key| {
            match Raw(key.of(text)).lookup(Member::of_params) {
                Some(Member::Meta) if scanner.peek() == Some(b'{') => {
                    let meta = self.scan_meta(scanner, text)?;
                    self.set(Member::Meta, meta);
                }
                Some(member) => {
                    let value = scanner.value()?;
                    self.set(member, value);
                }
                None => {
                    scanner.value()?;
                }
            }
            Ok(())
        })?;
        for span in &mut self.spans {
            *span = span.within(object);
        }
        Ok(object)
    }

    fn scan_meta(&mut self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<Span, ScanError> {
        scanner.members(|scanner, key| {
            let value = scanner.value()?;
            if let Some(member) = Raw(key.of(text)).lookup(Member::of_meta) {
                self.set(member, value);
            }
            Ok(())
        })
    }
}
