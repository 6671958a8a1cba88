//! A gateway's role: a body that passes by.

use mcp_proto::headers::{BodyCheck, BodyError, MirroredHeaders, encode};
use mcp_proto::{Bytes, Limits};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::laws::cases;
use super::{head, told};

const VERSION: &str = "2026-07-28";
const CALL: [&str; 3] =
    ["MCP-Protocol-Version:2026-07-28", "Mcp-Method:tools/call", "Mcp-Name:sql"];
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

#[test]
fn t118_a_body_that_differs_does_not_pass() {
    let table = [
        // Wherever its members are, and however they are written.
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql",META}}"#, "ok"),
        (r#" {"params":{META,"name":"sql"} , "method":"tools/call","id":1} "#, "ok"),
        (r#"{"id":1,"\u006dethod":"\u0074ools\/call","params":{"name":"s\u0071l",META}}"#, "ok"),
        (r#"{"id":1,"method":"tools/list","params":{META}}"#, "Mcp-Method Mismatch"),
        (r#"{"id":1,"\u006dethod":"tools/list","params":{META}}"#, "Mcp-Method Mismatch"),
        (
            r#"{"id":1,"method":"tools/call","params":{"n\u0061me":"drop",META}}"#,
            "Mcp-Name Mismatch",
        ),
        (
            r#"{"params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2025-11-25"}}}"#,
            "MCP-Protocol-Version Mismatch",
        ),
        (
            r#"{"id":1,"method":"tools/call","params":{"name":"\ud800",META}}"#,
            "Mcp-Name NotUnicode",
        ),
        // What stands twice is read by one as the first and by another as the last.
        (
            r#"{"id":1,"method":"tools/call","method":"tools/call","params":{"name":"sql",META}}"#,
            "shape",
        ),
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql","name":"drop",META}}"#, "shape"),
        (
            r#"{"id":1,"method":"tools/call","params":{"name":"sql",META},"params":{"name":"drop"}}"#,
            "shape",
        ),
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql",META,META}}"#, "shape"),
        // The same keys elsewhere are other members.
        (
            r#"{"name":"a","_meta":{"method":"b"},"id":1,"method":"tools/call",
            "params":{"arguments":{"name":"c","_meta":{"name":["d",{"name":"e"}]}},
            "name":"sql","uri":"f","method":"g",META}}"#,
            "ok",
        ),
        // Wrong parameters are the server's to tell.
        (r#"{"id":1,"method":"tools/call","params":{"name":1,META}}"#, "ok"),
        (r#"{"id":1,"method":"tools/call","params":{META}}"#, "ok"),
        // A notification needs no version, and none that differs passes.
        (r#"{"method":"tools/call"}"#, "ok"),
        (r#"{"method":"notifications/x"}"#, "Mcp-Method Mismatch"),
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql"}}"#, "envelope"),
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql","_meta":1}}"#, "envelope"),
        (
            r#"{"id":1,"method":"tools/call",
            "params":{"_meta":{"io.modelcontextprotocol/protocolVersion":["2026-07-28"]}}}"#,
            "envelope",
        ),
        (r#"{"id":1,"method":1}"#, "shape"),
        (r#"{"id":1,"method":"tools/call","params":[META]}"#, "shape"),
        (r#"{"id":1,"result":{}}"#, "shape"),
        (r#"[{"id":1}]"#, "shape"),
        ("7", "shape"),
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql",META}}{}"#, "json"),
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql",META},}"#, "json"),
        (r#"{"id":1,"method":"tools/call","params":{"name":"sql",META}"#, "not done"),
        ("", "not done"),
    ];
    for (body, expected) in table {
        let body = body.replace("META", META);
        assert_eq!(passed(&CALL, [body.as_bytes()]), expected, "{body}");
        assert_eq!(passed(&CALL, body.as_bytes().chunks(1)), expected, "{body}");
    }
}

#[test]
fn the_piece_that_shows_it_is_refused_and_all_that_follow() {
    let head = head(&CALL);
    let mut check = BodyCheck::of(&head.claim().unwrap());
    check.pass(br#"{"method":"tools/call","params":{"name":"dro"#).unwrap();
    let error = check.pass(br#"p","#).unwrap_err();
    assert_eq!(check.pass(b" ").unwrap_err(), error);
    assert!(!check.is_done());
}

/// Whoever sends a gigabyte in place of a name is told so at once.
#[test]
fn a_text_that_is_longer_than_the_header_however_it_is_written_differs() {
    let head = head(&CALL);
    let mut check = BodyCheck::of(&head.claim().unwrap());
    check.pass(br#"{"params":{"arguments":""#).unwrap();
    check.pass(&vec![b'x'; 100_000]).unwrap();
    check.pass(br#"","name":""#).unwrap();
    check.pass(&[b'x'; 600]).unwrap();
    let error = check.pass(b"x").unwrap_err();
    assert!(error.to_string().starts_with(r#"Mcp-Name says "sql", and the body "xxx"#), "{error}");
    // A key of any length is no member that is looked at.
    let mut check = BodyCheck::of(&head.claim().unwrap());
    let key = "method".repeat(10_000);
    check.pass(format!(r#"{{"{key}":1,"method":"tools/call""#).as_bytes()).unwrap();
    check.pass(b"}").unwrap();
    assert!(check.is_done());
}

/// A body may write each character of a long name in six bytes.
#[test]
fn a_long_name_in_escapes_is_the_name() {
    let name = "n".repeat(200);
    let mcp_name = format!("Mcp-Name:{name}");
    let head = [CALL[0], CALL[1], &mcp_name];
    let escaped = "\\u006e".repeat(200);
    let call =
        format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"{escaped}",{META}}}}}"#);
    assert_eq!(passed(&head, [call.as_bytes()]), "ok");
    let longer = call.replace(&escaped, &format!("{escaped}n"));
    assert_eq!(passed(&head, [longer.as_bytes()]), "Mcp-Name Mismatch");
}

#[test]
fn error_of_an_incomplete_meta_is_that_of_the_whole_body() {
    let head = head(&CALL);
    for (meta, missing) in [
        ("", "both"),
        (r#","_meta":{}"#, "both"),
        (r#","_meta":{"io.modelcontextprotocol/clientCapabilities":{"a":{"b":1}}}"#, "version"),
        (r#","_meta":{"io.modelcontextprotocol/clientCapabilities":"none"}"#, "version"),
    ] {
        let start = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sql""#;
        let body = format!("{start}{meta}}}}}");
        let error = BodyCheck::of(&head.claim().unwrap()).pass(body.as_bytes()).unwrap_err();
        let names_both = error.to_string().contains("clientCapabilities");
        assert_eq!(names_both, missing == "both", "{error}");
        let whole = head.check_body(&Bytes::from(body), &Limits::default(), |_| None);
        assert_eq!(Err(error), whole);
    }
}

proptest! {
    #![proptest_config(cases(4000))]

    /// A body that passes in pieces passes as a whole, and the reverse.
    #[test]
    fn pieces_are_judged_as_the_whole_is(
        method in select(vec!["tools/call", "resources/read", "tasks/get", "tools/list"]),
        claimed in words(), said in words(), noise in noise(),
        cuts in prop::collection::vec(any::<Index>(), 0..6), is_escaped in any::<bool>(),
    ) {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "result_": noise,
            "params": {
                "arguments": noise, "name": said, "taskId": said, "uri": said, "zzz": noise,
                "_meta": {
                    "a": noise, "io.modelcontextprotocol/protocolVersion": VERSION,
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        });
        let mut body = body.to_string();
        if is_escaped {
            body = body.replace('o', "\\u006f");
        }
        let name = encode(&claimed);
        let fields = [
            ("mcp-protocol-version", VERSION), ("mcp-method", method), ("mcp-name", &*name),
        ];
        let head = MirroredHeaders::of(fields.map(|(name, value)| (name, value.as_bytes())));
        let whole = head.check_body(&Bytes::from(body.clone()), &Limits::default(), |_| None);

        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len())).collect();
        cuts.sort_unstable();
        let mut check = BodyCheck::of(&head.claim().unwrap());
        let mut from = 0;
        let mut passed = Ok(());
        for to in cuts.into_iter().chain([body.len()]) {
            passed = passed.and_then(|()| check.pass(&body.as_bytes()[from..to]));
            from = to;
        }
        prop_assert_eq!(check.is_done(), whole.is_ok());
        prop_assert_eq!(passed, whole, "{}", body);
    }
}

fn words() -> impl Strategy<Value = String> {
    select(vec!["sql", "drop", "é", "", "\"", "\\", "a\nb", "name", "𝄞"]).prop_map(str::to_owned)
}

/// Values that have the keys of a message at other places.
fn noise() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = select(vec!["method", "params", "name", "_meta", "id", "uri"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn passed<'a>(fields: &[&str], pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let head = head(fields);
    let mut check = BodyCheck::of(&head.claim().unwrap());
    let passed = pieces.into_iter().try_for_each(|piece| check.pass(piece));
    match passed {
        Ok(()) if !check.is_done() => "not done".to_owned(),
        Ok(()) => told(Ok(())),
        Err(BodyError::Header(error)) => told(Err(error)),
        Err(BodyError::Message(error)) => error.step().to_string(),
    }
}
