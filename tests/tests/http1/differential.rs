//! The reader against hyper's: whatever both accept, they read in the same way, and hyper accepts
//! all that is accepted here.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming as HyperBody;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, Uri};
use mcp_proto::frame::http1::{Head, HttpVersion, Incoming};
use mcp_proto::{Bytes, Limits};
use proptest::prelude::*;

use crate::generate::{bytes, mutated, stream};
use crate::payloads::{BODIES, HEADS};
use crate::{cases, read};

/// A request as hyper reads it, in our words.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    method: String,
    uri: Uri,
    is_http10: bool,
    /// Names in lower case, sorted; the values of one name in order.
    fields: Vec<(String, Vec<u8>)>,
    /// `None` if it is not complete.
    body: Option<Vec<u8>>,
}

/// End of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    Refused,
    Truncated,
    Closed,
}

#[test]
fn payloads_are_read_as_hyper_reads_them() {
    const SECOND: &str = "GET /second HTTP/1.1\r\nHost: a\r\n\r\n";
    for (_, text, _) in HEADS.iter().chain(BODIES) {
        compare(format!("{text}{SECOND}").as_bytes());
        compare(format!("{SECOND}{text}").as_bytes());
    }
}

/// So that the comparison is one: hyper accepts these, and sees what was sent.
#[test]
fn hyper_reads_what_is_right() {
    let text = "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                5;x\r\nhello\r\n0\r\nx: y\r\n\r\nGET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n";
    compare(text.as_bytes());
    let seen = hyper(text.as_bytes());
    let targets: Vec<String> = seen.iter().map(|seen| seen.uri.to_string()).collect();
    assert_eq!(targets, ["/a", "http://a/b"]);
    assert_eq!(seen.first().unwrap().body.as_deref(), Some(&b"hello"[..]));
    assert_eq!(ours(text.as_bytes()), (seen, Ending::Closed));
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn requests_are_read_as_hyper_reads_them(stream in stream()) {
        let stream = bytes(&stream);
        compare(&stream);
        let (_, ending) = ours(&stream);
        prop_assert_eq!(ending, Ending::Closed);
    }

    #[test]
    fn almost_requests_are_read_as_hyper_reads_them(stream in mutated()) {
        compare(&stream);
    }
}

/// Compares our reading with hyper's: each complete request is equal there. If our reading ends,
/// hyper's ends too, except for requests that only we refuse.
fn compare(stream: &[u8]) {
    let (ours, ending) = ours(stream);
    let theirs = hyper(stream);
    let text = String::from_utf8_lossy(stream);
    let mut their = theirs.iter();
    for our in &ours {
        let Some(their) = their.next() else {
            // A head whose body is cut or refused may be refused at once.
            assert!(our.body.is_none(), "hyper refuses {our:?} in {text:?}: {theirs:?}");
            return;
        };
        if our.body.is_none() {
            assert_eq!(Seen { body: None, ..their.clone() }, *our, "in {text:?}");
            assert!(
                ending == Ending::Refused || their.body.is_none(),
                "hyper finds an end in {text:?}: {their:?}"
            );
            return;
        }
        assert_eq!(their, our, "in {text:?}");
    }
    if ending != Ending::Refused {
        assert_eq!(their.next(), None, "hyper goes on in {text:?}");
    }
}

/// Requests that our reader reads.
fn ours(stream: &[u8]) -> (Vec<Seen>, Ending) {
    let mut requests: Vec<Seen> = Vec::new();
    let mut data = Vec::new();
    let mut ending = Ending::Closed;
    for incoming in read(&Limits::default(), stream) {
        match incoming {
            Incoming::Head { head, .. } => requests.push(seen(&head)),
            Incoming::Body(more) => data.extend_from_slice(&more),
            Incoming::End => requests.last_mut().unwrap().body = Some(std::mem::take(&mut data)),
            Incoming::Refused(_) => ending = Ending::Refused,
            Incoming::Truncated => ending = Ending::Truncated,
            Incoming::Closed => ending = Ending::Closed,
        }
    }
    (requests, ending)
}

fn seen(head: &Head) -> Seen {
    let uri: Uri = head.target().parse().unwrap_or_default();
    if head.target().starts_with('/') {
        assert_eq!(uri.to_string(), head.target());
    }
    assert_eq!(uri.path(), head.path(), "the path of {}", head.target());
    let fields = head.fields().map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()));
    Seen {
        method: head.method().to_owned(),
        uri,
        is_http10: head.version() == HttpVersion::Http10,
        fields: sorted(fields.collect()),
        body: None,
    }
}

/// Requests that hyper reads.
fn hyper(stream: &[u8]) -> Vec<Seen> {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let service = service_fn(|request: hyper::Request<HyperBody>| {
        let (head, body) = request.into_parts();
        let fields = head.headers.iter();
        let fields = fields.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        let mut seen = Seen {
            method: head.method.to_string(),
            uri: head.uri,
            is_http10: head.version == hyper::Version::HTTP_10,
            fields: sorted(fields.collect()),
            body: None,
        };
        let requests = Arc::clone(&requests);
        async move {
            seen.body = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
            requests.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let mut server = http1::Builder::new();
    // A client that has sent everything still wants its answers.
    server.half_close(true).header_read_timeout(None);
    let wire = Wire { input: Bytes::copy_from_slice(stream) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // How it ends is seen by what it has found.
    let _ = runtime.block_on(server.serve_connection(wire, service));
    requests.lock().unwrap_or_else(PoisonError::into_inner).split_off(0)
}

fn sorted(mut fields: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

/// A stream that has come as a whole; what is written to it is lost.
struct Wire {
    input: Bytes,
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let length = into.remaining().min(self.input.len());
        into.put_slice(&self.input.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
