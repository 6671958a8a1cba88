//! Character classes of HTTP: the bytes allowed in each part of a message.
//!
//! [RFC 9110, section 5.6](https://www.rfc-editor.org/rfc/rfc9110#section-5.6)

/// Returns whether a text is a token: a method, the name of a field, or a coding.
pub(super) fn is_token(text: &[u8]) -> bool {
    // Most tokens are letters and dashes, which are checked eight bytes at a time.
    all_words(text, is_plain_name)
        || !text.is_empty() && text.iter().all(|byte| is_token_byte(*byte))
}

/// Returns whether this byte may be in a token.
pub(super) fn is_token_byte(byte: u8) -> bool {
    TOKEN_BYTES.has(byte)
}

/// Returns whether a name, which must be a token, equals `known` in any case. `known` has only
/// lower-case letters and dashes. Setting the case bit of a token's byte gives such a byte only if
/// the byte was a letter or a dash.
///
/// Words of eight bytes are compared: five names against a head of ten fields take 466
/// instructions, and 1,618 with `eq_ignore_ascii_case`.
pub(crate) fn is_named(name: &[u8], known: &[u8]) -> bool {
    const BLANKS: u64 = u64::from_le_bytes([b' '; 8]);
    let differ =
        |a: &[u8; 8], b: &[u8; 8]| (u64::from_le_bytes(*a) | BLANKS) != u64::from_le_bytes(*b);
    if name.len() != known.len() {
        return false;
    }
    let (Some(last), Some(known_last)) = (name.last_chunk(), known.last_chunk()) else {
        return name.iter().zip(known).all(|(byte, known)| byte | b' ' == *known);
    };
    let ((words, _), (known, _)) = (name.as_chunks(), known.as_chunks());
    !differ(last, known_last) && !words.iter().zip(known).any(|(a, b)| differ(a, b))
}

struct Bytes([bool; 256]);

impl Bytes {
    fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or_default()
    }
}

const TOKEN_BYTES: &Bytes = &{
    let mut bytes = [false; 256];
    let mut byte = u8::MIN;
    while byte < u8::MAX {
        if let Some(is) = bytes.split_at_mut(byte as usize).1.first_mut() {
            *is = matches!(byte,
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'!' | b'#'..=b'\'' | b'*' | b'+'
                | b'.' | b'^'..=b'`' | b'|' | b'~');
        }
        byte += 1;
    }
    Bytes(bytes)
};

/// Returns whether a text is a valid value of a field or extension of a chunk: it has no controls
/// except tabs.
pub(super) fn is_field_text(text: &[u8]) -> bool {
    // Most values have no tabs either, and are checked eight bytes at a time.
    all_words(text, is_plain_text)
        || text.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
}

/// Checks a text of at least eight bytes in words of eight bytes.
fn all_words(text: &[u8], is: impl Fn(u64) -> bool) -> bool {
    let (words, _) = text.as_chunks();
    text.last_chunk().is_some_and(|last| {
        is(u64::from_ne_bytes(*last)) && words.iter().all(|word| is(u64::from_ne_bytes(*word)))
    })
}

/// The high bit of each byte.
const HIGH: u64 = all(0x80);

const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The high bit of each byte >= `least`. Bytes must be below 0x80, and `least` above 0.
fn at_least(word: u64, least: u8) -> u64 {
    word + all(0x80 - least)
}

/// Returns whether all bytes are letters and dashes.
fn is_plain_name(word: u64) -> bool {
    if word & HIGH != 0 {
        return false;
    }
    // Setting the case bit makes a lower-case letter of letters only.
    let lower = word | all(b' ');
    let letters = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
    let dashes = at_least(word, b'-') & !at_least(word, b'-' + 1);
    (letters | dashes) & HIGH == HIGH
}

/// Returns whether no byte is a control.
fn is_plain_text(word: u64) -> bool {
    let low = word & !HIGH;
    (word | at_least(low, b' ') & !at_least(low, 0x7F)) & HIGH == HIGH
}

/// Returns whether a text has only bytes that a target may have: those of RFC 3986, and those that
/// browsers do not escape.
pub(super) fn is_target(text: &[u8]) -> bool {
    text.iter().all(|byte| is_target_byte(*byte))
}

fn is_target_byte(byte: u8) -> bool {
    matches!(byte, b'!' | b'$'..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'~')
}

/// Returns whether a text is a valid `Host`: a name or an address and optionally a port. The name
/// may be empty.
///
/// [RFC 3986, section 3.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2)
pub(super) fn is_host(text: &[u8]) -> bool {
    let port = if let [b'[', rest @ ..] = text {
        let end = memchr::memchr(b']', rest).unwrap_or_default();
        match rest.split_at_checked(end) {
            Some((address, [b']', port @ ..])) if is_address(address) => port,
            _ => return false,
        }
    } else {
        // Most hosts are a name or an IPv4 address, without escapes.
        let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let plain = text.iter().take_while(plain).count();
        let end = match text.get(plain) {
            None => return true,
            Some(b':') => plain,
            Some(_) => memchr::memchr(b':', text).unwrap_or(text.len()),
        };
        match text.split_at_checked(end) {
            Some((name, port)) if end == plain || is_name(name) => port,
            _ => return false,
        }
    };
    match port {
        [] => true,
        [b':', port @ ..] => port.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Checks the text inside brackets: an IPv6 address, or one of a future IP version.
fn is_address(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| is_name_byte(*byte) || *byte == b':')
}

fn is_name(text: &[u8]) -> bool {
    let mut text = text;
    loop {
        text = match text {
            [] => return true,
            [b'%', a, b, rest @ ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => rest,
            [byte, rest @ ..] if is_name_byte(*byte) => rest,
            _ => return false,
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'A'..=b'Z' | b'_' | b'~'
        | b'!' | b'$' | b'&'..=b',' | b';' | b'=')
}

/// The text without surrounding spaces and tabs.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_in_any_case_and_only_in_full() {
        for known in ["host", "accept", "connection", "content-type", "mcp-protocol-version"] {
            for name in [known.to_ascii_uppercase(), known.into()] {
                assert!(is_named(name.as_bytes(), known.as_bytes()), "{name}");
                for at in 0..name.len() {
                    for byte in (0..128).filter(|byte| is_token_byte(*byte)) {
                        let mut other = name.clone().into_bytes();
                        let Some(place) = other.get_mut(at) else { continue };
                        *place = byte;
                        let same = other.eq_ignore_ascii_case(known.as_bytes());
                        assert_eq!(is_named(&other, known.as_bytes()), same, "{other:?}");
                    }
                }
            }
            assert!(!is_named(&known.as_bytes()[1..], known.as_bytes()));
        }
    }

    #[test]
    fn word_checks_agree_with_byte_checks() {
        for length in [1, 7, 8, 9, 15, 16, 20] {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut text = [b'x'; 20];
                    text[at] = byte;
                    let text = &text[..length];
                    let is_text = byte == b'\t' || byte >= b' ' && byte != 0x7F;
                    assert_eq!(is_field_text(text), is_text, "{text:?}");
                    assert_eq!(is_token(text), is_token_byte(byte), "{text:?}");
                }
            }
        }
        assert!(is_field_text(b"") && !is_token(b""));
    }
}
