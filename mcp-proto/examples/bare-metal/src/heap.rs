//! A heap in a static buffer: the free list of `linked_list_allocator`, which counts what is used.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

use linked_list_allocator::Heap as FreeList;

/// A heap of `SIZE` bytes.
pub struct Heap<const SIZE: usize> {
    memory: UnsafeCell<[u8; SIZE]>,
    is_locked: AtomicBool,
    state: UnsafeCell<State>,
}

struct State {
    /// Without memory until the first block is taken.
    free: FreeList,
    peak: usize,
    blocks: usize,
}

impl<const SIZE: usize> Heap<SIZE> {
    /// A heap of which nothing is used.
    #[must_use]
    pub const fn new() -> Self {
        let state = State { free: FreeList::empty(), peak: 0, blocks: 0 };
        Self {
            memory: UnsafeCell::new([0; SIZE]),
            is_locked: AtomicBool::new(false),
            state: UnsafeCell::new(state),
        }
    }

    /// The most bytes that were ever in use.
    pub fn peak(&self) -> usize {
        self.with(|state| state.peak)
    }

    /// Number of bytes in use.
    pub fn used(&self) -> usize {
        self.with(|state| state.free.used())
    }

    /// Number of blocks in use.
    pub fn blocks(&self) -> usize {
        self.with(|state| state.blocks)
    }

    /// Runs `f` while nobody else has the state. On bare metal there are no other threads and no
    /// interrupts, so that it never waits there.
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        while self.is_locked.swap(true, Ordering::Acquire) {
            spin_loop();
        }
        // SAFETY: whoever has set `is_locked` is alone here, and `f` takes no other block.
        let result = f(unsafe { &mut *self.state.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }
}

impl<const SIZE: usize> Default for Heap<SIZE> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: `state` and `memory` are reached while `is_locked` is set, or through blocks, and no two
// blocks that are in use overlap.
unsafe impl<const SIZE: usize> Sync for Heap<SIZE> {}

// SAFETY: the blocks are those of `FreeList`, which gives out parts of `memory` alone.
unsafe impl<const SIZE: usize> GlobalAlloc for Heap<SIZE> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.with(|state| {
            if state.free.size() == 0 {
                // SAFETY: `memory` is static, as this heap is, and used for nothing else. The list
                // has no memory, so that this is done once.
                unsafe { state.free.init(self.memory.get().cast(), SIZE) };
            }
            let Ok(block) = state.free.allocate_first_fit(layout) else { return ptr::null_mut() };
            state.blocks += 1;
            state.peak = state.peak.max(state.free.used());
            block.as_ptr()
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(block) = NonNull::new(block) else { return };
        self.with(|state| {
            // SAFETY: the caller has the block from `alloc`, with this layout.
            unsafe { state.free.deallocate(block, layout) };
            state.blocks -= 1;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_given_back_are_taken_again() {
        static HEAP: Heap<1024> = Heap::new();
        let block = Layout::from_size_align(300, 16).unwrap();
        let take = || {
            // SAFETY: the layout is not of no bytes.
            unsafe { HEAP.alloc(block) }
        };
        // SAFETY: what is given back was taken with this layout.
        let give = |taken| unsafe { HEAP.dealloc(taken, block) };
        for _ in 0..100 {
            let (first, second, third) = (take(), take(), take());
            assert!(!third.is_null() && third.addr().is_multiple_of(16));
            assert!(first.addr().abs_diff(second.addr()) >= 300);
            assert!(take().is_null());
            give(second);
            assert_eq!(take(), second);
            give(first);
            give(third);
            give(second);
            assert_eq!((HEAP.blocks(), HEAP.used()), (0, 0));
        }
        assert!((900..=1024).contains(&HEAP.peak()));
    }
}
