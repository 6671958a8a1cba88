//! Encoding and decoding of frames, usable without the rest of MCP.

pub mod http1;
mod line;
pub mod sse;

pub use line::{Line, LineReader, write_line};

/// The number in a text of decimal digits, `u64::MAX` if it is greater; `None` for any other text.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| match digit {
        b'0'..=b'9' => Some(number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))),
        _ => None,
    })
}
