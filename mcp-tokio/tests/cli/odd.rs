//! Odd answers of servers, and odd input.

use std::process::Command;

use super::replay::{served, with_replay};
use super::run::{Ran, run, run_in, with_server};
use super::scratch::Scratch;
use super::server::over_http;

crate::all!(
    json_does_not_control_the_terminal,
    line_ends_of_windows_are_line_ends,
    resource_is_written_whole_or_not_at_all,
    call_needs_no_log_level,
    numbers_keep_their_digits,
    replay_answers_text_that_is_not_utf_8,
    empty_token_is_no_token,
    empty_secret_is_refused,
    secrets_of_an_invalid_url_are_masked,
    bridge_without_standard_error_serves,
    name_begins_no_other_entry,
    entries_that_are_left_out_are_named,
    result_that_cannot_be_json_is_a_failure,
    server_that_has_declared_nothing_is_asked,
    output_of_a_server_that_is_no_message_is_shown,
);

/// Runs `mcp` with a legacy server that has the tool `t`, and answers this request with this
/// result.
fn answered(words: &[&str], method: &str, params: &str, result: &str) -> Ran {
    let folder = Scratch::new(&format!("odd-{}-{}", words[0], result.len()));
    let tools = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
    let opened = concat!(
        r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},"#,
        r#""capabilities":{"tools":{},"resources":{},"logging":{}}}"#
    );
    let exchanges =
        [("initialize", "{}", opened), ("tools/list", "{}", tools), (method, params, result)];
    let lines = exchanges.iter().enumerate().map(|(id, (method, params, result))| {
        format!(
            "C> {{\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n\
             S> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"
        )
    });
    let recording = folder.write("server.mcp", &lines.collect::<String>());
    with_replay(words, &recording)
}

const CALL: &str = r#"{"name":"t","arguments":{}}"#;

fn text(text: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#)
}

