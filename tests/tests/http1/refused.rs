//! Requests that are refused, with their statuses; nothing after them is read.

use std::collections::BTreeSet;

use mcp_proto::Limits;
use mcp_proto::frame::http1::{Incoming, Refusal};

use crate::payloads::{BODIES, HEADS};
use crate::{read, show};

const SECOND: &str = "GET /second HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    let mut wrong = Vec::new();
    let names: BTreeSet<&str> = HEADS.iter().chain(BODIES).map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), HEADS.len() + BODIES.len(), "a name stands twice");
    for (name, text, refusal) in HEADS {
        let found = read(&Limits::default(), format!("{text}{SECOND}").as_bytes());
        if found != [Incoming::Refused(*refusal)] {
            wrong.push(format!("{name}: {}", show(&found)));
        }
    }
    for (name, text, refusal) in BODIES {
        let found = read(&Limits::default(), format!("{text}{SECOND}").as_bytes());
        let accepted = matches!(found.first(), Some(Incoming::Head { .. }));
        let ended = found.contains(&Incoming::End);
        if !accepted || ended || found.last() != Some(&Incoming::Refused(*refusal)) {
            wrong.push(format!("{name}: {}", show(&found)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_limit_is_met_exactly_and_names_itself() {
    let mut limits = Limits::default();
    (limits.max_head_bytes, limits.max_fields, limits.max_body_bytes) = (100, 3, 10);
    let host = "Host: a\r\n";
    let chunked = format!("POST / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n");
    let line = |bytes: usize| format!("GET /{} HTTP/1.1\r\n{host}\r\n", "x".repeat(bytes - 16));
    let head =
        |bytes: usize| format!("GET / HTTP/1.1\r\n{host}x: {}\r\n\r\n", "x".repeat(bytes - 32));
    let fields =
        |count: usize| format!("GET / HTTP/1.1\r\n{host}{}\r\n", "x: y\r\n".repeat(count - 1));
    let length = |bytes| format!("POST / HTTP/1.1\r\n{host}Content-Length: {bytes}\r\n\r\n");
    let chunks = |bytes: usize| {
        format!("{chunked}4\r\nxxxx\r\n{:x}\r\n{}\r\n0\r\n\r\n", bytes - 4, "y".repeat(bytes - 4))
    };
    let trailer = |bytes: usize| format!("{chunked}0\r\nx: {}\r\n\r\n", "x".repeat(bytes - 7));
    let trailers = |count| format!("{chunked}0\r\n{}\r\n", "x: y\r\n".repeat(count));
    let extension = |bytes: usize| format!("{chunked}0;{}\r\n\r\n", "x".repeat(bytes - 4));
    let table = [
        (line(50), line(51), 414, "Limits::max_head_bytes = 100"),
        (head(100), head(101), 431, "Limits::max_head_bytes = 100"),
        (fields(3), fields(4), 431, "Limits::max_fields = 3"),
        (length(10) + "0123456789", length(11) + "0", 413, "Limits::max_body_bytes = 10"),
        (chunks(10), chunks(11), 413, "Limits::max_body_bytes = 10"),
        (trailer(100), trailer(101), 431, "Limits::max_head_bytes = 100"),
        (trailers(3), trailers(4), 431, "Limits::max_fields = 3"),
        (extension(1024), extension(1025), 400, "1 KiB"),
    ];
    for (fits, exceeds, status, words) in table {
        let found = show(&read(&limits, fits.as_bytes()));
        assert!(found.ends_with("closed"), "{fits}: {found}");
        let found = read(&limits, exceeds.as_bytes());
        let Some(Incoming::Refused(refusal)) = found.last() else {
            panic!("{exceeds}: {}", show(&found));
        };
        assert_eq!(refusal.status(), status, "{exceeds}");
        assert!(refusal.to_string().contains(words), "{refusal}");
        // It is refused before its end has come.
        let begun = read(&limits, exceeds.as_bytes().split_last().unwrap().1);
        assert_eq!(begun.last(), found.last(), "{exceeds}, without its end");
    }
}

#[test]
fn a_body_that_is_announced_too_long_is_refused_at_once() {
    let mut limits = Limits::default();
    limits.max_body_bytes = 10;
    let text =
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n";
    let refusal = Refusal::BodyTooLong { max_body_bytes: 10 };
    let found = read(&limits, text.as_bytes());
    assert_eq!(found.get(2..), Some(&[Incoming::Refused(refusal)][..]), "{}", show(&found));
}

#[test]
fn refusals_teach() {
    assert_eq!(
        Refusal::LengthAndCoding.to_string(),
        "`Content-Length` beside `Transfer-Encoding` (RFC 9112, 6.1)"
    );
    assert_eq!(
        Refusal::TooManyFields { max_fields: 100 }.to_string(),
        "there are more fields than Limits::max_fields = 100 (RFC 9110, 5.4)"
    );
    assert_eq!((Refusal::UnknownCoding.status(), Refusal::Version.status()), (501, 505));
}
