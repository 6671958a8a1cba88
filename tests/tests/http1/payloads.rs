//! Requests that have smuggled others past a proxy, or that somebody reads in another way, and
//! why each is refused.

use mcp_proto::frame::http1::Refusal;

const MAX_BODY: usize = 4 * 1024 * 1024;

/// A name, the bytes, and the refusal.
pub(crate) type Payload = (&'static str, &'static str, Refusal);

macro_rules! post {
    ($rest:literal) => {
        concat!("POST / HTTP/1.1\r\nHost: a\r\n", $rest)
    };
}

/// Those that are refused by their head.
pub(crate) const HEADS: &[Payload] = &[
    (
        "CL.TE",
        post!("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG"),
        Refusal::LengthAndCoding,
    ),
    (
        "TE.CL",
        post!(
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\nGPOST / HTTP/1.1\r\n\r\n0\r\n\r\n"
        ),
        Refusal::LengthAndCoding,
    ),
    (
        "CL.0 with a coding",
        post!("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::LengthAndCoding,
    ),
    (
        "a coding nobody knows beside a length",
        post!("Transfer-Encoding: x\r\nContent-Length: 1\r\n\r\na"),
        Refusal::LengthAndCoding,
    ),
    (
        "TE.TE, the second unknown",
        post!("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"),
        Refusal::ChunkedNotLast,
    ),
    (
        "TE.TE, the first unknown",
        post!("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::UnknownCoding,
    ),
    (
        "TE.TE, both chunked",
        post!("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::ChunkedNotLast,
    ),
    (
        "TE.TE in another case",
        post!("Transfer-Encoding: chunked\r\ntransfer-encoding: cow\r\n\r\n0\r\n\r\n"),
        Refusal::ChunkedNotLast,
    ),
    (
        "coding: xchunked",
        post!("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        Refusal::UnknownCoding,
    ),
    (
        "coding: chunkedx",
        post!("Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n"),
        Refusal::UnknownCoding,
    ),
    (
        "coding: identity",
        post!("Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
        Refusal::UnknownCoding,
    ),
    (
        "coding: chunked, identity",
        post!("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
        Refusal::ChunkedNotLast,
    ),
    (
        "coding: identity, chunked",
        post!("Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n"),
        Refusal::UnknownCoding,
    ),
    ("coding: gzip", post!("Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n"), Refusal::UnknownCoding),
    (
        "coding: gzip, chunked",
        post!("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        Refusal::UnknownCoding,
    ),
    (
        "coding: chunked, gzip",
        post!("Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
        Refusal::ChunkedNotLast,
    ),
    (
        "coding: chunked, chunked",
        post!("Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        Refusal::ChunkedNotLast,
    ),
    (
        "coding: a comma behind chunked",
        post!("Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"),
        Refusal::ChunkedNotLast,
    ),
    (
        "coding: a comma before chunked",
        post!("Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    ("coding: nothing", post!("Transfer-Encoding: \r\n\r\n0\r\n\r\n"), Refusal::InvalidCoding),
    (
        "coding: blanks alone",
        post!("Transfer-Encoding:  \t \r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: chunked in quotes",
        post!("Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: chunked in apostrophes",
        post!("Transfer-Encoding: 'chunked'\r\n\r\n0\r\n\r\n"),
        Refusal::UnknownCoding,
    ),
    (
        "coding: chunked with a parameter",
        post!("Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: chunked with a semicolon",
        post!("Transfer-Encoding: chunked;\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: two words",
        post!("Transfer-Encoding: x chunked\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: a colon before chunked",
        post!("Transfer-Encoding: : chunked\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: a vertical tab before chunked",
        post!("Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n"),
        Refusal::FieldValue,
    ),
    (
        "coding: a form feed behind chunked",
        post!("Transfer-Encoding: chunked\x0c\r\n\r\n0\r\n\r\n"),
        Refusal::FieldValue,
    ),
    (
        "coding: NUL behind chunked",
        post!("Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n"),
        Refusal::FieldValue,
    ),
    (
        "coding: NUL inside of chunked",
        post!("Transfer-Encoding: chun\0ked\r\n\r\n0\r\n\r\n"),
        Refusal::FieldValue,
    ),
    (
        "coding: a no-break space before chunked",
        post!("Transfer-Encoding: \u{a0}chunked\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: chunked with a letter that folds to k",
        post!("Transfer-Encoding: chun\u{212a}ed\r\n\r\n0\r\n\r\n"),
        Refusal::InvalidCoding,
    ),
    (
        "coding: chunked with a bare CR",
        post!("Transfer-Encoding: \rchunked\r\n\r\n0\r\n\r\n"),
        Refusal::BareCarriageReturn,
    ),
    (
        "coding: a bare CR behind chunked",
        post!("Transfer-Encoding: chunked\r\r\n\r\n0\r\n\r\n"),
        Refusal::BareCarriageReturn,
    ),
    ("coding: DEL", post!("Transfer-Encoding: chunked\x7f\r\n\r\n0\r\n\r\n"), Refusal::FieldValue),
    (
        "coding: a blank before the colon",
        post!("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
        Refusal::BlankBeforeColon,
    ),
    (
        "coding: a tab before the colon",
        post!("Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::BlankBeforeColon,
    ),
    (
        "coding: NUL before the colon",
        post!("Transfer-Encoding\0: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::FieldName,
    ),
    (
        "coding: a vertical tab before the colon",
        post!("Transfer-Encoding\x0b: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::FieldName,
    ),
    (
        "coding: a blank inside of the name",
        post!("Transfer Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::FieldName,
    ),
    (
        "coding: in the next line",
        post!("Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
        Refusal::FoldedField,
    ),
    (
        "coding: in a folded line",
        post!("Foo: bar\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::FoldedField,
    ),
    (
        "coding: in a line folded by a tab",
        post!("Foo: bar\r\n\tTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::FoldedField,
    ),
    (
        "coding: behind a bare LF",
        post!("Foo: bar\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::BareLineFeed,
    ),
    (
        "coding: behind a bare CR",
        post!("Foo: bar\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::BareCarriageReturn,
    ),
    (
        "coding: behind CR, CR, LF",
        post!("Foo: bar\r\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::BareCarriageReturn,
    ),
    (
        "coding: behind NUL",
        post!("Foo: bar\0Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal::FieldValue,
    ),
    (
        "coding: before the first field",
        "POST / HTTP/1.1\r\n Transfer-Encoding: chunked\r\nHost: a\r\n\r\n0\r\n\r\n",
        Refusal::FoldedField,
    ),
    (
        "coding: in HTTP/1.0",
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Refusal::CodingInHttp10,
    ),
    ("length: a sign", post!("Content-Length: +5\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: a minus", post!("Content-Length: -5\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: minus nought", post!("Content-Length: -0\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: hexadecimal", post!("Content-Length: 0x5\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: letters", post!("Content-Length: a\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: a list", post!("Content-Length: 5,5\r\n\r\nhello"), Refusal::InvalidLength),
    (
        "length: a list with a blank",
        post!("Content-Length: 5, 5\r\n\r\nhello"),
        Refusal::InvalidLength,
    ),
    ("length: another list", post!("Content-Length: 5, 6\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: a comma", post!("Content-Length: 5,\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: nothing", post!("Content-Length: \r\n\r\nhello"), Refusal::InvalidLength),
    ("length: blanks inside", post!("Content-Length: 1 5\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: a fraction", post!("Content-Length: 5.0\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: an exponent", post!("Content-Length: 5e0\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: underscore", post!("Content-Length: 1_0\r\n\r\nhello"), Refusal::InvalidLength),
    ("length: in quotes", post!("Content-Length: \"5\"\r\n\r\nhello"), Refusal::InvalidLength),
    (
        "length: digits of others",
        post!("Content-Length: \u{665}\r\n\r\nhello"),
        Refusal::InvalidLength,
    ),
    ("length: NUL", post!("Content-Length: 5\0\r\n\r\nhello"), Refusal::FieldValue),
    ("length: a vertical tab", post!("Content-Length: \x0b5\r\n\r\nhello"), Refusal::FieldValue),
    ("length: semicolon", post!("Content-Length: 5;\r\n\r\nhello"), Refusal::InvalidLength),
    (
        "length: two, equal",
        post!("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
        Refusal::SeveralLengths,
    ),
    (
        "length: two, not equal",
        post!("Content-Length: 5\r\ncontent-length: 6\r\n\r\nhello!"),
        Refusal::SeveralLengths,
    ),
    (
        "length: a blank before the colon",
        post!("Content-Length : 5\r\n\r\nhello"),
        Refusal::BlankBeforeColon,
    ),
    ("length: in the next line", post!("Content-Length:\r\n 5\r\n\r\nhello"), Refusal::FoldedField),
    (
        "length: goes on in the next line",
        post!("Content-Length: 5\r\n 0\r\n\r\nhello"),
        Refusal::FoldedField,
    ),
    ("length: no colon", post!("Content-Length 5\r\n\r\nhello"), Refusal::FieldName),
    ("a line without a colon", post!("Foo\r\n\r\n"), Refusal::FieldName),
    ("a colon without a name", post!(": foo\r\n\r\n"), Refusal::FieldName),
    ("a name in brackets", post!("(Foo): bar\r\n\r\n"), Refusal::FieldName),
    ("a name with a slash", post!("Fo/o: bar\r\n\r\n"), Refusal::FieldName),
    ("a name of other letters", post!("F\u{f6}\u{f6}: bar\r\n\r\n"), Refusal::FieldName),
    ("an escape in a value", post!("Foo: \x1b[2J\r\n\r\n"), Refusal::FieldValue),
    ("a backspace in a value", post!("Foo: b\x08\r\n\r\n"), Refusal::FieldValue),
    ("a head that ends with LF, LF", "GET / HTTP/1.1\r\nHost: a\n\n", Refusal::BareLineFeed),
    ("a head that ends with LF, CR, LF", "GET / HTTP/1.1\r\nHost: a\n\r\n", Refusal::BareLineFeed),
    ("a head that ends with CR, LF, LF", "GET / HTTP/1.1\r\nHost: a\r\n\n", Refusal::BareLineFeed),
    ("a request line that ends with LF", "GET / HTTP/1.1\nHost: a\r\n\r\n", Refusal::BareLineFeed),
    (
        "a request line that ends with CR",
        "GET / HTTP/1.1\rHost: a\r\n\r\n",
        Refusal::BareCarriageReturn,
    ),
    (
        "two empty lines before a request",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::Method,
    ),
    ("LF before a request", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    ("CR before a request", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    ("a blank before a request", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    ("NUL before a request", "\0GET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    (
        "a byte order mark before a request",
        "\u{feff}GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::Method,
    ),
    ("request line: tabs", "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    (
        "request line: a tab before the version",
        "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::RequestLine,
    ),
    (
        "request line: two blanks before the target",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::RequestLine,
    ),
    (
        "request line: two blanks before the version",
        "GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::RequestLine,
    ),
    (
        "request line: a blank behind the version",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        Refusal::RequestLine,
    ),
    (
        "request line: a blank in the target",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::RequestLine,
    ),
    ("request line: a vertical tab", "GET\x0b/ HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    ("request line: a bare CR", "GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::BareCarriageReturn),
    ("request line: NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    ("request line: HTTP/0.9", "GET /\r\nHost: a\r\n\r\n", Refusal::RequestLine),
    ("request line: HTTP/0.9, said so", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", Refusal::Version),
    ("request line: HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", Refusal::Version),
    ("request line: HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", Refusal::Version),
    ("request line: HTTP/3", "GET / HTTP/3\r\nHost: a\r\n\r\n", Refusal::RequestLine),
    ("request line: HTTP/1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", Refusal::RequestLine),
    ("request line: HTTP/01.1", "GET / HTTP/01.1\r\nHost: a\r\n\r\n", Refusal::RequestLine),
    ("request line: http/1.1", "GET / http/1.1\r\nHost: a\r\n\r\n", Refusal::RequestLine),
    ("request line: another protocol", "GET / RTSP/1.0\r\nHost: a\r\n\r\n", Refusal::RequestLine),
    ("request line: HTTP/1,1", "GET / HTTP/1,1\r\nHost: a\r\n\r\n", Refusal::RequestLine),
    ("request line: a method in brackets", "(GET) / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    ("request line: a method with a colon", "GET: / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
    (
        "request line: a method of other letters",
        "G\u{c9}T / HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::Method,
    ),
    (
        "request line: other letters in the target",
        "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::Target,
    ),
    ("request line: a fragment", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    (
        "request line: quotes in the target",
        "GET /\"a\" HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::Target,
    ),
    ("request line: no slash", "GET mcp HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    ("request line: a query alone", "GET ?a HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    ("request line: authority-form", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    ("request line: CONNECT to a path", "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    ("request line: asterisk-form of GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    ("request line: another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    ("request line: a scheme alone", "GET http: HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Target),
    (
        "request line: no authority",
        "GET http:///mcp HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::InvalidHost,
    ),
    (
        "request line: a port alone",
        "GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::InvalidHost,
    ),
    ("request line: a user", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::InvalidHost),
    (
        "request line: another authority",
        "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::HostMismatch,
    ),
    (
        "request line: a longer authority",
        "GET http://a.b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::HostMismatch,
    ),
    (
        "request line: another port",
        "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n",
        Refusal::HostMismatch,
    ),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refusal::Version),
    ("a hello of TLS", "\x16\x03\x01\x02\0\x01\0\x01", Refusal::Method),
    ("no Host", "GET / HTTP/1.1\r\n\r\n", Refusal::MissingHost),
    ("no Host, with an authority", "GET http://a/ HTTP/1.1\r\n\r\n", Refusal::MissingHost),
    ("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refusal::SeveralHosts),
    ("two equal Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", Refusal::SeveralHosts),
    (
        "two Hosts in HTTP/1.0",
        "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        Refusal::SeveralHosts,
    ),
    ("Host: a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", Refusal::InvalidHost),
    ("Host: a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", Refusal::InvalidHost),
    ("Host: a list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", Refusal::InvalidHost),
    ("Host: a blank", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", Refusal::InvalidHost),
    ("Host: a port of letters", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", Refusal::InvalidHost),
    ("Host: two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", Refusal::InvalidHost),
    ("Host: an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", Refusal::InvalidHost),
    ("Host: text behind a bracket", "GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n", Refusal::InvalidHost),
    ("Host: empty brackets", "GET / HTTP/1.1\r\nHost: []\r\n\r\n", Refusal::InvalidHost),
    ("Host: a URI", "GET / HTTP/1.1\r\nHost: http://a\r\n\r\n", Refusal::InvalidHost),
    ("Host: a bad escape", "GET / HTTP/1.1\r\nHost: a%2\r\n\r\n", Refusal::InvalidHost),
    ("Host: quotes", "GET / HTTP/1.1\r\nHost: \"a\"\r\n\r\n", Refusal::InvalidHost),
    ("Host: other letters", "GET / HTTP/1.1\r\nHost: \u{e9}\r\n\r\n", Refusal::InvalidHost),
    ("Host: a zone", "GET / HTTP/1.1\r\nHost: [fe80::1%eth0]\r\n\r\n", Refusal::InvalidHost),
    ("Host: a fragment", "GET / HTTP/1.1\r\nHost: a#b\r\n\r\n", Refusal::InvalidHost),
    ("Host: a query", "GET / HTTP/1.1\r\nHost: a?b\r\n\r\n", Refusal::InvalidHost),
    ("Host: a backslash", "GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n", Refusal::InvalidHost),
];

/// Those whose body is refused behind their head.
pub(crate) const BODIES: &[Payload] = &[
    (
        "length: 2 to the 64th",
        post!("Content-Length: 18446744073709551616\r\n\r\nhello"),
        Refusal::BodyTooLong { max_body_bytes: MAX_BODY },
    ),
    (
        "length: 2 to the 64th and 5",
        post!("Content-Length: 18446744073709551621\r\n\r\nhello"),
        Refusal::BodyTooLong { max_body_bytes: MAX_BODY },
    ),
    (
        "length: a byte too many",
        post!("Content-Length: 4194305\r\n\r\nhello"),
        Refusal::BodyTooLong { max_body_bytes: MAX_BODY },
    ),
    (
        "chunk: a sign",
        post!("Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    ("chunk: a minus", post!("Transfer-Encoding: chunked\r\n\r\n-1\r\n"), Refusal::ChunkSize),
    (
        "chunk: 0x",
        post!("Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: an underscore",
        post!("Transfer-Encoding: chunked\r\n\r\n5_0\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: a blank before",
        post!("Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: a blank behind",
        post!("Transfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: a tab behind",
        post!("Transfer-Encoding: chunked\r\n\r\n5\t\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: nothing",
        post!("Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: an extension alone",
        post!("Transfer-Encoding: chunked\r\n\r\n;a\r\n"),
        Refusal::ChunkSize,
    ),
    ("chunk: no number", post!("Transfer-Encoding: chunked\r\n\r\ng\r\n"), Refusal::ChunkSize),
    (
        "chunk: two numbers",
        post!("Transfer-Encoding: chunked\r\n\r\n5 5\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: NUL behind",
        post!("Transfer-Encoding: chunked\r\n\r\n5\0\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    ("chunk: quotes", post!("Transfer-Encoding: chunked\r\n\r\n\"5\"\r\n"), Refusal::ChunkSize),
    (
        "chunk: 2 to the 64th",
        post!("Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: 2 to the 64th and 5",
        post!("Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: 2 to the 64th less 1",
        post!("Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"),
        Refusal::BodyTooLong { max_body_bytes: MAX_BODY },
    ),
    (
        "chunk: 2 to the 32nd and 5",
        post!("Transfer-Encoding: chunked\r\n\r\n100000005\r\nhello\r\n0\r\n\r\n"),
        Refusal::BodyTooLong { max_body_bytes: MAX_BODY },
    ),
    (
        "chunk: a bare LF",
        post!("Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n"),
        Refusal::BareLineFeed,
    ),
    (
        "chunk: a bare CR",
        post!("Transfer-Encoding: chunked\r\n\r\n5\rhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: CR, CR, LF",
        post!("Transfer-Encoding: chunked\r\n\r\n5\r\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: a bare LF behind the data",
        post!("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n"),
        Refusal::ChunkEnd,
    ),
    (
        "chunk: a bare CR behind the data",
        post!("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r0\r\n\r\n"),
        Refusal::ChunkEnd,
    ),
    (
        "chunk: data that is longer",
        post!("Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n"),
        Refusal::ChunkEnd,
    ),
    (
        "chunk: data that is shorter",
        post!("Transfer-Encoding: chunked\r\n\r\n6\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkEnd,
    ),
    (
        "chunk: no line end behind the data",
        post!("Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n"),
        Refusal::ChunkEnd,
    ),
    (
        "chunk: a bare LF in an extension",
        post!("Transfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n0\r\n\r\n"),
        Refusal::BareLineFeed,
    ),
    (
        "chunk: a bare CR in an extension",
        post!("Transfer-Encoding: chunked\r\n\r\n5;a\rb\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkExtension,
    ),
    (
        "chunk: NUL in an extension",
        post!("Transfer-Encoding: chunked\r\n\r\n5;a\0\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkExtension,
    ),
    (
        "chunk: LF in a quoted extension",
        post!("Transfer-Encoding: chunked\r\n\r\n5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"),
        Refusal::BareLineFeed,
    ),
    (
        "chunk: an equals sign",
        post!("Transfer-Encoding: chunked\r\n\r\n5=a\r\nhello\r\n0\r\n\r\n"),
        Refusal::ChunkSize,
    ),
    (
        "chunk: a bare LF behind the last",
        post!("Transfer-Encoding: chunked\r\n\r\n0\n\r\n"),
        Refusal::BareLineFeed,
    ),
    (
        "chunk: a bare LF behind all",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\n\n"),
        Refusal::BareLineFeed,
    ),
    (
        "trailer: a bare LF",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\nFoo: bar\n\r\n"),
        Refusal::BareLineFeed,
    ),
    (
        "trailer: a bare CR",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\nFoo: bar\rX\r\n\r\n"),
        Refusal::BareCarriageReturn,
    ),
    (
        "trailer: no colon",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\nGET / HTTP/1.1\r\n\r\n"),
        Refusal::FieldName,
    ),
    (
        "trailer: a folded line",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\nFoo: bar\r\n baz\r\n\r\n"),
        Refusal::FoldedField,
    ),
    (
        "trailer: a blank before the colon",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\nFoo : bar\r\n\r\n"),
        Refusal::BlankBeforeColon,
    ),
    (
        "trailer: NUL",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\nFoo: \0\r\n\r\n"),
        Refusal::FieldValue,
    ),
    (
        "trailer: a request",
        post!("Transfer-Encoding: chunked\r\n\r\n0\r\nPOST http://a/ HTTP/1.1\r\n\r\n"),
        Refusal::FieldName,
    ),
];
