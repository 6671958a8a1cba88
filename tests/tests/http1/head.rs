//! `Head`: what is asked of it, and heads of requests that others have read.

use mcp_proto::Limits;
use mcp_proto::frame::http1::{Head, HttpVersion, Incoming};

use crate::{read, show_head};

#[test]
fn path_and_host_follow_the_form_of_the_target() {
    let table = [
        ("/", "/", Some("field")),
        ("/mcp?a=http://b/c", "/mcp", Some("field")),
        ("/http://b/c", "/http://b/c", Some("field")),
        ("//b/c", "//b/c", Some("field")),
        ("*", "*", Some("field")),
        ("http://a", "/", Some("a")),
        ("http://a?b/c", "/", Some("a")),
        ("https://a:1/b/c?d", "/b/c", Some("a:1")),
        ("", "", Some("field")),
    ];
    for (target, path, host) in table {
        let mut head = Head::new("GET", target);
        head.push("Host", b"field");
        assert_eq!((head.target(), head.path()), (target, path));
        assert_eq!(head.host(), host.map(str::as_bytes), "{target}");
    }
    assert_eq!(Head::new("GET", "/").host(), None);
}

#[test]
fn fields_are_found_in_any_case_and_in_order() {
    let text = b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-b:2\r\nx-a:  3 \r\n\r\n";
    let found = read(&Limits::default(), text);
    let Some(Incoming::Head { head, .. }) = found.first() else { panic!() };
    assert_eq!(head.version(), HttpVersion::Http11);
    assert_eq!(head.field("x-A"), Some(&b"1"[..]));
    assert_eq!(head.all("x-a").collect::<Vec<_>>(), [b"1", b"3"]);
    assert_eq!(head.field("x"), None);
    let names: Vec<&str> = head.fields().map(|(name, _)| name).collect();
    assert_eq!(names, ["Host", "X-A", "x-b", "x-a"]);
    let mut longer = head.clone();
    longer.push("x-c", b"4");
    assert_eq!(show_head(&longer), "GET / Host=a X-A=1 x-b=2 x-a=3 x-c=4");
    assert_eq!(show_head(head), "GET / Host=a X-A=1 x-b=2 x-a=3");
}

#[test]
fn a_head_takes_no_fields_that_cannot_be() {
    let mut head = Head::new("POST", "/mcp");
    head.push("Host", b" a \t");
    for (name, value) in
        [("", "a"), (":path", "/"), ("a b", "c"), ("a", "b\r\nc: d"), ("a", "\0"), ("a", "\u{7f}")]
    {
        head.push(name, value.as_bytes());
    }
    head.push("long", &vec![b'x'; 70_000]);
    head.push("Last", b"");
    assert_eq!(show_head(&head), "POST /mcp Host=a Last=");
    assert_eq!(head.version(), HttpVersion::Other);
    for wrong in ["", "a b", "a\r\n", "\u{e9}"] {
        assert_eq!(Head::new(wrong, "/").method(), "");
    }
    let long = "/".repeat(70_000);
    for wrong in ["a b", "/\r\n", "/\u{e9}", &long] {
        assert_eq!((Head::new("GET", wrong).target(), Head::new("GET", wrong).path()), ("", ""));
    }
    for count in [10, 5_000] {
        let mut head = Head::new("GET", "/");
        for _ in 0..count {
            head.push("0123456789", b"0123456789");
        }
        assert_eq!(head.fields().count(), count.min(2_978));
        assert!(head.fields().all(|field| field == ("0123456789", b"0123456789")));
    }
}

#[test]
fn credentials_are_not_shown() {
    let mut head = Head::new("GET", "/");
    for name in ["Authorization", "cookie", "x"] {
        head.push(name, b"secret");
    }
    let text = format!("{head:?}");
    assert_eq!(text.matches("secret").count(), 1, "{text}");
}
