//! Memory of the last large text, for the next one.
//!
//! An allocator returns large memory to the system as soon as it is free, and each page of fresh
//! memory costs a page fault. These faults take more time than writing the text. The memory of a
//! text is used again as soon as all copies of the text are dropped.

use alloc::vec::Vec;

use bytes::Bytes;

/// Texts up to this length get memory of their own.
pub(crate) const LARGE: usize = 64 * 1024;

/// The most memory that is kept.
pub(crate) const MAX_KEPT: usize = 2 * 1024 * 1024;

/// Memory for large results, see [`CallToolResult::to_json_in`].
///
/// At most 2 MiB are kept, and nothing as long as each result has at most 64 KiB. A result shares
/// the memory, so the memory is used for the next result only after all copies of the last result
/// are dropped.
///
/// [`CallToolResult::to_json_in`]: crate::types::CallToolResult::to_json_in
#[derive(Debug, Default)]
pub struct Spare(Bytes);

impl Spare {
    /// Creates a `Spare` without memory.
    pub const fn new() -> Self {
        Self(Bytes::new())
    }

    /// An empty buffer for a text of about `size` bytes.
    pub(crate) fn take(&mut self, size: usize) -> Vec<u8> {
        let mut buffer = Vec::new();
        if size > LARGE
            && let Ok(mut unused) = core::mem::take(&mut self.0).try_into_mut()
        {
            unused.clear();
            buffer = unused.into();
        }
        buffer.reserve(size);
        buffer
    }

    /// Keeps the memory of a text that was written into a buffer from [`Self::take`].
    pub(crate) fn keep(&mut self, buffer: Vec<u8>) -> Bytes {
        if (LARGE..=MAX_KEPT).contains(&buffer.capacity()) {
            self.keep_any(buffer)
        } else {
            buffer.into()
        }
    }

    /// Keeps memory of any size.
    pub(crate) fn keep_any(&mut self, buffer: Vec<u8>) -> Bytes {
        let text = Bytes::from(buffer);
        self.0 = text.clone();
        text
    }

    /// Returns whether no memory is kept.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(spare: &mut Spare, size: usize) -> Bytes {
        let mut buffer = spare.take(size);
        assert!(buffer.is_empty());
        buffer.resize(size, b'x');
        spare.keep(buffer)
    }

    #[test]
    fn memory_is_used_again_after_the_text_is_dropped() {
        let mut spare = Spare::new();
        let first = write(&mut spare, LARGE + 9);
        let place = first.as_ptr();
        let part = first.slice(5..);
        drop(first);
        let second = write(&mut spare, LARGE + 1);
        assert_ne!(second.as_ptr(), place, "a part of the first text is still there");
        assert!(part.iter().all(|byte| *byte == b'x'));
        let place = second.as_ptr();
        drop(second);
        assert_eq!(write(&mut spare, LARGE + 1).as_ptr(), place);
    }

    #[test]
    fn neither_small_nor_huge_texts_are_kept() {
        let mut spare = Spare::new();
        for size in [0, 1, LARGE - 1, MAX_KEPT + 1] {
            write(&mut spare, size);
            assert!(spare.0.is_empty(), "{size}");
        }
        let kept = write(&mut spare, MAX_KEPT);
        write(&mut spare, 9);
        assert_eq!(spare.0, kept, "a small text leaves it alone");
        write(&mut spare, MAX_KEPT + 1);
        assert!(spare.0.is_empty(), "memory that does not suffice is dropped");
    }
}
