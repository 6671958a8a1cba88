//! Standard error that is a terminal, and standard output that does not block.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::scratch::Scratch;

crate::all!(
    standard_error_of_a_server_does_not_control_the_terminal,
    output_that_does_not_block_is_written_whole,
);

/// The text on a terminal on which `mcp` runs with these words.
fn shown(words: &[&str]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let theirs = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let mut mcp = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(theirs)
        .spawn()
        .unwrap();
    let mut text = Vec::new();
    // On Linux a terminal that nobody has open is an error, not an end.
    let _ = File::from(terminal).read_to_end(&mut text);
    mcp.wait().unwrap();
    String::from_utf8(text).unwrap()
}

fn standard_error_of_a_server_does_not_control_the_terminal() {
    let server = ["--", "sh", "-c", r"printf 'a\033]0;title\007\nb' >&2"];
    let shown = shown(&[&["tools"], &server[..]].concat());
    assert!(shown.contains("a\u{fffd}]0;title\u{fffd}\r\nb\r\n"), "{shown:?}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

fn output_that_does_not_block_is_written_whole() {
    let folder = Scratch::new("long");
    let result = format!("{{\"text\":\"{}\"}}", "a".repeat(300_000));
    let recording = folder.write(
        "long.mcp",
        &format!("C> {{\"id\":1,\"method\":\"a/b\"}}\nS> {{\"id\":1,\"result\":{result}}}\n"),
    );
    let (mut reader, writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    let mut mcp = Command::new(env!("CARGO_BIN_EXE_mcp"));
    mcp.args(["replay", &recording]).stdin(Stdio::piped()).stdout(writer);
    let mut replay = mcp.spawn().unwrap();
    // It has the other end of the pipe.
    drop(mcp);
    let mut input = replay.stdin.take().unwrap();
    input.write_all(b"{\"id\":1,\"method\":\"a/b\"}\n").unwrap();
    drop(input);
    let mut text = Vec::new();
    // Slower than the program writes.
    for _ in 0..20_000 {
        let mut byte = [0];
        reader.read_exact(&mut byte).unwrap();
        text.extend(byte);
    }
    reader.read_to_end(&mut text).unwrap();
    assert!(replay.wait().unwrap().success());
    assert_eq!(String::from_utf8(text).unwrap(), format!("{{\"id\":1,\"result\":{result}}}\n"));
}
