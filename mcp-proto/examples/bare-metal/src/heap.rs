//! A heap in a static buffer: what is taken lies behind what was taken before, and once all is given
//! back it begins anew.
//!
//! All unsafe code but the name of the entry point is here.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A heap of `SIZE` bytes, less than 4 GiB.
pub struct Heap<const SIZE: usize> {
    memory: UnsafeCell<[u8; SIZE]>,
    used: AtomicU64,
    peak: AtomicUsize,
}

/// How far the heap is taken, and how many blocks of it are in use.
#[derive(Clone, Copy)]
struct Used {
    end: u32,
    blocks: u32,
}

impl<const SIZE: usize> Heap<SIZE> {
    /// A heap of which nothing is used.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            memory: UnsafeCell::new([0; SIZE]),
            used: AtomicU64::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// The most bytes that were ever taken.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// How many blocks are in use.
    pub fn blocks(&self) -> u32 {
        Used::unpack(self.used.load(Ordering::Acquire)).blocks
    }

    /// Where a block begins that is taken next, and what is used then; nothing if there is no room.
    fn take(&self, used: Used, layout: Layout) -> Option<(usize, Used)> {
        let base = self.memory.get().addr();
        let free = base.checked_add(used.end as usize)?;
        let start = free.checked_next_multiple_of(layout.align())? - base;
        let end = start.checked_add(layout.size()).filter(|end| *end <= SIZE)?;
        let (end, blocks) = (u32::try_from(end).ok()?, used.blocks.checked_add(1)?);
        Some((start, Used { end, blocks }))
    }
}

impl<const SIZE: usize> Default for Heap<SIZE> {
    fn default() -> Self {
        Self::new()
    }
}

impl Used {
    const fn pack(self) -> u64 {
        (self.end as u64) << 32 | self.blocks as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "each half is 32 bits")]
    const fn unpack(packed: u64) -> Self {
        Self { end: (packed >> 32) as u32, blocks: packed as u32 }
    }

    /// One block is given back; the last takes all with it.
    const fn less(self) -> Self {
        match self.blocks {
            0 | 1 => Self { end: 0, blocks: 0 },
            blocks => Self { end: self.end, blocks: blocks - 1 },
        }
    }
}

// SAFETY: `memory` is reached through blocks alone, and no two that are in use overlap.
unsafe impl<const SIZE: usize> Sync for Heap<SIZE> {}

// SAFETY: a block lies within `memory`, is aligned, and is behind all others that are in use:
// `used` is changed in one step, and `end` goes back only when there are none.
unsafe impl<const SIZE: usize> GlobalAlloc for Heap<SIZE> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
            self.take(Used::unpack(used), layout).map(|(_, used)| used.pack())
        });
        let Some((start, used)) = taken.ok().and_then(|used| self.take(Used::unpack(used), layout))
        else {
            return ptr::null_mut();
        };
        self.peak.fetch_max(used.end as usize, Ordering::Relaxed);
        // SAFETY: `start` is at most `SIZE`.
        unsafe { self.memory.get().cast::<u8>().add(start) }
    }

    unsafe fn dealloc(&self, _block: *mut u8, _layout: Layout) {
        let less = |used| Some(Used::unpack(used).less().pack());
        // It cannot fail: there always is a value.
        let _ = self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_anew_once_all_is_given_back() {
        let heap = Heap::<64>::new();
        let block = Layout::from_size_align(24, 8).unwrap();
        let take = |layout| {
            // SAFETY: no layout here is of no bytes.
            unsafe { heap.alloc(layout) }
        };
        // SAFETY: what is given back was taken with this layout.
        let give = |taken| unsafe { heap.dealloc(taken, block) };
        for _ in 0..3 {
            let byte = take(Layout::new::<u8>());
            let taken = take(block);
            assert!(taken.addr().is_multiple_of(8) && taken > byte);
            assert!(take(Layout::new::<[u8; 64]>()).is_null());
            give(taken);
            assert_eq!(heap.blocks(), 1);
            // There is room behind it alone.
            assert!(take(block) > taken);
            give(byte);
            give(taken);
            assert_eq!(heap.blocks(), 0);
        }
        assert!((49..=64).contains(&heap.peak()));
    }
}
