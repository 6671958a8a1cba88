//! Encoder for server-sent events.
//!
//! In: the parts of an event. Out: the bytes of the event, appended to a buffer. A field is its
//! name, a colon, a space, its value and `\n`; an event ends with a blank line. `event` comes first
//! and `data` last, each once, for readers that handle one line at a time.

use alloc::string::ToString;
use alloc::vec::Vec;

/// Writes an event with a message. Newlines in `data`, which can only be whitespace between JSON
/// tokens, become spaces, so there is one `data` line. `event: message` is the default, but is
/// written for readers that compare the name.
pub fn message(id: Option<&str>, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: message\n");
    if let Some(id) = id {
        field(b"id", id.as_bytes(), out);
    }
    field(b"data", data, out);
    out.push(b'\n');
}

/// Writes an event that gives its reader an id to resume from. The data of the event is empty, so
/// the event is not a message.
pub fn priming(id: &str, out: &mut Vec<u8>) {
    field(b"id", id.as_bytes(), out);
    field(b"data", b"", out);
    out.push(b'\n');
}

/// Writes the number of milliseconds that the reader should wait before it reconnects.
pub fn retry(milliseconds: u64, out: &mut Vec<u8>) {
    field(b"retry", milliseconds.to_string().as_bytes(), out);
    out.push(b'\n');
}

/// Writes a comment, which keeps an idle stream alive. The blank line after it is for readers that
/// split a stream at blank lines.
pub fn comment(out: &mut Vec<u8>) {
    out.extend_from_slice(b":\n\n");
}

/// Writes a line. Characters that would end the line, or make a reader ignore an id, become spaces.
fn field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    let start = out.len();
    out.extend_from_slice(value);
    let mut rest = out.get_mut(start..).unwrap_or_default();
    while let Some(at) = memchr::memchr3(b'\n', b'\r', 0, rest) {
        let Some((stop, tail)) = rest.get_mut(at..).and_then(<[u8]>::split_first_mut) else {
            break;
        };
        *stop = b' ';
        rest = tail;
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec;

    /// Reads a stream as a simple reader does, which knows only lines, their first colon and one
    /// space after it.
    fn read(stream: &[u8]) -> Vec<(String, String)> {
        let text = core::str::from_utf8(stream).unwrap();
        assert!(text.ends_with("\n\n"), "the last event has not ended: {text:?}");
        let lines = text.split(['\n', '\r']);
        let fields = lines.filter_map(|line| line.split_once(':'));
        fields
            .map(|(name, value)| (name.into(), value.strip_prefix(' ').unwrap_or(value).into()))
            .collect()
    }

    #[test]
    fn fields_occur_once_for_any_content() {
        let mut out = b"before\n\n".to_vec();
        message(Some("1\n2\r3\0:4"), b"\r\n{\n\"a: b\":\r\"\xe2\x80\xa8\"}\n", &mut out);
        let field = |name: &str, value: &str| (name.into(), value.into());
        let expected = vec![
            field("event", "message"),
            field("id", "1 2 3 :4"),
            field("data", "  { \"a: b\": \"\u{2028}\"} "),
        ];
        assert_eq!(read(&out), expected);
        assert!(out.starts_with(b"before\n\nevent"));
        assert_eq!(out.windows(2).filter(|two| two == b"\n\n").count(), 2);
    }

    #[test]
    fn only_messages_have_a_name() {
        let mut out = Vec::new();
        priming("", &mut out);
        retry(u64::MAX, &mut out);
        comment(&mut out);
        assert_eq!(out, b"id: \ndata: \n\nretry: 18446744073709551615\n\n:\n\n");
    }
}
