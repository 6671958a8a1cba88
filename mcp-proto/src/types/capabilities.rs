use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::codec::{is_false, or_default};
use crate::json::write::List;
use crate::json::{Json, Raw};

/// The capabilities of a client. A capability is supported if it is present; its value has
/// settings.
///
/// [Schema: `ClientCapabilities`](https://modelcontextprotocol.io/specification/2026-07-28/schema#clientcapabilities)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Non-standard capabilities, by name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub experimental: BTreeMap<String, Json>,
    /// Support for `roots/list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<ListChangedCapability>,
    /// Support for sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// Support for elicitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// Settings of extensions, by identifier, such as `io.modelcontextprotocol/ui`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, Json>,
}

/// The capabilities of a server. A capability is supported if it is present; its value has
/// settings.
///
/// [Schema: `ServerCapabilities`](https://modelcontextprotocol.io/specification/2026-07-28/schema#servercapabilities)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Non-standard capabilities, by name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub experimental: BTreeMap<String, Json>,
    /// Support for log messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Json>,
    /// Support for argument completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<Json>,
    /// Support for prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<ListChangedCapability>,
    /// Support for resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// Support for tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ListChangedCapability>,
    /// Settings of extensions, by identifier, such as `io.modelcontextprotocol/tasks`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, Json>,
}

impl ServerCapabilities {
    /// The same for a client that cannot be notified of changes.
    pub(crate) fn without_changes(&self) -> Self {
        Self {
            prompts: self.prompts.map(|_| ListChangedCapability::default()),
            resources: self.resources.map(|_| ResourcesCapability::default()),
            tools: self.tools.map(|_| ListChangedCapability::default()),
            ..self.clone()
        }
    }
}

/// The settings of `prompts`, `tools`, and a legacy client's `roots`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListChangedCapability {
    /// Support for `list_changed` notifications; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub list_changed: bool,
}

/// The settings of `resources`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourcesCapability {
    /// Support for subscriptions to single resources; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub subscribe: bool,
    /// Support for `list_changed` notifications; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub list_changed: bool,
}

/// The settings of `sampling`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingCapability {
    /// Present if `includeContext` may be other than `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Json>,
    /// Present if `tools` and `toolChoice` may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Json>,
}

/// The settings of `elicitation`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationCapability {
    /// Present if the client shows forms; see [`accepts_form`](Self::accepts_form).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Json>,
    /// Present if the client sends the user to URLs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Json>,
}

impl ElicitationCapability {
    /// Returns whether the client shows forms. A client that names no mode does; clients before
    /// 2025-11-25 never name one.
    pub fn accepts_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }
}

/// Reads the capabilities of a peer. If a capability has another type, it is left out, and if its
/// settings do, it has none. The rest is kept.
pub(crate) fn read_capabilities<T: DeserializeOwned + Default>(capabilities: &Json) -> T {
    if let Ok(all) = capabilities.decode_lossy() {
        return all;
    }
    let mut readable = Vec::new();
    let mut object = List::object(&mut readable);
    capabilities.raw().members(|key, value| {
        let Some(key) = key.string() else { return };
        let without_settings = value.is_object().then_some(Raw(b"{}"));
        let fits = |value: &Raw<'_>| alone(&key, *value).decode_lossy::<T>().is_ok();
        if let Some(value) = [Some(value), without_settings].into_iter().flatten().find(fits) {
            object.member(&key, value.0);
        }
    });
    object.end();
    Json::trusted(readable).decode_lossy().unwrap_or_default()
}

/// An object with one member.
fn alone(key: &str, value: Raw<'_>) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.member(key, value.0);
    object.end();
    Json::trusted(out)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn unreadable_capability_hides_no_other() {
        let read = |text: &'static str| {
            let read: ServerCapabilities = read_capabilities(&Json::constant(text));
            Json::encode(&read).unwrap().to_string()
        };
        for (text, expected) in [
            (r#"{"tools":[],"prompts":{}}"#, r#"{"prompts":{}}"#),
            (r#"{"tools":true,"prompts":null,"resources":{}}"#, r#"{"resources":{}}"#),
            (r#"{"tools":{"listChanged":"yes"},"logging":{}}"#, r#"{"logging":{},"tools":{}}"#),
            (r#"{"resources":{"listChanged":0,"subscribe":true}}"#, r#"{"resources":{}}"#),
            (r#"{"experimental":[],"extensions":"x","logging":{}}"#, r#"{"logging":{}}"#),
            (r#"{"experimental":{"a":1},"tools":5,"x":[]}"#, r#"{"experimental":{"a":1}}"#),
            ("[]", "{}"),
            ("5", "{}"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let client = r#"{"roots":5,"sampling":{"tools":{}},"elicitation":"form"}"#;
        let client: ClientCapabilities = read_capabilities(&Json::constant(client));
        let sampling = client.sampling.unwrap();
        assert!(sampling.tools.is_some() && client.roots.is_none() && client.elicitation.is_none());
    }
}
