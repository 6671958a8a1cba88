//! `ResponseReader` against itself, with the same bytes in other pieces.

use std::mem;

use mcp_proto::frame::http1::{
    BodyKind, HttpVersion, IncomingResponse, ResponseReader, StatusHead,
};
use mcp_proto::{Bytes, Limits};

/// More than what may wait once everything was polled: a line before a chunk has less than this.
const MAX_CHUNK_LINE: usize = 1024;

/// The first byte chooses the limits, the second the pattern by which the rest is split, and the
/// bits of the third are the methods of the requests. Two zeros are where a request is sent, if the
/// connection lets it.
///
/// # Panics
///
/// If what is found depends on the pieces, exceeds the limits, or goes on behind an end.
pub fn http1_client(data: &[u8]) {
    let [choice, pattern, methods, stream @ ..] = data else { return };
    let sizes = [0, 2, 4, 6].map(|shift| usize::from(pattern >> shift & 3));
    let sizes = if sizes == [0; 4] { [3, 0, 1, 40] } else { sizes };
    http1_client_pieces(&limits(*choice), *methods, stream, &sizes);
}

/// The same with any sizes of pieces, over and over; not all of them may be 0.
///
/// # Panics
///
/// As `http1_client`.
pub fn http1_client_pieces(
    limits: &Limits,
    methods: u8,
    stream: &[u8],
    sizes: &[usize],
) -> Vec<IncomingResponse> {
    let whole = read(limits, methods, stream, &[stream.len().max(1)], true);
    check(limits, &whole);
    for sizes in [&[1][..], &[7], sizes] {
        for eager in [true, false] {
            let found = read(limits, methods, stream, sizes, eager);
            assert_eq!(found, whole, "in pieces of {sizes:?}, polled in between: {eager}");
        }
    }
    whole
}

/// Small limits, so that inputs reach them; 0 has the defaults.
fn limits(choice: u8) -> Limits {
    let mut limits = Limits::default();
    if choice > 0 {
        limits.max_head_bytes = usize::from(choice) * 4;
        limits.max_fields = usize::from(choice % 5);
    }
    limits
}

/// Reads a stream in pieces of these sizes, over and over, and joins adjacent data. An eager reader
/// polls after each piece, others before each request and at the end.
fn read(
    limits: &Limits,
    methods: u8,
    stream: &[u8],
    sizes: &[usize],
    eager: bool,
) -> Vec<IncomingResponse> {
    let mut reader = ResponseReader::new(limits);
    let mut found = Vec::new();
    let mut sizes = sizes.iter().cycle();
    for (at, mut part) in parts(stream).into_iter().enumerate() {
        let method = if methods >> (at % 8) & 1 == 1 { "HEAD" } else { "POST" };
        let is_idle = reader.is_idle();
        assert_eq!(reader.expect(method).is_ok(), is_idle);
        while !part.is_empty() {
            let size = sizes.next().map_or(1, |size| (*size).min(part.len()));
            let (piece, rest) = part.split_at(size);
            reader.push(Bytes::copy_from_slice(piece));
            if eager {
                poll(&mut reader, &mut found);
                let most = limits.max_head_bytes.max(MAX_CHUNK_LINE);
                assert!(reader.buffered() < most, "{} bytes wait", reader.buffered());
            }
            part = rest;
        }
        poll(&mut reader, &mut found);
    }
    reader.end();
    poll(&mut reader, &mut found);
    assert_eq!(reader.buffered(), 0, "nothing waits behind the end");
    assert!(reader.expect("GET").is_err(), "no request is sent behind the end");
    reader.push(Bytes::from_static(b"HTTP/1.1 204 No Content\r\n\r\n"));
    assert_eq!(reader.poll(), None, "nothing comes behind the end");
    found
}

fn parts(mut stream: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some(at) = stream.windows(2).position(|two| two == b"\0\0") {
        let (part, rest) = stream.split_at(at);
        parts.push(part);
        stream = rest.get(2..).unwrap_or_default();
    }
    parts.push(stream);
    parts
}

fn poll(reader: &mut ResponseReader, found: &mut Vec<IncomingResponse>) {
    while let Some(incoming) = reader.poll() {
        match (found.last_mut(), incoming) {
            (Some(IncomingResponse::Body(data)), IncomingResponse::Body(more)) => {
                *data = [mem::take(data), more].concat().into();
            }
            (_, incoming) => found.push(incoming),
        }
    }
}

/// Checks what holds for every reading.
fn check(limits: &Limits, found: &[IncomingResponse]) {
    use IncomingResponse::{Body, Closed, End, Head, Refused, Truncated};
    let end = found.last();
    assert!(matches!(end, Some(Refused(_) | Truncated | Closed)), "ends with {end:?}");
    let mut response: Option<(BodyKind, u64)> = None;
    let mut is_last = false;
    for (at, incoming) in found.iter().enumerate() {
        match incoming {
            Head { head, body, keep_alive } => {
                assert!(response.is_none(), "a head inside of a response");
                assert!(!is_last, "a response behind the last");
                assert!(head.status() >= 200, "{}", head.status());
                assert!(head.fields().count() <= limits.max_fields, "too many fields");
                assert_eq!(again(head).as_ref(), Some(head), "a head reads as it is written");
                assert!(!(*keep_alive && *body == BodyKind::Close), "behind the end");
                response = Some((*body, 0));
                is_last = !keep_alive;
            }
            Body(data) => {
                assert!(!data.is_empty(), "data without bytes");
                assert!(response.is_some(), "a body without a head");
                response = response.map(|(body, length)| (body, length + data.len() as u64));
            }
            End => {
                assert!(response.is_some(), "the end of no response");
                match response.take() {
                    Some((BodyKind::None, length)) => assert_eq!(length, 0, "data of no body"),
                    Some((BodyKind::Length(all), length)) => assert_eq!(length, all, "the length"),
                    Some((BodyKind::Chunked | BodyKind::Close, _)) | None => {}
                }
            }
            Refused(_) | Truncated | Closed => {
                assert_eq!(at + 1, found.len(), "something comes behind {incoming:?}");
            }
        }
    }
    assert!(!(response.is_some() && end == Some(&Closed)), "closed inside of a response");
}

/// A head, written and read.
fn again(head: &StatusHead) -> Option<StatusHead> {
    let version = if head.version() == HttpVersion::Http10 { "1.0" } else { "1.1" };
    let mut text = format!("HTTP/{version} {} \r\n", head.status()).into_bytes();
    for (name, value) in head.fields() {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b":");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    let mut reader = ResponseReader::new(&Limits::default());
    reader.expect("POST").ok()?;
    reader.push(Bytes::from(text));
    match reader.poll() {
        Some(IncomingResponse::Head { head, .. }) => Some(head),
        _ => None,
    }
}
