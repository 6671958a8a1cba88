//! The client's role: what is accepted of responses, what is refused, and when the connection may
//! be used again.

mod accepted;
mod chunking;
mod differential;
mod refused;
mod request;
mod reuse;

use std::fmt::Write;

use mcp_proto::frame::http1::{HttpVersion, IncomingResponse, ResponseReader};
use mcp_proto::{Bytes, Limits};

use crate::show_body;

/// All that is in a stream that begins with the answer to a request with this method.
fn read(limits: &Limits, method: &str, stream: &[u8]) -> Vec<IncomingResponse> {
    let mut reader = ResponseReader::new(limits);
    reader.expect(method).unwrap();
    reader.push(Bytes::copy_from_slice(stream));
    reader.end();
    std::iter::from_fn(|| reader.poll()).collect()
}

/// Text of what was read, one response a line.
fn show(found: &[IncomingResponse]) -> String {
    found.iter().map(show_one).collect()
}

fn show_one(incoming: &IncomingResponse) -> String {
    match incoming {
        IncomingResponse::Head { head, body, keep_alive } => {
            let mut text = head.status().to_string();
            if head.version() == HttpVersion::Http10 {
                text += " 1.0";
            }
            for (name, value) in head.fields() {
                write!(text, " {name}={}", String::from_utf8_lossy(value)).unwrap();
            }
            text += &show_body(*body);
            text + if *keep_alive { " |" } else { " last |" }
        }
        IncomingResponse::Body(data) => String::from_utf8_lossy(data).into_owned(),
        IncomingResponse::End => "|\n".to_owned(),
        IncomingResponse::Refused(refusal) => format!("{} {refusal:?}", refusal.status()),
        IncomingResponse::Truncated => "truncated".to_owned(),
        IncomingResponse::Closed => "closed".to_owned(),
    }
}
