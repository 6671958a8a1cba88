//! Few descriptors, odd standard streams, and variables that are no text.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use super::replay::{legacy_recording, with_replay};
use super::run::run;
use super::scratch::Scratch;
use super::server::over_http;

crate::all!(
    without_descriptors_it_says_so,
    token_that_is_not_utf_8_is_named,
    url_that_is_not_utf_8_is_named,
    help_that_cannot_be_written_is_a_failure,
    bridge_with_a_folder_as_its_input_says_so,
    script_without_an_interpreter_is_explained,
    error_of_a_server_has_no_line_like_one_of_the_program,
    completion_is_one_line,
);

/// `mcp` with these words; its exit code, and its standard error.
fn failed(command: &mut Command) -> (i32, String) {
    let ran = command.env("MCP_CREDENTIALS", "/none").output().unwrap();
    (ran.status.code().unwrap(), String::from_utf8(ran.stderr).unwrap())
}

fn mcp(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    command.args(words).stdin(Stdio::null());
    command
}

fn without_descriptors_it_says_so() {
    for limit in 5..12 {
        let script = format!("ulimit -n {limit}; exec \"$0\" tools -- cat");
        let mut shell = Command::new("sh");
        let (exit, err) = failed(shell.args(["-c", &script, env!("CARGO_BIN_EXE_mcp")]));
        assert!(err.starts_with("mcp: ") && err.contains("oo many open files"), "{limit}: {err}");
        assert_eq!(exit, 3, "{limit}: {err}");
    }
}

fn token_that_is_not_utf_8_is_named() {
    let url = over_http(Some("sesame"));
    let ran = failed(mcp(&["tools", &url]).env("MCP_TOKEN", OsStr::from_bytes(b"\xff")));
    assert_eq!(ran, (2, "mcp: the variable MCP_TOKEN is not UTF-8\n".to_owned()));
}

fn url_that_is_not_utf_8_is_named() {
    let folder = Scratch::new("url-not-utf-8");
    let recording = folder.write("a.mcp", "C> {\"id\":1,\"method\":\"ping\"}\n");
    let url = OsStr::from_bytes(b"http://\xff/");
    for command in
        [mcp(&["record"]).arg(url).arg(folder.path("b.mcp")), mcp(&["replay", &recording]).arg(url)]
    {
        let (exit, err) = failed(command);
        assert_eq!(exit, 2, "{err}");
        assert!(err.contains("\"http://\u{fffd}/\" is not the URL of a server"), "{err}");
    }
}

fn help_that_cannot_be_written_is_a_failure() {
    #[cfg(target_os = "linux")]
    for words in [&["--help"][..], &["--version"], &["tools", "--help"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let status = mcp(words).stdout(full).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(2), "{words:?}");
    }
}

fn bridge_with_a_folder_as_its_input_says_so() {
    let folder = File::open("/").unwrap();
    let (exit, err) = failed(mcp(&["bridge", "--", "cat"]).stdin(folder));
    assert_eq!(exit, 3, "{err}");
    assert!(err.starts_with("mcp: standard input or output cannot be used: "), "{err}");
}

fn script_without_an_interpreter_is_explained() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = Scratch::new("scripts");
    for (name, text, hint) in [
        ("plain", "echo hello\n", "a script has #! and "),
        ("windows", "#!/bin/sh\r\necho hello\r\n", "the file is there, but not the interpreter"),
    ] {
        let script = folder.write(name, text);
        set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        let ran = run(&["tools", "--", &script]);
        assert!(ran.exit == 3 && ran.err.contains(hint), "{ran:?}");
    }
}

fn error_of_a_server_has_no_line_like_one_of_the_program() {
    let folder = Scratch::new("forged");
    let error = r#""error":{"code":-32000,"message":"no\nmcp: run this\n     as advice"}"#;
    let recording = folder.write("forged.mcp", &legacy_recording(&[("a/b", "{}", error)]));
    let ran = with_replay(&["request", "a/b"], &recording);
    let err = "mcp: no\n   | mcp: run this\n   |      as advice (-32000)\n";
    assert_eq!((ran.exit, &*ran.err), (5, err), "{ran:?}");
}

fn completion_is_one_line() {
    let folder = Scratch::new("completion");
    let params = r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}"#;
    let result = r#""result":{"completion":{"values":["b\nc","d"]}}"#;
    let exchanges = [("completion/complete", params, result)];
    let recording = folder.write("completion.mcp", &legacy_recording(&exchanges));
    let ran = with_replay(&["complete", "p", "a="], &recording);
    assert_eq!((ran.exit, &*ran.out), (0, "b\u{fffd}c\nd\n"), "{ran:?}");
}
