//! The laws of the client, on conversations that nobody has thought of: what the player of
//! transcripts looks for in each (one response for each call, one end for each subscription,
//! deadlines that are kept, nothing after the end), and that chunking never matters.

use mcp_tests::transcript::Transcript;
use proptest::prelude::*;

use crate::cases;

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn a_client_keeps_its_laws_whatever_happens(text in conversation()) {
        let transcript = Transcript::parse("generated", &text).map_err(|error| {
            TestCaseError::fail(format!("{error}\n{text}"))
        })?;
        transcript.keeps_laws().map_err(TestCaseError::fail)?;
    }
}

/// A transcript without outputs, to its end.
fn conversation() -> impl Strategy<Value = String> {
    (settings(), prop::collection::vec(step(), 1..40)).prop_map(|(settings, steps)| {
        let mut text = format!("# Generated.\n= role client\n{settings}\n! open\n");
        for (at, step) in steps.iter().enumerate() {
            // Names are used once.
            text.push_str(&step.replace('$', &at.to_string()));
            text.push('\n');
        }
        text.push_str("! eof\n! eof\n! close\n");
        text
    })
}

fn settings() -> impl Strategy<Value = String> {
    let negotiation = one_of(&[
        "",
        "",
        "= negotiation legacy\n",
        "= negotiation 2025-03-26\n",
        "= negotiation 2026-07-28\n",
        "= verdict 2026-07-28\n",
        "= verdict 2025-11-25\n",
    ]);
    let capabilities = one_of(&[
        "",
        "= capabilities {\"roots\":{\"listChanged\":true},\"sampling\":{},\"elicitation\":{}}\n",
    ]);
    let limits = one_of(&[
        "",
        "",
        "= limit max_in_flight 2\n",
        "= limit max_input_rounds 1\n",
        "= limit max_pages 2\n",
    ]);
    (negotiation, capabilities, limits).prop_map(|(a, b, c)| format!("{a}{b}{c}"))
}

fn step() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => act(),
        1 => one_of(&["@ 1s", "@ 5s", "@ 61s", "@ 0s"]).prop_map(str::to_owned),
        9 => line(),
    ]
}

/// Something that the application does.
fn act() -> impl Strategy<Value = String> {
    let acts = one_of(&[
        "! call a$ tools/call {\"name\":\"x\"}",
        "! call a$ tools/call {\"name\":\"x\"} timeout 1s progress",
        "! call a$ tools/call {\"name\":\"x\"} max-total 6s",
        "! list a$ tools timeout 5s",
        "! ping a$",
        "! level a$ warning",
        "! subscribe s$ {\"toolsListChanged\":true,\"resourceSubscriptions\":[\"a:b\",\"a:c\"]}",
        "! subscribe s$ {\"resourceSubscriptions\":[\"a:b\"]}",
        "! roots file:///$",
        "! notify notifications/com.example/x {}",
        "! capabilities {\"sampling\":{}}",
        "! open",
        "! eof",
    ]);
    let about = one_of(&[
        "! cancel a~",
        "! unsubscribe s~",
        "! answer i~ {\"action\":\"decline\"}",
        "! answer i~ {\"action\":\"decline\"}",
        "! refuse i~ -1",
    ]);
    let about = (about, 0..20_u32).prop_map(|(act, n)| act.replace('~', &n.to_string()));
    prop_oneof![2 => acts.prop_map(str::to_owned), 1 => about]
}

/// Something that the server says. Ids are small, so that most of them hit something.
fn line() -> impl Strategy<Value = String> {
    let bodies = one_of(&[
        r#""id":~,"result":{"resultType":"complete","content":[]}"#,
        r#""id":~,"result":{}"#,
        r#""id":"~","result":{"tools":[],"nextCursor":"x"}"#,
        r#""id":~,"result":{"resultType":"input_required","requestState":"s"}"#,
        r#""id":~,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}},"r":{"method":"roots/list"}}}"#,
        r#""id":~,"result":[]"#,
        r#""id":~,"error":{"code":-32601,"message":"no"}"#,
        r#""id":~,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#,
        r#""id":~,"error":{"code":7}"#,
        r#""id":~,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true}}}"#,
        r#""id":~,"result":{"protocolVersion":"2025-03-26","capabilities":{"resources":{"subscribe":true}}}"#,
        r#""id":~,"result":{"protocolVersion":"2026-07-28","capabilities":{}}"#,
        r#""id":"discover-~","result":{"supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#,
        r#""id":"discover-~","result":{"supportedVersions":["2025-11-25"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#,
        r#""id":"discover-~","error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#,
        r#""id":"discover-~","error":{"code":-32601,"message":"no"}"#,
        r#""id":null,"error":{"code":-32600,"message":"no"}"#,
        r#""method":"notifications/progress","params":{"progressToken":~,"progress":~}"#,
        r#""method":"notifications/cancelled","params":{"requestId":~}"#,
        r#""method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":~}}"#,
        r#""method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":~}}"#,
        r#""method":"notifications/resources/updated","params":{"uri":"a:b"}"#,
        r#""id":~,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}"#,
        r#""id":~,"method":"ping""#,
        r#""id":~,"method":"roots/list""#,
    ]);
    let message = (bodies, 1..14_u32).prop_map(|(body, n)| {
        format!(r#"{{"jsonrpc":"2.0",{}}}"#, body.replace('~', &n.to_string()))
    });
    let batch = prop::collection::vec(message.clone(), 0..4).prop_map(|all| all.join(","));
    prop_oneof![
        12 => message.prop_map(|message| format!("S> {message}")),
        1 => batch.prop_map(|batch| format!("S> [{batch}]")),
        1 => Just("S> garbage".to_owned()),
    ]
}

fn one_of(all: &'static [&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(all)
}
