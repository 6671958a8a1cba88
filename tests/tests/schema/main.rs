//! All that the machines write in the transcripts is valid by the official schema of the revision
//! that is spoken.
//!
//! If a handler or an application of a transcript sends something invalid, a comment says so: `#
//! not by the schema: why` is about the next line that comes out. Methods that begin with `custom/`
//! are in no schema, and have any result; a client's begin with `com.example/` or
//! `notifications/com.example/`.
//!
//! The revisions before 2025-11-25 have no form for an error about a message whose id could not be
//! read. It is judged by 2025-11-25.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends here, and says why")]

mod client;
mod http;
mod schemas;
mod server;

use std::fs;

use mcp_tests::transcript::{self, Transcript};
use schemas::Schemas;

#[test]
fn what_the_machines_write_is_valid() {
    let mut schemas = Schemas::default();
    let (mut wrong, mut lines) = (Vec::new(), 0);
    for path in transcript::files().unwrap() {
        let transcript = Transcript::load(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(transcript::folder()).unwrap().display();
        let mut conversation = Conversation::new(&transcript);
        let mut exempt = false;
        for (at, line) in text.lines().enumerate() {
            exempt |= line.starts_with("# not by the schema: ");
            let Some(faults) = conversation.line(&mut schemas, line) else { continue };
            if exempt && faults.is_empty() {
                wrong.push(format!("{name}:{}: valid, but exempt", at + 1));
            } else if !exempt {
                wrong.extend(faults.iter().map(|why| format!("{name}:{}: {why}", at + 1)));
            }
            exempt = false;
            lines += 1;
        }
        if exempt {
            wrong.push(format!("{name}: an exemption of nothing"));
        }
    }
    assert!(wrong.is_empty(), "{} of {lines} lines:\n{}", wrong.len(), wrong.join("\n"));
}

/// Conversation so far, of the machine and its peer.
enum Conversation {
    Server(server::Conversation),
    Client(client::Conversation),
    Http(http::Conversation),
    HttpClient(client::Conversation),
}

impl Conversation {
    fn new(transcript: &Transcript) -> Self {
        match transcript {
            _ if transcript.plays_client() && transcript.speaks_http() => {
                Self::HttpClient(client::Conversation::default())
            }
            _ if transcript.plays_client() => Self::Client(client::Conversation::default()),
            _ if transcript.speaks_http() => Self::Http(http::Conversation::default()),
            _ => Self::Server(server::Conversation::default()),
        }
    }

    /// Faults of a line of a transcript, if the machine writes it.
    fn line(&mut self, schemas: &mut Schemas, line: &str) -> Option<Vec<String>> {
        match self {
            Self::Http(conversation) => conversation.line(schemas, line),
            Self::HttpClient(conversation) => {
                let (mark, text) = line.split_once(' ')?;
                let start = text.find(['{', '[']).filter(|_| !mark.starts_with(['!', '=', '#']))?;
                let (before, message) = text.split_at(start);
                if mark.ends_with('<') && (before.is_empty() || before.starts_with("event")) {
                    conversation.server_sends(message.as_bytes());
                }
                let sent = mark.ends_with('>') && before.is_empty();
                sent.then(|| conversation.client_sends(schemas, message))
            }
            Self::Server(conversation) => {
                if line == "! eof" {
                    conversation.client_sends(b"\n");
                } else if line.starts_with("C>") || line.starts_with("C*") {
                    let read = Transcript::parse("line", &format!("# A line.\n{line}")).unwrap();
                    conversation.client_sends(&read.client_bytes());
                }
                line.strip_prefix("S> ").map(|sent| conversation.server_sends(schemas, sent))
            }
            Self::Client(conversation) => {
                if line.starts_with("S>") || line.starts_with("S*") {
                    let text = format!("# A line.\n= role client\n{line}");
                    let bytes = Transcript::parse("line", &text).unwrap().server_bytes();
                    bytes
                        .split(|byte| *byte == b'\n')
                        .for_each(|line| conversation.server_sends(line));
                }
                line.strip_prefix("C> ").map(|sent| conversation.client_sends(schemas, sent))
            }
        }
    }
}
