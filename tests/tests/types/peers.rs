//! Shapes of peers that follow an earlier draft, or no schema.

use mcp_proto::Json;
use mcp_proto::types::{
    ContentBlock, CreateMessageResult, ElicitRequestFormParams, Icon, Implementation,
    InputResponse, ListToolsResult, PrimitiveSchemaDefinition, ReadResourceResult,
    SamplingMessageContentBlock,
};
use serde_json::json;

use super::{decode, read, same};

#[test]
fn bytes_in_the_alphabet_for_urls_or_without_padding_are_read() {
    let contents = |blob: &str| {
        format!(r#"{{"contents":[{{"uri":"a:b","mimeType":"application/pdf","blob":"{blob}"}}]}}"#)
    };
    for (sent, standard) in [
        ("-_-_", "+/+/"),
        ("AP8", "AP8="),
        ("_w==", "/w=="),
        ("_w", "/w=="),
        ("_w=", "/w=="),
        ("+/8=", "+/8="),
        ("", ""),
    ] {
        let result: ReadResourceResult = read(&contents(sent));
        // A program that passes the text on sends what every peer can read.
        assert_eq!(Json::encode(&result).unwrap().as_str(), contents(standard));
    }
    let block: ContentBlock = read(r#"{"type":"image","data":"_-8","mimeType":"image/png"}"#);
    let ContentBlock::Image(image) = block else { unreachable!("{block:?}") };
    assert_eq!(image.bytes().as_deref(), Ok(&b"\xff\xef"[..]));
    let block: ContentBlock = read(r#"{"mimeType":"audio/wav","data":"_-8","type":"audio"}"#);
    let ContentBlock::Audio(audio) = block else { unreachable!("{block:?}") };
    assert_eq!(audio.bytes().as_deref(), Ok(&b"\xff\xef"[..]));
    // Other texts stay as they came.
    for text in ["A", "AAAAA", "A_=A", "====", "/tmp/picture-1.png"] {
        let image = json!({"type": "image", "data": text, "mimeType": "image/png"}).to_string();
        let ContentBlock::Image(image) = read(&image) else { unreachable!("{image}") };
        assert_eq!(image.data, text);
        assert!(image.bytes().is_err(), "{text}");
    }
}

#[test]
fn sizes_of_an_icon_may_be_one_string() {
    let icon = |sizes| Icon::new("i").size("48x48").size(sizes);
    let sizes: Icon = read(r#"{"src":"i","sizes":"48x48  96x96"}"#);
    assert_eq!(sizes, icon("96x96"));
    let list: ListToolsResult = read(
        r#"{"tools":[{"name":"t","inputSchema":{},"icons":[{"src":"i","sizes":"48x48 any"}]}]}"#,
    );
    assert_eq!(list.tools[0].icons, [icon("any")]);
    let info: Implementation =
        read(r#"{"name":"n","version":"1","icons":[{"src":"i","sizes":""}]}"#);
    assert_eq!(info.icons, [Icon::new("i")]);
    for sizes in ["5", "[5]", "{}", "true"] {
        assert!(decode::<Icon>(&format!(r#"{{"src":"i","sizes":{sizes}}}"#)).is_err(), "{sizes}");
    }
}

#[test]
fn choices_that_are_no_texts_are_another_schema_and_cost_no_form() {
    for field in [
        r#"{"type":"array","items":{"type":"integer","enum":[1,2]},"title":"T"}"#,
        r#"{"type":"array","items":{"enum":["a","b"]}}"#,
        r#"{"type":"array","items":{"anyOf":[{"const":"a"}]}}"#,
        r#"{"type":"array","items":true}"#,
        r#"{"type":"string","enum":["a",null]}"#,
        r#"{"type":"string","oneOf":[{"const":"a"},{"const":"b"}]}"#,
        r#"{"type":"integer","enum":[1,2],"title":"T"}"#,
        r#"{"type":"number","oneOf":[{"const":1,"title":"one"}]}"#,
        r#"{"type":"boolean","enum":[true]}"#,
        r#"{"type":"string","enum":[1],"enumNames":["One"]}"#,
    ] {
        assert!(matches!(read(field), PrimitiveSchemaDefinition::Other(_)), "{field}");
        let schema = format!(r#"{{"type":"object","properties":{{"v":{field}}}}}"#);
        let form = format!(r#"{{"message":"m","requestedSchema":{schema}}}"#);
        same::<ElicitRequestFormParams>(&form).unwrap();
    }
    // A text that was cut within a character is a text.
    let cut = Json::parse(r#"{"type":"string","enum":["\ud83d"]}"#).unwrap();
    let cut: PrimitiveSchemaDefinition = cut.decode_lossy().unwrap();
    assert!(matches!(cut, PrimitiveSchemaDefinition::UntitledSingleSelectEnum(_)), "{cut:?}");
    // Other mistakes remain errors.
    for field in [
        r#"{"type":"string","enum":["a"],"default":7}"#,
        r#"{"type":"string","enum":["a"],"enumNames":[7]}"#,
        r#"{"type":"array","items":{"type":"string","enum":["a"]},"maxItems":"many"}"#,
    ] {
        assert!(decode::<PrimitiveSchemaDefinition>(field).is_err(), "{field}");
    }
}

#[test]
fn answer_with_half_a_surrogate_pair_is_an_answer() {
    let answer = |text: &'static str| InputResponse::from(Json::parse(text).unwrap());
    let message =
        answer(r#"{"role":"assistant","model":"m","content":{"type":"text","text":"cut \ud83d"}}"#);
    assert_eq!(message.create_message().unwrap().as_text(), Some("cut \u{fffd}"));
    let roots = answer(r#"{"roots":[{"uri":"file:///a","name":"cut \ud83d"}]}"#);
    assert_eq!(roots.list_roots().unwrap().roots[0].name.as_deref(), Some("cut \u{fffd}"));
    assert!(answer(r#"{"action":"cut \ud83d"}"#).elicit().is_err());
}

#[test]
fn list_of_one_block_is_written_as_the_block() {
    let written = |count| {
        let blocks = vec![SamplingMessageContentBlock::text("a"); count];
        let result = Json::encode(&CreateMessageResult::new("m", blocks)).unwrap();
        serde_json::to_value(&result).unwrap()["content"].take()
    };
    let block = json!({"type": "text", "text": "a"});
    assert_eq!(written(0), json!([]));
    // Servers before 2025-11-25 read no list.
    assert_eq!(written(1), block);
    assert_eq!(written(2), json!([block, block]));
}
