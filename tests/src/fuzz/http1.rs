//! `RequestReader` against itself, with the same bytes in other pieces; heads against copies.

use std::mem;

use mcp_proto::frame::http1::{
    Head, HeadMatch, HeadParts, HeadSource, HttpVersion, Incoming, RequestReader,
};
use mcp_proto::internals::request_reader;
use mcp_proto::{Bytes, Limits};

/// More than what may wait once everything was polled: a line before a chunk has less than this.
const MAX_CHUNK_LINE: usize = 1024;

/// The first byte chooses the limits, the second the pattern by which the rest is split.
///
/// # Panics
///
/// If what is found depends on the pieces, exceeds the limits, or goes on behind an end.
pub fn http1(data: &[u8]) {
    let [choice, pattern, stream @ ..] = data else { return };
    let sizes = [0, 2, 4, 6].map(|shift| usize::from(pattern >> shift & 3));
    let sizes = if sizes == [0; 4] { [3, 0, 1, 40] } else { sizes };
    http1_pieces(&limits(*choice), stream, &sizes);
}

/// The same with any sizes of pieces, over and over; not all of them may be 0.
///
/// # Panics
///
/// As `http1`.
pub fn http1_pieces(limits: &Limits, stream: &[u8], sizes: &[usize]) -> Vec<Incoming> {
    let whole = read(limits, stream, &[stream.len().max(1)], true);
    check(limits, &whole);
    alike(limits, stream, &whole);
    for sizes in [&[1][..], &[7], sizes] {
        for eager in [true, false] {
            let found = read(limits, stream, sizes, eager);
            assert_eq!(found, whole, "in pieces of {sizes:?}, polled in between: {eager}");
        }
    }
    whole
}

/// The most places at which a request is changed.
const PLACES: usize = 40;

/// After two requests, the same request and requests that differ from it in one place are read as
/// if they were the first of their connection.
fn alike(limits: &Limits, request: &[u8], whole: &[Incoming]) {
    let [head] = heads(whole)[..] else { return };
    if whole.last() != Some(&Incoming::Closed) {
        return;
    }
    // One empty line before a request is ignored, but not two.
    let mut reader = RequestReader::new(limits);
    reader.push([request, b"\r\n"].concat().into());
    poll(&mut reader, &mut Vec::new());
    if !reader.is_idle() {
        return;
    }
    let compare = |next: &[u8]| {
        for next in heads(&compare(limits, request, next)) {
            compare_copies(head, next);
        }
    };
    compare(request);
    for at in (0..request.len()).step_by(request.len() / PLACES + 1) {
        let (before, after) = request.split_at(at);
        let rest = after.get(1..).unwrap_or_default();
        for part in [&b"0"[..], b"9", b"a", b":", b" ", b"\r", b"\n", b"\r\n", b"\xff", b""] {
            compare(&[before, part, rest].concat());
            compare(&[before, part, after].concat());
        }
    }
}

fn heads(found: &[Incoming]) -> Vec<&Head> {
    let mut heads = Vec::new();
    for incoming in found {
        if let Incoming::Head { head, .. } = incoming {
            heads.push(head);
        }
    }
    heads
}

/// Two heads of another HTTP stack are compared as if both were copied.
fn compare_copies(earlier: &Head, next: &Head) {
    fn parts(head: &Head) -> impl HeadSource {
        let fields = || head.fields();
        HeadParts { method: head.method(), target: head.target(), fields }
    }
    const VARYING: [&str; 2] = ["content-length", "mcp-session-id"];
    let constant = |head: &Head| {
        let values = head.fields().map(|(name, value)| {
            let varies = VARYING.iter().any(|varying| name.eq_ignore_ascii_case(varying));
            (name.to_owned(), (!varies).then(|| value.to_owned()))
        });
        values.collect::<Vec<_>>()
    };
    let [earlier, own] = [earlier, next].map(|head| parts(head).into_head());
    match parts(next).compare(&earlier, &VARYING) {
        HeadMatch::Equal => assert_eq!(own, earlier),
        HeadMatch::Varied(head) => {
            assert_eq!(head, own, "the head is that of its source");
            assert_eq!(constant(&head), constant(&earlier), "no other value varies");
            assert_ne!(head, earlier, "a value varies");
        }
        HeadMatch::Different | _ => {}
    }
}