fn json_does_not_control_the_terminal() {
    let ran = answered(&["call", "--json", "t"], "tools/call", CALL, &text(r"\u009b31m\u007f"));
    assert_eq!((ran.exit, ran.out.contains(r#""text":"\u009b31m\u007f""#)), (0, true), "{ran:?}");
    assert!(!ran.out.trim_end().chars().any(char::is_control), "{ran:?}");
}

fn name_begins_no_other_entry() {
    let list = r#"{"resources":[{"uri":"a:b","name":"c\n\nd:e"}]}"#;
    let ran = answered(&["resources"], "resources/list", "{}", list);
    assert_eq!((ran.exit, &*ran.out), (0, "a:b  c\u{fffd}\u{fffd}d:e\n"), "{ran:?}");
}

fn entries_that_are_left_out_are_named() {
    let resources = r#"{"resources":[{"uri":"a:1","name":"a"},{"name":"b"}]}"#;
    let ran = answered(&["resources", "--quiet"], "resources/list", "{}", resources);
    assert!(ran.out.contains("a:1"), "{ran:?}");
    assert!(ran.err.contains("entry 1 of resources/list is left out: "), "{ran:?}");
}

fn result_that_cannot_be_json_is_a_failure() {
    let image = r#"{"content":[{"type":"image","data":"!!!","mimeType":"image/png"}]}"#;
    let ran = answered(&["call", "--json", "t"], "tools/call", CALL, image);
    assert_eq!(ran.exit, 4, "{ran:?}");
    assert!(ran.out.contains(r#""kind":"protocol""#), "{ran:?}");
    assert!(ran.err.contains("cannot be written as JSON"), "{ran:?}");
}

/// A recognized error shows that it is modern, and no more.
fn server_that_has_declared_nothing_is_asked() {
    for words in [["tools"], ["resources"], ["prompts"]] {
        let ran = with_server("mismatch", &words);
        assert_eq!((ran.exit, &*ran.out), (5, ""), "{ran:?}");
        assert!(ran.err.contains("no Mcp-Method (-32020)"), "{ran:?}");
    }
}

fn output_of_a_server_that_is_no_message_is_shown() {
    let ran = with_server("noisy", &["tools", "--quiet"]);
    assert_eq!((ran.exit, &ran.out), (0, &with_server("both", &["tools", "-q"]).out), "{ran:?}");
    let err = "the server's output: json: \"one\" is not a message; ";
    assert!(ran.err.starts_with(err) && ran.err.lines().count() == 1, "{ran:?}");
    #[cfg(unix)]
    {
        let ran = run(&["tools", "--timeout", "0.3", "--", "sh", "-c", "echo '{x'; cat"]);
        let err = "the server's output: json: the message is not JSON from byte 1 on; ";
        assert!(ran.exit == 6 && ran.err.starts_with(err), "{ran:?}");
        // A server may write its log there, in another encoding.
        let script = "for i in 1 2 3; do printf 'na\\357ve\\n'; done";
        let ran = run(&["tools", "--", "sh", "-c", script]);
        assert_eq!(ran.err.matches("the message is not UTF-8").count(), 1, "{ran:?}");
        let script = "for i in $(seq 100); do printf '{%*d\\n' $i 0; done";
        let ran = run(&["tools", "--", "sh", "-c", script]);
        assert!((5..25).contains(&ran.err.lines().count()), "{ran:?}");
        assert!(ran.err.contains("the server's output: more errors are not shown\n"), "{ran:?}");
    }
}

fn line_ends_of_windows_are_line_ends() {
    let ran = answered(&["call", "t"], "tools/call", CALL, &text(r"a\r\nb\r\n"));
    assert_eq!((ran.exit, &*ran.out), (0, "a\nb\n"), "{ran:?}");
}

fn resource_is_written_whole_or_not_at_all() {
    let contents = r#"{"contents":[{"uri":"a:b","text":"begin"},{"uri":"a:c","blob":"?"}]}"#;
    let words = ["resource", "read", "a:b"];
    let ran = answered(&words, "resources/read", r#"{"uri":"a:b"}"#, contents);
    assert_eq!((ran.exit, &*ran.out), (4, ""), "{ran:?}");
    assert!(ran.err.contains("the blob of a:c"), "{ran:?}");
}

/// The server declares logging, and does not know the method.
fn call_needs_no_log_level() {
    let ran = answered(&["call", "t"], "tools/call", CALL, &text("done"));
    assert_eq!((ran.exit, &*ran.out, &*ran.err), (0, "done\n", ""));
}

fn numbers_keep_their_digits() {
    let words = ["request", &over_http(None), "kitchen/none", "any=12345678901234567890123"];
    let ran = run_in(&[("MCP_WIRE", "1")], &words);
    assert_eq!(ran.exit, 5, "{ran:?}");
    assert!(ran.err.contains(r#""any":12345678901234567890123"#), "{ran:?}");
}

fn replay_answers_text_that_is_not_utf_8() {
    let folder = Scratch::new("text-not-utf-8");
    let recording = folder.write(
        "ping.mcp",
        "C> {\"id\":1,\"method\":\"ping\"}\nS> {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    );
    let lines = served(&recording, b"{\"id\":\"\xff\"}\n\n{\"id\":2,\"method\":\"ping\"}\r\n");
    assert!(lines.len() == 2, "{lines:?}");
    assert!(lines[0].contains("-32700") && lines[1].contains("\"id\":2"), "{lines:?}");
}

fn empty_token_is_no_token() {
    let url = over_http(None);
    let ran = run_in(&[("MCP_TOKEN", ""), ("MCP_WIRE", "1")], &["tools", &url]);
    assert_eq!((ran.exit, ran.err.contains("Authorization")), (0, false), "{ran:?}");
    let ran = run_in(&[("KEY", "")], &["tools", &url, "--bearer-env", "KEY"]);
    assert_eq!((ran.exit, &*ran.err), (2, "mcp: the variable KEY is empty\n"));
}

fn empty_secret_is_refused() {
    let folder = Scratch::new("empty-secret");
    let credentials = &*folder.path("");
    let url = over_http(None);
    for words in [
        &["login", &url, "--client-id", "a", "--client-secret-env", "KEY"][..],
        &["bridge", &url, "--listen", "127.0.0.1:0", "--require-bearer-env", "KEY"],
    ] {
        let ran = run_in(&[("KEY", ""), ("MCP_CREDENTIALS", credentials)], words);
        assert_eq!((ran.exit, &*ran.err), (2, "mcp: the variable KEY is empty\n"), "{words:?}");
    }
}

fn secrets_of_an_invalid_url_are_masked() {
    for (words, shown) in [
        (&["tools", "https://ann:hunter2@host/mcp?key=hunter2"][..], "https://***@host/mcp?***"),
        (&["tools", "https:/host?key=hunter2"], "https:/host?***"),
        (&["tools", "https://host/?key=hunter2", "--", "cat"], "https://host/?***"),
    ] {
        let ran = run(words);
        assert_eq!((ran.exit, ran.err.contains("hunter2")), (2, false), "{ran:?}");
        assert!(ran.err.contains(&format!("{shown:?}")), "{ran:?}");
    }
}

fn bridge_without_standard_error_serves() {
    let address = super::server::nowhere();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(["bridge", "--listen", &address.to_string(), "--", "cat"])
        .stderr(writer)
        .spawn()
        .unwrap();
    while std::net::TcpStream::connect(address).is_err() {
        assert_eq!(bridge.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(bridge.try_wait().unwrap(), None);
    bridge.kill().unwrap();
    bridge.wait().unwrap();
}
