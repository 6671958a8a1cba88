//! Checks of what ends a server, and of what does not.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::server::Server;
use super::streams::{Kind, Output};
use super::{Check, Named};

pub(super) const CHECKS: [Named; 16] = [
    ("the_end_lets_a_call_finish", the_end_lets_a_call_finish),
    ("the_end_cuts_off_a_call_that_takes_too_long", the_end_cuts_off_a_call),
    ("sigterm_ends_an_idle_server", |server| a_signal_ends_an_idle_server(server, "TERM")),
    ("sigint_ends_an_idle_server", |server| a_signal_ends_an_idle_server(server, "INT")),
    ("sigterm_lets_a_call_finish", |server| a_signal_lets_a_call_finish(server, "TERM")),
    ("sigint_lets_a_call_finish", |server| a_signal_lets_a_call_finish(server, "INT")),
    ("sigterm_before_the_first_message", sigterm_before_the_first_message),
    ("t111_a_client_that_is_gone_is_no_error", t111_a_client_that_is_gone_is_no_error),
    ("t111_a_client_that_is_gone_on_a_socket", t111_a_client_that_is_gone_on_a_socket),
    ("a_last_line_without_newline", a_last_line_without_newline),
    ("a_garbage_line_ends_nothing", a_garbage_line_ends_nothing),
    ("the_conversation_is_shown", the_conversation_is_shown),
    ("nobody_need_watch_the_conversation", nobody_need_watch_the_conversation),
    ("a_cancelled_call_is_not_answered", a_cancelled_call_is_not_answered),
    (
        "programs_of_handlers_have_other_standard_streams",
        programs_of_handlers_have_other_standard_streams,
    ),
    ("shared_sockets_block_again_after_the_end", shared_sockets_block_again_after_the_end),
];

/// `O_NONBLOCK` on Linux, which has `fdinfo`.
const NONBLOCK: u32 = 0o4000;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
/// A call that takes its time and says when it has begun.
const SLOW: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tool_with_progress","_meta":{"progressToken":"p"}}}"#;
const SLOW_RESULT: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#;
/// A call that takes more time than anybody has.
const ENDLESS: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait","arguments":{"seconds":3600}}}"#;

fn the_end_lets_a_call_finish(server: &str) -> Check {
    finishes(&with_a_call_in_flight(server)?.end()?)
}

fn the_end_cuts_off_a_call(server: &str) -> Check {
    let mut server = opened(server)?;
    server.send(ENDLESS)?;
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    assert_eq!(server.end()?, [""; 0]);
    Ok(())
}

fn a_signal_ends_an_idle_server(server: &str, signal: &str) -> Check {
    let mut server = opened(server)?;
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    server.signal(signal)?;
    assert_eq!(server.end_by_itself()?, [""; 0]);
    Ok(())
}

fn a_signal_lets_a_call_finish(server: &str, signal: &str) -> Check {
    let server = with_a_call_in_flight(server)?;
    server.signal(signal)?;
    finishes(&server.end_by_itself()?)
}

fn sigterm_before_the_first_message(server: &str) -> Check {
    let mut server = Server::start(server)?;
    // Something that is answered by nobody but a server that is up.
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    server.signal("TERM")?;
    assert_eq!(server.end_by_itself()?, [""; 0]);
    Ok(())
}

fn t111_a_client_that_is_gone_is_no_error(server: &str) -> Check {
    leave(Server::start(server)?)
}

fn t111_a_client_that_is_gone_on_a_socket(server: &str) -> Check {
    leave(Server::on(server, Kind::Pipe.input(b"")?, Kind::Socket.output()?, false)?)
}

fn leave(mut server: Server) -> Check {
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    server.close_output();
    // A process that another test starts now has the pipe, too, until it runs its own program.
    while server.send(PING).is_ok() {}
    assert_eq!(server.end_by_itself()?, [""; 0]);
    Ok(())
}

fn a_last_line_without_newline(server: &str) -> Check {
    let mut server = Server::start(server)?;
    server.send_bytes(PING.as_bytes())?;
    assert_eq!(server.end()?, [PONG]);
    Ok(())
}

