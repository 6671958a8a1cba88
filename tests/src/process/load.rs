//! Much of everything.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::server::Server;
use super::streams::Kind;
use super::{Check, Named};

pub(super) const CHECKS: [Named; 6] = [
    ("a_mebibyte_there_and_back", a_mebibyte_there_and_back),
    ("many_calls_at_once", many_calls_at_once),
    ("a_client_that_does_not_read_for_a_while", |server| {
        a_client_that_does_not_read_for_a_while(server, Kind::Pipe)
    }),
    ("a_client_that_does_not_read_its_socket_for_a_while", |server| {
        a_client_that_does_not_read_for_a_while(server, Kind::Socket)
    }),
    ("sigterm_ends_a_server_whose_client_does_not_read", sigterm_ends_a_blocked_server),
    (
        "second_hour_28_the_end_of_input_ends_a_server_whose_client_does_not_read",
        second_hour_28_the_end_of_input_ends_a_server_whose_client_does_not_read,
    ),
];

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

const PINGS: usize = 20_000;
/// The most memory that a server may need for them, in bytes.
const ENOUGH_MEMORY: u64 = 64 * 1024 * 1024;
/// A client that could not write anything for so long is blocked.
const A_WHILE: Duration = Duration::from_millis(300);

fn a_mebibyte_there_and_back(server: &str) -> Check {
    let mut server = Server::start(server)?;
    let text = "0123456789abcde\u{e9}".repeat(64 * 1024);
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"{text}"}}}}}}"#
    );
    server.send(INITIALIZE)?;
    server.line()?;
    server.send(&call)?;
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    );
    assert!(server.line()? == expected, "the text comes back otherwise");
    assert_eq!(server.end()?, [""; 0]);
    Ok(())
}

fn many_calls_at_once(server: &str) -> Check {
    const CALLS: usize = 200;
    let mut server = Server::start(server)?;
    let mut input = format!("{INITIALIZE}\n").into_bytes();
    for id in 0..CALLS {
        // Some are ready at once and some are not.
        let name = if id % 3 == 0 { "test_simple_text" } else { "test_tool_with_progress" };
        writeln!(
            input,
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#
        )?;
    }
    server.send_bytes(&input)?;
    server.line()?;
    let mut owed: BTreeSet<usize> = (0..CALLS).collect();
    while !owed.is_empty() {
        let line = server.line()?;
        let rest = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"#);
        let id = rest.and_then(|rest| rest.split_once(r#","result":{"#)).ok_or(line.clone())?.0;
        assert!(owed.remove(&id.parse()?), "nobody waits for {line}");
    }
    assert_eq!(server.end()?, [""; 0]);
    Ok(())
}

fn a_client_that_does_not_read_for_a_while(server: &str, stdout: Kind) -> Check {
    let mut server = Server::on(server, Kind::Pipe.input(b"")?, stdout.output()?, false)?;
    let (writer, written) = write_pings(server.take_input());
    wait_until_blocked(&written)?;
    for ping in 0..PINGS {
        let line = server.line()?;
        assert!(line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":"{ping}-"#)), "{line}");
    }
    if let Some(peak) = server.peak_memory() {
        assert!(peak < ENOUGH_MEMORY, "{peak}");
    }
    drop(writer.join().map_err(|_| "the writer panicked")??);
    assert_eq!(server.end_by_itself()?, [""; 0]);
    Ok(())
}

fn sigterm_ends_a_blocked_server(server: &str) -> Check {
    let mut server = Server::start(server)?;
    let (writer, written) = write_pings(server.take_input());
    wait_until_blocked(&written)?;
    server.signal("TERM")?;
    // The server is gone while its client is still writing.
    assert!(writer.join().map_err(|_| "the writer panicked")?.is_err());
    let lines = server.end_by_itself()?;
    assert!((1..PINGS).contains(&lines.len()), "{}", lines.len());
    Ok(())
}

fn second_hour_28_the_end_of_input_ends_a_server_whose_client_does_not_read(server: &str) -> Check {
    // Answers that fill the output of the server and the pipe.
    const PINGS: usize = 7000;
    let mut server = Server::start(server)?;
    let padding = "x".repeat(200);
    let mut input = String::new();
    for ping in 0..PINGS {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"{ping}-{padding}","method":"ping"}}"#);
        input.extend([&*line, "\n"]);
    }
    server.send_bytes(input.as_bytes())?;
    drop(server.take_input());
    server.wait()?;
    let lines = server.end_by_itself()?;
    assert!((1..PINGS).contains(&lines.len()), "{}", lines.len());
    Ok(())
}

type Writer = JoinHandle<std::io::Result<Box<dyn Write + Send>>>;

/// Writes pings, more than fit into the server and the streams, and tells of each.
fn write_pings(mut input: Box<dyn Write + Send>) -> (Writer, Receiver<()>) {
    let (sender, written) = mpsc::channel();
    let padding = "x".repeat(200);
    let writer = thread::spawn(move || {
        for ping in 0..PINGS {
            let id = format!("{ping}-{padding}");
            let line = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#);
            input.write_all(format!("{line}\n").as_bytes())?;
            let _ = sender.send(());
        }
        Ok(input)
    });
    (writer, written)
}

fn wait_until_blocked(written: &Receiver<()>) -> Check {
    loop {
        match written.recv_timeout(A_WHILE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                return Err("the server reads what its client does not take".into());
            }
        }
    }
}
