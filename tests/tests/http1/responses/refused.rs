//! Responses that are refused, with the reasons; nothing after them is read.

use mcp_proto::Limits;
use mcp_proto::frame::http1::{IncomingResponse, Refusal};

use super::{read, show};
use crate::payloads::{BODIES, HEADS};

const POST: &str = "POST / HTTP/1.1\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\n";
const SECOND: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// Beginnings of responses, and the reasons for which they are refused.
const TABLE: &[(&str, Refusal)] = &[
    ("\r\nHTTP/1.1 200 OK\r\n\r\n", Refusal::StatusLine),
    ("\n", Refusal::StatusLine),
    (" HTTP/1.1 200 OK\r\n\r\n", Refusal::StatusLine),
    ("hello", Refusal::StatusLine),
    ("\u{15}\u{3}\u{3}\0\u{2}\u{2}F", Refusal::Tls),
    ("ICY 200 OK\r\n\r\n", Refusal::StatusLine),
    ("http/1.1 200 OK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 \r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 20\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 2000 OK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 +20 OK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 2x0 OK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1  200 OK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1\t200 OK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 200\tOK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 200 O\0K\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 200 O\u{7f}K\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 200 O\rK\r\n\r\n", Refusal::BareCarriageReturn),
    ("HTTP/1.1 200 OK\n\r\n", Refusal::BareLineFeed),
    ("HTTP/1.1 200 OK\r\na: b\n\r\n", Refusal::BareLineFeed),
    ("HTTP/1.1 200 OK\r\n\n", Refusal::BareLineFeed),
    ("HTTP/1.2 200 OK\r\n\r\n", Refusal::Version),
    ("HTTP/2.0 200 OK\r\n\r\n", Refusal::Version),
    ("HTTP/0.9 200 OK\r\n\r\n", Refusal::Version),
    ("HTTP/2 200 OK\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 099 x\r\n\r\n", Refusal::Status),
    ("HTTP/1.1 000 x\r\n\r\n", Refusal::Status),
    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", Refusal::SwitchingProtocols),
    ("HTTP/1.1 100 \r\n\r\nHTTP/1.1 101 \r\n\r\n", Refusal::SwitchingProtocols),
    ("HTTP/1.1 100 \r\n\r\n\r\n", Refusal::StatusLine),
    ("HTTP/1.1 200 OK\r\n folded: a\r\n\r\n", Refusal::FoldedField),
    ("HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n", Refusal::FoldedField),
    ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::CodingInHttp10),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", Refusal::UnknownCoding),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", Refusal::InvalidLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", Refusal::InvalidLength),
    ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", Refusal::InvalidLength),
    (
        "HTTP/1.1 204 No Content\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        Refusal::SeveralLengths,
    ),
];

#[test]
fn what_is_no_response_is_refused() {
    for (text, refusal) in TABLE {
        let found = read(&Limits::default(), "POST", format!("{text}{SECOND}").as_bytes());
        assert_eq!(found, [IncomingResponse::Refused(*refusal)], "{text:?}: {}", show(&found));
    }
}

#[test]
fn what_is_refused_of_requests_is_refused_of_responses() {
    let mut seen = 0;
    for (name, text, refusal) in HEADS.iter().chain(BODIES) {
        let concerns_requests = matches!(
            refusal,
            Refusal::MissingHost
                | Refusal::SeveralHosts
                | Refusal::InvalidHost
                | Refusal::HostMismatch
                | Refusal::BodyTooLong { .. }
        );
        let Some(rest) = text.strip_prefix(POST).filter(|_| !concerns_requests) else { continue };
        seen += 1;
        let found = read(&Limits::default(), "POST", format!("{OK}{rest}{SECOND}").as_bytes());
        assert_eq!(found.last(), Some(&IncomingResponse::Refused(*refusal)), "{name}");
        assert!(!found.contains(&IncomingResponse::End), "{name}: {}", show(&found));
    }
    assert!(seen > 70, "{seen} payloads");
}

#[test]
fn each_limit_is_met_exactly() {
    let mut limits = Limits::default();
    (limits.max_head_bytes, limits.max_fields, limits.max_body_bytes) = (100, 3, 10);
    let line = |bytes: usize| format!("HTTP/1.1 204 {}\r\n\r\n", "x".repeat(bytes - 17));
    let head = |bytes: usize| format!("HTTP/1.1 204 \r\nx: {}\r\n\r\n", "x".repeat(bytes - 22));
    let fields = |count: usize| format!("HTTP/1.1 204 \r\n{}\r\n", "x: y\r\n".repeat(count));
    let interim = |count: usize| "HTTP/1.1 100 \r\n\r\n".repeat(count) + SECOND;
    let too_long = Refusal::HeadTooLong { max_head_bytes: 100 };
    let table = [
        (line(100), line(101), too_long),
        (head(100), head(101), too_long),
        (fields(3), fields(4), Refusal::TooManyFields { max_fields: 3 }),
        (interim(16), interim(17), Refusal::TooManyInterim),
    ];
    for (fits, exceeds, refusal) in table {
        let found = show(&read(&limits, "GET", fits.as_bytes()));
        assert!(found.ends_with("closed"), "{fits}: {found}");
        let found = read(&limits, "GET", exceeds.as_bytes());
        assert_eq!(found, [IncomingResponse::Refused(refusal)], "{exceeds}");
    }
    // A body may be longer than those of requests.
    let long = format!("{OK}Content-Length: 20\r\n\r\n{}", "x".repeat(20));
    assert!(show(&read(&limits, "GET", long.as_bytes())).ends_with("|\nclosed"));
}
