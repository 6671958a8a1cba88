//! Standard error that is a terminal.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

crate::all!(standard_error_of_a_server_does_not_control_the_terminal);

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
