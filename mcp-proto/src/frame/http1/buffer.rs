//! Received bytes that are not read yet.
//!
//! In: chunks. Out: slices of the chunks. Chunks are only copied together while nothing can be
//! taken from them.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Received bytes that are not read yet.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: BufferState,
    /// The number of bytes at the front that were searched for a line feed.
    searched: usize,
}

#[derive(Debug)]
enum BufferState {
    /// A chunk, or the rest of one.
    Slice(Bytes),
    /// Several chunks, from which nothing could be taken.
    Joined(BytesMut),
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self { bytes: BufferState::Slice(Bytes::new()), searched: 0 }
    }

    pub(super) fn push(&mut self, data: Bytes) {
        match &mut self.bytes {
            BufferState::Slice(slice) if slice.is_empty() => *slice = data,
            BufferState::Slice(slice) => {
                let mut joined = BytesMut::with_capacity(slice.len() + data.len());
                joined.put_slice(slice);
                joined.put(data);
                self.bytes = BufferState::Joined(joined);
            }
            BufferState::Joined(joined) => joined.put(data),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            BufferState::Slice(slice) => slice,
            BufferState::Joined(joined) => joined,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Returns whether the bytes at the front were not searched for a line feed yet.
    pub(super) fn is_unsearched(&self) -> bool {
        self.searched == 0
    }

    /// Position of the next line feed within the first `max` bytes. Each line feed is returned only
    /// once.
    pub(super) fn find_line_feed(&mut self, max: usize) -> Option<usize> {
        let end = self.len().min(max);
        let rest = self.bytes().get(self.searched..end).unwrap_or_default();
        let found = memchr::memchr(b'\n', rest).map(|at| self.searched + at);
        self.searched = found.map_or(end, |at| at + 1).max(self.searched);
        found
    }

    /// Takes the first `length` bytes, or all if there are fewer.
    pub(super) fn take(&mut self, length: usize) -> Bytes {
        if let BufferState::Joined(joined) = &mut self.bytes {
            self.bytes = BufferState::Slice(core::mem::take(joined).freeze());
        }
        self.searched = 0;
        match &mut self.bytes {
            BufferState::Slice(slice) => slice.split_to(length.min(slice.len())),
            BufferState::Joined(_) => Bytes::new(),
        }
    }

    /// Drops the first `length` bytes, or all if there are fewer.
    pub(super) fn skip(&mut self, length: usize) {
        match &mut self.bytes {
            BufferState::Slice(slice) => {
                slice.advance(length.min(slice.len()));
                self.searched = 0;
            }
            BufferState::Joined(_) => drop(self.take(length)),
        }
    }
}
