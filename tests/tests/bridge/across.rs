//! Across eras everything that has a counterpart is translated.

use super::*;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

#[test]
fn legacy_client_gets_the_handshake_of_a_modern_server() {
    let mut bridged = bridged(Era::Legacy, Era::Modern);
    let answer = only(bridged.to_client());
    let expected = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities(), "instructions": "Be kind.",
        "serverInfo": {"name": "server", "version": "2", "mark": "kept"}, "more": true,
    });
    assert_eq!(answer["result"], expected);
}

/// A server of an earlier draft has its `serverInfo` outside of `_meta`. Clients cannot read a
/// handshake with a duplicate member.
#[test]
fn server_info_outside_of_meta_is_sent_once() {
    let [old, new] = ["old", "new"].map(|name| json!({"name": name, "version": "1"}));
    let unknown = json!({"name": "unknown", "version": "unknown"});
    for (outside, meta, expected) in [
        (&old, json!({}), &old),
        (&old, json!({SERVER_INFO: new}), &new),
        (&json!("none"), json!({}), &unknown),
    ] {
        let mut bridged = Bridged::new(EraPolicy::Auto, negotiation(Era::Modern));
        let mut discovered = handshake(Era::Modern);
        discovered["serverInfo"] = outside.clone();
        discovered["_meta"] = meta;
        let asked = bridged.to_server();
        let answer = json!({"jsonrpc": "2.0", "id": asked[0]["id"], "result": discovered});
        bridged.server(&answer.to_string());
        bridged.client(&initialize());
        let asked = only(bridged.to_server());
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": discovered});
        bridged.server(&answer.to_string());
        assert_eq!(&only(bridged.to_client())["result"]["serverInfo"], expected);
        let [to_client, _] = bridged.into_sent().map(|sent| String::from_utf8(sent).unwrap());
        assert_eq!(to_client.matches("\"serverInfo\"").count(), 1, "{to_client}");
    }
}

#[test]
fn modern_client_gets_the_discovery_of_a_legacy_server() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    bridged.client(&request(1, "server/discover", &modern(json!({}))));
    assert_eq!(bridged.to_server(), Vec::<Value>::new());
    let result = only(bridged.to_client())["result"].clone();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["capabilities"], capabilities());
    assert_eq!(result["instructions"], "Be kind.");
    assert_eq!(result["more"], true);
    assert_eq!(result["_meta"][SERVER_INFO]["mark"], "kept");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
    assert!(result["supportedVersions"].to_string().contains("2026-07-28"));
    assert!(result.get("serverInfo").is_none() && result.get("protocolVersion").is_none());
}

#[test]
fn results_of_legacy_get_what_the_modern_era_has_in_addition() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let asked = forwarded(&mut bridged, Era::Modern, 1, "tools/list", json!({"cursor": "2"}));
    assert_eq!(asked["params"], json!({"cursor": "2"}));
    let tools = json!([{"name": "x", "inputSchema": {"type": "object"}, "new": 1}]);
    // A modern server says who it is in each result.
    let meta = json!({SERVER_INFO: {"name": "server", "version": "2", "mark": "kept"}});
    let answer = answered(&mut bridged, &asked, &json!({"tools": tools, "nextCursor": "3"}));
    let expected = json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools,
        "nextCursor": "3", "_meta": meta,
    });
    assert_eq!(answer["result"], expected);
    let asked = forwarded(&mut bridged, Era::Modern, 2, "tools/call", json!({"name": "x"}));
    assert_eq!(asked["params"], json!({"name": "x"}));
    let answer = answered(&mut bridged, &asked, &json!({}));
    assert_eq!(answer["result"], json!({"resultType": "complete", "_meta": meta}));
    let asked = forwarded(&mut bridged, Era::Modern, 3, "tools/call", json!({"name": "x"}));
    let answer = answered(&mut bridged, &asked, &json!({"_meta": {"a/b": [1]}, "more": 2}));
    let mut both = meta.clone();
    both["a/b"] = json!([1]);
    let expected = json!({"resultType": "complete", "_meta": both, "more": 2});
    assert_eq!(answer["result"], expected);
    let asked = forwarded(&mut bridged, Era::Modern, 4, "tools/call", json!({"name": "x"}));
    let own = json!({SERVER_INFO: {"name": "own"}});
    let answer = answered(&mut bridged, &asked, &json!({"_meta": own}));
    assert_eq!(answer["result"]["_meta"], own);
}

