//! The limits of HTTP messages.
//!
//! In: [`Limits`]. Out: the limits of a head and of a body, within usable bounds.

use super::refusal::Refusal;
use crate::limits::{Limits, MAX_MESSAGE_BYTES};

/// The smallest limit of a head. The first bytes of a start line are checked before its length.
/// With a smaller limit the refusal would depend on the number of bytes received so far.
const MIN_HEAD_BYTES: usize = 64;

/// The limits of one message.
#[expect(clippy::struct_field_names, reason = "they are named as in Limits")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) max_head_bytes: usize,
    pub(super) max_fields: usize,
    pub(super) max_body_bytes: u64,
}

impl Bounds {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            max_head_bytes: limits.max_head_bytes.clamp(MIN_HEAD_BYTES, usize::from(u16::MAX)),
            max_fields: limits.max_fields,
            max_body_bytes: limits.max_body_bytes.min(MAX_MESSAGE_BYTES) as u64,
        }
    }

    pub(super) fn body_too_long(&self) -> Refusal {
        let max_body_bytes = usize::try_from(self.max_body_bytes).unwrap_or(usize::MAX);
        Refusal::BodyTooLong { max_body_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_has_no_position_beyond_32_bits() {
        let limits = Limits { max_body_bytes: usize::MAX, ..Limits::default() };
        assert_eq!(Bounds::new(&limits).max_body_bytes, u64::from(u32::MAX) - 1);
    }
}
