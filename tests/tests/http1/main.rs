//! HTTP/1.1 framing: what is accepted, what is refused, and that nothing can be read in two ways.

#![expect(clippy::unwrap_used, reason = "a test ends here, and says why")]

mod accepted;
mod chunking;
mod differential;
mod generate;
mod head;
mod payloads;
mod refused;
mod response;
mod responses;

use std::fmt::Write;

use mcp_proto::frame::http1::{BodyKind, Head, HttpVersion, Incoming, RequestReader};
use mcp_proto::{Bytes, Limits};
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// The same cases on every machine, and no files of those that failed.
fn cases(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(cases);
    config.rng_seed = RngSeed::Fixed(9112);
    config.failure_persistence = None;
    config
}

/// All that is in a stream.
fn read(limits: &Limits, stream: &[u8]) -> Vec<Incoming> {
    let mut reader = RequestReader::new(limits);
    reader.push(Bytes::copy_from_slice(stream));
    reader.end();
    std::iter::from_fn(|| reader.poll()).collect()
}

/// Text of what was read, one request a line.
fn show(found: &[Incoming]) -> String {
    found.iter().map(show_one).collect()
}

fn show_one(incoming: &Incoming) -> String {
    match incoming {
        Incoming::Head { head, body, expects_continue, keep_alive } => {
            let mut text = show_head(head);
            text += &show_body(*body);
            let flags = [(*expects_continue, " waits"), (!*keep_alive, " last")];
            text.extend(flags.iter().filter(|(set, _)| *set).map(|(_, word)| *word));
            text + " |"
        }
        Incoming::Body(data) => String::from_utf8_lossy(data).into_owned(),
        Incoming::End => "|\n".to_owned(),
        Incoming::Refused(refusal) => format!("{} {refusal:?}", refusal.status()),
        Incoming::Truncated => "truncated".to_owned(),
        Incoming::Closed => "closed".to_owned(),
    }
}

fn show_body(body: BodyKind) -> String {
    match body {
        BodyKind::None => String::new(),
        BodyKind::Length(length) => format!(" length {length}"),
        BodyKind::Chunked => " chunked".to_owned(),
        BodyKind::Close => " up to the end".to_owned(),
    }
}

fn show_head(head: &Head) -> String {
    let mut text = format!("{} {}", head.method(), head.target());
    if head.version() == HttpVersion::Http10 {
        text += " 1.0";
    }
    for (name, value) in head.fields() {
        write!(text, " {name}={}", String::from_utf8_lossy(value)).unwrap();
    }
    text
}
