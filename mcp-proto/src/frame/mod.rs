//! Encoding and decoding of frames, usable without the rest of MCP.
//!
//! In: bytes, split anywhere. Out: lines, [events](sse), or [requests and responses](http1).
//!
//! ```
//! use mcp_proto::Bytes;
//! use mcp_proto::frame::{Line, LineReader};
//!
//! let mut reader = LineReader::new(8);
//! reader.push(Bytes::from("one\r\nt"));
//! assert_eq!(reader.next_line(), Some(Line::Complete(Bytes::from("one"))));
//! assert_eq!(reader.next_line(), None);
//! reader.push(Bytes::from("wo\nmuch too long\n"));
//! assert_eq!(reader.next_line(), Some(Line::Complete(Bytes::from("two"))));
//! assert_eq!(reader.next_line(), Some(Line::TooLong(Bytes::from("much too"))));
//! ```

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
