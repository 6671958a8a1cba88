//! Requests that are accepted, and their contents.

use mcp_proto::frame::http1::{Incoming, RequestReader};
use mcp_proto::{Bytes, Limits};

use crate::{read, show};

/// Input, and the contents of what is read. `{}` stands for a `Host` and the line end before it.
const TABLE: &[(&str, &str)] = &[
    ("", "closed"),
    ("\r\n", "closed"),
    ("\r", "truncated"),
    ("G", "truncated"),
    ("GET / HTTP/1.1\r\n", "truncated"),
    ("GET / HTTP/1.1{}\r\n", "truncated"),
    // Heads.
    ("GET / HTTP/1.1{}\r\n\r\n", "GET / Host=a ||\nclosed"),
    ("\r\nGET / HTTP/1.1{}\r\n\r\n", "GET / Host=a ||\nclosed"),
    ("get / HTTP/1.1{}\r\n\r\n", "get / Host=a ||\nclosed"),
    ("!#$%&'*+-.^_`|~09AZaz / HTTP/1.1{}\r\n\r\n", "!#$%&'*+-.^_`|~09AZaz / Host=a ||\nclosed"),
    (
        "GET / HTTP/1.1{}\r\na:\r\nb: \t \r\nc: d\te \r\n\r\n",
        "GET / Host=a a= b= c=d\te ||\nclosed",
    ),
    ("GET / HTTP/1.1{}\r\na: b: c\r\nA:B\r\n\r\n", "GET / Host=a a=b: c A=B ||\nclosed"),
    ("GET / HTTP/1.1{}\r\na: \u{e9}\r\n\r\n", "GET / Host=a a=\u{e9} ||\nclosed"),
    // Targets.
    (
        "GET /a%20b?c={d}|[e]&\u{5c}^ HTTP/1.1{}\r\n\r\n",
        "GET /a%20b?c={d}|[e]&\u{5c}^ Host=a ||\nclosed",
    ),
    ("OPTIONS * HTTP/1.1{}\r\n\r\n", "OPTIONS * Host=a ||\nclosed"),
    ("GET http://a HTTP/1.1{}\r\n\r\n", "GET http://a Host=a ||\nclosed"),
    ("GET HTTPS://A/b?c HTTP/1.1{}\r\n\r\n", "GET HTTPS://A/b?c Host=a ||\nclosed"),
    ("GET /http://b/ HTTP/1.1{}\r\n\r\n", "GET /http://b/ Host=a ||\nclosed"),
    // Hosts.
    ("GET / HTTP/1.1\r\nhOST:\r\n\r\n", "GET / hOST= ||\nclosed"),
    ("GET / HTTP/1.1\r\nHost: a.b-c_d~:8080\r\n\r\n", "GET / Host=a.b-c_d~:8080 ||\nclosed"),
    ("GET / HTTP/1.1\r\nHost: %41:\r\n\r\n", "GET / Host=%41: ||\nclosed"),
    ("GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", "GET / Host=[::1] ||\nclosed"),
    (
        "GET / HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:1\r\n\r\n",
        "GET / Host=[::ffff:127.0.0.1]:1 ||\nclosed",
    ),
    // Whether the connection goes on.
    ("GET / HTTP/1.0\r\n\r\n", "GET / 1.0 last ||\nclosed"),
    (
        "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
        "GET / 1.0 Connection=Keep-Alive ||\nclosed",
    ),
    (
        "GET / HTTP/1.1{}\r\nConnection: x, CLOSE\r\n\r\nrest",
        "GET / Host=a Connection=x, CLOSE last ||\nclosed",
    ),
    (
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
        "GET / 1.0 Connection=keep-alive Connection=close last ||\nclosed",
    ),
    // Whether the client waits.
    (
        "PUT / HTTP/1.1{}\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\na",
        "PUT / Host=a Expect=100-Continue Content-Length=1 length 1 waits |a|\nclosed",
    ),
    (
        "PUT / HTTP/1.1{}\r\nExpect: 100-continue\r\n\r\n",
        "PUT / Host=a Expect=100-continue ||\nclosed",
    ),
    (
        "PUT / HTTP/1.1{}\r\nExpect: x\r\nContent-Length: 1\r\n\r\na",
        "PUT / Host=a Expect=x Content-Length=1 length 1 |a|\nclosed",
    ),
    (
        "PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na",
        "PUT / 1.0 Expect=100-continue Content-Length=1 length 1 last |a|\nclosed",
    ),
    (
        "PUT / HTTP/1.1{}\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
        "PUT / Host=a Expect=100-continue Content-Length=0 length 0 ||\nclosed",
    ),
    // Lengths.
    (
        "PUT / HTTP/1.1{}\r\nContent-Length: 0\r\n\r\n",
        "PUT / Host=a Content-Length=0 length 0 ||\nclosed",
    ),
    (
        "PUT / HTTP/1.1{}\r\nContent-Length:005 \r\n\r\nhello",
        "PUT / Host=a Content-Length=005 length 5 |hello|\nclosed",
    ),
    (
        "PUT / HTTP/1.1{}\r\nContent-Length: 5\r\n\r\nhell",
        "PUT / Host=a Content-Length=5 length 5 |helltruncated",
    ),
    (
        "GET / HTTP/1.1{}\r\nContent-Length: 1\r\n\r\nh",
        "GET / Host=a Content-Length=1 length 1 |h|\nclosed",
    ),
];

