//! Diagnosis of a head that could not be parsed.
//!
//! In: the lines of a head or a trailer that the parser rejected. Out: the first fault.

use super::head_syntax::HeadSyntax;
use super::refusal::Refusal;
use super::syntax::{is_field_text, is_token, trim};

/// The first fault of a head that the parser refuses.
#[cold]
pub(super) fn fault_of<P: HeadSyntax>(text: &[u8]) -> Refusal {
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty());
    match lines.next().map(P::check_start_line) {
        Some(Ok(())) => lines.find_map(|line| check_field(line).err()),
        Some(Err(refusal)) => Some(refusal),
        None => None,
    }
    .unwrap_or(P::NO_START_LINE)
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
