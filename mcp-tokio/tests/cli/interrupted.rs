//! ^C, and SIGTERM.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::bridge::Listening;
use super::replay::legacy_recording;
use super::run::{Ran, Running, and_this, run};
use super::scratch::Scratch;
use super::server::{SERVER, over_http};

crate::all!(
    a_call_is_cancelled,
    a_task_is_cancelled_with_its_call_alone,
    a_call_over_http_is_cancelled_and_its_session_ends,
    a_server_that_says_nothing_is_not_waited_for,
    a_second_one_waits_for_nothing,
    second_signal_kills_the_server_and_its_child,
    for_programs,
    output_that_cannot_be_written_keeps_the_exit_code,
    interrupted_bridge_ends_all_servers_at_once,
    second_signal_to_a_bridge_waits_for_no_server,
    sigterm_cancels_and_ends_the_server,
    output_that_nobody_reads_does_not_keep_the_process,
);

fn has(ran: &Ran, what: &str) -> bool {
    ran.err.contains(what)
}

/// Runs with a server of this kind until it sends this, and is interrupted.
fn interrupted(kind: &str, words: &[&str], sent: &str) -> Ran {
    let mut running = Running::shown(kind, &and_this(words));
    running.err_until(sent);
    running.interrupt();
    running.end()
}

fn a_call_is_cancelled() {
    for kind in ["both", "legacy"] {
        let ran = interrupted(kind, &["call", "--quiet", "sleep"], "tools/call");
        assert_eq!((ran.exit, &*ran.out), (130, ""), "{ran:?}");
        assert!(
            has(&ran, "C> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\""),
            "{ran:?}"
        );
        assert!(ran.err.ends_with("mcp: interrupted\n"), "{ran:?}");
    }
}

fn a_task_is_cancelled_with_its_call_alone() {
    let ran = interrupted("tasks", &["call", "wait"], "tasks/get");
    assert_eq!((ran.exit, &*ran.out), (130, ""), "{ran:?}");
    assert!(has(&ran, "\"method\":\"tasks/cancel\""), "{ran:?}");
    assert!(has(&ran, "cancelled: wait\n"), "{ran:?}");
    // It belongs to an earlier call.
    let ran = interrupted("tasks", &["task", "wait"], "\"working\"");
    assert_eq!((ran.exit, has(&ran, "tasks/cancel")), (130, false), "{ran:?}");
}

fn a_call_over_http_is_cancelled_and_its_session_ends() {
    let mut running = Running::shown("", &["call", &over_http(None), "--era", "legacy", "sleep"]);
    running.err_until("tools/call");
    running.interrupt();
    let ran = running.end();
    assert_eq!((ran.exit, &*ran.out), (130, ""), "{ran:?}");
    for what in ["notifications/cancelled", "> DELETE /mcp HTTP/1.1", "< HTTP/1.1 204 "] {
        assert!(has(&ran, what), "{what}: {ran:?}");
    }
    let mut running = Running::shown("", &["call", &over_http(None), "sleep"]);
    running.err_until("tools/call");
    running.interrupt();
    assert_eq!(running.end().exit, 130);
}

fn a_server_that_says_nothing_is_not_waited_for() {
    for command in ["probe", "tools", "resources", "prompts"] {
        let ran = interrupted("silent", &[command], "server/discover");
        assert_eq!((ran.exit, has(&ran, "mcp: interrupted\n")), (130, true), "{command}: {ran:?}");
    }
}

