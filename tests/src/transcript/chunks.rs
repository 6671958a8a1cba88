//! Chunks of bytes for a machine: whole, or in pieces.

use std::fmt;

/// Way to split a batch of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chunks {
    Whole,
    Of(usize),
    /// Of 0 to 63 bytes, from this seed.
    Random(u64),
}

impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("with whole batches"),
            Self::Of(size) => write!(f, "in chunks of {size}"),
            Self::Random(seed) => write!(f, "in random chunks, seed {seed}"),
        }
    }
}

impl Chunks {
    /// The ways in which each transcript is played.
    pub(super) fn ways() -> impl Iterator<Item = Self> {
        let ways = [Self::Whole, Self::Of(1), Self::Of(7)];
        ways.into_iter().chain((1..=5).map(Self::Random))
    }

    /// The length of the next chunk.
    pub(super) fn next(&mut self) -> usize {
        match self {
            Self::Whole => usize::MAX,
            Self::Of(size) => *size,
            Self::Random(state) => {
                // Knuth's MMIX generator; its high bits are good enough.
                *state = state.wrapping_mul(6_364_136_223_846_793_005);
                *state = state.wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(*state >> 58).unwrap_or_default()
            }
        }
    }
}
