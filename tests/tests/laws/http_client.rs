//! The laws of clients over HTTP: in whatever order their verbs are called, whatever comes back,
//! and however it is cut, nothing panics, every call has one response, and time alone brings all to
//! an end.

use mcp_tests::fuzz;
use mcp_tests::transcript::Transcript;
use proptest::prelude::*;
use proptest::sample::select;

proptest! {
    #![proptest_config(super::cases(300))]

    /// The model of the fuzz target looks on; see `mcp_tests::fuzz::client_http`.
    #[test]
    fn verbs_of_a_client_over_http_may_come_in_any_order(
        settings in any::<[u8; 6]>(),
        opened in any::<bool>(),
        ops in prop::collection::vec(op(), 1..80),
    ) {
        let mut data = vec![0];
        data.extend(settings);
        data.extend(opened.then_some(0x03));
        data.extend(ops.into_iter().flatten());
        fuzz::client_http(&data);
    }

    #[test]
    fn no_bytes_make_a_client_over_http_panic(data in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzz::client_http(&data);
    }

    #[test]
    fn chunking_never_matters_to_a_client_over_http(
        kind in 0..3_u8,
        lines in prop::collection::vec(line(), 1..24),
    ) {
        let (modern, sse) = (kind == 0, kind == 2);
        let era = if modern { "= verdict 2026-07-28" } else { "= negotiation legacy" };
        let settings = format!(
            "= role client\n= transport http\n{era}\n= capabilities {{\"elicitation\":{{}}}}\n\
             = limit max_sse_event_bytes 300\n= limit max_line_bytes 300\n! open\n"
        );
        let opened = if modern {
            "! call a tools/call {\"name\":\"x\"}\n! subscribe s {\"toolsListChanged\":true}\n".into()
        } else if sse {
            format!(
                "1< 405\n2< 200 text/event-stream\n2< {ENDPOINT}\n3< 202\n2< event: {INITIALIZED}\n\
                 4< 202\n! call a tools/call {{\"name\":\"x\"}}\n"
            )
        } else {
            format!(
                "1< 200 application/json\n1< Mcp-Session-Id: s\n1< {INITIALIZED}\n2< 202\n\
                 ! call a tools/call {{\"name\":\"x\"}}\n"
            )
        };
        let text = format!("# Whatever comes.\n{settings}{opened}{}\n", lines.join("\n"));
        let transcript = Transcript::parse("law", &text).unwrap();
        transcript.keeps_laws().map_err(TestCaseError::fail)?;
    }
}

/// The event of a server of HTTP+SSE.
const ENDPOINT: &str = r#""event: endpoint\ndata: /m\n\n""#;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}}}}"#;

/// A step of a script: what it does most, with small numbers so that requests are met.
fn op() -> impl Strategy<Value = Vec<u8>> {
    let small = || prop_oneof![4 => 0..4_u8, 1 => any::<u8>()];
    let request = || 0..6_u8;
    prop_oneof![
        1 => small().prop_map(|n| vec![0x01, n]),
        2 => Just(vec![0x02]),
        1 => Just(vec![0x03]),
        // Mostly a success, of JSON or of events.
        6 => (request(), prop_oneof![4 => Just(0), 1 => any::<u8>()], 0..8_u8)
            .prop_map(|(request, status, kind)| vec![0x04, request, status, kind]),
        2 => (request(), prop::collection::vec(any::<u8>(), 0..8)).prop_map(|(request, bytes)| {
            let length = u8::try_from(bytes.len()).unwrap_or_default();
            [&[0x05, request, length], &*bytes].concat()
        }),
        3 => request().prop_map(|request| vec![0x06, request]),
        1 => request().prop_map(|request| vec![0x07, request]),
        6 => (request(), any::<u8>()).prop_map(|(request, manner)| vec![0x08, request, manner]),
        2 => (9..12_u8, request(), any::<u8>()).prop_map(|(op, request, n)| vec![op, request, n]),
        1 => (request(), request(), any::<u8>())
            .prop_map(|(request, other, manner)| vec![0x0C, request, other, manner]),
        4 => (0x10..0x1C_u8, any::<u8>()).prop_map(|(op, n)| vec![op, n]),
        1 => request().prop_map(|request| vec![0x0B, request, 0xF0]),
        1 => select(vec![vec![0x1C], vec![0x10, 0], vec![0x15, 7], vec![0x11, 0]]),
    ]
}

/// A line of a transcript that might stand anywhere.
fn line() -> impl Strategy<Value = String> {
    let text = [
        "200 text/event-stream",
        "200 application/json",
        "202",
        "400 application/json",
        "404",
        "503",
        "event: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\"}}",
        "event 1-0: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\"}}",
        "event: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32020,\"message\":\"é\"}}",
        "event: [{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]",
        "event: {\"jsonrpc\":\"2.0\",\"id\":\"e\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}",
        "event: {\"jsonrpc\":",
        "event 1-1:",
        ENDPOINT,
        "retry: 10",
        ":",
        "\"data: \" \"x\" * 400 \"\\r\\n\\r\"",
        "\"\\xEF\\xBB\\xBFid:1\\rdata\\n\\n\"",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
        "\" \" * 400",
        "...",
        "end",
        "cut off",
    ];
    let acts = [
        "! call b tools/call {\"name\":\"y\"} timeout 5s",
        "! list c tools",
        "! cancel a",
        "! subscribe t {}",
        "! answer i1 {}",
        "! notify notifications/x",
        "! unsubscribe s",
        "@ 1s",
        "@ 60s",
        "! close",
    ];
    prop_oneof![
        5 => (1..7_u8, select(text.to_vec())).prop_map(|(at, text)| format!("{at}< {text}")),
        1 => select(acts.to_vec()).prop_map(str::to_owned),
    ]
}