/// Reads `next` after two requests and as the first one. Returns what was read.
fn compare(limits: &Limits, request: &[u8], next: &[u8]) -> Vec<Incoming> {
    let expected = read(limits, &[next, next].concat(), &[next.len().max(1)], true);
    for mut reader in [RequestReader::new(limits), request_reader(limits)] {
        for _ in 0..2 {
            reader.push(Bytes::copy_from_slice(request));
            poll(&mut reader, &mut Vec::new());
        }
        if !reader.is_idle() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for text in [next, next] {
            reader.push(Bytes::copy_from_slice(text));
            poll(&mut reader, &mut found);
        }
        reader.end();
        poll(&mut reader, &mut found);
        assert_eq!(found, expected, "{}", next.escape_ascii());
    }
    expected
}

/// Small limits, so that inputs reach them; 0 has the defaults.
fn limits(choice: u8) -> Limits {
    let mut limits = Limits::default();
    if choice > 0 {
        limits.max_head_bytes = usize::from(choice) * 4;
        limits.max_fields = usize::from(choice % 5);
        limits.max_body_bytes = usize::from(choice % 7) * 9;
    }
    limits
}

/// Reads a stream in pieces of these sizes, over and over, and joins adjacent data. An eager reader
/// polls after each piece, others after the last one.
fn read(limits: &Limits, mut stream: &[u8], sizes: &[usize], eager: bool) -> Vec<Incoming> {
    let mut reader = RequestReader::new(limits);
    let mut found = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !stream.is_empty() {
        let size = sizes.next().map_or(1, |size| (*size).min(stream.len()));
        let (piece, rest) = stream.split_at(size);
        reader.push(Bytes::copy_from_slice(piece));
        if eager {
            poll(&mut reader, &mut found);
            let most = limits.max_head_bytes.max(MAX_CHUNK_LINE);
            assert!(reader.buffered() < most, "{} bytes wait", reader.buffered());
        }
        stream = rest;
    }
    reader.end();
    poll(&mut reader, &mut found);
    assert_eq!(reader.buffered(), 0, "nothing waits behind the end");
    reader.push(Bytes::from_static(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(reader.poll(), None, "nothing comes behind the end");
    found
}

fn poll(reader: &mut RequestReader, found: &mut Vec<Incoming>) {
    while let Some(incoming) = reader.poll() {
        match (found.last_mut(), incoming) {
            (Some(Incoming::Body(data)), Incoming::Body(more)) => {
                *data = [mem::take(data), more].concat().into();
            }
            (_, incoming) => found.push(incoming),
        }
    }
}

/// Checks what holds for every reading.
fn check(limits: &Limits, found: &[Incoming]) {
    let end = found.last();
    assert!(
        matches!(end, Some(Incoming::Refused(_) | Incoming::Truncated | Incoming::Closed)),
        "ends with {end:?}"
    );
    let mut in_body = false;
    for (at, incoming) in found.iter().enumerate() {
        match incoming {
            Incoming::Head { head, .. } => {
                assert!(!in_body, "a head inside of a request");
                assert!(head.fields().count() <= limits.max_fields, "too many fields");
                assert_eq!(again(head).as_ref(), Some(head), "a head reads as it is written");
                in_body = true;
            }
            Incoming::Body(data) => {
                assert!(in_body, "a body without a head");
                assert!(!data.is_empty(), "data without bytes");
                assert!(data.len() <= limits.max_body_bytes, "a body over the limit");
            }
            Incoming::End => assert!(mem::take(&mut in_body), "the end of no request"),
            Incoming::Refused(_) | Incoming::Truncated | Incoming::Closed => {
                assert_eq!(at + 1, found.len(), "something comes behind {incoming:?}");
            }
        }
    }
    assert!(!(in_body && end == Some(&Incoming::Closed)), "closed inside of a request");
}

/// A head, written and read.
fn again(head: &Head) -> Option<Head> {
    let version = if head.version() == HttpVersion::Http10 { "1.0" } else { "1.1" };
    let mut text = format!("{} {} HTTP/{version}\r\n", head.method(), head.target()).into_bytes();
    for (name, value) in head.fields() {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b":");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    let mut reader = RequestReader::new(&Limits::default());
    reader.push(Bytes::from(text));
    match reader.poll() {
        Some(Incoming::Head { head, .. }) => Some(head),
        _ => None,
    }
}