fn a_garbage_line_ends_nothing(server: &str) -> Check {
    let mut server = Server::start(server)?;
    server.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":\xFF garbage\n")?;
    let line = server.line()?;
    assert!(line.starts_with(r#"{"jsonrpc":"2.0","error":{"code":-32700,"#), "{line}");
    server.send(PING)?;
    assert_eq!(server.end()?, [PONG]);
    Ok(())
}

fn the_conversation_is_shown(server: &str) -> Check {
    let mut server = Server::start_shown(server)?;
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    server.send(r#"{"jsonrpc":"2.0","id":8,"method":"ping","params":{"password":"x"}}"#)?;
    let (lines, errors) = server.end_with_errors()?;
    assert_eq!(lines, [r#"{"jsonrpc":"2.0","id":8,"result":{}}"#]);
    // How much time passes is up to the machine.
    let shown: Vec<&str> = errors.lines().filter(|line| !line.starts_with("@ ")).collect();
    let expected = [
        &format!("C> {PING}"),
        &format!("S> {PONG}"),
        r#"C> {"jsonrpc":"2.0","id":8,"method":"ping","params":{"password":"***"}}"#,
        r#"S> {"jsonrpc":"2.0","id":8,"result":{}}"#,
        "! eof",
        "! closed",
    ];
    assert_eq!(shown, expected);
    Ok(())
}

fn nobody_need_watch_the_conversation(server: &str) -> Check {
    let mut server = Server::start_unwatched(server)?;
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    assert_eq!(server.end()?, [""; 0]);
    Ok(())
}

fn a_cancelled_call_is_not_answered(server: &str) -> Check {
    let mut server = opened(server)?;
    server.send(ENDLESS)?;
    let method = "notifications/cancelled";
    server
        .send(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":2}}}}"#))?;
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    assert_eq!(server.end()?, [""; 0]);
    Ok(())
}

/// Without the diversion the program would read the client's messages and write among the answers.
fn programs_of_handlers_have_other_standard_streams(server: &str) -> Check {
    let mut server = Server::start_with_program(server)?;
    server.send(INITIALIZE)?;
    server.line()?;
    server.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"program"}}"#)?;
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ran"}]}}"#;
    assert_eq!(server.line()?, result);
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    let (lines, errors) = server.end_with_errors()?;
    assert_eq!(lines, ["served"], "the streams are restored");
    assert_eq!(errors, "printed by the handler\nprinted by the program\n");
    Ok(())
}

/// A shell that has started the server may have the same socket.
fn shared_sockets_block_again_after_the_end(server: &str) -> Check {
    let (theirs, ours) = UnixStream::pair()?;
    let stdin = (OwnedFd::from(theirs.try_clone()?).into(), Box::new(ours.try_clone()?) as _);
    let stdout = (OwnedFd::from(theirs.try_clone()?).into(), Output::Stream(Box::new(ours)));
    let mut server = Server::on(server, stdin, stdout, false)?;
    server.send(PING)?;
    assert_eq!(server.line()?, PONG);
    server.signal("TERM")?;
    server.wait()?;
    // Other systems do not have this file.
    let Ok(info) = fs::read_to_string(format!("/proc/self/fdinfo/{}", theirs.as_raw_fd())) else {
        return Ok(());
    };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap_or_default();
    let is_blocking = u32::from_str_radix(flags.trim(), 8)? & NONBLOCK == 0;
    assert!(is_blocking, "{info}");
    Ok(())
}

/// A server in a legacy session.
fn opened(server: &str) -> Result<Server, Box<dyn std::error::Error>> {
    let mut server = Server::start(server)?;
    server.send(INITIALIZE)?;
    server.line()?;
    Ok(server)
}

fn with_a_call_in_flight(server: &str) -> Result<Server, Box<dyn std::error::Error>> {
    let mut server = opened(server)?;
    server.send(SLOW)?;
    let line = server.line()?;
    assert!(line.contains("notifications/progress"), "{line}");
    Ok(server)
}

fn finishes(lines: &[String]) -> Check {
    let Some((result, progress)) = lines.split_last() else { return Err("no answer".into()) };
    assert_eq!(result, SLOW_RESULT);
    assert_eq!(progress.len(), 2, "{lines:#?}");
    Ok(())
}
