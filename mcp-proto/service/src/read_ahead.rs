//! Input that is read before its machine takes it.
//!
//! In: chunks that were read while the machine takes nothing, because its peer leaves too much
//! output unread; and the end of the input. Out: the chunks in order, and the end after the last of
//! them. Reading ahead is how a service notices that a peer which does not read has gone: a stream
//! tells its end behind what is left in it.
//!
//! | state | holds | leaves by |
//! |---|---|---|
//! | `Open` | chunks, of [`MAX_BYTES`] in all and one more | the end of the input |
//! | `Ended` | the rest of the input | the last chunk, with which the machine learns of the end |
//! | `Done` | nothing | |

use alloc::collections::VecDeque;
use core::mem;

use bytes::Bytes;

/// With this much read ahead, nothing more is read: more than a pipe holds by default, 64 KiB.
const MAX_BYTES: usize = 1024 * 1024;

/// The memory that a chunk takes in addition to its bytes, roughly.
const CHUNK_BYTES: usize = 64;

/// Input that is read ahead.
#[derive(Debug)]
pub(super) struct ReadAhead {
    state: ReadState,
}

#[derive(Debug)]
enum ReadState {
    Open(Chunks),
    Ended(Chunks),
    Done,
}

#[derive(Debug, Default)]
struct Chunks {
    queue: VecDeque<Bytes>,
    bytes: usize,
}

/// The next piece of the input.
pub(super) enum Piece {
    Data(Bytes),
    End,
}

impl ReadAhead {
    pub(super) fn new() -> Self {
        Self { state: ReadState::Open(Chunks::default()) }
    }

    /// Holds a chunk.
    pub(super) fn push(&mut self, data: Bytes) {
        if let ReadState::Open(chunks) = &mut self.state {
            chunks.bytes += data.len() + CHUNK_BYTES;
            chunks.queue.push_back(data);
        }
    }

    /// Holds the end.
    pub(super) fn end(&mut self) {
        self.state = match mem::replace(&mut self.state, ReadState::Done) {
            ReadState::Open(chunks) | ReadState::Ended(chunks) => ReadState::Ended(chunks),
            ReadState::Done => ReadState::Done,
        };
    }

    /// The next piece, if any is held.
    pub(super) fn next(&mut self) -> Option<Piece> {
        let (ReadState::Open(chunks) | ReadState::Ended(chunks)) = &mut self.state else {
            return None;
        };
        if let Some(data) = chunks.queue.pop_front() {
            chunks.bytes -= data.len() + CHUNK_BYTES;
            return Some(Piece::Data(data));
        }
        if matches!(self.state, ReadState::Open(_)) {
            return None;
        }
        self.state = ReadState::Done;
        Some(Piece::End)
    }

    /// Returns whether the end is held.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, ReadState::Ended(_))
    }

    /// Returns whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        match &self.state {
            ReadState::Open(chunks) => chunks.queue.is_empty(),
            ReadState::Ended(_) => false,
            ReadState::Done => true,
        }
    }

    /// Returns whether another chunk may be held.
    pub(super) fn has_room(&self) -> bool {
        matches!(&self.state, ReadState::Open(chunks) if chunks.bytes <= MAX_BYTES)
    }
}
