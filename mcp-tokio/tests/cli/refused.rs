//! Refusals over HTTP: where they redirect to, and why they refuse.

use super::run::run;
use super::server::by_hand;

crate::all!(
    redirect_that_is_not_followed_names_its_target,
    reason_in_a_body_is_shown,
    refused_call_shows_its_reason,
    every_step_of_a_probe_shows_its_reason,
    endpoint_of_another_origin_names_the_url_to_use,
    content_coding_is_named,
);

/// A server that answers everything with this head and this body.
fn refusing_all(head: &'static str, body: &'static str) -> String {
    by_hand(move |_| head.to_owned(), move |_| body.to_owned())
}

fn redirect_that_is_not_followed_names_its_target() {
    for status in ["301 Moved Permanently", "302 Found", "308 Permanent Redirect"] {
        let head = format!("{status}\r\nlocation: https://mcp.example.com/mcp?key=hunter2");
        let url = by_hand(move |_| head.clone(), |_| "<html>Moved</html>".to_owned());
        let ran = run(&["tools", &url]);
        let code = status.split(' ').next().unwrap();
        let err = format!(
            "mcp: the server has answered with HTTP status {code}\n     use the URL that the server \
             redirects to: https://mcp.example.com/mcp?***\n"
        );
        assert_eq!((ran.exit, &*ran.err), (4, &*err), "{ran:?}");
        let ran = run(&["tools", "--json", &url]);
        assert!(ran.out.contains("redirects to: https://mcp.example.com/mcp"), "{ran:?}");
    }
}

fn reason_in_a_body_is_shown() {
    let oauth = r#"{"error":"invalid_request","error_description":"no\n  wheel"}"#;
    for (status, body, exit, err) in [
        ("400 Bad Request", oauth, 4, "400: invalid_request: no wheel\n"),
        ("400 Bad Request", r#"{"error":{"code":-32000,"message":"no id"}}"#, 4, "400: no id\n"),
        ("400 Bad Request", "Missing session\r\n", 4, "400: Missing session\n"),
        (
            "404 Not Found",
            r#"{"detail":"Not Found"}"#,
            4,
            "404: Not Found\n     the URL may be that of a web page: an MCP endpoint often has a \
             path such as /mcp\n",
        ),
        ("500 Oops", r#"{"message":"boom"}"#, 3, "500: boom\n     try again later\n"),
        // The request that is refused has no arguments.
        (
            "413 Too Large",
            "no more",
            4,
            "413: no more\n     the request is too long for it: shorten its arguments, if it has \
             any\n",
        ),
    ] {
        let ran = run(&["tools", &refusing_all(status, body)]);
        let err = format!("mcp: the server has answered with HTTP status {err}");
        assert_eq!((ran.exit, &*ran.err), (exit, &*err), "{body}: {ran:?}");
    }
    for (status, body, shown) in [
        ("401 Unauthorized", r#"{"error":"invalid_token"}"#, "(invalid_token)"),
        ("403 Forbidden", r#"{"message":"You are blocked"}"#, "(You are blocked)"),
        (
            "401 Unauthorized",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"Who?"}}"#,
            "(Who?)",
        ),
    ] {
        let ran = run(&["tools", &refusing_all(status, body)]);
        assert!(ran.exit == 7 && ran.err.contains(shown), "{body}: {ran:?}");
    }
}

fn refused_call_shows_its_reason() {
    let result = r#""result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}"#;
    let head = |body: &str| match body {
        body if body.contains("tools/list") => "422 Unprocessable Content",
        body if body.contains("\"id\"") => "200 OK\r\nContent-Type: application/json",
        _ => "202 Accepted",
    };
    let body = move |body: &str| match body {
        body if body.contains("tools/list") => r#"{"title":"No tools today"}"#.to_owned(),
        body if body.contains("\"id\"") => format!(r#"{{"jsonrpc":"2.0","id":1,{result}}}"#),
        _ => String::new(),
    };
    let url = by_hand(move |body| head(body).to_owned(), body);
    let ran = run(&["tools", "--era", "legacy", &url]);
    let err = "mcp: the server has answered with HTTP status 422: No tools today\n";
    assert_eq!((ran.exit, &*ran.err), (4, err), "{ran:?}");
}

fn endpoint_of_another_origin_names_the_url_to_use() {
    let head = |body: &str| match body {
        "" => "200 OK\r\nContent-Type: text/event-stream".to_owned(),
        _ => "405 Method Not Allowed".to_owned(),
    };
    let event = "event: endpoint\ndata: http://localhost:9/m\n\n";
    let url = by_hand(head, |body| if body.is_empty() { event.into() } else { String::new() });
    let ran = run(&["tools", &format!("{url}sse")]);
    let advice = "     if both are the same server, use its URL with http://localhost:9\n";
    assert!(ran.exit == 3 && ran.err.ends_with(advice), "{ran:?}");
}

fn content_coding_is_named() {
    let head = "200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip";
    let ran = run(&["tools", &refusing_all(head, "{}")]);
    let err =
        "mcp: result: the answer has `Content-Encoding: gzip`; clients ask for identity alone; ";
    assert!(ran.exit == 4 && ran.err.starts_with(err) && ran.err.lines().count() == 1, "{ran:?}");
}

fn every_step_of_a_probe_shows_its_reason() {
    let ran = run(&["probe", &refusing_all("400 Bad Request", r#"{"error":"no wheel"}"#)]);
    let line = "\n          the server has answered with HTTP status 400: no wheel\n";
    assert_eq!(ran.out.matches(line).count(), 2, "{ran:?}");
    assert_eq!(ran.err, "mcp: the server has answered with HTTP status 400: no wheel\n");
}
