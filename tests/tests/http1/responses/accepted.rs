//! Responses that are accepted, and their contents.

use mcp_proto::frame::http1::{HttpVersion, IncomingResponse, ResponseReader, StatusHead};
use mcp_proto::{Bytes, Limits};

use super::{read, show};

/// The method of the request, what comes in, and what is found.
const TABLE: &[(&str, &str, &str)] = &[
    ("GET", "", "closed"),
    ("GET", "H", "truncated"),
    ("GET", "HTTP/1.1 200 OK\r\n", "truncated"),
    // Status lines.
    (
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "200 Content-Length=0 length 0 ||\nclosed",
    ),
    (
        "GET",
        "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n",
        "404 Content-Length=0 length 0 ||\nclosed",
    ),
    (
        "GET",
        "HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n",
        "503 Content-Length=0 length 0 ||\nclosed",
    ),
    (
        "GET",
        "HTTP/1.1 999 \u{f6} \t x\r\nContent-Length: 0\r\n\r\n",
        "999 Content-Length=0 length 0 ||\nclosed",
    ),
    // Fields.
    (
        "GET",
        "HTTP/1.1 200 OK\r\na:\r\nb: \t \r\nc: d\te \r\nA: \u{e9}\r\nHost: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n",
        "200 a= b= c=d\te A=\u{e9} Host=a Host=b Content-Length=0 length 0 ||\nclosed",
    ),
    // Bodies.
    (
        "POST",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "200 Content-Length=5 length 5 |hello|\nclosed",
    ),
    (
        "POST",
        "HTTP/1.1 200 OK\r\nContent-Length: 005\r\n\r\nhello",
        "200 Content-Length=005 length 5 |hello|\nclosed",
    ),
    (
        "POST",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "200 Content-Length=5 length 5 |helltruncated",
    ),
    (
        "POST",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;x\r\nhe\r\n3 ; a=\"b\"\r\nllo\r\n00\r\nx: y\r\n\r\n",
        "200 Transfer-Encoding=Chunked chunked |hello|\nclosed",
    ),
    (
        "POST",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "200 Transfer-Encoding=chunked chunked |hellotruncated",
    ),
    ("POST", "HTTP/1.1 200 OK\r\n\r\nhello", "200 up to the end last |hello|\nclosed"),
    ("POST", "HTTP/1.1 200 OK\r\n\r\n", "200 up to the end last ||\nclosed"),
    ("POST", "HTTP/1.0 200 OK\r\n\r\nhello", "200 1.0 up to the end last |hello|\nclosed"),
    (
        "POST",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello",
        "200 1.0 Connection=keep-alive up to the end last |hello|\nclosed",
    ),
    // None, whatever the fields say.
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200 Content-Length=5 ||\nclosed"),
    (
        "HEAD",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "200 Transfer-Encoding=chunked ||\nclosed",
    ),
    ("HEAD", "HTTP/1.1 200 OK\r\n\r\n", "200 ||\nclosed"),
    ("head", "HTTP/1.1 200 OK\r\n\r\n", "200 up to the end last ||\nclosed"),
    ("POST", "HTTP/1.1 204 No Content\r\n\r\n", "204 ||\nclosed"),
    (
        "POST",
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
        "204 Content-Length=5 ||\nclosed",
    ),
    (
        "GET",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "304 Content-Length=5 ||\nclosed",
    ),
    (
        "GET",
        "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n",
        "205 Content-Length=0 length 0 ||\nclosed",
    ),
    // Whether the connection goes on.
    (
        "GET",
        "HTTP/1.1 200 OK\r\nConnection: x, CLOSE\r\nContent-Length: 1\r\n\r\narest",
        "200 Connection=x, CLOSE Content-Length=1 length 1 last |a|\nclosed",
    ),
    ("GET", "HTTP/1.0 204 No Content\r\n\r\n", "204 1.0 last ||\nclosed"),
    (
        "GET",
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na",
        "200 1.0 Connection=Keep-Alive Content-Length=1 length 1 |a|\nclosed",
    ),
    // Interim responses.
    ("POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "204 ||\nclosed"),
    (
        "POST",
        "HTTP/1.1 102 \r\nContent-Length: 5\r\n\r\nHTTP/1.0 199\r\nConnection: close\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        "204 ||\nclosed",
    ),
    ("POST", "HTTP/1.1 100 Continue\r\n\r\n", "truncated"),
    ("POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2", "truncated"),
];

#[test]
fn what_is_right_is_accepted() {
    for (method, text, expected) in TABLE {
        let found = show(&read(&Limits::default(), method, text.as_bytes()));
        assert_eq!(found, *expected, "{method}: {text:?}");
    }
}

#[test]
fn a_head_and_data_are_slices_of_what_came() {
    let chunk = Bytes::from_static(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\nhello");
    let mut reader = ResponseReader::new(&Limits::default());
    reader.expect("GET").unwrap();
    reader.push(chunk.clone());
    let Some(IncomingResponse::Head { head, .. }) = reader.poll() else { panic!() };
    let value = head.field("x").unwrap();
    assert!(chunk.as_ptr_range().contains(&value.as_ptr()));
    let Some(IncomingResponse::Body(data)) = reader.poll() else { panic!() };
    assert!(chunk.as_ptr_range().contains(&data.as_ptr()));
}

#[test]
fn a_head_of_another_stack_says_the_same() {
    let mut head = StatusHead::new(401);
    head.push("WWW-Authenticate", b" Bearer ");
    head.push("www-authenticate", b"Basic");
    for (name, value) in [("", "a"), ("a b", "c"), ("a", "b\r\nc: d"), ("a", "\0")] {
        head.push(name, value.as_bytes());
    }
    assert_eq!((head.status(), head.version()), (401, HttpVersion::Other));
    assert_eq!(head.field("www-Authenticate"), Some(&b"Bearer"[..]));
    let all: Vec<&[u8]> = head.all("WWW-AUTHENTICATE").collect();
    assert_eq!(all, [&b"Bearer"[..], b"Basic"]);
    assert_eq!(head.fields().count(), 2);
    head.push("Set-Cookie", b"secret");
    assert!(!format!("{head:?}").contains("secret"));
}
