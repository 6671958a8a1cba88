//! Results and handshakes in the words of the other era.
//!
//! In: results as they came. Out: the same with what the era of the client has in addition, or
//! without what it does not have. Texts are copied; only the members named here are looked at.
//!
//! | result | modern server, legacy client | legacy server, modern client |
//! |---|---|---|
//! | any | without `resultType`, and without the server's name in `_meta` | `resultType`: `complete` |
//! | one that may be kept | without `ttlMs` and `cacheScope` | not to be kept: `ttlMs` 0, `private` |
//! | `tools/list` | an output schema of no object is put inside of one | |
//! | `tools/call` | structured content follows its schema | |
//! | handshake | `InitializeResult` from a `DiscoverResult` | the other way |

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::{Method, MethodRow};
use crate::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::schema::has_type_object;
use crate::server::{wrapped_content, wrapped_schema};
use crate::version::Era;

/// As many names of tools are remembered.
const MAX_TOOLS: usize = 4096;

/// The tools whose structured content legacy clients see inside of an object.
#[derive(Debug, Default)]
pub(super) struct WrappedTools(BTreeSet<String>);

impl WrappedTools {
    /// The result for a client of this era; the server is of the other one.
    pub(super) fn result(
        &mut self,
        down: Era,
        method: &Method,
        tool: Option<&str>,
        result: &Json,
    ) -> Json {
        let is_cacheable = method.row().is_some_and(MethodRow::is_cacheable);
        match down {
            Era::Modern => modern(result, is_cacheable),
            Era::Legacy => {
                let result = legacy(result, is_cacheable);
                #[expect(clippy::wildcard_enum_match_arm, reason = "tools alone have schemas")]
                match method {
                    Method::ListTools => self.tools(&result),
                    Method::CallTool => {
                        wrapped_content(&result, tool.is_some_and(|tool| self.0.contains(tool)))
                    }
                    _ => result,
                }
            }
        }
    }

    /// A page of tools whose output schemas are of objects.
    fn tools(&mut self, page: &Json) -> Json {
        if memchr::memmem::find(page.as_bytes(), b"outputSchema").is_none() && self.0.is_empty() {
            return page.clone();
        }
        let mut out = Vec::with_capacity(page.as_bytes().len());
        let mut object = List::object(&mut out);
        page.raw().members(|key, value| {
            if key.string().as_deref() != Some("tools") || !value.is_array() {
                return object.copy(key, value);
            }
            object.key("tools");
            let mut tools = List::array(object.out());
            value.elements(|tool| self.tool(tool, tools.item()));
            tools.end();
        });
        object.end();
        Json::trusted(out)
    }

    fn tool(&mut self, tool: Raw<'_>, out: &mut Vec<u8>) {
        let name = tool.member("name").and_then(Raw::string).unwrap_or_default();
        let schema = tool.member("outputSchema").filter(|schema| schema.is_object());
        let schema = schema.map(|Raw(schema)| Json::trusted(schema.to_vec()));
        let Some(schema) = schema.filter(|schema| !has_type_object(schema)) else {
            self.0.remove(&*name);
            return out.extend_from_slice(tool.0);
        };
        if self.0.len() < MAX_TOOLS {
            self.0.insert(name.into_owned());
        }
        let mut object = List::object(out);
        tool.members(|key, value| {
            if key.string().as_deref() == Some("outputSchema") {
                object.member("outputSchema", wrapped_schema(&schema).as_bytes());
            } else {
                object.copy(key, value);
            }
        });
        object.end();
    }
}

fn modern(result: &Json, is_cacheable: bool) -> Json {
    let has = |name| result.raw().member(name).is_some();
    let mut added = Vec::new();
    if !has("resultType") {
        added.extend_from_slice(b"\"resultType\":\"complete\"");
    }
    if is_cacheable && !has("ttlMs") && !has("cacheScope") {
        let comma: &[u8] = if added.is_empty() { b"" } else { b"," };
        added.extend_from_slice(comma);
        added.extend_from_slice(b"\"ttlMs\":0,\"cacheScope\":\"private\"");
    }
    let inside = result.as_bytes().strip_prefix(b"{").unwrap_or_default();
    let comma: &[u8] =
        if added.is_empty() || inside.trim_ascii_start() == b"}" { b"" } else { b"," };
    Json::trusted([b"{", &*added, comma, inside].concat())
}

