//! Text in the value of a header, and back.

use mcp_proto::headers::{ValueError, decode, encode};

/// The text, and the header that says it.
const TABLE: &[(&str, &str)] = &[
    ("us-west1", "us-west1"),
    ("two words", "two words"),
    ("~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}", "~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}"),
    // The examples of the specification.
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    // Nothing, which some servers cannot tell from no header.
    ("", "=?base64??="),
    // Blanks at one end.
    (" a", "=?base64?IGE=?="),
    ("a ", "=?base64?YSA=?="),
    (" ", "=?base64?IA==?="),
    // A tab is allowed in a header, and not by all who forward it.
    ("a\tb", "=?base64?YQli?="),
    ("\t", "=?base64?CQ==?="),
    ("a\0b", "=?base64?YQBi?="),
    ("a\rb", "=?base64?YQ1i?="),
    ("\u{7f}", "=?base64?fw==?="),
    ("é", "=?base64?w6k=?="),
    // The standard alphabet.
    ("\u{3ff}\u{3ff}\u{3ff}", "=?base64?z7/Pv8+/?="),
    // Both marks in one is a wrapper to some.
    ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
    ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
    // Half of the marks, or others.
    ("=?base64?a", "=?base64?a"),
    ("a?=", "a?="),
    ("=?base64", "=?base64"),
    ("=?BASE64?YQ==?=", "=?BASE64?YQ==?="),
    ("x=?base64?YQ==?=", "x=?base64?YQ==?="),
];

#[test]
fn each_text_has_its_header_and_is_read_back_from_it() {
    for (text, header) in TABLE {
        assert_eq!(encode(text), *header, "{text:?}");
        assert_eq!(decode(header.as_bytes()).as_deref(), Ok(*text), "{header:?}");
    }
}

#[test]
fn t112_a_text_that_looks_wrapped_is_wrapped() {
    for text in ["=?base64?literal?=", "=?base64??=", "=?base64?=", "=?base64?not base64?="] {
        let header = encode(text);
        assert_ne!(header, text);
        assert_eq!(decode(header.as_bytes()).as_deref(), Ok(text));
    }
}

#[test]
fn t113_a_wrapper_that_is_cut_short_is_text() {
    for text in ["=?base64?=", "=?base64?", "=?base64", "?=", "=?", "="] {
        assert_eq!(decode(text.as_bytes()).as_deref(), Ok(text));
    }
    assert_eq!(decode(b"=?base64??=").as_deref(), Ok(""));
}

#[test]
fn t114_t119_bytes_that_are_no_text_are_refused() {
    let bytes: [&[u8]; 8] =
        [b"\xff", "é".as_bytes(), b"a\0b", b"a\rb", b"a\nb", b"\x7f", b"a\x80", b"=?base64?\xc3?="];
    for value in bytes {
        assert_eq!(decode(value), Err(ValueError::InvalidCharacter), "{value:?}");
    }
}

#[test]
fn t116_blanks_around_a_value_do_not_count_and_those_inside_do() {
    for value in ["a b", " a b", "a b ", "\t a b \t", "   a b"] {
        assert_eq!(decode(value.as_bytes()).as_deref(), Ok("a b"), "{value:?}");
    }
    assert_eq!(decode(b"a\tb").as_deref(), Ok("a\tb"));
    assert_eq!(decode(b" \t =?base64?IGE=?= \t").as_deref(), Ok(" a"));
    assert_eq!(decode(b" \t ").as_deref(), Ok(""));
    assert_eq!(decode(b"").as_deref(), Ok(""));
}

#[test]
fn a_wrapper_holds_the_one_spelling_of_its_bytes() {
    let broken = [
        // Without padding, with too much, in the other alphabet, with blanks, with bits left over.
        "YQ",
        "YQ=",
        "YQ===",
        "=",
        "====",
        "z7_Pv8-_",
        "YQ== ",
        " YQ==",
        "Y Q==",
        "YR==",
        "YWJ=",
        "a",
        "YQ==YQ==",
        "YQ==?=YQ==",
        "?",
        "*",
    ];
    for payload in broken {
        let value = format!("=?base64?{payload}?=");
        assert_eq!(decode(value.as_bytes()), Err(ValueError::InvalidBase64), "{value}");
    }
    for payload in ["/w==", "w6k=w6k=", "w2k=", "7aCA"] {
        let value = format!("=?base64?{payload}?=");
        assert!(decode(value.as_bytes()).is_err(), "{value}");
    }
    assert_eq!(decode(b"=?base64?/w==?="), Err(ValueError::InvalidUtf8));
    assert_eq!(decode(b"=?base64?7aCA?="), Err(ValueError::InvalidUtf8));
}
