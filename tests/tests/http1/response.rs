//! Responses as bytes.

use mcp_proto::frame::http1::{Framing, Head, HttpVersion, RequestKind, ResponseHead};

const GET: RequestKind =
    RequestKind { is_head: false, version: HttpVersion::Http11, keep_alive: true };
const LAST: RequestKind = RequestKind { keep_alive: false, ..GET };
const HEAD: RequestKind = RequestKind { is_head: true, ..GET };
const OLD: RequestKind = RequestKind { version: HttpVersion::Http10, ..GET };
const OLD_LAST: RequestKind = RequestKind { keep_alive: false, ..OLD };

/// The request, status and length; the bytes, with `/` for a line end, of a body "hello"; whether
/// the connection goes on.
#[test]
fn framing_follows_the_request_and_the_status() {
    let table = [
        (GET, 200, Some(5), "200 OK/Content-Length: 5//hello", true),
        (GET, 200, Some(3), "200 OK/Content-Length: 3//hel", true),
        (GET, 200, Some(9), "200 OK/Content-Length: 9//hello", false),
        (GET, 200, Some(0), "200 OK/Content-Length: 0//", true),
        (GET, 200, None, "200 OK/Transfer-Encoding: chunked//4/hell/1/o/0//", true),
        (
            LAST,
            413,
            Some(5),
            "413 Content Too Large/Content-Length: 5/Connection: close//hello",
            true,
        ),
        (
            LAST,
            200,
            None,
            "200 OK/Transfer-Encoding: chunked/Connection: close//4/hell/1/o/0//",
            true,
        ),
        (GET, 204, None, "204 No Content//", true),
        (GET, 204, Some(5), "204 No Content//", true),
        (GET, 205, Some(5), "205 Reset Content/Content-Length: 0//", true),
        (GET, 304, Some(5), "304 Not Modified//", true),
        (GET, 599, Some(0), "599 /Content-Length: 0//", true),
        (HEAD, 200, Some(5), "200 OK/Content-Length: 5//", true),
        (HEAD, 200, None, "200 OK//", true),
        (HEAD, 204, Some(5), "204 No Content//", true),
        (OLD, 200, Some(5), "200 OK/Content-Length: 5/Connection: keep-alive//hello", true),
        (OLD, 200, None, "200 OK/Connection: close//hello", false),
        (OLD_LAST, 200, Some(5), "200 OK/Content-Length: 5/Connection: close//hello", true),
    ];
    for (request, status, length, expected, keeps_alive) in table {
        let mut out = b"before".to_vec();
        let mut head = ResponseHead::new(status);
        head.length = length;
        let mut framing = head.encode(request, &mut out);
        for data in ["hell", "", "o"] {
            framing.data(data.as_bytes(), &mut out);
        }
        framing.end(&mut out);
        let expected = format!("beforeHTTP/1.1 {}", expected.replace('/', "\r\n"));
        assert_eq!(String::from_utf8_lossy(&out), expected, "{request:?} {status} {length:?}");
        assert_eq!(framing.keeps_alive(), keeps_alive, "{expected}");
        // The end comes once.
        if keeps_alive {
            framing.data(b"more", &mut out);
            framing.end(&mut out);
            assert_eq!(out.len(), expected.len(), "{expected}");
        }
    }
}

#[test]
fn fields_cannot_end_the_head() {
    let mut head = ResponseHead::new(401);
    for (name, value) in [
        ("WWW-Authenticate", "Bearer realm=\"a\""),
        ("x", "a\r\nb: c\0"),
        ("a b", "c"),
        ("", "c"),
        ("content-length", "7"),
        ("Transfer-Encoding", "chunked"),
        ("connection", "upgrade"),
    ] {
        head.push(name, value.to_owned());
    }
    let mut out = Vec::new();
    assert_eq!(head.encode(GET, &mut out), Framing::Length(0));
    assert_eq!(
        String::from_utf8_lossy(&out),
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"a\"\r\n\
         x: a  b: c \r\nContent-Length: 0\r\n\r\n"
    );
}

#[test]
fn chunks_have_hexadecimal_sizes() {
    for (length, size) in [(1, "1"), (10, "a"), (16, "10"), (255, "ff"), (65_536, "10000")] {
        let mut out = Vec::new();
        Framing::Chunked.data(&vec![b'x'; length], &mut out);
        let text = format!("{size}\r\n{}\r\n", "x".repeat(length));
        assert_eq!(String::from_utf8_lossy(&out), text);
    }
    let mut out = Vec::new();
    let mut long = ResponseHead::new(200);
    long.length = Some(u64::MAX);
    long.encode(RequestKind::new(&Head::new("GET", "/"), true), &mut out);
    assert!(String::from_utf8_lossy(&out).contains("Content-Length: 18446744073709551615\r\n"));
}
