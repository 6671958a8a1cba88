//! `mcp replay`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::run::{run, with_server};
use super::scratch::Scratch;
use super::server::{ODD, over_http};

crate::all!(
    a_recording_is_served,
    a_recording_is_compared,
    differences_are_told,
    answer_that_cannot_be_decoded_is_a_difference,
    errors_are_compared_by_what_they_have,
    over_http_it_is_the_same,
    what_is_no_recording,
    recording_without_answers_is_not_compared,
    ping_is_answered,
    id_is_echoed_unchanged,
    message_without_a_valid_id_gets_no_null_id,
    recorded_numbers_keep_their_digits,
    ended_subscription_is_no_answer_to_compare,
    recording_may_have_lines_that_are_not_utf_8,
);

/// A recording of a server of this kind, and its path.
fn recorded(folder: &Scratch, kind: &str) -> String {
    let path = folder.path(&format!("{kind}.mcp"));
    assert_eq!(with_server(kind, &["record", "-q", "--force", &path]).exit, 0);
    path
}

/// `mcp` with these words, and behind them a server that replays the recording.
pub(crate) fn with_replay(words: &[&str], recording: &str) -> super::run::Ran {
    let program = env!("CARGO_BIN_EXE_mcp");
    run(&[words, &["--", program, "replay", recording]].concat())
}

/// The recording of a legacy server with the tool `t`. Each exchange has a method, its parameters,
/// and the members of the server's message: a result, an error, or a notification.
#[cfg(unix)]
pub(crate) fn legacy_recording(exchanges: &[(&str, &str, &str)]) -> String {
    let opened = concat!(
        r#""result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"#,
        r#""capabilities":{"tools":{},"prompts":{},"completions":{}}}"#
    );
    let tools = r#""result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
    let all = [("initialize", "{}", opened), ("tools/list", "{}", tools)];
    let lines = all.iter().chain(exchanges).enumerate().map(|(id, (method, params, reply))| {
        let is_notification = reply.starts_with("\"method\"");
        let about = if is_notification { String::new() } else { format!("\"id\":{id},") };
        format!(
            "C> {{\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n\
             S> {{\"jsonrpc\":\"2.0\",{about}{reply}}}\n"
        )
    });
    lines.collect()
}

