//! Within one era what arrives is what was sent, but for what belongs to one hop.

use super::*;

#[test]
fn handshake_of_legacy_passes_whole() {
    let mut bridged = bridged(Era::Legacy, Era::Legacy);
    let answer = only(bridged.to_client());
    assert_eq!(answer["id"], 0);
    let expected = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities(), "instructions": "Be kind.",
        "serverInfo": {"name": "server", "version": "2", "mark": "kept"}, "more": true,
    });
    assert_eq!(answer["result"], expected);
}

#[test]
fn discovery_of_modern_passes_whole() {
    let mut bridged = quiet(Era::Modern, Era::Modern);
    let asked = forwarded(&mut bridged, Era::Modern, 1, "server/discover", json!({}));
    assert_eq!(asked["method"], "server/discover");
    let result = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities(),
        "ttlMs": 7, "cacheScope": "public", "more": [null],
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}, "a/b": 1},
    });
    let answer = answered(&mut bridged, &asked, &result);
    let mut expected = result;
    // This server serves the legacy era as well.
    expected["supportedVersions"] = answer["result"]["supportedVersions"].clone();
    assert_eq!(answer["result"], expected);
    assert!(answer["result"]["supportedVersions"].to_string().contains("2025-11-25"));
}

#[test]
fn requests_and_results_pass_with_members_that_nobody_knows() {
    for era in ERAS {
        let mut bridged = quiet(era, era);
        for (id, method) in [
            (1, "tools/list"),
            (2, "tools/call"),
            (3, "resources/read"),
            (4, "prompts/get"),
            (5, "completion/complete"),
            (6, "resources/templates/list"),
            (7, "com.example/unknown"),
        ] {
            let params = json!({
                "cursor": "page 2", "name": "x", "uri": "a:b", "arguments": {"n": 1.50, "deep": [[]]},
                "new": {"member": null}, "_meta": {"com.example/key": {"a": 1}},
            });
            let asked = forwarded(&mut bridged, era, id, method, params.clone());
            assert_eq!(asked["method"], method);
            let mut got = asked["params"].clone();
            if era == Era::Modern {
                let meta = got["_meta"].as_object_mut().unwrap();
                meta.retain(|key, _| !key.starts_with("io.modelcontextprotocol/"));
            }
            assert_eq!(got, params, "{method}");
            let result = json!({
                "resultType": "complete", "tools": [{"name": "x", "outputSchema": {"type": "array"}}],
                "nextCursor": "page 3", "structuredContent": [1], "ttlMs": 3, "cacheScope": "public",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s"}, "b/c": 2}, "new": 1.0,
            });
            let answer = answered(&mut bridged, &asked, &result);
            assert_eq!(answer["id"], id);
            assert_eq!(answer["result"], result, "{method}");
        }
    }
}

#[test]
fn errors_pass_whole() {
    for era in ERAS {
        let mut bridged = quiet(era, era);
        for (id, code) in [(1, -32002), (2, -32602), (3, -32042), (4, -32021), (5, 77), (6, -32050)]
        {
            let asked = forwarded(&mut bridged, era, id, "resources/read", json!({"uri": "a:b"}));
            let error = json!({"code": code, "message": "so", "data": {"uri": "a:b", "n": 1.0}});
            let line = json!({"jsonrpc": "2.0", "id": asked["id"], "error": error});
            bridged.server(&line.to_string());
            assert_eq!(only(bridged.to_client())["error"], error);
        }
    }
}

#[test]
fn text_of_a_result_is_copied() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    let asked = forwarded(&mut bridged, Era::Legacy, 1, "x/y", json!({}));
    // Numbers and blanks would not survive being read and written again.
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"n":1.50e0, "big":123456789012345678901234567890}}}}"#,
        asked["id"]
    );
    let text = bridged.server_raw(&line);
    assert!(text.contains(r#"{"n":1.50e0, "big":123456789012345678901234567890}"#), "{text}");
}

#[test]
fn progress_and_logs_go_to_the_request_that_they_are_about() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        let params = json!({
            "name": "x", "_meta": {"progressToken": "mine", "io.modelcontextprotocol/logLevel": "info"},
        });
        bridged.client(&request(1, "tools/call", &of_era(down, params)));
        // A legacy server is told which messages are wanted before the request.
        let asked = bridged.to_server().pop().unwrap();
        let token = &asked["params"]["_meta"]["progressToken"];
        assert_ne!(token, "mine");
        let progress = json!({
            "progressToken": token, "progress": 0.5, "total": 2, "message": "half", "new": [1],
        });
        let notification = |method: &str, params: &Value| {
            json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
        };
        bridged.server(&notification("notifications/progress", &progress));
        let got = only(bridged.to_client());
        let mut expected = progress;
        expected["progressToken"] = json!("mine");
        assert_eq!(got["params"], expected);
        let log = json!({"level": "warning", "logger": "l", "data": {"a": 1.0}, "new": 1});
        bridged.server(&notification("notifications/message", &log));
        assert_eq!(only(bridged.to_client())["params"], log);
        // After the answer nothing is about the request.
        let result = json!({"resultType": "complete", "content": []});
        answered(&mut bridged, &asked, &result);
        bridged.server(&notification(
            "notifications/progress",
            &json!({"progressToken": token, "progress": 1}),
        ));
        assert_eq!(bridged.to_client(), Vec::<Value>::new());
    }
}

#[test]
fn notifications_that_no_revision_defines_pass_both_ways() {
    for (down, up) in pairs() {
        let mut bridged = quiet(down, up);
        // A modern server hears of a client with its first request.
        let asked = forwarded(&mut bridged, down, 1, "tools/list", json!({}));
        let params = of_era(down, json!({"a": {"b": 1.0}}));
        let line =
            json!({"jsonrpc": "2.0", "method": "notifications/com.example/x", "params": params});
        bridged.client(&line.to_string());
        let got = only(bridged.to_server());
        assert_eq!(got["method"], "notifications/com.example/x");
        assert_eq!(got["params"]["a"], json!({"b": 1.0}));
        answered(&mut bridged, &asked, &json!({"resultType": "complete", "tools": []}));
        if down == Era::Legacy {
            let line =
                r#"{"jsonrpc":"2.0","method":"notifications/com.example/y","params":{"c":2}}"#;
            bridged.server(line);
            let got = only(bridged.to_client());
            assert_eq!(got["params"], json!({"c": 2}));
        }
    }
}
