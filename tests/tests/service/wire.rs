//! `Service::show_wire`: what is printed reads as a transcript.

use std::time::Duration;

use mcp_proto::Instant;
use mcp_proto::server::Config;
use mcp_service::{Context, Drive};
use mcp_tests::transcript::Transcript;
use serde_json::{Value, json};

use crate::bench::{Bench, INITIALIZE, Log, answer, call};

#[test]
fn a_whole_conversation() {
    let (mut bench, log) = shown();
    bench.line(INITIALIZE);
    let opened = bench.out();
    bench.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    bench.call_with(1, &json!({"ms": 1500}));
    bench.pass(Duration::from_millis(1500));
    bench.call_with(2, &json!({"ms": 5000}));
    bench.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"not \"needed\"\n"}}"#);
    bench.line(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    bench.call_with(3, &json!({"ms": 5000}));
    bench.pass(Duration::from_millis(99));
    bench.eof();
    bench.pass(Duration::from_secs(2));

    let lines = log.take();
    let expected = [
        format!("C> {INITIALIZE}"),
        format!("S> {}", opened[0]),
        r#"C> {"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(),
        format!("C> {}", call(1, &json!({"ms": 1500}))),
        "@ 1.5s".into(),
        format!("S> {}", answer(1, "slept")),
        format!("C> {}", call(2, &json!({"ms": 5000}))),
        r#"C> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"not \"needed\"\n"}}"#.into(),
        r#"! cancelled "not \"needed\"\n""#.into(),
        r#"C> {"jsonrpc":"2.0","id":9,"result":{}}"#.into(),
        lines[10].clone(),
        format!("C> {}", call(3, &json!({"ms": 5000}))),
        "! eof".into(),
        "@ 2.099s".into(),
        "! cut-off".into(),
        "! closed".into(),
    ];
    assert_eq!(lines, expected);
    assert!(lines[10].starts_with("! peer-fault "), "{}", lines[10]);
    Transcript::parse("field.mcp", &format!("# From the field.\n{}\n", lines.join("\n"))).unwrap();
}

#[test]
fn a_handler_that_takes_too_long() {
    let mut config = Config::default();
    config.limits.handler_timeout = Duration::from_secs(1);
    let (mut bench, log) = shown_with(config);
    bench.line(INITIALIZE);
    bench.call_with(1, &json!({"ms": 5000}));
    bench.pass(Duration::from_secs(1));
    let lines = log.take();
    assert_eq!(lines[3..5], ["@ 1s", "! timed-out"]);
    assert!(lines[5].starts_with("S> "), "{lines:?}");
}

