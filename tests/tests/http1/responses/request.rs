//! Requests as they are written, and what is not.

use mcp_proto::frame::http1::{Incoming, Refusal, RequestHead, RequestReader};
use mcp_proto::internals::LastRequest;
use mcp_proto::{Bytes, Limits};
use proptest::prelude::*;

use crate::cases;

#[test]
fn the_host_comes_first_and_the_length_last() {
    let mut head = RequestHead::new("POST", "/mcp?a=%20", "[::1]:8080").unwrap();
    head.push("Accept", b" application/json, text/event-stream\t").unwrap();
    head.push("x", "\u{e9}\t.".as_bytes()).unwrap();
    head.push("x", b"").unwrap();
    let mut out = b"before".to_vec();
    head.encode(Some(0), &mut out);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "beforePOST /mcp?a=%20 HTTP/1.1\r\nHost: [::1]:8080\r\nAccept: application/json, text/event-stream\r\n\
         x: \u{e9}\t.\r\nx: \r\nContent-Length: 0\r\n\r\n"
    );
    out.clear();
    RequestHead::new("OPTIONS", "*", "a").unwrap().encode(None, &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(RequestHead::new("GET", "http://A/b", "a").is_ok());
}

#[test]
fn what_could_be_another_request_is_not_written() {
    let long = format!("/{}", "x".repeat(40_000));
    for (method, target, host, refusal) in [
        ("", "/", "a", Refusal::Method),
        ("GET ", "/", "a", Refusal::Method),
        ("GET\r\n", "/", "a", Refusal::Method),
        ("GET", "", "a", Refusal::Target),
        ("GET", "a", "a", Refusal::Target),
        ("GET", "*", "a", Refusal::Target),
        ("GET", "/ HTTP/1.1\r\nx: y", "a", Refusal::Target),
        ("GET", "/\u{e9}", "a", Refusal::Target),
        ("GET", "ftp://a/", "a", Refusal::Target),
        ("GET", "/", "", Refusal::InvalidHost),
        ("GET", "/", ":80", Refusal::InvalidHost),
        ("GET", "/", "a b", Refusal::InvalidHost),
        ("GET", "/", "a\r\nx: y", Refusal::InvalidHost),
        ("GET", "/", "user@a", Refusal::InvalidHost),
        ("GET", "/", "a/b", Refusal::InvalidHost),
        ("GET", "http://b/", "a", Refusal::HostMismatch),
        ("GET", &long, "a", Refusal::TargetTooLong { max_head_bytes: 65_535 }),
    ] {
        assert_eq!(
            RequestHead::new(method, target, host),
            Err(refusal),
            "{method} {target} {host}"
        );
    }
    let mut head = RequestHead::new("GET", "/", "a").unwrap();
    head.push("x", b"y").unwrap();
    let before = head.clone();
    for (name, value, refusal) in [
        ("", "a", Refusal::FieldName),
        ("a b", "a", Refusal::FieldName),
        ("a:", "a", Refusal::FieldName),
        ("a\r\n", "a", Refusal::FieldName),
        ("a", "b\r\nc: d", Refusal::FieldValue),
        ("a", "b\rc", Refusal::FieldValue),
        ("a", "b\nc", Refusal::FieldValue),
        ("a", "b\n", Refusal::FieldValue),
        ("a", "\0", Refusal::FieldValue),
        ("a", "\u{7f}", Refusal::FieldValue),
        ("HOST", "b", Refusal::FramingField),
        ("connection", "close", Refusal::FramingField),
        ("Content-length", "5", Refusal::FramingField),
        ("transfer-Encoding", "chunked", Refusal::FramingField),
        ("a", &long.repeat(2), Refusal::HeadTooLong { max_head_bytes: 65_535 }),
    ] {
        assert_eq!(head.push(name, value.as_bytes()), Err(refusal), "{name:?}");
        assert_eq!(head, before, "{name:?}");
    }
    head.push("authorization", b"Bearer secret").unwrap();
    assert!(!format!("{head:?}").contains("secret"));
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Whatever is given: what is written is one request, and the one that was meant.
    #[test]
    fn what_is_written_is_read_by_a_server(
        method in "[A-Z]{1,4}|.{0,3}", target in "/[ -~]{0,9}|.{0,5}|http://a/b?c", host in "[a-z]{1,3}(:[0-9]{1,2})?|.{0,5}",
        fields in prop::collection::vec(("[a-zA-Z-]{1,9}|.{0,4}", prop::collection::vec(any::<u8>(), 0..9)), 0..5),
        body in prop::option::of("[a-z\r\n]{0,9}"),
    ) {
        let Ok(mut head) = RequestHead::new(&method, &target, &host) else { return Ok(()) };
        let mut expected = vec![("Host", host.as_bytes())];
        for (name, value) in &fields {
            if head.push(name, value).is_ok() {
                expected.push((name, value.trim_ascii()));
            }
        }
        let mut out = Vec::new();
        head.encode(body.as_ref().map(|body| body.len() as u64), &mut out);
        out.extend_from_slice(body.as_deref().unwrap_or_default().as_bytes());
        let mut reader = RequestReader::new(&Limits::default());
        reader.push(Bytes::from(out));
        let Some(Incoming::Head { head: read, .. }) = reader.poll() else {
            return Err(TestCaseError::fail("no head"));
        };
        prop_assert_eq!((read.method(), read.target()), (&*method, &*target));
        let read: Vec<_> = read.fields().filter(|(name, _)| *name != "Content-Length").collect();
        prop_assert_eq!(read, expected);
        let body = body.unwrap_or_default();
        if !body.is_empty() {
            prop_assert_eq!(reader.poll(), Some(Incoming::Body(body.into())));
        }
        prop_assert_eq!(reader.poll(), Some(Incoming::End));
        prop_assert!(reader.is_idle());
    }

    /// A head that is written directly has the bytes of one that is built first, and is refused
    /// for the same reason.
    #[test]
    fn direct_heads_are_those_that_are_built(
        method in "[A-Z]{1,4}|.{0,3}|x{254,257}",
        target in prop_oneof![4 => "/[ -~]{0,9}|.{0,5}", 1 => long("/", 32_768)],
        host in prop_oneof![4 => "[a-z]{1,3}(:[0-9]{1,2})?|.{0,5}", 1 => long("", 32_760)],
        fields in prop::collection::vec(("[a-zA-Z-]{1,9}|.{0,4}|[hH]ost", value()), 0..5),
        length in prop::option::of(any::<u64>()),
    ) {
        let built = RequestHead::new(&method, &target, &host).and_then(|mut head| {
            fields.iter().try_for_each(|(name, value)| head.push(name, value.as_bytes()))?;
            let mut out = b"before".to_vec();
            head.encode(length, &mut out);
            Ok(out)
        });
        let mut out = b"before".to_vec();
        let pairs = fields.iter().map(|(name, value)| (&**name, value.as_bytes()));
        let line: [&str; 3] = [&method, &target, &host];
        let written = LastRequest::default().write(line, pairs, length, &mut out);
        prop_assert_eq!(written.map(|()| out), built);
    }

    /// Whatever was written before, a head has the bytes that it has without a head before it.
    #[test]
    fn heads_do_not_depend_on_the_last_one(
        heads in prop::collection::vec(head(), 1..4),
        order in prop::collection::vec((any::<prop::sample::Index>(), any::<Option<u64>>()), 2..9),
    ) {
        let mut last = LastRequest::default();
        for (index, length) in order {
            let (line, fields) = index.get(&heads);
            let line = line.each_ref().map(|part| &**part);
            let pairs = fields.iter().map(|(name, value)| (&**name, value.as_bytes()));
            let (mut one, mut other) = (b"before".to_vec(), b"before".to_vec());
            let written = last.write(line, pairs.clone(), length, &mut one);
            let alone = LastRequest::default().write(line, pairs, length, &mut other);
            prop_assert_eq!(&written, &alone);
            if written.is_ok() {
                prop_assert_eq!(one, other);
            }
        }
    }
}

/// Method, target and host, and fields, of few different texts: two heads are often equal, or
/// differ only in where a part ends.
fn head() -> impl Strategy<Value = ([String; 3], Vec<(String, String)>)> {
    let line = ["GET|POST", "/|/a", "a|b"];
    let fields = ("a|b|ab|a: b|a\r\nb|[hH]ost|Authorization", "|a|b|ba| a|a\r\nb: a|x{1020}");
    (line, prop::collection::vec(fields, 0..3))
}

/// A text of about so many bytes.
fn long(start: &'static str, length: usize) -> impl Strategy<Value = String> {
    (length - 9..length + 9).prop_map(move |length| format!("{start:x<length$}"))
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![8 => "[ -~]{0,9}|.{0,5}|\t?x{1,9} ", 1 => long("", 32_760)]
}