/// Servers in Go, C# and Java write what is absent as `null`. Strict clients cannot read it.
#[test]
fn null_members_of_legacy_results_are_absent() {
    let mut bridged = quiet(Era::Modern, Era::Legacy);
    let tool = json!({"name": "x", "title": null, "icons": null, "annotations": {"title": null},
        "inputSchema": {"type": "object", "default": null}});
    let kept = json!({"name": "x", "annotations": {"title": null},
        "inputSchema": {"type": "object", "default": null}});
    let block = json!({"type": "text", "text": "null", "annotations": null});
    for (id, method, result, expected) in [
        (
            1,
            "tools/list",
            json!({"tools": [tool], "nextCursor": null, "_meta": null, "new": null}),
            json!({"tools": [kept], "new": null, "ttlMs": 0, "cacheScope": "private"}),
        ),
        (
            2,
            "prompts/list",
            json!({"prompts": null}),
            json!({"prompts": [], "ttlMs": 0,
            "cacheScope": "private"}),
        ),
        (
            3,
            "tools/call",
            json!({"content": [block], "isError": null, "structuredContent": null}),
            json!({"content": [{"type": "text", "text": "null"}]}),
        ),
        (4, "com.example/x", json!({"x": null}), json!({"x": null})),
    ] {
        let asked = forwarded(&mut bridged, Era::Modern, id, method, json!({"name": "x"}));
        let mut answer = answered(&mut bridged, &asked, &result)["result"].take();
        for added in ["resultType", "_meta"] {
            assert!(!answer.as_object_mut().unwrap().remove(added).unwrap().is_null());
        }
        assert_eq!(answer, expected);
    }
}

#[test]
fn results_of_modern_lose_what_the_legacy_era_does_not_have() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked = forwarded(&mut bridged, Era::Legacy, 1, "resources/read", json!({"uri": "a:b"}));
    let result = json!({
        "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "contents": [{"uri": "a:b"}],
        "_meta": {SERVER_INFO: {"name": "s", "version": "1"}, "a/b": {"c": 1}},
    });
    let answer = answered(&mut bridged, &asked, &result);
    let expected = json!({"contents": [{"uri": "a:b"}], "_meta": {"a/b": {"c": 1}}});
    assert_eq!(answer["result"], expected);
    let asked = forwarded(&mut bridged, Era::Legacy, 2, "tools/call", json!({"name": "x"}));
    let result = json!({
        "resultType": "complete", "content": [], "ttlMs": 1, "_meta": {SERVER_INFO: {}},
    });
    let answer = answered(&mut bridged, &asked, &result);
    assert_eq!(answer["result"], json!({"content": [], "ttlMs": 1}));
}

#[test]
fn structured_content_follows_its_schema() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked = forwarded(&mut bridged, Era::Legacy, 1, "tools/list", json!({}));
    let tool = |name: &str, output: Value| json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": output});
    let result = json!({"resultType": "complete", "tools": [
        tool("list", json!({"type": "array"})),
        tool("either", json!({"anyOf": [{"type": "object"}, {"type": "null"}]})),
        tool("object", json!({"type": "object"})),
    ]});
    let tools = answered(&mut bridged, &asked, &result)["result"]["tools"].clone();
    assert_eq!(tools[0]["outputSchema"]["properties"]["result"], json!({"type": "array"}));
    assert_eq!(tools[0]["outputSchema"]["type"], "object");
    assert_eq!(tools[2]["outputSchema"], json!({"type": "object"}));
    for (id, name, content, expected) in [
        (2, "list", json!([1]), json!({"result": [1]})),
        (3, "either", json!({"a": 1}), json!({"result": {"a": 1}})),
        (4, "object", json!({"a": 1}), json!({"a": 1})),
        (5, "unlisted", json!("text"), json!({"result": "text"})),
    ] {
        let asked = forwarded(&mut bridged, Era::Legacy, id, "tools/call", json!({"name": name}));
        let result = json!({"resultType": "complete", "content": [], "structuredContent": content});
        let answer = answered(&mut bridged, &asked, &result);
        assert_eq!(answer["result"]["structuredContent"], expected, "{name}");
    }
}