#[test]
fn lines_are_shown_when_they_are_whole() {
    let (mut bench, log) = shown();
    bench.bytes(r#"{"jsonrpc":"2.0","#);
    bench.bytes(r#""id":1,"method":"#);
    assert_eq!(log.take(), [""; 0]);
    bench.bytes("\"ping\"}\r\n\n{\"rest\"");
    let asked = r#"C> {"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let answered = r#"S> {"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(log.take(), [asked, answered]);
    bench.eof();
    assert_eq!(log.take()[..2], [r#"C> {"rest""#, "! eof"]);
}

#[test]
fn the_end_is_shown_once() {
    let (mut bench, log) = shown();
    bench.line(INITIALIZE);
    bench.call_with(1, &json!({"ms": 1000}));
    log.take();
    bench.eof();
    bench.service.handle_stop(bench.now);
    bench.line("nobody reads this");
    assert_eq!(log.take(), ["! eof"]);
}

#[test]
fn time_begins_when_it_is_told() {
    let mut bench = Bench::new(|_: Value, _| async { "done" });
    let log = Log::default();
    let notes = log.clone();
    bench.now = Instant::from_micros(5_000_000);
    bench.service.show_wire(bench.now, move |line| notes.note(line));
    bench.pass(Duration::from_millis(250));
    bench.call(1);
    bench.pass(Duration::from_millis(50));
    bench.call(2);
    bench.pass(Duration::from_millis(50));
    bench.call(3);
    let lines = log.take();
    let times: Vec<&String> = lines.iter().filter(|line| line.starts_with('@')).collect();
    assert_eq!(times, ["@ 0.25s", "@ 0.1s"]);
}

#[test]
fn secrets_are_masked() {
    for (sent, shown) in [
        (r#"{"password":"x"}"#, r#"{"password":"***"}"#),
        (r#"{"a":{"b":[{"apiKey":"x"}]}}"#, r#"{"a":{"b":[{"apiKey":"***"}]}}"#),
        (r#"[{"Authorization":"Bearer x"}]"#, r#"[{"Authorization":"***"}]"#),
        (r#"[[{"CLIENT_SECRET":"x"}]]"#, r#"[[{"CLIENT_SECRET":"***"}]]"#),
        (r#"{"x-api-key":"x","b":"y"}"#, r#"{"x-api-key":"***","b":"y"}"#),
        (r#"{"api_keys":["x",["y"]],"b":["z"]}"#, r#"{"api_keys":["***",["***"]],"b":["z"]}"#),
        (r#"{"password" : "x\"y\\" , "b":"y"}"#, r#"{"password" : "***" , "b":"y"}"#),
        (r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"***"}"#),
        (r#"{"access_token":"x"}"#, r#"{"access_token":"***"}"#),
        (r#"{"requestState":"x","state":"y"}"#, r#"{"requestState":"***","state":"y"}"#),
        (r#"{"password":"x","cut":"#, r#"{"password":"***","cut":"#),
        (r#"{"password":"cut of"#, r#"{"password":"***""#),
    ] {
        assert_eq!(masked(sent), shown);
    }
}

#[test]
fn second_hour_27_credentials_are_masked_by_their_words_and_values() {
    for (sent, shown) in [
        (r#"{"passwd":"x","db_pwd":"y"}"#, r#"{"passwd":"***","db_pwd":"***"}"#),
        (r#"{"otp":"1","PIN":"2","userPin":"3"}"#, r#"{"otp":"***","PIN":"***","userPin":"***"}"#),
        (r#"{"totp-code":"1","otp_code":"2"}"#, r#"{"totp-code":"1","otp_code":"***"}"#),
        (r#"{"header":"Bearer x","b":["basic y"]}"#, r#"{"header":"***","b":["***"]}"#),
        (r#"{"a":"the bearer of it","b":"Basic"}"#, r#"{"a":"the bearer of it","b":"Basic"}"#),
        (r#"{"ping":"a","pinned":"b","laptop":"c"}"#, r#"{"ping":"a","pinned":"b","laptop":"c"}"#),
    ] {
        assert_eq!(masked(sent), shown);
    }
}

#[test]
fn the_rest_is_shown_as_it_is() {
    for text in [
        r#"{"progressToken":"x"}"#,
        r#"{"properties":{"password":{"type":"string"}},"required":["password"]}"#,
        r#"{"secret":null,"token":17,"b":"x"}"#,
        r#"{"note":"the \"password\":\"x\" is yours"}"#,
        r#"{"a" : [ 1, 2.50 ],"a":true}"#,
        "\"password\" \"x\"",
        "garbage \\\" \u{e9}",
        "{",
        "\"",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn control_characters_are_escaped() {
    for (sent, shown) in [
        ("{\"a\":\"\u{9b}31m\u{7f}é\"}", r#"{"a":"\u009b31m\u007fé"}"#),
        ("{\"a\"\r:\t1}", "{\"a\" :\t1}"),
        ("\u{1b}]0;title\u{7}", r"\u001b]0;title\u0007"),
    ] {
        assert_eq!(masked(sent), shown);
        // Copied JSON has the same value.
        let value = |text: &str| serde_json::from_str::<Value>(text).ok();
        assert_eq!(value(sent), value(shown));
    }
}

/// Text of a line as it is shown.
fn masked(line: &str) -> String {
    let (mut bench, log) = shown();
    bench.line(line);
    let lines = log.take();
    lines[0].strip_prefix("C> ").unwrap().to_owned()
}

fn shown() -> (Bench, Log) {
    shown_with(Config::default())
}

/// A server whose tool sleeps, and the lines of its conversation.
fn shown_with(config: Config) -> (Bench, Log) {
    let log = Log::default();
    let notes = log.clone();
    let mut bench = Bench::unopened(config, |arguments: Value, context: Context| async move {
        context.sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap())).await;
        "slept"
    });
    bench.service.show_wire(Instant::ZERO, move |line| notes.note(line));
    (bench, log)
}
