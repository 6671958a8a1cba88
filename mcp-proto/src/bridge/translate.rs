//! Translation of results and handshakes to the other era.
//!
//! In: unchanged results. Out: the same results, with the members that the client's era adds, and
//! without the members that this era does not define. Other members are copied unread.
//!
//! | result | modern server, legacy client | legacy server, modern client |
//! |---|---|---|
//! | any | without `resultType`, and without the server's name in `_meta` | `resultType`: `complete`; the server's name in `_meta` |
//! | one that may be kept | without `ttlMs` and `cacheScope` | not to be kept: `ttlMs` 0, `private` |
//! | one of the specification | | optional members that are `null` are absent |
//! | `tools/list` | an output schema of no object is put inside of one, or is absent if there are too many to remember | |
//! | `tools/call` | structured content follows its schema | |
//! | `sampling/createMessage` in a result | a list of one block is that block; another list is refused if the client's revision has none | |
//! | handshake | `InitializeResult` from a `DiscoverResult` | the other way |
//!
//! A legacy client without a session is offered no changes, whatever its server is.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::calls::{ClientRef, UpstreamCall};
use super::inputs::copy;
use super::null_members::without_nulls;
use crate::json::write::List;
use crate::json::{Json, Raw};
use crate::message::{Method, MethodRow};
use crate::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::schema::has_type_object;
use crate::server::{wrapped_content, wrapped_schema};
use crate::version::Era;

/// The most names of tools that are remembered.
const MAX_TOOLS: usize = 4096;

/// The length of a name that is remembered, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The tools whose structured content legacy clients see inside of an object.
#[derive(Debug, Default)]
pub(super) struct WrappedTools(BTreeSet<String>);

impl WrappedTools {
    /// The result for a client of this era, from a server of the other era. `server_info` describes
    /// a legacy server; a modern one sends it in each result.
    pub(super) fn result(
        &mut self,
        down: Era,
        call: &UpstreamCall,
        (result, server_info): (&Json, Option<&Json>),
    ) -> Json {
        let method = &call.method;
        let is_cacheable = method.row().is_some_and(MethodRow::is_cacheable);
        match down {
            // Nothing is known of the members of other results.
            Era::Modern if method.row().is_none() => modern(result, is_cacheable, server_info),
            Era::Modern => modern(&without_nulls(result), is_cacheable, server_info),
            Era::Legacy => {
                let result = legacy(result, is_cacheable);
                #[expect(clippy::wildcard_enum_match_arm, reason = "tools alone have schemas")]
                match method {
                    Method::ListTools => self.tools(&result),
                    Method::CallTool if result.raw().may_contain(&["structuredContent"]) => {
                        let is_wrapped = !self.0.is_empty()
                            && call.tool().is_some_and(|tool| self.0.contains(&tool));
                        wrapped_content(result, is_wrapped)
                    }
                    _ => result,
                }
            }
        }
    }

