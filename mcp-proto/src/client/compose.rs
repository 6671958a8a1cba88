//! Encoding of a call as a request: adds the members that the era requires.
//!
//! A modern request has in `_meta` the version, the client, its capabilities, and the log level. A
//! request of either era may have a progress token and a trace context. The other parameters follow
//! `_meta` unchanged. If the parameters contain `_meta`, its members are copied, except the members
//! that the client itself writes.
//!
//! [Specification: `_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)

use alloc::vec::Vec;

use bytes::Bytes;

use super::config::Config;
use crate::ext::TASKS;
use crate::json::scan::{MAX_DEPTH, ScanError, Scanner};
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::RequestId;
use crate::trace::TraceContext;
use crate::types::{ClientCapabilities, Implementation, InputResponses, LoggingLevel};
use crate::version::ProtocolVersion;

/// The end of the key `_meta`, as [`Raw::may_contain`] searches for it.
const META: &[&str] = &["_meta\""];

/// The members of `_meta` in all modern requests of a client, without braces.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    version: ProtocolVersion,
    members: Bytes,
    /// The complete prefix with only these members.
    stamp: Bytes,
}

impl Envelope {
    pub(super) fn new(version: ProtocolVersion, config: &Config) -> Self {
        Self::declaring(version, config, &modern_capabilities(config))
    }

    /// The envelope of a call that is forwarded for another client. That client has the
    /// capabilities `caller`, and provides the input.
    pub(super) fn forwarding(&self, config: &Config, caller: &ClientCapabilities) -> Self {
        let mut declared = modern_capabilities(config);
        declared.elicitation.clone_from(&caller.elicitation);
        declared.sampling.clone_from(&caller.sampling);
        declared.roots = caller.roots;
        Self::declaring(self.version, config, &declared)
    }

    fn declaring(version: ProtocolVersion, config: &Config, declared: &ClientCapabilities) -> Self {
        let mut members = Vec::new();
        let mut object = List::object(&mut members);
        object.text("io.modelcontextprotocol/protocolVersion", version.as_str());
        let info = client_info(&config.client_info);
        object.member("io.modelcontextprotocol/clientInfo", info.as_bytes());
        let declared = capabilities(declared);
        object.member("io.modelcontextprotocol/clientCapabilities", declared.as_bytes());
        object.end();
        let stamp = [b"\"_meta\":", &*members].concat().into();
        let members = Bytes::from(members).slice(1..);
        let members = members.slice(..members.len().saturating_sub(1));
        Self { version, members, stamp }
    }

    /// The version, the client and its capabilities: results may depend on them.
    pub(super) fn members(&self) -> Bytes {
        self.members.clone()
    }

    /// The prefix with `_meta`, for requests without other members in it.
    pub(super) fn stamp(&self) -> Bytes {
        self.stamp.clone()
    }
}

/// The version in a prefix of this client; `None` if the message is a legacy message.
pub(crate) fn version_of(stamp: &[u8]) -> Option<ProtocolVersion> {
    const BEFORE: &[u8] = b"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"";
    let rest = stamp.strip_prefix(BEFORE)?;
    let is_it = |version: &ProtocolVersion| {
        let rest = rest.strip_prefix(version.as_str().as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"\""))
    };
    ProtocolVersion::ALL.iter().copied().find(is_it)
}

/// The id of the client's request with this number.
pub(super) fn id(number: u64) -> RequestId {
    RequestId::number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Members of a request's `_meta` in addition to the envelope.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extras<'a> {
    /// The number of the request, which is also the progress token, if progress is requested.
    pub(super) token: Option<u64>,
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) trace: Option<&'a TraceContext>,
}

