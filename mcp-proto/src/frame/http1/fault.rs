//! Diagnosis of a head that could not be parsed.
//!
//! In: the lines of a head that the parser rejected. Out: the first fault.

use super::fields::check_field;
use super::head_syntax::HeadSyntax;
use super::refusal::Refusal;

/// The first fault of a head that the parser refuses.
#[cold]
pub(super) fn fault_of<S: HeadSyntax>(text: &[u8]) -> Refusal {
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty());
    match lines.next().map(S::check_start_line) {
        Some(Ok(())) => lines.find_map(|line| check_field(line).err()),
        Some(Err(refusal)) => Some(refusal),
        None => None,
    }
    .unwrap_or(S::NO_START_LINE)
}