/// Chunked bodies, and what is found behind the head.
const CHUNKS: &[(&str, &str)] = &[
    ("0\r\n\r\n", "|\nclosed"),
    ("5\r\nhello\r\n0\r\n\r\n", "hello|\nclosed"),
    ("3\r\nhel\r\n02\r\nlo\r\n000\r\n\r\n", "hello|\nclosed"),
    ("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789|\nclosed"),
    ("00000000000000000000005\r\nhello\r\n0\r\n\r\n", "hello|\nclosed"),
    ("5;a\r\nhello\r\n0;b\r\n\r\n", "hello|\nclosed"),
    ("5 ; a = b\t; c=\"d;\\\"\" \r\nhello\r\n0\r\n\r\n", "hello|\nclosed"),
    ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n|\nclosed"),
    // A trailer is dropped, whatever it says.
    ("0\r\na: b\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\nHost: b\r\n\r\n", "|\nclosed"),
    ("", "truncated"),
    ("5", "truncated"),
    ("5\r\nhell", "helltruncated"),
    ("5\r\nhello\r", "hellotruncated"),
    ("0\r\n", "truncated"),
    ("0\r\na: b\r\n", "truncated"),
];

#[test]
fn what_is_right_is_accepted() {
    for (text, expected) in TABLE {
        let text = text.replace("{}", "\r\nHost: a");
        assert_eq!(show(&read(&Limits::default(), text.as_bytes())), *expected, "{text:?}");
    }
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n";
    for (text, expected) in CHUNKS {
        let found = show(&read(&Limits::default(), format!("{head}{text}").as_bytes()));
        let expected = format!("POST / Host=a Transfer-Encoding=Chunked chunked |{expected}");
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn requests_wait_until_they_are_polled() {
    let mut reader = RequestReader::new(&Limits::default());
    assert!(reader.is_idle());
    reader.push(Bytes::from_static(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPUT /2 HTTP/1.1\r\nHos"));
    assert!(reader.is_in_head());
    let Some(Incoming::Head { head, .. }) = reader.poll() else { panic!() };
    assert_eq!((head.path(), reader.is_in_body(), reader.buffered()), ("/1", true, 20));
    reader.push(Bytes::from_static(b"t: a\r\nContent-Length: 2\r\n\r\nx"));
    assert_eq!(reader.poll(), Some(Incoming::End));
    assert!(reader.is_in_head());
    let Some(Incoming::Head { head, .. }) = reader.poll() else { panic!() };
    assert_eq!((head.path(), reader.buffered()), ("/2", 1));
    assert_eq!(reader.poll(), Some(Incoming::Body(Bytes::from_static(b"x"))));
    assert_eq!(reader.poll(), None);
    assert!(reader.is_in_body());
    reader.push(Bytes::from_static(b"y"));
    assert_eq!(reader.poll(), Some(Incoming::Body(Bytes::from_static(b"y"))));
    assert_eq!((reader.poll(), reader.poll()), (Some(Incoming::End), None));
    assert!(reader.is_idle());
    reader.end();
    assert_eq!((reader.poll(), reader.poll()), (Some(Incoming::Closed), None));
}

#[test]
fn a_request_that_came_whole_is_not_copied() {
    let text = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    let chunk = Bytes::from_static(text);
    let mut reader = RequestReader::new(&Limits::default());
    reader.push(chunk.clone());
    let Some(Incoming::Head { head, .. }) = reader.poll() else { panic!() };
    assert_eq!(head.method().as_ptr(), chunk.as_ptr());
    let Some(Incoming::Body(body)) = reader.poll() else { panic!() };
    assert_eq!(body.as_ptr(), chunk.slice(chunk.len() - 5..).as_ptr());
}

/// It takes seconds if each byte has the head searched from its beginning.
#[test]
fn a_head_that_comes_byte_by_byte_is_searched_once() {
    let mut limits = Limits::default();
    limits.max_head_bytes = 64 * 1024 - 1;
    let text = format!("GET / HTTP/1.1\r\nHost: a\r\nx: {}\r\n\r\n", "y".repeat(60_000));
    for _ in 0..20 {
        let mut reader = RequestReader::new(&limits);
        for byte in text.bytes() {
            assert_eq!(reader.poll(), None);
            reader.push(Bytes::copy_from_slice(&[byte]));
        }
        assert!(matches!(reader.poll(), Some(Incoming::Head { .. })));
    }
}