/// The lines of a server that replays a recording, for these lines of a client.
pub(crate) fn served(recording: &str, input: &[u8]) -> Vec<String> {
    let mut replay = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(["replay", recording])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    replay.stdin.take().unwrap().write_all(input).unwrap();
    let output = replay.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn a_recording_is_served() {
    let folder = Scratch::new("served");
    for kind in ["both", "legacy"] {
        let recording = recorded(&folder, kind);
        for list in ["tools", "resources", "prompts"] {
            let expected = with_server(kind, &[list, "-q"]);
            assert_eq!(with_replay(&[list], &recording), expected, "{kind}");
        }
        let ran = with_replay(&["resource", "read", "kitchen://stock"], &recording);
        assert_eq!(ran.exit, 5);
        assert!(ran.err.contains("the recording has no resources/read"), "{ran:?}");
    }
}

fn a_recording_is_compared() {
    let folder = Scratch::new("compared");
    for kind in ["both", "legacy"] {
        let recording = recorded(&folder, kind);
        let ran = with_server(kind, &["replay", "-q", &recording]);
        let expected = "6 answers compared, 0 differences\n";
        assert_eq!((ran.exit, &*ran.out), (0, expected), "{kind}: {ran:?}");
    }
    // In the version of the recording, though the server speaks others.
    let ran = with_server("both", &["replay", "-q", &folder.path("legacy.mcp")]);
    assert_eq!(ran.exit, 0, "{ran:?}");
}

fn differences_are_told() {
    let folder = Scratch::new("different");
    let recording = recorded(&folder, "legacy");
    let text = std::fs::read_to_string(&recording).unwrap();
    let other = folder.write("other.mcp", &text.replace("Makes coffee", "Makes tea"));
    let ran = with_server("both", &["replay", "-q", &other]);
    let expected = "tools/list /result/tools/0/description: \"Makes tea\" was recorded, found \
                    \"Makes coffee\"\n6 answers compared, 1 differences\n";
    assert_eq!((ran.exit, &*ran.out), (9, expected));
    let ran = with_server("both", &["replay", "-q", &other, "--json"]);
    let compared: Value = serde_json::from_str(&ran.out).unwrap();
    let difference = json!({
        "request": "tools/list",
        "path": "/result/tools/0/description",
        "recorded": "Makes tea",
        "found": "Makes coffee",
    });
    assert_eq!(compared, json!({ "compared": 6, "differences": [difference] }));
}

fn answer_that_cannot_be_decoded_is_a_difference() {
    let folder = Scratch::new("odd");
    let text = concat!(
        r#"C> {"id":1,"method":"tools/call","params":{"name":"weigh","arguments":{}}}"#,
        "\n",
        r#"S> {"id":1,"result":{"content":[]}}"#,
    );
    let recording = folder.write("odd.mcp", text);
    let ran = with_server("odd", &["replay", "-q", &recording]);
    assert!(ran.exit == 9 && ran.out.contains("12345678901234567890123"), "{ran:?}");
}

fn errors_are_compared_by_what_they_have() {
    let folder = Scratch::new("errors");
    let text = concat!(
        r#"C> {"id":1,"method":"tools/call","params":{"name":"nobody"}}"#,
        "\n",
        r#"S> {"id":1,"error":{"code":-32602,"message":"no"}}"#,
    );
    let recording = folder.write("errors.mcp", text);
    let ran = with_server("both", &["replay", "-q", &recording]);
    assert!(ran.out.contains("tools/call nobody /error/message: "), "{ran:?}");
    assert!(ran.out.ends_with("1 answers compared, 1 differences\n"), "{ran:?}");
}

fn over_http_it_is_the_same() {
    let folder = Scratch::new("over-http");
    let (url, path) = (over_http(None), folder.path("http.log"));
    assert_eq!(run(&["record", &url, &path]).exit, 0);
    let ran = run(&["replay", &path, &url]);
    assert_eq!((ran.exit, &*ran.out), (0, "6 answers compared, 0 differences\n"));
    assert_eq!(with_replay(&["tools"], &path).out, run(&["tools", &url]).out);
}

fn what_is_no_recording() {
    let folder = Scratch::new("none");
    let text = folder.write("text", "C> hello\nS> {}\n");
    for (words, err) in [
        (&["replay"][..], "required"),
        (&["replay", "/no/such/file"], "cannot be read"),
        (&["replay", &text], "has no message of a client"),
        (&["replay", &text, "http://a", "b"], "and then [\"b\"]?"),
    ] {
        let ran = run(words);
        assert!(ran.exit == 2 && ran.err.contains(err), "{words:?}: {ran:?}");
    }
}

fn recording_without_answers_is_not_compared() {
    let folder = Scratch::new("unanswered");
    let opening = r#"C> {"id":1,"method":"server/discover"}
S> {"id":1,"result":{"supportedVersions":["2026-07-28"]}}
"#;
    let call = "C> {\"id\":2,\"method\":\"tools/list\"}\n";
    for text in [opening, call, &format!("{opening}{call}")] {
        let recording = folder.write("text", text);
        let ran = with_server("both", &["replay", "-q", &recording]);
        let err = format!("mcp: {recording} has no answer to compare\n");
        assert!(ran.exit == 2 && ran.err.starts_with(&err), "{text}: {ran:?}");
        assert_eq!(ran.out, "");
    }
}

/// A recording with a notification that a server over HTTP has refused.
const REFUSED: &str = concat!(
    r#"1> {"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    "\n",
    r#"1< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#,
    "\n",
    r#"2> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"2< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}"#,
    "\n",
    r#"2< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
);

fn ping_is_answered() {
    let folder = Scratch::new("ping");
    let recording = folder.write("refused.mcp", REFUSED);
    let lines = served(&recording, b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n");
    assert_eq!(lines, [r#"{"id":7,"jsonrpc":"2.0","result":{}}"#]);
}

fn id_is_echoed_unchanged() {
    let folder = Scratch::new("ids");
    let recording = folder.write("refused.mcp", REFUSED);
    for id in ["9007199254740993", "18446744073709551616", "-12345678901234567890123", "\"1\""] {
        for method in ["ping", "tools/list", "tools/call"] {
            let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n");
            let lines = served(&recording, request.as_bytes());
            assert!(lines.len() == 1 && lines[0].contains(&format!("\"id\":{id},")), "{lines:?}");
        }
    }
}

fn message_without_a_valid_id_gets_no_null_id() {
    let folder = Scratch::new("null");
    let recording = folder.write("refused.mcp", REFUSED);
    let list_changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for (input, answer) in [
        ("{", "-32700"),
        ("[]", "-32600"),
        ("{}", "-32600"),
        (r#"{"id":null,"method":"ping"}"#, "-32600"),
        (r#"{"id":{},"method":"ping"}"#, "-32600"),
        (r#"{"id":5,"method":3}"#, "\"id\":5"),
    ] {
        let lines = served(&recording, input.as_bytes());
        assert!(lines.len() == 1 && lines[0].contains(answer), "{input}: {lines:?}");
        assert!(!lines[0].contains("null"), "{input}: {lines:?}");
    }
    // A notification gets the recorded messages, without a response.
    let lines = served(&recording, br#"{"method":"notifications/initialized"}"#);
    assert_eq!(lines, [list_changed]);
    let nothing: &[&str] = &[];
    for input in [r#"{"method":"ping"}"#, r#"{"id":1,"result":{}}"#, r#"{"error":{}}"#] {
        assert_eq!(served(&recording, input.as_bytes()), nothing, "{input}");
    }
}

fn recorded_numbers_keep_their_digits() {
    let folder = Scratch::new("digits");
    let text = format!("C> {{\"id\":1,\"method\":\"a\"}}\nS> {{\"id\":1,\"result\":{ODD}}}\n");
    let lines = served(&folder.write("odd.mcp", &text), b"{\"id\":2,\"method\":\"a\"}\n");
    assert_eq!(lines, [format!("{{\"id\":2,\"result\":{ODD}}}")]);
}

fn ended_subscription_is_no_answer_to_compare() {
    let folder = Scratch::new("subscription");
    let recording = folder.write(
        "watched.mcp",
        concat!(
            r#"C> {"id":1,"method":"subscriptions/listen","params":{"notifications":{}}}"#,
            "\n",
            r#"S> {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#,
            "\n",
            r#"C> {"id":2,"method":"resources/read","params":{"uri":"kitchen://stock"}}"#,
            "\n",
            r#"S> {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"uri":"kitchen://stock","mimeType":"text/plain","text":"3 eggs"}]}}"#,
        ),
    );
    let ran = with_server("both", &["replay", "-q", &recording]);
    assert_eq!((ran.exit, &*ran.out), (0, "1 answers compared, 0 differences\n"), "{ran:?}");
}

/// `MCP_WIRE=1` writes to the standard error that the server writes to.
fn recording_may_have_lines_that_are_not_utf_8() {
    let folder = Scratch::new("latin-1");
    let recording = folder.path("wire.mcp");
    let lines =
        b"na\xefve is open\nC> {\"id\":1,\"method\":\"a/b\"}\nS> {\"id\":1,\"result\":{}}\n";
    std::fs::write(&recording, lines).unwrap();
    let answers = served(&recording, b"{\"id\":7,\"method\":\"a/b\"}\n");
    assert_eq!(answers, [r#"{"id":7,"result":{}}"#]);
}
