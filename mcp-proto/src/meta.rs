//! `_meta` of modern requests: version, client and capabilities.
//!
//! In: the [`Params`] of a request whose `_meta` claims a version. Out: a [`RequestMeta`], or
//! the envelope error that names the key at fault.
//!
//! [Specification: `_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)

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

    /// The same, but capabilities and a description of the client that equal those of `last` are
    /// shared with it.
    pub(crate) fn read_after(
        params: &Params,
        last: Option<(&Json, Option<&Json>)>,
    ) -> Result<Self, ProtocolError> {
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
        let known = |member, json: Option<&Json>| {
            let same =
                |known: &&Json| params.raw(member).is_some_and(|raw| raw.0 == known.as_bytes());
            json.filter(same).cloned()
        };
        let (last_capabilities, last_info) = last.unzip();
        let client_capabilities = known(Member::MetaClientCapabilities, last_capabilities)
            .or_else(|| params.get(Member::MetaClientCapabilities))
            .unwrap_or(Json::EMPTY_OBJECT);
        let mut client_info = known(Member::MetaClientInfo, last_info.flatten());
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
    use super::*;

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
