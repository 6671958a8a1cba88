//! `_meta` of modern requests: version, client and capabilities.
//!
//! In: the [`Params`] of a request whose `_meta` claims a version. Out: a [`RequestMeta`], or
//! the envelope error that names the key at fault.
//!
//! [Specification: `_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)

use alloc::boxed::Box;

use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::limits::Limits;
use crate::message::{Member, Params, ProgressToken};
use crate::types::LoggingLevel;

/// The key of `_meta` for the `Implementation` of a server.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The key of `_meta` for the subscription of a message.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The per-request fields besides the version that only modern clients send.
pub(crate) const PER_REQUEST: &[Member] =
    &[Member::MetaClientCapabilities, Member::MetaClientInfo, Member::MetaLogLevel];

/// The `_meta` of a modern request, checked.
#[derive(Clone, Debug)]
pub(crate) struct RequestMeta {
    pub(crate) client_capabilities: Json,
    pub(crate) client_info: Option<Json>,
    /// The least severe log messages that the client wants; `None` for no messages.
    pub(crate) log_level: Option<LoggingLevel>,
}

impl RequestMeta {
    /// Checks the members that a modern request must have in addition to its version.
    pub(crate) fn read(params: &Params) -> Result<Self, ProtocolError> {
        Self::read_after(params, None)
    }

    /// The same, but data of the client that equals that of `last` is shared with it.
    fn read_after(params: &Params, last: Option<&Self>) -> Result<Self, ProtocolError> {
        let invalid =
            |member: Member, expected| ProtocolError::InvalidMeta { key: member.name(), expected };
        let claim = params.raw(Member::MetaProtocolVersion);
        let capabilities = params.raw(Member::MetaClientCapabilities);
        let (Some(claim), Some(capabilities)) = (claim, capabilities) else {
            return Err(missing(params));
        };
        if !claim.is_string() {
            return Err(invalid(Member::MetaProtocolVersion, "a string"));
        }
        if !capabilities.is_object() {
            return Err(invalid(Member::MetaClientCapabilities, "an object"));
        }
        let known = |member, json: fn(&Self) -> Option<&Json>| {
            let same =
                |known: &&Json| params.raw(member).is_some_and(|raw| raw.0 == known.as_bytes());
            last.and_then(json).filter(same).cloned()
        };
        let client_capabilities =
            known(Member::MetaClientCapabilities, |last| Some(&last.client_capabilities))
                .or_else(|| params.get(Member::MetaClientCapabilities))
                .unwrap_or(Json::EMPTY_OBJECT);
        let mut client_info = known(Member::MetaClientInfo, |last| last.client_info.as_ref());
        if client_info.is_none() {
            client_info = params.get(Member::MetaClientInfo);
            if client_info.as_ref().is_some_and(|info| !is_implementation(info)) {
                return Err(invalid(
                    Member::MetaClientInfo,
                    "an object with the strings `name` and `version`",
                ));
            }
        }
        let level = params.raw(Member::MetaLogLevel);
        let known = |level: Raw<'_>| level.string().and_then(|name| LoggingLevel::from_name(&name));
        let log_level = level.and_then(known);
        if level.is_some() && log_level.is_none() {
            return Err(invalid(
                Member::MetaLogLevel,
                "one of debug, info, notice, warning, error, critical, alert, emergency",
            ));
        }
        Ok(Self { client_capabilities, client_info, log_level })
    }

    fn has_client_of(&self, other: &Self) -> bool {
        self.client_info == other.client_info
            && self.client_capabilities == other.client_capabilities
    }
}

/// The client of the last requests of a stream or a connection.
///
/// A client describes itself in each request, mostly in the same bytes. The description is checked
/// and copied once, which saves 1,000 instructions and two allocations per call.
#[derive(Debug, Default)]
pub(crate) struct LastMeta {
    last: Option<Box<RequestMeta>>,
    /// True if the last request had another client than `last`.
    differed: bool,
}

impl LastMeta {
    /// Does what [`RequestMeta::read`] does. The result shares no memory with the message. The
    /// second description in a row that differs from the last one is kept for the next request, if
    /// it is not longer than `Limits::max_client_bytes`.
    pub(crate) fn read(
        &mut self,
        params: &Params,
        limits: &Limits,
    ) -> Result<RequestMeta, ProtocolError> {
        let meta = RequestMeta::read_after(params, self.last.as_deref())?;
        if self.last.as_deref().is_some_and(|last| last.has_client_of(&meta)) {
            self.differed = false;
            return Ok(meta);
        }
        let meta = RequestMeta {
            client_capabilities: meta.client_capabilities.detach(),
            client_info: meta.client_info.map(|info| info.detach()),
            log_level: meta.log_level,
        };
        if core::mem::replace(&mut self.differed, true) {
            let info = meta.client_info.as_ref().map_or(0, |info| info.as_bytes().len());
            let size = info + meta.client_capabilities.as_bytes().len();
            let is_kept = size <= limits.max_client_bytes;
            self.last = is_kept.then(|| Box::new(meta.clone()));
            self.differed = false;
        }
        Ok(meta)
    }
}

/// The envelope error for a modern request that lacks required keys.
pub(crate) fn missing(params: &Params) -> ProtocolError {
    ProtocolError::MissingMeta {
        protocol_version: params.raw(Member::MetaProtocolVersion).is_none(),
        client_capabilities: params.raw(Member::MetaClientCapabilities).is_none(),
    }
}

