//! Progress of a request: servers report it, clients receive it.

use alloc::string::String;

use bytes::BytesMut;

use crate::json::Json;
use crate::json::write::{Digits, digits, string};
use crate::message::ProgressToken;

/// Progress of a request.
///
/// [Specification: Progress](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress)
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// The progress, in units of the handler's choice; it must increase with every notification of
    /// a request.
    pub progress: f64,
    /// The value that means done, if it is known.
    pub total: Option<f64>,
    /// One sentence for a human.
    pub message: Option<String>,
}

impl Progress {
    /// Progress without a total. Takes any number: a `usize` as well as an `f64`.
    pub fn new(progress: impl ProgressValue) -> Self {
        Self { progress: progress.to_f64(), total: None, message: None }
    }

    /// Sets the value that means done.
    pub fn total(mut self, total: impl ProgressValue) -> Self {
        self.total = Some(total.to_f64());
        self
    }

    /// Sets the sentence for a human.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The `ProgressNotificationParams`, written into `memory`, which is replaced when it is full.
    pub(crate) fn params(&self, token: &ProgressToken, memory: &mut BytesMut) -> Json {
        const BLOCK: usize = 1024;
        const TOKEN: &[u8] = b"{\"progressToken\":";
        const PROGRESS: &[u8] = b",\"progress\":";
        const TOTAL: &[u8] = b",\"total\":";
        const MESSAGE: &[u8] = b",\"message\":";
        let progress = number(self.progress);
        let total = self.total.filter(|total| total.is_finite()).map(number);
        let message = self.message.as_deref();
        let length = TOKEN.len() + token.as_bytes().len() + PROGRESS.len() + progress.len() + 1;
        let more = total.as_ref().map_or(0, |total| TOTAL.len() + total.len())
            + message.map_or(0, |message| MESSAGE.len() + message.len() + 2);
        if memory.capacity() < length + more {
            *memory = BytesMut::with_capacity(BLOCK.max(length + more));
        }
        let out = memory;
        out.extend_from_slice(TOKEN);
        out.extend_from_slice(token.as_bytes());
        out.extend_from_slice(PROGRESS);
        out.extend_from_slice(&progress);
        if let Some(total) = total {
            out.extend_from_slice(TOTAL);
            out.extend_from_slice(&total);
        }
        if let Some(message) = message {
            out.extend_from_slice(MESSAGE);
            string(out, message);
        }
        out.extend_from_slice(b"}");
        Json::trusted(out.split())
    }
}

/// A number that progress can have: any of the primitive integers and floats.
///
/// JSON has one type of number, which most parsers read as an `f64`. Integers up to 2⁵³ are exact;
/// greater ones become the nearest `f64`.
pub trait ProgressValue: sealed::Sealed {
    /// The same number, or the nearest `f64`.
    fn to_f64(self) -> f64;
}

mod sealed {
    #[expect(unnameable_types, reason = "this seals the trait")]
    pub trait Sealed {}
}

/// Implements [`ProgressValue`] for primitive numbers, and `From` for [`Progress`].
macro_rules! progress_values {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}

        impl ProgressValue for $number {
            #[allow(
                clippy::cast_precision_loss,
                clippy::cast_lossless,
                reason = "the trait documents what is rounded"
            )]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }

        impl From<$number> for Progress {
            fn from(progress: $number) -> Self {
                Self::new(progress)
            }
        }
    )*};
}

progress_values!(f32 f64 u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// A finite number as JSON; whole ones without a fraction, as clients with integers expect.
fn number(value: f64) -> Digits {
    #[expect(clippy::cast_possible_truncation, reason = "other numbers are compared as unequal")]
    let whole = value as i32;
    // The usual case, in a fifth of the instructions.
    if f64::from(whole).to_bits() == value.to_bits() {
        return digits(whole.into());
    }
    Digits::from_slice(alloc::format!("{value}").as_bytes())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn numbers_are_written_as_they_are() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (7.0, "7"),
            (-3.0, "-3"),
            (0.5, "0.5"),
            (2_147_483_647.0, "2147483647"),
            (2_147_483_648.0, "2147483648"),
            (9_007_199_254_740_992.0, "9007199254740992"),
        ] {
            assert_eq!(*number(value), *text.as_bytes());
        }
        let progress = Progress::new(1).total(2.5).message("a \"b\"");
        let token = ProgressToken::number(7);
        let params =
            "{\"progressToken\":7,\"progress\":1,\"total\":2.5,\"message\":\"a \\\"b\\\"\"}";
        let mut memory = BytesMut::new();
        // Longer than a block, so that each of them ends up in another place.
        let all: Vec<_> = (0..50).map(|_| progress.params(&token, &mut memory)).collect();
        assert!(all.iter().all(|written| written.as_str() == params));
    }
}