#[test]
fn error_codes_are_those_of_the_era_of_the_client() {
    for (down, up, code, expected) in [
        (Era::Modern, Era::Legacy, -32002, -32602),
        (Era::Modern, Era::Legacy, -32042, -32603),
        (Era::Modern, Era::Legacy, -32021, -32603),
        (Era::Modern, Era::Legacy, -32601, -32601),
        (Era::Modern, Era::Legacy, 12, 12),
        (Era::Legacy, Era::Modern, -32602, -32002),
        (Era::Legacy, Era::Modern, -32021, -32603),
        (Era::Legacy, Era::Modern, -32050, -32050),
    ] {
        let mut bridged = quiet(down, up);
        let asked = forwarded(&mut bridged, down, 1, "resources/read", json!({"uri": "a:b"}));
        let error = json!({"code": code, "message": "so", "data": {"uri": "a:b"}});
        let line = json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}).to_string();
        bridged.server(&line);
        let got = only(bridged.to_client());
        assert_eq!(got["error"]["code"], expected, "{down:?} {up:?} {code}");
        assert_eq!(got["error"]["data"], json!({"uri": "a:b"}));
    }
}

#[test]
fn level_of_a_legacy_client_goes_with_each_request_to_a_modern_server() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    for level in ["error", "debug", "warning"] {
        bridged.client(&request(1, "logging/setLevel", &json!({"level": level})));
        assert_eq!(bridged.to_server(), Vec::<Value>::new());
        assert_eq!(only(bridged.to_client())["result"], json!({}));
        let asked = forwarded(&mut bridged, Era::Legacy, 2, "tools/call", json!({"name": "x"}));
        assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/logLevel"], level);
        answered(&mut bridged, &asked, &json!({"resultType": "complete", "content": []}));
    }
}

#[test]
fn last_level_of_a_legacy_client_is_that_of_its_legacy_server() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    for level in ["error", "debug", "warning"] {
        let params = json!({"level": level});
        let asked = forwarded(&mut bridged, Era::Legacy, 1, "logging/setLevel", params);
        assert_eq!(asked["params"]["level"], level);
        assert_eq!(answered(&mut bridged, &asked, &json!({"own": 1}))["result"]["own"], 1);
    }
}

#[test]
fn methods_of_the_other_era_are_refused_here() {
    for up in ERAS {
        for (down, method) in [
            (Era::Modern, "resources/subscribe"),
            (Era::Modern, "logging/setLevel"),
            (Era::Legacy, "server/discover"),
            (Era::Legacy, "subscriptions/listen"),
        ] {
            let mut bridged = quiet(down, up);
            bridged.client(&request(1, method, &of_era(down, json!({"uri": "a:b"}))));
            assert_eq!(only(bridged.to_client())["error"]["code"], -32601, "{method}");
            assert_eq!(bridged.to_server(), Vec::<Value>::new());
        }
    }
}

#[test]
fn ping_is_answered_here() {
    for up in ERAS {
        let mut bridged = quiet(Era::Legacy, up);
        bridged.client(&request(1, "ping", &json!({})));
        assert_eq!(only(bridged.to_client())["result"], json!({}));
        assert_eq!(bridged.to_server(), Vec::<Value>::new());
    }
}

#[test]
fn content_that_is_no_object_is_wrapped_whatever_is_known_of_its_tool() {
    for content in [json!([1]), json!("text"), json!(null)] {
        let mut bridged = quiet(Era::Legacy, Era::Modern);
        let params = json!({"name": "not listed", "arguments": {}});
        let asked = forwarded(&mut bridged, Era::Legacy, 1, "tools/call", params);
        let result = json!({"resultType": "complete", "content": [], "structuredContent": content});
        let answer = answered(&mut bridged, &asked, &result);
        assert_eq!(answer["result"]["structuredContent"], json!({"result": content}));
    }
}
