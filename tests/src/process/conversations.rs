//! Short conversations, in both eras, on every kind of stream.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use libtest_mimic::Trial;

use super::server::Server;
use super::streams::{Kind, Output};
use super::{Check, trial};

/// Lines of the client, and the beginnings and ends of the answers.
struct Conversation {
    name: &'static str,
    lines: &'static [&'static str],
    answers: &'static [(&'static str, &'static str)],
}

const LEGACY: Conversation = Conversation {
    name: "legacy",
    lines: &[
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    ],
    answers: &[
        (r#"{"jsonrpc":"2.0","id":0,"result":{"#, r#"that a server can do."}}"#),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"#, r#"[{"type":"text","text":"hello"}]}}"#),
        (r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, ""),
    ],
};

const MODERN: Conversation = Conversation {
    name: "modern",
    lines: &[
        r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    ],
    answers: &[
        (r#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","#, "}}"),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","#,
            r#"[{"type":"text","text":"hello"}]}}"#,
        ),
    ],
};

pub(super) fn trials(server: &'static str) -> Vec<Trial> {
    let mut trials = Vec::new();
    for stdout in [Kind::Pipe, Kind::Socket, Kind::File] {
        for stdin in [Kind::Pipe, Kind::Socket, Kind::File] {
            for conversation in [&LEGACY, &MODERN] {
                let Conversation { name, .. } = conversation;
                let name = format!("{name}_from_{}_to_{}", stdin.name(), stdout.name());
                let hold = move || hold(server, conversation, stdin, stdout);
                trials.push(trial(server, &name, hold));
            }
        }
        let name = format!("from_null_to_{}", stdout.name());
        trials.push(trial(server, &name, move || nothing_to_read(server, stdout)));
    }
    for conversation in [&LEGACY, &MODERN] {
        let name = format!("{}_on_one_socket", conversation.name);
        trials.push(trial(server, &name, move || hold_on_one_socket(server, conversation)));
    }
    trials
}

fn hold(server: &str, conversation: &Conversation, stdin: Kind, stdout: Kind) -> Check {
    let input = conversation.input();
    let server = Server::on(server, stdin.input(input.as_bytes())?, stdout.output()?, false)?;
    conversation.check(server.end()?);
    Ok(())
}

fn nothing_to_read(server: &str, stdout: Kind) -> Check {
    let server = Server::on(server, Kind::Null.input(b"")?, stdout.output()?, false)?;
    // Nobody closes anything.
    assert_eq!(server.end_by_itself()?, [""; 0]);
    Ok(())
}

/// Uses one socket for both directions, as for a server that is started for each connection.
fn hold_on_one_socket(server: &str, conversation: &Conversation) -> Check {
    let (theirs, ours) = UnixStream::pair()?;
    let stdin = (OwnedFd::from(theirs.try_clone()?).into(), Box::new(ours.try_clone()?) as _);
    let stdout = (OwnedFd::from(theirs).into(), Output::Stream(Box::new(ours.try_clone()?)));
    let mut server = Server::on(server, stdin, stdout, false)?;
    server.send_bytes(conversation.input().as_bytes())?;
    ours.shutdown(std::net::Shutdown::Write)?;
    conversation.check(server.end()?);
    Ok(())
}

impl Conversation {
    fn input(&self) -> String {
        self.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// Each request has its answer; which comes first is up to the server.
    fn check(&self, mut lines: Vec<String>) {
        lines.sort();
        assert_eq!(lines.len(), self.answers.len(), "{lines:#?}");
        for (line, (start, end)) in lines.iter().zip(self.answers) {
            assert!(line.starts_with(start) && line.ends_with(end), "{line}");
        }
    }
}