/// The prefix and the rest of the parameters of a request.
pub(super) fn compose(
    envelope: Option<&Envelope>,
    extras: Extras<'_>,
    params: &Json,
) -> (Bytes, Json) {
    let Extras { token, log_level, trace } = extras;
    let has_meta = params.raw().may_contain(META);
    if !has_meta && token.is_none() && log_level.is_none() && trace.is_none() {
        return (envelope.map(Envelope::stamp).unwrap_or_default(), params.clone());
    }
    let copied = if has_meta { params.as_bytes().len() } else { 0 };
    let added = envelope.map_or(0, |envelope| envelope.members.len()) + 64;
    let mut out = Vec::with_capacity(copied + added);
    out.extend_from_slice(b"\"_meta\":");
    let mut object = List::object(&mut out);
    if let Some(envelope) = envelope {
        object.item().extend_from_slice(&envelope.members);
    }
    if let Some(level) = log_level {
        object.text("io.modelcontextprotocol/logLevel", level.as_str());
    }
    if let Some(token) = token {
        object.member("progressToken", alloc::format!("{token}").as_bytes());
    }
    if let Some(trace) = trace {
        trace.write(&mut object);
    }
    let (meta, rest) = if has_meta {
        split(params, |key, value| {
            if !is_ours(key, trace) {
                object.copy(key, value);
            }
        })
    } else {
        (None, params.clone())
    };
    // The parameters may have no `_meta` at the top level, or `_meta` had only members of the
    // envelope.
    if object.is_empty() && meta.is_none_or(|Raw(meta)| meta != b"{}") {
        return (Bytes::new(), rest);
    }
    object.end();
    (out.into(), rest)
}

/// Returns whether the machine itself writes this member of `_meta`.
fn is_ours(key: Raw<'_>, trace: Option<&TraceContext>) -> bool {
    let of_machine = |key: &[u8]| match key {
        b"\"progressToken\""
        | b"\"io.modelcontextprotocol/protocolVersion\""
        | b"\"io.modelcontextprotocol/clientInfo\""
        | b"\"io.modelcontextprotocol/clientCapabilities\""
        | b"\"io.modelcontextprotocol/logLevel\"" => Some(()),
        _ => None,
    };
    let of_trace = |trace: &TraceContext| trace.get(&key.string().unwrap_or_default()).is_some();
    key.lookup(of_machine).is_some() || trace.is_some_and(of_trace)
}

/// Splits the parameters into `_meta`, whose members `visit` gets, and the rest.
fn split<'a>(params: &'a Json, mut visit: impl FnMut(Raw<'a>, Raw<'a>)) -> (Option<Raw<'a>>, Json) {
    let text = params.as_bytes();
    let (mut meta, mut tail, mut out) = (None, None, Vec::with_capacity(text.len()));
    let mut rest = List::object(&mut out);
    let mut scanner = Scanner::new(text, MAX_DEPTH);
    // The text is an object, so the only error here is the one that ends the loop early.
    let _ = scanner.members(|scanner, key| {
        let key = Raw(key.of(text));
        let is_meta = key.lookup(|key| (key == b"\"_meta\"").then_some(())).is_some();
        if !is_meta || scanner.peek() != Some(b'{') {
            let value = scanner.skip_unchecked()?;
            if !is_meta {
                rest.copy(key, Raw(value.of(text)));
            }
            return Ok(());
        }
        let object = scanner.members(|scanner, key| {
            let value = scanner.skip_unchecked()?;
            visit(Raw(key.of(text)), Raw(value.of(text)));
            Ok(())
        })?;
        meta = Some(Raw(object.of(text)));
        // The members after `_meta` are copied without parsing, if none of them can be another
        // `_meta`.
        tail = Some(scanner.rest().trim_ascii_start()).filter(|rest| !Raw(rest).may_contain(META));
        if tail.is_some() { Err(ScanError::Depth) } else { Ok(()) }
    });
    if let Some(tail) = tail {
        let comma: &[u8] = if rest.is_empty() { b"," } else { b"" };
        out.extend_from_slice(tail.strip_prefix(comma).unwrap_or(tail));
    } else {
        rest.end();
    }
    (meta, Json::trusted(out))
}