    /// A page of tools, with output schemas of other types wrapped in objects.
    fn tools(&mut self, page: &Json) -> Json {
        if self.0.is_empty() && !page.raw().may_contain(&["outputSchema"]) {
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
        let mut is_known = self.0.contains(&*name);
        if !is_known && self.0.len() < MAX_TOOLS && name.len() <= MAX_NAME_BYTES {
            is_known = self.0.insert(name.into_owned());
        }
        let mut object = List::object(out);
        tool.members(|key, value| {
            if key.string().as_deref() != Some("outputSchema") {
                object.copy(key, value);
            } else if is_known {
                object.member("outputSchema", wrapped_schema(&schema).as_bytes());
            }
            // Results of a tool that is not remembered would not fit a wrapped schema.
        });
        object.end();
    }
}

/// Returns whether a modern result has this `resultType`.
pub(super) fn is_of_type(result: &Json, name: &str) -> bool {
    let kind = || result.raw().member("resultType").and_then(Raw::string);
    result.raw().may_contain(&[name]) && kind().as_deref() == Some(name)
}

/// The result of a legacy server, or of the bridge on its behalf, for a modern client.
pub(super) fn modern(result: &Json, is_cacheable: bool, server_info: Option<&Json>) -> Json {
    let (mut has_type, mut has_ttl, mut has_scope, mut meta) = (false, false, false, None);
    if result.raw().may_contain(&["_meta", "resultType", "ttlMs", "cacheScope"]) {
        result.raw().members(|key, value| match key.string().as_deref() {
            Some("resultType") => has_type = true,
            Some("ttlMs") => has_ttl = true,
            Some("cacheScope") => has_scope = true,
            Some("_meta") => meta = Some(value),
            _ => {}
        });
    }
    let server_info = server_info
        .filter(|_| meta.is_none_or(|meta| meta.is_object() && meta.member(SERVER_INFO).is_none()));
    let added = server_info.map_or(0, |info| info.as_bytes().len()) + 128;
    let mut out = Vec::with_capacity(result.as_bytes().len() + added);
    let mut object = List::object(&mut out);
    if !has_type {
        object.item().extend_from_slice(br#""resultType":"complete""#);
    }
    if is_cacheable && !has_ttl {
        object.member("ttlMs", b"0");
    }
    if is_cacheable && !has_scope {
        object.text("cacheScope", "private");
    }
    if let Some(server_info) = server_info {
        object.key("_meta");
        let mut signed = List::object(object.out());
        signed.member(SERVER_INFO, server_info.as_bytes());
        if let Some(meta) = meta {
            meta.members(|key, value| signed.copy(key, value));
        }
        signed.end();
    }
    if server_info.is_none() || meta.is_none() {
        // The members of the result are unchanged, so its text is copied.
        let is_first = object.is_empty();
        let inside = result.as_bytes().strip_prefix(b"{").unwrap_or_default();
        if !is_first && inside.trim_ascii_start() != b"}" {
            out.push(b',');
        }
        out.extend_from_slice(inside);
        return Json::trusted(out);
    }
    result.raw().members(|key, value| {
        if key.string().as_deref() != Some("_meta") {
            object.copy(key, value);
        }
    });
    object.end();
    Json::trusted(out)
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

/// The parameters of a notification without the id of a subscription, for a legacy client.
pub(super) fn without_subscription(params: &Json) -> Json {
    without(params, |_| false, SUBSCRIPTION_ID)
}

/// The object without the members that `drops` selects, and without one member of `_meta`. If this
/// leaves `_meta` empty, `_meta` is dropped too.
fn without(object: &Json, drops: impl Fn(&str) -> bool, of_meta: &str) -> Json {
    let mut out = Vec::with_capacity(object.as_bytes().len());
    let mut kept = List::object(&mut out);
    object.raw().members(|key, value| {
        let name = key.string().unwrap_or_default();
        if name == "_meta" && value.is_object() {
            let (mut meta, mut is_changed) = (Vec::new(), false);
            let mut rest = List::object(&mut meta);
            value.members(|key, value| {
                if key.string().as_deref() == Some(of_meta) {
                    is_changed = true;
                } else {
                    rest.copy(key, value);
                }
            });
            let is_kept = !is_changed || !rest.is_empty();
            rest.end();
            if is_kept {
                kept.member("_meta", &meta);
            }
        } else if !drops(&name) {
            kept.copy(key, value);
        }
    });
    kept.end();
    Json::trusted(out)
}

/// The result of `server/discover` for a legacy server, made from its `initialize` result.
pub(super) fn discovered(initialized: &Json) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.text("resultType", "complete");
    object.member("supportedVersions", b"[]");
    let (initialized, mut info) = (without_nulls(initialized), None);
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

/// The result of `initialize` for a modern server, made from its `server/discover` result.
pub(super) fn initialized(discovered: &Json) -> Json {
    const NOBODY: &[u8] = br#"{"name":"unknown","version":"unknown"}"#;
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.text("protocolVersion", "");
    // Servers of earlier drafts name themselves outside of `_meta`.
    let (mut info, mut outside) = (None, None);
    discovered.raw().members(|key, value| match key.string().as_deref() {
        Some("protocolVersion" | "resultType" | "supportedVersions" | "ttlMs" | "cacheScope") => {}
        Some("_meta") => info = value.member(SERVER_INFO),
        Some("serverInfo") => outside = Some(value).filter(|it| it.is_object()),
        _ => object.copy(key, value),
    });
    object.member("serverInfo", info.or(outside).map_or(NOBODY, |info| info.0));
    object.end();
    Json::trusted(out)
}

/// The result of `initialize` for this client. Without a session there is no stream on which a
/// server reports changes.
pub(super) fn for_client(client: &ClientRef, initialized: Json) -> Json {
    if !client.is_lone {
        return initialized;
    }
    with_changed(initialized.raw(), |name, offered| {
        let has_lists = |name: &str| ["prompts", "resources", "tools"].contains(&name);
        let is_of_change = |name: &str| ["listChanged", "subscribe"].contains(&name);
        (name == "capabilities").then(|| {
            with_changed(offered, |name, lists| {
                has_lists(name).then(|| without(&copy(lists), is_of_change, ""))
            })
        })
    })
}

/// The object, in which the objects for which `change` returns another one are replaced.
fn with_changed(object: Raw<'_>, change: impl Fn(&str, Raw<'_>) -> Option<Json>) -> Json {
    let mut out = Vec::with_capacity(object.0.len());
    let mut changed = List::object(&mut out);
    object.members(|key, value| {
        let name = key.string().unwrap_or_default();
        match Some(value).filter(|value| value.is_object()).and_then(|value| change(&name, value)) {
            Some(other) => changed.member(&name, other.as_bytes()),
            None => changed.copy(key, value),
        }
    });
    changed.end();
    Json::trusted(out)
}

/// The parameters of an elicitation for a client of the other era: only the legacy era has an id
/// for a URL. `number` makes an id that is unique in the bridge.
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

/// The parameters of `sampling/createMessage` for a legacy client. A list of one block becomes this
/// block, since revisions before 2025-11-25 have no lists.
pub(super) fn sampling(params: &Json) -> Json {
    let mut out = Vec::with_capacity(params.as_bytes().len());
    let mut changed = List::object(&mut out);
    params.raw().members(|key, value| {
        if key.string().as_deref() != Some("messages") || !value.is_array() {
            return changed.copy(key, value);
        }
        changed.key("messages");
        let mut messages = List::array(changed.out());
        value.elements(|message| write_message(message, messages.item()));
        messages.end();
    });
    changed.end();
    Json::trusted(out)
}

fn write_message(message: Raw<'_>, out: &mut Vec<u8>) {
    if !message.is_object() {
        return out.extend_from_slice(message.0);
    }
    let mut changed = List::object(out);
    message.members(|key, value| {
        let is_content = key.string().as_deref() == Some("content");
        match sole_element(value).filter(|_| is_content) {
            Some(block) => changed.member("content", block.0),
            None => changed.copy(key, value),
        }
    });
    changed.end();
}

/// Returns whether a message for a model has no content block or several, in the parameters of
/// `sampling/createMessage`. Messages of other methods are not for a model.
pub(super) fn has_block_lists(method: &str, params: &Json) -> bool {
    let mut has_lists = false;
    let messages = params.raw().member("messages").filter(|messages| messages.is_array());
    if let Some(messages) = messages.filter(|_| method == "sampling/createMessage") {
        messages.elements(|message| {
            let content = message.member("content").filter(|content| content.is_array());
            has_lists |= content.is_some_and(|content| sole_element(content).is_none());
        });
    }
    has_lists
}

/// The element of a list that has no others.
fn sole_element(list: Raw<'_>) -> Option<Raw<'_>> {
    let (mut sole, mut count) = (None, 0_usize);
    list.elements(|element| {
        count += 1;
        sole = Some(element);
    });
    sole.filter(|_| count == 1)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn tool_that_is_not_remembered_has_no_output_schema() {
        let tool = |name: &str| format!(r#"{{"name":"{name}","outputSchema":{{"type":"array"}}}}"#);
        let listed = |wrapped: &mut WrappedTools, name: &str| {
            let page = Json::parse(format!(r#"{{"tools":[{}]}}"#, tool(name))).unwrap();
            wrapped.tools(&page)
        };
        let has_schema = |page: &Json| page.raw().may_contain(&["outputSchema"]);
        let mut wrapped = WrappedTools::default();
        let long = "n".repeat(MAX_NAME_BYTES + 1);
        assert!(!has_schema(&listed(&mut wrapped, &long)));
        for number in 0..MAX_TOOLS {
            assert!(has_schema(&listed(&mut wrapped, &format!("tool-{number}"))));
        }
        let page = listed(&mut wrapped, "one-more");
        assert_eq!(page.as_bytes(), br#"{"tools":[{"name":"one-more"}]}"#);
        assert!(has_schema(&listed(&mut wrapped, "tool-0")), "it is remembered");
    }

    #[test]
    fn missing_cache_hint_is_added_to_the_other() {
        for (result, expected) in [
            (r#"{"ttlMs":5}"#, r#"{"resultType":"complete","cacheScope":"private","ttlMs":5}"#),
            (
                r#"{"cacheScope":"public"}"#,
                r#"{"resultType":"complete","ttlMs":0,"cacheScope":"public"}"#,
            ),
        ] {
            let result = Json::parse(result).unwrap();
            assert_eq!(modern(&result, true, None).as_bytes(), expected.as_bytes());
        }
    }
}
