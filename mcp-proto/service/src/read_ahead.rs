//! Queue of input that is read before the machine accepts it.
//!
//! In: chunks that were read while the machine accepts no input, because its peer leaves too much
//! output unread; and the end of input. Out: the chunks in order, then the end. Reading ahead
//! detects that a peer which does not read has gone: a stream reports its end only after all its
//! input.
//!
//! | state | content | ends with |
//! |---|---|---|
//! | `Open` | chunks, up to [`MAX_BYTES`] and one more | the end of input |
//! | `Ended` | the remaining chunks, and the end | the end being taken |
//! | `Done` | nothing | |

use alloc::collections::VecDeque;
use core::mem;

use bytes::Bytes;

/// The most bytes to read ahead: more than the default buffer of a pipe, 64 KiB.
const MAX_BYTES: usize = 1024 * 1024;

/// The approximate overhead of a chunk, in bytes.
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

    /// Queues a chunk.
    pub(super) fn push(&mut self, data: Bytes) {
        if let ReadState::Open(chunks) = &mut self.state {
            chunks.bytes += data.len() + CHUNK_BYTES;
            chunks.queue.push_back(data);
        }
    }

    /// Queues the end.
    pub(super) fn end(&mut self) {
        self.state = match mem::replace(&mut self.state, ReadState::Done) {
            ReadState::Open(chunks) | ReadState::Ended(chunks) => ReadState::Ended(chunks),
            ReadState::Done => ReadState::Done,
        };
    }

    /// Takes the next piece, if there is one.
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

    /// Returns whether the end is queued.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, ReadState::Ended(_))
    }

    /// Returns whether nothing is queued.
    pub(super) fn is_empty(&self) -> bool {
        match &self.state {
            ReadState::Open(chunks) => chunks.queue.is_empty(),
            ReadState::Ended(_) => false,
            ReadState::Done => true,
        }
    }

    /// Returns whether another chunk may be queued.
    pub(super) fn has_room(&self) -> bool {
        matches!(&self.state, ReadState::Open(chunks) if chunks.bytes <= MAX_BYTES)
    }
}