fn legacy(result: &Json, is_cacheable: bool) -> Json {
    without(
        result,
        |name| match name {
            "resultType" => true,
            "ttlMs" | "cacheScope" => is_cacheable,
            _ => false,
        },
        SERVER_INFO,
    )
}

/// The parameters of a notification about a subscription, for a client that has none.
pub(super) fn without_subscription(params: &Json) -> Json {
    without(params, |_| false, SUBSCRIPTION_ID)
}

/// The object without some members, and without one of `_meta`; an empty `_meta` goes too.
fn without(object: &Json, drops: impl Fn(&str) -> bool, of_meta: &str) -> Json {
    let mut out = Vec::with_capacity(object.as_bytes().len());
    let mut kept = List::object(&mut out);
    object.raw().members(|key, value| {
        let name = key.string().unwrap_or_default();
        if name == "_meta" && value.member(of_meta).is_some() {
            let mut meta = Vec::new();
            let mut rest = List::object(&mut meta);
            value.members(|key, value| {
                if key.string().as_deref() != Some(of_meta) {
                    rest.copy(key, value);
                }
            });
            let is_empty = rest.is_empty();
            rest.end();
            if !is_empty {
                kept.member("_meta", &meta);
            }
        } else if !drops(&name) {
            kept.copy(key, value);
        }
    });
    kept.end();
    Json::trusted(out)
}

/// The result of `server/discover` of a legacy server, from that of its `initialize`.
pub(super) fn discovered(initialized: &Json) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.text("resultType", "complete");
    object.member("supportedVersions", b"[]");
    let mut info = None;
    initialized.raw().members(|key, value| match key.string().as_deref() {
        Some("serverInfo") => info = Some(value),
        Some(
            "protocolVersion" | "resultType" | "supportedVersions" | "ttlMs" | "cacheScope"
            | "_meta",
        ) => {}
        _ => object.copy(key, value),
    });
    if let Some(info) = info {
        object.key("_meta");
        let mut meta = List::object(object.out());
        meta.member(SERVER_INFO, info.0);
        meta.end();
    }
    object.member("ttlMs", b"0");
    object.text("cacheScope", "private");
    object.end();
    Json::trusted(out)
}

/// The result of `initialize` of a modern server, from that of its `server/discover`.
pub(super) fn initialized(discovered: &Json) -> Json {
    const NOBODY: &[u8] = br#"{"name":"unknown","version":"unknown"}"#;
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.text("protocolVersion", "");
    let mut info = None;
    discovered.raw().members(|key, value| match key.string().as_deref() {
        Some("protocolVersion" | "resultType" | "supportedVersions" | "ttlMs" | "cacheScope") => {}
        Some("_meta") => info = value.member(SERVER_INFO),
        _ => object.copy(key, value),
    });
    object.member("serverInfo", info.map_or(NOBODY, |info| info.0));
    object.end();
    Json::trusted(out)
}

/// The parameters of an elicitation for a client of the other era: a URL has an id in the legacy
/// era only. `number` makes an id that no other input of the bridge has.
pub(super) fn elicitation(down: Era, method: &str, params: &Json, number: u64) -> Json {
    let is_url = params.raw().member("mode").and_then(Raw::string).as_deref() == Some("url");
    if method != "elicitation/create" || !is_url {
        return params.clone();
    }
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    let mut has_id = false;
    params.raw().members(|key, value| {
        let is_id = key.string().as_deref() == Some("elicitationId");
        has_id |= is_id;
        if !is_id || down == Era::Legacy {
            object.copy(key, value);
        }
    });
    if down == Era::Legacy && !has_id {
        object.text("elicitationId", &alloc::format!("elicitation-{number}"));
    }
    object.end();
    Json::trusted(out)
}
