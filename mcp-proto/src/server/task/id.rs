//! Ids of tasks.

use alloc::string::String;
use core::fmt;

/// The id of a task. Without principals the id is a secret, so [`Debug`](fmt::Debug) shows only 8
/// of its characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(String);

impl TaskId {
    /// Makes an id of 128 unguessable bits: 22 characters of Base64 for URLs.
    pub fn from_bits(bits: [u8; 16]) -> Self {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bits = u128::from_be_bytes(bits);
        let digit = |at: u32| {
            // The last character contains the last two bits.
            let shifted = if at < 21 { bits >> (122 - 6 * at) } else { bits << 4 };
            let index = usize::try_from(shifted & 63).unwrap_or_default();
            ALPHABET.get(index).copied().map_or('A', char::from)
        };
        Self((0..22).map(digit).collect())
    }

    /// The id as text, as in messages.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for TaskId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({})", crate::types::shown_id(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_base64_for_urls() {
        let id = |byte| TaskId::from_bits([byte; 16]);
        assert_eq!(id(0).as_str(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(id(255).as_str(), "_____________________w");
        assert_eq!(id(0x5a).as_str(), "WlpaWlpaWlpaWlpaWlpaWg");
        assert_eq!(alloc::format!("{:?}", id(0x5a)), "TaskId(WlpaWlpa…)");
    }
}
