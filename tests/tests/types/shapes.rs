//! Shapes that the examples do not show: unions, leniency, and those of legacy revisions.

use std::collections::BTreeMap;

use mcp_proto::types::{
    Annotations, BooleanSchema, CacheScope, CallToolResult, CancelledNotificationParams,
    CompleteResult, ContentBlock, CreateMessageRequestParams, CreateMessageResult,
    CreateTaskResult, DetailedTask, DiscoverResult, ElicitAction, ElicitRequestParams,
    ElicitResult, ElicitationCapability, ElicitationCompleteNotificationParams, EmptyResult,
    EnumOption, Icon, Implementation, InitializeRequestParams, InitializeResult, InputRequest,
    InputRequests, LegacyTitledEnumSchema, ListToolsResult, NumberSchema,
    PrimitiveSchemaDefinition, ProgressNotificationParams, PromptMessage, RequestParams,
    RequestedSchema, Resource, ResourceContents, Role, SamplingMessage,
    SamplingMessageContentBlock, SetLevelRequestParams, StringSchema, SubscribeRequestParams,
    TaskRequestParams, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, ToolChoice,
    URLElicitationRequiredErrorData, UnsubscribeRequestParams, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema, UpdateTaskRequestParams,
};
use mcp_proto::{ErrorCode, ErrorData, Json, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Check, decode, read, same};

#[test]
fn legacy_shapes_survive() {
    let shapes = [
        same::<CallToolResult>(
            r#"{"content":[{"type":"resource","resource":{"uri":"file:///a","blob":"AA=="},
            "annotations":{"audience":["assistant"],"priority":1}}],"_meta":{"k":1}}"#,
        ),
        same::<CallToolResult>(
            r#"{"content":[{"type":"audio","data":"AA==","mimeType":"audio/wav"}],"isError":true}"#,
        ),
        same::<CallToolResult>(
            r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a","size":12,
            "_meta":{}}],"structuredContent":{"a":[1.0]}}"#,
        ),
        same::<CancelledNotificationParams>(r#"{"reason":"a task has no request id"}"#),
        same::<CreateMessageRequestParams>(
            r#"{"messages":[],"maxTokens":1,"includeContext":"thisServer","temperature":0.1,
            "stopSequences":["."],"metadata":{"a":null},"tools":[],"_meta":{"progressToken":1}}"#,
        ),
        same::<ElicitRequestParams>(
            r#"{"mode":"url","message":"m","url":"https://a","elicitationId":"1"}"#,
        ),
        same::<ElicitResult>(r#"{"action":"decline","_meta":{}}"#),
        same::<ElicitationCompleteNotificationParams>(r#"{"elicitationId":"1"}"#),
        same::<EmptyResult>("{}"),
        same::<InitializeRequestParams>(
            r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true},
            "elicitation":{},"experimental":{"x":{"y":1}}},
            "clientInfo":{"name":"c","version":"1","icons":[{"src":"data:,","theme":"dark"}]}}"#,
        ),
        same::<InitializeResult>(
            r#"{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"prompts":{}},
            "serverInfo":{"name":"s","version":"1"},"instructions":"i","_meta":{"k":1}}"#,
        ),
        same::<ListToolsResult>(
            r#"{"tools":[{"name":"t","inputSchema":{"type":"object"},
            "annotations":{"readOnlyHint":false}}],"nextCursor":"2"}"#,
        ),
        same::<PrimitiveSchemaDefinition>(
            r#"{"type":"string","enum":["a"],"enumNames":["A"],"default":"a"}"#,
        ),
        same::<SetLevelRequestParams>(r#"{"level":"warning"}"#),
        same::<SubscribeRequestParams>(r#"{"uri":"file:///a"}"#),
        same::<URLElicitationRequiredErrorData>(
            r#"{"elicitations":[{"mode":"url","message":"m","url":"https://a","elicitationId":"1"}]}"#,
        ),
        same::<UnsubscribeRequestParams>(r#"{"uri":"file:///a"}"#),
    ];
    assert_eq!(
        shapes.into_iter().filter_map(Check::err).collect::<Vec<_>>(),
        <[String; 0]>::default()
    );
}

#[test]
fn shapes_of_tasks_survive() {
    let shapes = [
        same::<CreateTaskResult>(
            r#"{"resultType":"task","taskId":"t","status":"working","createdAt":"a",
            "lastUpdatedAt":"b","ttlMs":null,"_meta":{"k":1}}"#,
        ),
        same::<DetailedTask>(
            r#"{"taskId":"t","status":"input_required","statusMessage":"m","createdAt":"a",
            "lastUpdatedAt":"b","ttlMs":60000,"pollIntervalMs":1000,
            "inputRequests":{"k":{"method":"roots/list"}}}"#,
        ),
        same::<DetailedTask>(
            r#"{"resultType":"complete","taskId":"t","status":"completed","createdAt":"a",
            "lastUpdatedAt":"b","ttlMs":1,"result":{"content":[],"n":1.0},"_meta":{}}"#,
        ),
        same::<DetailedTask>(
            r#"{"taskId":"t","status":"failed","createdAt":"a","lastUpdatedAt":"b","ttlMs":1,
            "error":{"code":-32603,"message":"m","data":{"d":[1.0]}}}"#,
        ),
        same::<TaskRequestParams>(r#"{"taskId":"t"}"#),
        same::<UpdateTaskRequestParams>(
            r#"{"taskId":"t","inputResponses":{"k":{"action":"accept","content":{"n":1.0}}}}"#,
        ),
    ];
    assert_eq!(
        shapes.into_iter().filter_map(Check::err).collect::<Vec<_>>(),
        <[String; 0]>::default()
    );
}

