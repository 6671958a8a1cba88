//! Requests and responses, and what is almost one.

use std::fmt::Write;

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// One request; with another line, one response.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) fields: Vec<String>,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    None,
    Length(Vec<u8>),
    Chunked { chunks: Vec<(Vec<u8>, String)>, last: String, trailer: Vec<String> },
}

/// Strings that change the meaning of a message when they are inserted into it.
const NASTY: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    "\0",
    " ",
    "\t",
    "\x0b",
    ":",
    ",",
    ";",
    "\r\n ",
    "\r\n\r\n",
    "0\r\n\r\n",
    "5",
    "0",
    "+",
    "-",
    "0x",
    "_",
    "\"",
    "\u{e9}",
    "\x7f",
    "#",
    "*",
    "http://a/",
    " HTTP/1.1",
    "HTTP/1.0",
    "Host: a\r\n",
    "Host: b\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: +1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: x\r\n",
    "Transfer-Encoding : chunked\r\n",
    "transfer-encoding:\tchunked\r\n",
    "chunked",
    ", identity",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Expect: 100-continue\r\n",
    "Upgrade: h2c\r\n",
    "GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
    "ffffffffffffffff",
    "5;a=b\r\n",
    "HTTP/1.1 ",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "101",
];

/// Requests behind each other.
pub(crate) fn stream() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(request(), 1..4)
}

/// The same as bytes, with something wrong here and there.
pub(crate) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    with_faults(stream().prop_map(|stream| bytes(&stream)))
}

/// Bytes with something wrong here and there.
pub(crate) fn with_faults(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let mutation = prop_oneof![
        4 => select(NASTY).prop_map(|text| (0, text.as_bytes().to_vec())),
        2 => (0_usize..4, select(NASTY)).prop_map(|(cut, text)| (cut, text.as_bytes().to_vec())),
        1 => (1_usize..10).prop_map(|cut| (cut, Vec::new())),
        1 => any::<u8>().prop_map(|byte| (1, vec![byte])),
    ];
    (bytes, prop::collection::vec((any::<Index>(), mutation), 1..4)).prop_map(
        |(mut bytes, mutations)| {
            for (at, (cut, instead)) in mutations {
                let at = at.index(bytes.len() + 1);
                let end = (at + cut).min(bytes.len());
                bytes.splice(at..end, instead);
            }
            bytes
        },
    )
}

/// A response as bytes, with what may come before it.
pub(crate) fn response() -> impl Strategy<Value = Vec<u8>> {
    let interim = select(
        &[
            "",
            "",
            "",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n",
            "HTTP/1.0 102 \r\n\r\nHTTP/1.1 100\r\n\r\n",
        ][..],
    );
    let line = select(
        &[
            "HTTP/1.1 200 OK",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 200 ",
            "HTTP/1.1 200",
            "HTTP/1.0 200 OK",
            "HTTP/1.1 202 Accepted",
            "HTTP/1.1 204 No Content",
            "HTTP/1.1 304 Not Modified",
            "HTTP/1.1 205 Reset Content",
            "HTTP/1.1 404 N\u{f6}",
            "HTTP/1.1 500 a\tb",
            "HTTP/1.0 401 Unauthorized",
            "HTTP/1.1 999 x",
            "HTTP/1.1 600 x",
        ][..],
    );
    (interim, line, prop::collection::vec(field(), 0..5), body()).prop_map(
        |(interim, line, fields, body)| {
            let mut line = line.to_owned();
            if let Body::Chunked { .. } = body {
                line = line.replace("HTTP/1.0", "HTTP/1.1");
            }
            [interim.as_bytes(), &Request { line, fields, body }.bytes()].concat()
        },
    )
}

/// Bytes on the wire.
pub(crate) fn bytes(stream: &[Request]) -> Vec<u8> {
    stream.iter().flat_map(Request::bytes).collect()
}

impl Request {
    fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.line);
        for field in &self.fields {
            write!(head, "{field}\r\n").unwrap();
        }
        match &self.body {
            Body::None => format!("{head}\r\n").into_bytes(),
            Body::Length(data) => {
                write!(head, "Content-Length: {}\r\n\r\n", data.len()).unwrap();
                [head.as_bytes(), data].concat()
            }
            Body::Chunked { chunks, last, trailer } => {
                head += "Transfer-Encoding: chunked\r\n\r\n";
                let mut bytes = head.into_bytes();
                for (data, extension) in chunks {
                    bytes.extend(format!("{:x}{extension}\r\n", data.len()).bytes());
                    bytes.extend(data);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(format!("{last}\r\n").bytes());
                for field in trailer {
                    bytes.extend(format!("{field}\r\n").bytes());
                }
                bytes.extend(b"\r\n");
                bytes
            }
        }
    }
}

fn request() -> impl Strategy<Value = Request> {
    (line(), prop::collection::vec(field(), 0..5), body()).prop_map(|(mut line, fields, body)| {
        if let Body::Chunked { .. } = body {
            line = line.replace("HTTP/1.0", "HTTP/1.1");
        }
        let host = ["Host: a".to_owned()];
        Request { line, fields: host.into_iter().chain(fields).collect(), body }
    })
}

fn line() -> impl Strategy<Value = String> {
    let method =
        select(&["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "M-SEARCH", "post"][..]);
    let target = prop_oneof![
        4 => select(&[
            "/", "/mcp", "//a", "/a/../b?c=d&e=%20", "/?", "/{a}|[b]", "http://a", "http://a/",
            "http://a?b", "HTTP://A/b?c", "https://a/b//c", "/http://b/", "/*",
        ][..]).prop_map(str::to_owned),
        1 => "/[!$-;=?-_a-~]{0,20}",
    ];
    let version = prop_oneof![6 => Just("HTTP/1.1"), 1 => Just("HTTP/1.0")];
    prop_oneof![
        12 => (method, target, version).prop_map(|(m, t, v)| format!("{m} {t} {v}")),
        1 => Just("OPTIONS * HTTP/1.1".to_owned()),
    ]
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[A-Za-z!#$%&'*+.^_`|~-]{1,10}:[ \t]{0,2}[!-~\t ]{0,20}",
        1 => select(&[
            "Connection: close", "Connection: keep-alive", "connection:x , Close", "Connection: upgrade",
            "Upgrade: websocket", "Expect: 100-continue", "Accept: a, b", "Accept:", "accept:\t\"c\" ",
            "Cookie: a=b", "X: \u{e9}", "TE: trailers", "Trailer: x", "Content-Type: application/json",
            "Keep-Alive: timeout=5",
        ][..]).prop_map(str::to_owned),
    ]
}

fn body() -> impl Strategy<Value = Body> {
    let data = || prop::collection::vec(any::<u8>(), 1..40);
    let extension = select(&["", "", "", ";a", " ; a=b", ";a=\"b;c\"", "\t;a", ";a;b", ";"][..]);
    let chunk = (data(), extension.prop_map(str::to_owned));
    let last = select(&["0", "000", "0;a"][..]).prop_map(str::to_owned);
    let trailer =
        select(&["x: y", "Content-Length: 5", "Transfer-Encoding: chunked", "Host: b"][..]);
    prop_oneof![
        2 => Just(Body::None),
        2 => prop_oneof![Just(Vec::new()), data()].prop_map(Body::Length),
        3 => (
            prop::collection::vec(chunk, 0..4),
            last,
            prop::collection::vec(trailer.prop_map(str::to_owned), 0..3),
        )
            .prop_map(|(chunks, last, trailer)| Body::Chunked { chunks, last, trailer }),
    ]
}
