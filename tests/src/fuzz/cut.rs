//! Cuts of a peer's bytes into chunks; chunking never matters.

use std::fmt::Debug;

/// Way to cut bytes into the chunks that are read at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    /// After each newline. A model follows this one.
    Lines,
    Whole,
    Every(usize),
}

impl Cut {
    pub(super) fn pieces(self, bytes: &[u8]) -> Vec<&[u8]> {
        match self {
            Self::Lines => bytes.split_inclusive(|byte| *byte == b'\n').collect(),
            Self::Whole => vec![bytes],
            Self::Every(size) => bytes.chunks(size).collect(),
        }
    }
}

/// Plays the same with bytes that are cut in several ways, which nobody may see.
pub(super) fn play_all<E: PartialEq + Debug>(play: impl Fn(Cut) -> Vec<E>) {
    let observed = play(Cut::Lines);
    for cut in [Cut::Whole, Cut::Every(1), Cut::Every(7)] {
        let log = play(cut);
        for (entry, expected) in log.iter().zip(&observed) {
            assert_eq!(entry, expected, "chunking mattered: {cut:?}");
        }
        assert_eq!(log.len(), observed.len(), "chunking mattered: {cut:?}");
    }
}