#[test]
fn content_blocks_are_told_apart_by_type() {
    // The tag may come last, and in another spelling.
    let block: ContentBlock = read(r#"{"text":"a","\u0074ype":"text"}"#);
    assert_eq!(block, ContentBlock::text("a"));
    assert!(decode::<ContentBlock>(r#"{"text":"a"}"#).is_err(), "no type");
    assert!(decode::<ContentBlock>(r#"{"type":"text"}"#).is_err(), "no text");
    assert!(decode::<ContentBlock>(r#"{"type":"image","text":"a"}"#).is_err(), "an image");
    assert!(decode::<ContentBlock>(r#"{"type":1}"#).is_err(), "a number");
    assert!(decode::<ContentBlock>("[]").is_err(), "an array");
}

#[test]
fn blocks_from_later_revisions_are_kept() {
    let text = r#"{"content":[{"type":"video","data":"AA==","n":1.50}]}"#;
    let result: CallToolResult = read(text);
    assert!(matches!(&*result.content, [ContentBlock::Other(_)]), "{result:?}");
    assert_eq!(Json::encode(&result).unwrap().as_str(), text);

    let text = r#"{"role":"user","content":[{"type":"thinking"}]}"#;
    let message: SamplingMessage = read(text);
    assert!(matches!(message.content.blocks(), [SamplingMessageContentBlock::Other(_)]));
    assert_eq!(Json::encode(&message).unwrap().as_str(), text);
}

#[test]
fn sampling_content_is_one_block_or_a_list() {
    let one: SamplingMessage = read(r#"{"role":"user","content":{"type":"text","text":"a"}}"#);
    let list: SamplingMessage = read(r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#);
    assert_ne!(one, list);
    assert_eq!(one.content.blocks(), list.content.blocks());
    assert_eq!(one, SamplingMessage::new(Role::User, SamplingMessageContentBlock::text("a")));
    assert!(decode::<SamplingMessage>(r#"{"role":"user","content":"a"}"#).is_err());
}

#[test]
fn resource_contents_are_text_or_bytes() {
    let contents = |member: &str| decode::<ResourceContents>(&format!(r#"{{"uri":"a"{member}}}"#));
    assert_eq!(contents(r#","text":"""#).unwrap(), ResourceContents::text("a", ""));
    assert_eq!(contents(r#","blob":"""#).unwrap(), ResourceContents::blob("a", ""));
    assert!(contents("").is_err());
}

#[test]
fn elicitation_is_a_form_unless_its_mode_says_otherwise() {
    let form = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    for text in [format!("{{{form}}}"), format!(r#"{{{form},"mode":"form"}}"#)] {
        assert!(matches!(read(&text), ElicitRequestParams::Form(_)), "{text}");
        same::<ElicitRequestParams>(&text).unwrap();
    }
    assert!(decode::<ElicitRequestParams>(&format!(r#"{{{form},"mode":"url"}}"#)).is_err());
    assert!(decode::<ElicitRequestParams>(&format!(r#"{{{form},"mode":"voice"}}"#)).is_err());
}

#[test]
fn fields_of_forms_keep_their_order_and_what_they_are() {
    let option = || vec![EnumOption::new("r", "Red")];
    let text = || vec!["r".to_owned()];
    let schema = RequestedSchema::new()
        .required("z", StringSchema::new().title("Z"))
        .optional("number", NumberSchema::new())
        .optional("boolean", BooleanSchema::new())
        .optional("one", UntitledSingleSelectEnumSchema::new(text()))
        .optional("titled", TitledSingleSelectEnumSchema::new(option()))
        .optional("any", UntitledMultiSelectEnumSchema::new(text()))
        .optional("any-titled", TitledMultiSelectEnumSchema::new(option()))
        .optional("legacy", LegacyTitledEnumSchema::new(option()))
        .optional("a", PrimitiveSchemaDefinition::Other(Json::parse(r#"{"$ref":"x"}"#).unwrap()));
    let expected = concat!(
        r#"{"type":"object","properties":{"z":{"type":"string","title":"Z"},"#,
        r#""number":{"type":"number"},"boolean":{"type":"boolean"},"#,
        r#""one":{"type":"string","enum":["r"]},"#,
        r#""titled":{"type":"string","oneOf":[{"const":"r","title":"Red"}]},"#,
        r#""any":{"type":"array","items":{"type":"string","enum":["r"]}},"#,
        r#""any-titled":{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"}]}},"#,
        r#""legacy":{"type":"string","enum":["r"],"enumNames":["Red"]},"#,
        r#""a":{"$ref":"x"}},"required":["z"]}"#,
    );
    assert_eq!(Json::encode(&schema).unwrap().as_str(), expected);
    assert_eq!(read::<RequestedSchema>(expected), schema);
    for other in [r#"{"type":"array","items":{}}"#, r#"{"type":["string","null"]}"#, "{}"] {
        assert!(matches!(read(other), PrimitiveSchemaDefinition::Other(_)), "{other}");
    }
}

#[test]
fn input_requests_are_told_apart_by_method() {
    let roots: InputRequest = read(r#"{"params":{"_meta":{"a":1}},"method":"roots/list"}"#);
    assert!(matches!(&roots, InputRequest::ListRoots(params) if params.meta.is_some()));
    assert_eq!(roots.method(), "roots/list");
    assert!(decode::<InputRequest>(r#"{"method":"tools/call","params":{}}"#).is_err());
    assert!(decode::<InputRequest>(r#"{"method":"elicitation/create"}"#).is_err());
}

#[test]
fn elicited_content_is_there_only_if_it_was_accepted() {
    let content = json!({ "name": "octocat" });
    let accepted = ElicitResult::accept(Json::encode(&content).unwrap());
    assert_eq!(accepted.accepted::<Value>().unwrap().unwrap(), content);
    let declined: ElicitResult = read(r#"{"action":"decline","content":{"name":"octocat"}}"#);
    assert!(declined.accepted::<Value>().is_none());
    assert!(ElicitResult::new(ElicitAction::Accept).accepted::<Value>().is_none());
    let age = ElicitResult::accept(Json::parse(r#"{"age":5.0}"#).unwrap());
    assert_eq!(age.accepted::<BTreeMap<String, u8>>().unwrap().unwrap()["age"], 5);
}

#[test]
fn t083_an_array_is_no_object() {
    arrays_are_refused::<Implementation>(&[r#"["n",null,"1",null,null,[]]"#]);
    arrays_are_refused::<Annotations>(&[r#"[["user"],0.5,null]"#]);
    arrays_are_refused::<RequestParams>(&["[null]", "[{}]"]);
    arrays_are_refused::<EmptyResult>(&["[null,null]"]);
    arrays_are_refused::<InitializeResult>(&[
        r#"["2025-11-25",{},{"name":"n","version":"1"},null,null]"#,
        r#"{"protocolVersion":"1","capabilities":{"tools":[true]},
            "serverInfo":{"name":"n","version":"1"}}"#,
        r#"{"protocolVersion":"1","capabilities":{},"serverInfo":["n",null,"1",null,null,[]]}"#,
    ]);
    arrays_are_refused::<CallToolResult>(&[r#"["complete",[],{},false,null]"#]);
    arrays_are_refused::<ListToolsResult>(&[
        "[null,[],null,0,null,null]",
        r#"{"tools":[["t",null,null,{},null,null,[],null]]}"#,
        r#"{"tools":[{"name":"t","inputSchema":{},"icons":[["data:,",null,[],null]]}]}"#,
    ]);
    arrays_are_refused::<InputRequests>(&[r#"{"k":["roots/list",{}]}"#]);

    // What is inside of a union is read in the same way.
    let annotations = |annotations: &str| {
        let block = format!(r#"{{"type":"text","text":"t","annotations":{annotations}}}"#);
        decode::<CallToolResult>(&format!(r#"{{"content":[{block}]}}"#))
    };
    assert!(annotations(r#"{"audience":["user"]}"#).is_ok());
    assert!(annotations(r#"[["user"],0.5,null]"#).is_err());

    // What is raw is not looked into.
    let result: CallToolResult = read(r#"{"content":[],"structuredContent":[["a"]],"_meta":[]}"#);
    assert_eq!(result.structured_content.unwrap().as_str(), r#"[["a"]]"#);
}

/// Each text has an array in place of an object, with all of its members in the order of the type.
fn arrays_are_refused<T: DeserializeOwned>(texts: &[&str]) {
    for text in texts {
        assert!(serde_json::from_str::<T>(text).is_ok(), "the derived code takes {text}");
        assert!(decode::<T>(text).is_err(), "{text}");
    }
}

#[test]
fn a_client_that_names_no_mode_shows_forms() {
    let accepts_form = |text| read::<ElicitationCapability>(text).accepts_form();
    assert!(accepts_form("{}") && accepts_form(r#"{"form":{},"url":{}}"#));
    assert!(!accepts_form(r#"{"url":{}}"#));
}

#[test]
fn bad_hints_for_caches_do_not_cost_the_result() {
    let hints = |hints: &str| {
        let result: ListToolsResult = read(&format!(r#"{{"tools":[]{hints}}}"#));
        (result.ttl_ms, result.cache_scope)
    };
    assert_eq!(hints(""), (None, None));
    assert_eq!(hints(r#","ttlMs":5,"cacheScope":"public""#), (Some(5), Some(CacheScope::Public)));
    for ttl in ["-1", "-1e400", "0.9", "null", "\"5\"", "[]"] {
        assert_eq!(hints(&format!(r#","ttlMs":{ttl}"#)).0, Some(0), "{ttl}");
    }
    assert_eq!(hints(r#","ttlMs":1500.5"#).0, Some(1500));
    assert_eq!(hints(r#","ttlMs":1e300"#).0, Some(u64::MAX));
    for scope in ["\"\"", "\"Public\"", "\"shared\"", "1", "{}"] {
        let read = hints(&format!(r#","cacheScope":{scope}"#)).1;
        assert_eq!(read, Some(CacheScope::Private), "{scope}");
    }
}

#[test]
fn a_discovered_server_need_not_say_who_it_is() {
    let result: DiscoverResult = read(r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#);
    assert_eq!(result.meta, None);
}

#[test]
fn names_that_a_set_has_not_yet_are_kept() {
    same::<CreateMessageResult>(
        r#"{"role":"assistant","content":[],"model":"m","stopReason":"refusal"}"#,
    )
    .unwrap();
    same::<Icon>(r#"{"src":"data:,","theme":"sepia"}"#).unwrap();
    same::<StringSchema>(r#"{"type":"string","format":"hostname"}"#).unwrap();
    same::<ToolChoice>(r#"{"mode":"sometimes"}"#).unwrap();
    let result: EmptyResult = read(r#"{"resultType":"com.example/partial"}"#);
    assert_eq!(result.result_type.unwrap().as_str(), "com.example/partial");
    assert!(decode::<PromptMessage>(r#"{"role":"system","content":{}}"#).is_err());
}

#[test]
fn the_text_of_a_model_is_that_of_the_first_block_with_one() {
    for (content, text) in [
        (r#"{"type":"text","text":"a"}"#, Some("a")),
        (
            r#"[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"b"}]"#,
            Some("b"),
        ),
        (r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#, None),
        ("[]", None),
    ] {
        let result = format!(r#"{{"role":"assistant","content":{content},"model":"m"}}"#);
        assert_eq!(read::<CreateMessageResult>(&result).as_text(), text, "{content}");
    }
}

#[test]
fn null_is_structured_content() {
    let result: CallToolResult = read(r#"{"content":[],"structuredContent":null}"#);
    assert_eq!(result.structured_content.as_ref().unwrap().as_str(), "null");
    let text = Json::encode(&result).unwrap();
    assert_eq!(text.as_str(), r#"{"content":[],"structuredContent":null}"#);
    assert_eq!(read::<CallToolResult>(r#"{"content":[]}"#).structured_content, None);
}

#[test]
fn numbers_without_a_fraction_are_written_without_one() {
    for text in ["0", "-7", "0.25", "9007199254740992", "1e300"] {
        let progress = format!(r#"{{"progressToken":1,"progress":{text}}}"#);
        same::<ProgressNotificationParams>(&progress).unwrap();
    }
    let params: ProgressNotificationParams = read(r#"{"progressToken":"1","progress":5e1}"#);
    assert_eq!(Json::encode(&params).unwrap().as_str(), r#"{"progressToken":"1","progress":50}"#);
}

#[test]
fn whole_numbers_are_integers_in_each_notation() {
    fn reads<T: DeserializeOwned + Serialize>(text: &str) {
        let plain: T = read(&text.replace('#', "3"));
        for number in ["3.0", "3e0", "0.3E1"] {
            let value: T = read(&text.replace('#', number));
            assert_eq!(Json::encode(&value).unwrap(), Json::encode(&plain).unwrap(), "{text}");
        }
        for number in ["3.5", "-3.0", "3e40", "\"3\""] {
            assert!(decode::<T>(&text.replace('#', number)).is_err(), "{number}: {text}");
        }
    }
    reads::<Resource>(r#"{"uri":"a","name":"a","size":#}"#);
    reads::<ContentBlock>(r#"{"type":"resource_link","uri":"a","name":"a","size":#}"#);
    reads::<CompleteResult>(r#"{"completion":{"values":[],"total":#}}"#);
    let sampling = r#"{"messages":[],"maxTokens":#}"#;
    reads::<CreateMessageRequestParams>(sampling);
    let request = format!(r#"{{"method":"sampling/createMessage","params":{sampling}}}"#);
    reads::<InputRequests>(&format!(r#"{{"a":{request}}}"#));
    reads::<PrimitiveSchemaDefinition>(r#"{"type":"string","minLength":#,"maxLength":#}"#);
    for items in [r#""enum":["r"],"type":"string""#, r#""anyOf":[]"#] {
        let text = format!(r#"{{"type":"array","items":{{{items}}},"minItems":#,"maxItems":#}}"#);
        reads::<PrimitiveSchemaDefinition>(&text);
    }
    let error: ErrorData = read(r#"{"code":-3.2601e4,"message":"m"}"#);
    assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND);
    assert!(decode::<ErrorData>(r#"{"code":-1.5,"message":"m"}"#).is_err());
}

#[test]
fn half_a_surrogate_pair_is_a_replacement_character() {
    fn lossy<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
        Json::parse(text.to_owned()).unwrap().decode_lossy()
    }
    let text = r#"{"content":[{"type":"text","text":"cut \ud83d"}],"isError":false}"#;
    let result: CallToolResult = lossy(text).unwrap();
    assert_eq!(result.content[0].as_text(), Some("cut \u{fffd}"));
    assert!(decode::<CallToolResult>(text).is_err());
    let faster = CallToolResult::from_json(&Json::parse(text).unwrap()).unwrap();
    assert_eq!(Json::encode(&faster).unwrap(), Json::encode(&result).unwrap());
    // The number is rewritten too.
    let arguments = Json::parse(r#"["\ud83d",2.0]"#).unwrap();
    let arguments: (String, u8) = arguments.decode_arguments().unwrap();
    assert_eq!(arguments, ("\u{fffd}".to_owned(), 2));
    for text in [r#"{"content":"\ud83d"}"#, r#"{"content":[],"\ud83d":1}"#] {
        assert!(lossy::<CallToolResult>(text).is_err(), "{text}");
    }
}

#[test]
fn ids_are_written_as_they_came() {
    for id in ["1", "1.0", "18446744073709551616", r#""\u0061""#] {
        let text = format!(r#"{{"requestId":{id}}}"#);
        let params: CancelledNotificationParams = read(&text);
        assert_eq!(Json::encode(&params).unwrap().as_str(), text);
    }
    let params: CancelledNotificationParams = read(r#"{"requestId":1.0}"#);
    assert_eq!(params.request_id, Some(RequestId::number(1)));
    for id in ["1.5", "true", "[]"] {
        let text = format!(r#"{{"requestId":{id}}}"#);
        assert!(decode::<CancelledNotificationParams>(&text).is_err(), "{id}");
    }
}

#[test]
fn completions_beyond_the_hundredth_are_counted() {
    let values: Vec<String> = (0..101).map(|n| format!("{n}")).collect();
    let completion = CompleteResult::new(values).completion;
    assert_eq!(
        (completion.values.len(), completion.total, completion.has_more),
        (100, Some(101), true)
    );
    let completion = CompleteResult::new(vec!["flask".to_owned()]).completion;
    assert_eq!(
        (completion.values.len(), completion.total, completion.has_more),
        (1, Some(1), false)
    );
}
