//! Members that are `null`: servers in Go, C# and Java write it for lists and flags that they do
//! not set.

use mcp_proto::Json;
use mcp_proto::types::{
    CallToolResult, CompleteResult, CreateMessageRequestParams, ElicitRequestParams,
    GetPromptResult, Implementation, ListRootsResult, ListToolsResult, Prompt, ReadResourceResult,
    RequestedSchema, Resource, ServerCapabilities, SubscriptionFilter,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{decode, read};

#[test]
fn null_for_a_list_or_a_flag_counts_as_none() {
    fn reads<T: DeserializeOwned + Serialize>(nulls: &str, plain: &str) {
        let value: T = decode(nulls).unwrap_or_else(|error| panic!("{nulls}: {error}"));
        assert_eq!(Json::encode(&value).unwrap(), Json::encode(&read::<T>(plain)).unwrap());
    }
    reads::<CallToolResult>(r#"{"content":null,"isError":null}"#, r#"{"content":[]}"#);
    reads::<CallToolResult>(
        r#"{"structuredContent":{}}"#,
        r#"{"content":[],"structuredContent":{}}"#,
    );
    reads::<CallToolResult>(
        r#"{"content":[{"type":"text","text":"t","annotations":{"audience":null}}]}"#,
        r#"{"content":[{"type":"text","text":"t","annotations":{}}]}"#,
    );
    reads::<ListToolsResult>(
        r#"{"tools":[{"name":"t","inputSchema":{},"icons":[{"src":"data:,","sizes":null}]}]}"#,
        r#"{"tools":[{"name":"t","inputSchema":{},"icons":[{"src":"data:,"}]}]}"#,
    );
    reads::<ListToolsResult>(
        r#"{"tools":[{"name":"t","inputSchema":{},"title":null,"icons":null}]}"#,
        r#"{"tools":[{"name":"t","inputSchema":{}}]}"#,
    );
    reads::<Prompt>(r#"{"name":"p","arguments":null,"icons":null}"#, r#"{"name":"p"}"#);
    reads::<Prompt>(
        r#"{"name":"p","arguments":[{"name":"a","required":null}]}"#,
        r#"{"name":"p","arguments":[{"name":"a"}]}"#,
    );
    reads::<Resource>(r#"{"uri":"a:b","name":"r","icons":null}"#, r#"{"uri":"a:b","name":"r"}"#);
    reads::<Implementation>(
        r#"{"name":"n","version":"1","icons":null}"#,
        r#"{"name":"n","version":"1"}"#,
    );
    reads::<ReadResourceResult>(r#"{"contents":null}"#, r#"{"contents":[]}"#);
    reads::<GetPromptResult>(r#"{"messages":null}"#, r#"{"messages":[]}"#);
    reads::<CompleteResult>(
        r#"{"completion":{"values":null,"hasMore":null}}"#,
        r#"{"completion":{"values":[]}}"#,
    );
    reads::<ListRootsResult>(r#"{"roots":null}"#, r#"{"roots":[]}"#);
    reads::<CreateMessageRequestParams>(
        r#"{"messages":[],"maxTokens":1,"stopSequences":null,"modelPreferences":{"hints":null}}"#,
        r#"{"messages":[],"maxTokens":1,"modelPreferences":{}}"#,
    );
    reads::<RequestedSchema>(
        r#"{"type":"object","properties":{},"required":null}"#,
        r#"{"type":"object","properties":{}}"#,
    );
    reads::<ServerCapabilities>(
        r#"{"tools":{"listChanged":null},"experimental":null,"extensions":null}"#,
        r#"{"tools":{}}"#,
    );
    reads::<SubscriptionFilter>(
        r#"{"toolsListChanged":true,"promptsListChanged":null,"resourceSubscriptions":null}"#,
        r#"{"toolsListChanged":true}"#,
    );
    assert!(decode::<ReadResourceResult>("{}").is_err());
}

#[test]
fn form_without_fields_needs_no_schema() {
    let form: ElicitRequestParams =
        read(r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#);
    for schema in [
        "",
        r#","requestedSchema":null"#,
        r#","requestedSchema":{}"#,
        r#","requestedSchema":{"type":"object"}"#,
        r#","requestedSchema":{"type":"object","properties":null,"required":[]}"#,
    ] {
        assert_eq!(read::<ElicitRequestParams>(&format!(r#"{{"message":"m"{schema}}}"#)), form);
    }
    for schema in [r#"{"type":"string"}"#, r#"{"type":"object","properties":[]}"#, "7"] {
        let text = format!(r#"{{"message":"m","requestedSchema":{schema}}}"#);
        assert!(decode::<ElicitRequestParams>(&text).is_err(), "{text}");
    }
}