fn a_second_one_waits_for_nothing() {
    let words = ["tools", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"];
    let mut running = Running::shown("", &words);
    running.err_until("server/discover");
    running.interrupt();
    thread::sleep(Duration::from_millis(300));
    assert!(running.is_running(), "the server has two seconds to end");
    running.interrupt();
    let start = Instant::now();
    assert_eq!(running.end().exit, 130);
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
}

fn second_signal_kills_the_server_and_its_child() {
    let folder = Scratch::new("second-signal");
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // More than a pipe holds: nobody reads it, so the runtime is blocked.
    let result = format!(r#""result":{{"text":"{}"}}"#, "a".repeat(300_000));
    let recording = folder.write("a.mcp", &legacy_recording(&[("a/b", "{}", &result)]));
    // Server and child hold the pipe open, and write to it at their own end.
    let script = "trap '' TERM; exec 9>\"$0\"; (sleep 30; echo child >&9) & \
                  echo started >&9; \"$1\" replay \"$2\"; sleep 30; echo server >&9";
    let program = env!("CARGO_BIN_EXE_mcp");
    let words = ["request", "a/b", "--era", "legacy", "--", "sh", "-c", script];
    let words = [&words[..], &[&pipe, program, &recording]].concat();
    let mut running = Running::shown("", &words);
    let mut pipe = BufReader::new(File::open(&pipe).unwrap());
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    running.err_until("\"text\":\"aaa");
    while running.is_running() {
        running.interrupt();
        thread::yield_now();
    }
    assert_eq!(running.end_unread(), 130);
    let mut rest = String::new();
    pipe.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "killed, they write nothing");
}

fn for_programs() {
    let ran = interrupted("silent", &["probe", "--json"], "server/discover");
    let expected = r#"{"decisions":[],"error":{"advice":null,"exit":130,"kind":"interrupted","message":"interrupted"}}"#;
    assert_eq!((ran.exit, ran.out.trim_end()), (130, expected));
}

fn output_that_cannot_be_written_keeps_the_exit_code() {
    #[cfg(target_os = "linux")]
    for words in [
        &["probe", "--json", "--out", "/dev/full"][..],
        &["record", "--force", "/dev/full"],
        &["tools", "--json", "--out", "/dev/full"],
    ] {
        let ran = interrupted("silent", words, "server/discover");
        assert_eq!((ran.exit, has(&ran, "mcp: interrupted\n")), (130, true), "{words:?}: {ran:?}");
    }
}

fn interrupted_bridge_ends_all_servers_at_once() {
    let folder = Scratch::new("bridge-end");
    let program = and_this(&[]).pop().unwrap();
    // It goes on after the end of its input, and gets SIGTERM 2 s later.
    let args = ["-c", "\"$0\"; exec sleep 60", program];
    let server = json!({ "command": "sh", "args": args, "env": { SERVER: "both" } });
    let servers = ["one", "two", "three", "four"].map(|name| (name.to_owned(), server.clone()));
    let servers: serde_json::Map<_, _> = servers.into_iter().collect();
    let file = folder.write("mcp.json", &json!({ "mcpServers": servers }).to_string());
    let words = ["bridge", "-q", "--listen", "127.0.0.1:0", "--config", &file];
    let mut bridge = Listening::start(&[], &words);
    for url in &bridge.urls {
        assert_eq!(run(&["tools", url]).exit, 0, "{url}");
    }
    let start = Instant::now();
    bridge.interrupt();
    let elapsed = start.elapsed().as_secs();
    assert!((2..6).contains(&elapsed), "{elapsed} s");
}

fn output_that_nobody_reads_does_not_keep_the_process() {
    let folder = Scratch::new("unread");
    // More than a pipe holds.
    let long = "a".repeat(300_000);
    // The token of the recording becomes that of the client.
    let asked = r#"{"name":"t","arguments":{},"_meta":{"progressToken":1}}"#;
    let progress = format!(
        r#""method":"notifications/progress","params":{{"progressToken":1,"progress":1,"message":"{long}"}}"#
    );
    let result = format!(r#""result":{{"text":"{long}"}}"#);
    let exchanges = [("tools/call", asked, &*progress), ("a/b", "{}", &result)];
    let recording = folder.write("unread.mcp", &legacy_recording(&exchanges));
    let server = ["--era", "legacy", "--", env!("CARGO_BIN_EXE_mcp"), "replay", &recording];
    for (words, sent) in [
        (&["call", "--json", "t"][..], "notifications/progress"),
        (&["request", "a/b"], "\"text\":\"aaa"),
    ] {
        let mut running = Running::shown("", &[words, &server].concat());
        running.err_until(sent);
        running.terminate();
        assert_eq!(running.end_unread(), 130, "{words:?}");
    }
}

fn second_signal_to_a_bridge_waits_for_no_server() {
    // It is killed 4 s after the end of its input.
    let server = ["--", "sh", "-c", "trap '' TERM; \"$0\"; while :; do sleep 60; done"];
    let words = [&["bridge", "-q", "--listen", "127.0.0.1:0", "--env", SERVER], &server[..]];
    let words = [&words.concat()[..], &and_this(&[])[3..]].concat();
    // A busy machine needs several tries. A bridge that waits for the server never is so early.
    let mut times = (0..8).map(|_| {
        let mut bridge = Listening::start(&[(SERVER, "both")], &words);
        assert_eq!(run(&["tools", &bridge.urls[0]]).exit, 0);
        let start = Instant::now();
        bridge.interrupt_until_the_end();
        start.elapsed()
    });
    let is_early = |time| time < Duration::from_millis(3500);
    assert!(times.any(is_early), "the bridge waits for the server");
}

fn sigterm_cancels_and_ends_the_server() {
    let program = and_this(&[]).pop().unwrap();
    // It goes on after the end of its input.
    let script = "\"$0\"; exec sleep 60";
    let words = ["call", "sleep", "--env", SERVER, "--", "sh", "-c", script, program];
    let mut running = Running::shown("both", &words);
    running.err_until("tools/call");
    running.terminate();
    let ran = running.end();
    assert_eq!((ran.exit, has(&ran, "notifications/cancelled")), (130, true), "{ran:?}");
}