/// The parameters of a request that is repeated with its missing input.
pub(super) fn with_input(
    params: &Json,
    given: &InputResponses,
    request_state: Option<&Json>,
) -> Json {
    let is_input =
        |key: Raw<'_>| matches!(key.string().as_deref(), Some("inputResponses" | "requestState"));
    rewritten(
        params,
        |key, _| !is_input(key),
        |object| {
            if !given.is_empty() {
                object.key("inputResponses");
                let mut responses = List::object(object.out());
                for (key, response) in given {
                    responses.member(key, response.json().as_bytes());
                }
                responses.end();
            }
            if let Some(state) = request_state {
                object.member("requestState", state.as_bytes());
            }
        },
    )
}

/// The parameters of a request for the page at `cursor`, a JSON string.
pub(super) fn with_cursor(params: &Json, cursor: Raw<'_>) -> Json {
    let is_cursor = |key: Raw<'_>| key.string().as_deref() == Some("cursor");
    rewritten(params, |key, _| !is_cursor(key), |object| object.member("cursor", cursor.0))
}

/// Copies the members that `keep` selects, followed by the members that `add` writes.
fn rewritten<'a>(
    object: &'a Json,
    mut keep: impl FnMut(Raw<'a>, Raw<'a>) -> bool,
    add: impl FnOnce(&mut List<'_, Vec<u8>>),
) -> Json {
    let mut out = Vec::with_capacity(object.as_bytes().len());
    let mut kept = List::object(&mut out);
    object.raw().members(|key, value| {
        if keep(key, value) {
            kept.copy(key, value);
        }
    });
    add(&mut kept);
    kept.end();
    Json::trusted(out)
}

/// The parameters of `initialize`.
pub(super) fn initialize(version: ProtocolVersion, config: &Config) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.text("protocolVersion", version.as_str());
    object.member("capabilities", capabilities(&config.capabilities).as_bytes());
    object.member("clientInfo", client_info(&config.client_info).as_bytes());
    object.end();
    Json::trusted(out)
}

// A plain value: the encoding cannot fail.
fn client_info(info: &Implementation) -> Json {
    Json::encode(info).unwrap_or(Json::EMPTY_OBJECT)
}

fn modern_capabilities(config: &Config) -> ClientCapabilities {
    let mut declared = config.capabilities.clone();
    if config.follow_tasks {
        declared.extensions.entry(TASKS.into()).or_insert(Json::EMPTY_OBJECT);
    }
    declared
}

fn capabilities(capabilities: &ClientCapabilities) -> Json {
    Json::encode(capabilities).unwrap_or(Json::EMPTY_OBJECT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn meta_is_split_off_wherever_it_is() {
        for (params, members, rest) in [
            (r#"{"_meta":{"k":1}}"#, "\"k\":1;", "{}"),
            (r#"{"_meta":{"k":1},"a":[2]}"#, "\"k\":1;", r#"{"a":[2]}"#),
            (r#"{ "_meta" : { "k" : 1 } , "a": 2 }"#, "\"k\":1;", r#"{ "a": 2 }"#),
            (r#"{"a":2,"_meta":{"k":1,"l":{}}}"#, "\"k\":1;\"l\":{};", r#"{"a":2}"#),
            (r#"{"a":2,"_meta":{},"b":3}"#, "", r#"{"a":2,"b":3}"#),
            (r#"{"_meta":{"k":1},"a":{"_meta":2}}"#, "\"k\":1;", r#"{"a":{"_meta":2}}"#),
            (r#"{"a":{"_meta":{}},"\u005fmeta":{"k":1}}"#, "\"k\":1;", r#"{"a":{"_meta":{}}}"#),
            (r#"{"_meta":null,"a":2}"#, "", r#"{"a":2}"#),
            (r#"{"a":"_meta\""}"#, "", r#"{"a":"_meta\""}"#),
        ] {
            let mut seen = String::new();
            let read = Json::parse(params).unwrap();
            let (_, kept) = split(&read, |Raw(key), Raw(value)| {
                let text = |bytes| core::str::from_utf8(bytes).unwrap();
                seen.extend([text(key), ":", text(value), ";"]);
            });
            assert_eq!((&*seen, kept.as_str()), (members, rest), "{params}");
        }
    }
}
