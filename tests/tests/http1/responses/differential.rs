//! The reader against hyper's: whatever is complete here, hyper reads in the same way; what is cut
//! off here, hyper does not complete.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http1;
use hyper::rt::{Read, ReadBufCursor, Write};
use mcp_proto::frame::http1::{HttpVersion, IncomingResponse};
use mcp_proto::{Bytes, Limits};
use proptest::prelude::*;

use super::read;
use crate::cases;
use crate::generate::{response, with_faults};

/// A response as hyper reads it, in our words.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    status: u16,
    is_http10: bool,
    /// Names in lower case, sorted; the values of one name in order.
    fields: Vec<(String, Vec<u8>)>,
    /// `None` if it is not complete.
    body: Option<Vec<u8>>,
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn responses_are_read_as_hyper_reads_them(response in response(), to_head in any::<bool>()) {
        compare(method(to_head), &response);
    }

    #[test]
    fn almost_responses_are_read_as_hyper_reads_them(
        response in with_faults(response()), to_head in any::<bool>(),
    ) {
        compare(method(to_head), &response);
    }
}

/// So that the comparison is one: hyper accepts these, and sees what was sent.
#[test]
fn hyper_reads_what_is_right() {
    let text = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n\
                 5;x\r\nhello\r\n0\r\nx: y\r\n\r\n";
    let (ours, is_refused) = ours("GET", text);
    assert!(!is_refused);
    assert_eq!(ours, hyper("GET", text));
    assert_eq!(ours.unwrap().body.as_deref(), Some(&b"hello"[..]));
}

fn method(to_head: bool) -> &'static str {
    if to_head { "HEAD" } else { "GET" }
}

fn compare(method: &str, stream: &[u8]) {
    let text = String::from_utf8_lossy(stream);
    let (ours, is_refused) = ours(method, stream);
    let theirs = hyper(method, stream);
    match (ours, theirs) {
        (Some(ours), theirs) if ours.body.is_some() => assert_eq!(theirs, Some(ours), "{text:?}"),
        (Some(ours), Some(theirs)) => {
            assert_eq!(Seen { body: None, ..theirs.clone() }, ours, "{text:?}");
            assert!(is_refused || theirs.body.is_none(), "hyper finds an end in {text:?}");
        }
        (None, Some(theirs)) => assert!(is_refused, "hyper finds {theirs:?} in {text:?}"),
        (_, None) => {}
    }
}

/// Response that our reader reads, and whether it refuses something.
fn ours(method: &str, stream: &[u8]) -> (Option<Seen>, bool) {
    let mut seen: Option<Seen> = None;
    let mut data = Vec::new();
    let mut is_refused = false;
    for incoming in read(&Limits::default(), method, stream) {
        match incoming {
            IncomingResponse::Head { head, .. } => {
                let fields = head.fields();
                let fields =
                    fields.map(|(name, value)| (name.to_ascii_lowercase(), value.to_vec()));
                seen = Some(Seen {
                    status: head.status(),
                    is_http10: head.version() == HttpVersion::Http10,
                    fields: sorted(fields.collect()),
                    body: None,
                });
            }
            IncomingResponse::Body(more) => data.extend_from_slice(&more),
            IncomingResponse::End => seen.as_mut().unwrap().body = Some(std::mem::take(&mut data)),
            IncomingResponse::Refused(_) => is_refused = true,
            IncomingResponse::Truncated | IncomingResponse::Closed => {}
        }
    }
    (seen, is_refused)
}

/// Response that hyper reads.
fn hyper(method: &str, stream: &[u8]) -> Option<Seen> {
    let wire = Wire { input: Bytes::copy_from_slice(stream), is_open: false, waiting: None };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (mut sender, connection) = http1::handshake(wire).await.ok()?;
        // How it ends is seen by what it has found.
        tokio::spawn(async { drop(connection.await) });
        let request = Request::builder().method(method).uri("/").header("host", "a");
        let response = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await;
        let (head, body) = response.ok()?.into_parts();
        let fields = head.headers.iter();
        let fields = fields.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        Some(Seen {
            status: head.status.as_u16(),
            is_http10: head.version == hyper::Version::HTTP_10,
            fields: sorted(fields.collect()),
            body: body.collect().await.ok().map(|body| body.to_bytes().to_vec()),
        })
    })
}

fn sorted(mut fields: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

/// A server that answers once a request has come; what is written to it is lost.
struct Wire {
    input: Bytes,
    is_open: bool,
    waiting: Option<Waker>,
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_open {
            self.waiting = Some(context.waker().clone());
            return Poll::Pending;
        }
        let length = into.remaining().min(self.input.len());
        into.put_slice(&self.input.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_open = true;
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
