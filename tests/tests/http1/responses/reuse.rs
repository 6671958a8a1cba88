//! Reuse of a connection: when it is allowed, and that only an answer is taken for one.

use mcp_proto::frame::http1::{IncomingResponse, NotIdle, Refusal, ResponseReader};
use mcp_proto::{Bytes, Limits};

use super::show;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
const FOUND: &str = "200 Content-Length=1 length 1 |a|\n";

fn poll(reader: &mut ResponseReader) -> String {
    show(&std::iter::from_fn(|| reader.poll()).collect::<Vec<_>>())
}

#[test]
fn one_request_after_the_other() {
    let mut reader = ResponseReader::new(&Limits::default());
    for method in ["POST", "HEAD", "POST"] {
        assert!(reader.is_idle() && !reader.is_waiting());
        reader.expect(method).unwrap();
        assert!(!reader.is_idle() && reader.is_waiting() && !reader.is_in_body());
        assert_eq!(reader.expect(method), Err(NotIdle));
        let (head, body) = ANSWER.split_at(ANSWER.len() - 1);
        reader.push(Bytes::from(head));
        if method == "HEAD" {
            assert_eq!(poll(&mut reader), "200 Content-Length=1 ||\n");
            continue;
        }
        assert_eq!(poll(&mut reader), "200 Content-Length=1 length 1 |");
        assert!(reader.is_in_body() && !reader.is_waiting());
        assert_eq!(reader.expect(method), Err(NotIdle));
        reader.push(Bytes::from(body));
        assert_eq!(poll(&mut reader), "a|\n");
    }
    reader.end();
    assert_eq!(poll(&mut reader), "closed");
    assert_eq!(reader.expect("GET"), Err(NotIdle));
}

#[test]
fn what_nobody_has_asked_for_is_refused() {
    // Before any request.
    let mut reader = ResponseReader::new(&Limits::default());
    reader.push(Bytes::from(ANSWER));
    assert!(!reader.is_idle());
    assert_eq!(reader.expect("GET"), Err(NotIdle));
    assert_eq!(poll(&mut reader), "502 Unexpected");
    assert_eq!(reader.expect("GET"), Err(NotIdle));
    // Behind an answer, in one piece with it or not.
    for pieces in [&[&*[ANSWER, ANSWER].concat()][..], &[ANSWER, ANSWER], &[ANSWER, "\r"]] {
        let mut reader = ResponseReader::new(&Limits::default());
        reader.expect("GET").unwrap();
        for piece in pieces {
            reader.push(Bytes::copy_from_slice(piece.as_bytes()));
        }
        assert_eq!(poll(&mut reader), format!("{FOUND}502 Unexpected"), "{pieces:?}");
    }
    // Also if a request is sent before it is looked at.
    let mut reader = ResponseReader::new(&Limits::default());
    reader.expect("GET").unwrap();
    reader.push(Bytes::from(format!("{ANSWER}{ANSWER}")));
    while reader.poll() != Some(IncomingResponse::End) {}
    assert!(!reader.is_idle());
    assert_eq!(reader.expect("GET"), Err(NotIdle));
    assert_eq!(reader.poll(), Some(IncomingResponse::Refused(Refusal::Unexpected)));
}

#[test]
fn the_body_of_a_response_that_has_none_is_not_the_next_response() {
    for (method, text) in [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"),
        ("POST", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\n\r\na"),
    ] {
        let mut reader = ResponseReader::new(&Limits::default());
        reader.expect(method).unwrap();
        reader.push(Bytes::from(text));
        assert!(poll(&mut reader).ends_with("||\n502 Unexpected"), "{text}");
    }
}

#[test]
fn a_connection_that_ends_before_the_answer_is_told_from_one_that_ends_inside() {
    for (text, end) in [("", "closed"), ("H", "truncated"), ("HTTP/1.1 100 \r\n\r\n", "truncated")]
    {
        let mut reader = ResponseReader::new(&Limits::default());
        reader.expect("POST").unwrap();
        reader.push(Bytes::from(text));
        assert_eq!(poll(&mut reader), "");
        reader.end();
        reader.push(Bytes::from(ANSWER));
        assert_eq!(poll(&mut reader), end);
    }
}

#[test]
fn nothing_is_expected_behind_the_last_response() {
    let mut reader = ResponseReader::new(&Limits::default());
    reader.expect("POST").unwrap();
    let last = ANSWER.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    reader.push(Bytes::from(last + ANSWER));
    assert!(poll(&mut reader).ends_with("last |a|\n"));
    assert!(!reader.is_idle());
    assert_eq!(reader.expect("POST"), Err(NotIdle));
    reader.push(Bytes::from(ANSWER));
    assert_eq!((poll(&mut reader), reader.buffered()), (String::new(), 0));
}

/// Whatever was read before, the next answer is read in the same way.
#[test]
fn heads_that_are_alike_are_read_like_others() {
    let one = |length: &str, body: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nx: y\r\n\r\n{body}")
    };
    let texts = [
        one("1", "a"),
        one("2", "bc"),
        one("9", "in nine b"),
        one("10", "ten bytes."),
        one("00", ""),
        one("-1", "a"),
        one("99999999999999999999", "a"),
        one("1", "a").replace("x: y", "x: z"),
        one("1", "a").replace("200", "204"),
        one("1", "a").replace("200", "100") + ANSWER,
        one("1", "a").replace("1.1", "1.0"),
        one("1", "a").replace("x: y", "connection: close"),
        one("1", "a").replace("x: y", "content-length: 2"),
        one("1", "a").replace("Content-Length: 1", "Transfer-Encoding: chunked"),
        ANSWER.to_owned(),
    ];
    let limits = Limits::default();
    let read = |reader: &mut ResponseReader, method: &str, text: &str| {
        reader.expect(method).ok()?;
        reader.push(Bytes::copy_from_slice(text.as_bytes()));
        Some(poll(reader))
    };
    for (before, text) in texts.iter().flat_map(|one| texts.iter().map(move |two| (one, two))) {
        for method in ["POST", "HEAD"] {
            let mut reader = ResponseReader::new(&limits);
            let has_read = (0..3).all(|_| read(&mut reader, "POST", before).is_some());
            if let Some(found) = has_read.then(|| read(&mut reader, method, text)).flatten() {
                let expected = read(&mut ResponseReader::new(&limits), method, text);
                assert_eq!(Some(found), expected, "{method} {text:?} after {before:?}");
            }
        }
    }
}