/// Returns whether `params._meta` exists and is not an object.
pub(crate) fn is_malformed(params: &Params) -> bool {
    params.raw(Member::Meta).is_some_and(|meta| !meta.is_object())
}

/// The progress token of a request of either era.
pub(crate) fn progress_token(
    params: &Params,
    limits: &Limits,
) -> Result<Option<ProgressToken>, ProtocolError> {
    let Some(raw) = params.raw(Member::MetaProgressToken) else { return Ok(None) };
    if raw.0.len() > limits.max_id_bytes {
        return Err(ProtocolError::TokenTooLong { max_id_bytes: limits.max_id_bytes });
    }
    match ProgressToken::from_raw(raw) {
        Some(token) => Ok(Some(token)),
        None => Err(ProtocolError::InvalidParam {
            member: "_meta.progressToken",
            expected: "a string or an integer",
        }),
    }
}

/// Returns whether a text is a key of `_meta` with a prefix: "a series of labels separated by dots,
/// followed by a slash", and a name, which may be empty.
pub(crate) fn is_prefixed_key(key: &str) -> bool {
    let Some((prefix, name)) = key.rsplit_once('/') else { return false };
    let is_label = |label: &str| {
        label.starts_with(|first: char| first.is_ascii_alphabetic())
            && label.ends_with(|last: char| last.is_ascii_alphanumeric())
            && label.chars().all(|inner| inner.is_ascii_alphanumeric() || inner == '-')
    };
    let is_end = |end: char| end.is_ascii_alphanumeric();
    let is_name = name.starts_with(is_end)
        && name.ends_with(is_end)
        && name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.'));
    prefix.split('.').all(is_label) && (name.is_empty() || is_name)
}

/// Returns whether a value is an `Implementation`: an object with the strings `name` and `version`,
/// each once.
pub(crate) fn is_implementation(value: &Json) -> bool {
    let mut names = 0;
    let mut versions = 0;
    let mut strings = true;
    value.raw().members(|key, value| {
        let known = key.lookup(|key| match key {
            b"\"name\"" => Some(0),
            b"\"version\"" => Some(1),
            _ => None,
        });
        if let Some(at) = known {
            names += 1 - at;
            versions += at;
            strings &= value.is_string();
        }
    });
    (names, versions, strings) == (1, 1, true)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use bytes::Bytes;

    use super::*;
    use crate::message::{self, Incoming, Message};

    fn params(meta: &str) -> Params {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{{meta}}}}}}}"#
        );
        match message::parse(&Bytes::from(text), &Limits::default()) {
            Ok(Incoming::Message(Message::Request(request))) => request.params,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn last_meta_reads_each_request_as_if_it_were_the_first() {
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let capabilities =
            |json| format!(r#","io.modelcontextprotocol/clientCapabilities":{json}"#);
        let info = |json| format!(r#","io.modelcontextprotocol/clientInfo":{json}"#);
        let level = |json| format!(r#","io.modelcontextprotocol/logLevel":{json}"#);
        let long = format!(r#"{{"x":"{}"}}"#, "x".repeat(Limits::default().max_client_bytes));
        let metas = [
            format!("{version}{}", capabilities("{}")),
            format!("{version}{}{}", capabilities("{}"), info(r#"{"name":"a","version":"1"}"#)),
            format!("{version}{}{}", capabilities("{}"), info(r#"{"name":"b","version":"1"}"#)),
            format!("{version}{}{}", capabilities("{}"), info(r#"{"name":"b"}"#)),
            format!("{version}{}", info(r#"{"name":"a","version":"1"}"#)),
            format!("{version}{}", capabilities("[]")),
            format!("{version}{}{}", capabilities("{}"), level(r#""debug""#)),
            format!("{version}{}{}", capabilities("{}"), level(r#""loud""#)),
            format!("{version}{}", capabilities(&long)),
        ];
        let mut last = LastMeta::default();
        for first in &metas {
            for second in &metas {
                for meta in [first, second, second, first] {
                    let params = params(meta);
                    let expected = format!("{:?}", RequestMeta::read(&params));
                    let read = format!("{:?}", last.read(&params, &Limits::default()));
                    assert_eq!(read, expected, "{meta}");
                }
            }
        }
    }

    #[test]
    fn last_meta_copies_each_description_once() {
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
        let mut last = LastMeta::default();
        let read: alloc::vec::Vec<_> = core::iter::repeat_with(|| {
            let params = params(meta);
            let meta = last.read(&params, &Limits::default()).unwrap();
            let text = params.json().as_bytes().as_ptr_range();
            assert!(!text.contains(&meta.client_capabilities.as_bytes().as_ptr()));
            meta.client_capabilities
        })
        .take(4)
        .collect();
        let places: alloc::vec::Vec<_> = read.iter().map(|json| json.as_bytes().as_ptr()).collect();
        let [first, second, rest @ ..] = &places[..] else { panic!("{places:?}") };
        assert_ne!(first, second, "one request is not kept");
        assert!(rest.iter().all(|place| place == second), "{places:?}");
    }

    #[test]
    fn second_hour_18_keys_with_a_prefix() {
        for key in
            ["com.example/a", "io.modelcontextprotocol/tasks", "example/A_b-c.9", "a/", "a-1.b2/x"]
        {
            assert!(is_prefixed_key(key), "{key}");
        }
        for key in [
            "", "tasks", "/tasks", "1a/x", "a-/x", "a..b/x", "a/b/c", "a/_x", "a/x.", "ä/x",
            "a b/x",
        ] {
            assert!(!is_prefixed_key(key), "{key}");
        }
    }
}
