//! What is wrong with a head that cannot be parsed.
//!
//! In: the lines of a head, or of a trailer. Out: the first fault. Nobody comes here with a head
//! that is right.

use super::refusal::Refusal;
use super::syntax::{is_field_text, is_token, trim};

/// The first fault of a head that the parser refuses.
#[cold]
pub(super) fn fault_of(text: &[u8]) -> Refusal {
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty());
    match lines.next().map(check_request_line) {
        Some(Ok(())) => lines.find_map(|line| check_field(line).err()),
        Some(Err(refusal)) => Some(refusal),
        None => None,
    }
    .unwrap_or(Refusal::RequestLine)
}

/// Checks a line that should be a field.
pub(super) fn check_field(line: &[u8]) -> Result<(), Refusal> {
    if let [b' ' | b'\t', ..] = line {
        return Err(Refusal::FoldedField);
    }
    let colon = memchr::memchr(b':', line).ok_or(Refusal::FieldName)?;
    let (name, value) = line.split_at_checked(colon).unwrap_or_default();
    if !is_token(name) {
        Err(if is_token(trim(name)) { Refusal::BlankBeforeColon } else { Refusal::FieldName })
    } else if value.contains(&b'\r') {
        Err(Refusal::BareCarriageReturn)
    } else if !is_field_text(value) {
        Err(Refusal::FieldValue)
    } else {
        Ok(())
    }
}

fn check_request_line(line: &[u8]) -> Result<(), Refusal> {
    let mut parts = line.split(|byte| *byte == b' ');
    let method = parts.next().unwrap_or_default();
    let (target, version, rest) = (parts.next(), parts.next(), parts.next());
    if line.contains(&b'\r') {
        return Err(Refusal::BareCarriageReturn);
    }
    if !is_token(method) {
        return Err(Refusal::Method);
    }
    let (Some(target), Some(version), None) = (target, version, rest) else {
        return Err(Refusal::RequestLine);
    };
    match version {
        _ if target.is_empty() => Err(Refusal::RequestLine),
        b"HTTP/1.0" | b"HTTP/1.1" if target.iter().all(u8::is_ascii_graphic) => Ok(()),
        b"HTTP/1.0" | b"HTTP/1.1" => Err(Refusal::Target),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(Refusal::Version),
        _ => Err(Refusal::RequestLine),
    }
}
