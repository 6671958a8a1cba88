//! Memory of input that a runtime has read.
//!
//! In: the bytes of one read, on the stack. Out: [`Bytes`]. Short reads of a thread share an
//! allocation, which is used again once nobody holds a part of it. A message that is handled at
//! once needs no memory of its own, and one that is kept holds at most [`SHARED`] bytes.

use core::cell::RefCell;

use bytes::{Bytes, BytesMut};

/// The most bytes of a read that share an allocation with other reads.
const MAX_SHORT: usize = 1024;

/// The size of a shared allocation, in bytes.
const SHARED: usize = 4 * 1024;

std::thread_local! {
    static BUFFER: RefCell<BytesMut> = RefCell::default();
}

/// Copies bytes that were read, for [`Reader::poll_read`](crate::Reader::poll_read). Up to 1 KiB it
/// rarely allocates: the copy is then part of 4 KiB, which are freed when all their parts are
/// dropped.
pub fn copy_input(data: &[u8]) -> Bytes {
    if data.len() > MAX_SHORT {
        return Bytes::copy_from_slice(data);
    }
    let copy = |buffer: &RefCell<BytesMut>| {
        let mut buffer = buffer.borrow_mut();
        if buffer.capacity() < data.len() {
            buffer.reserve(SHARED);
        }
        buffer.extend_from_slice(data);
        buffer.split().freeze()
    };
    // The buffer is gone while its thread ends.
    BUFFER.try_with(copy).unwrap_or_else(|_| Bytes::copy_from_slice(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece of `length` bytes that tells its number.
    fn piece(number: usize, length: usize) -> Vec<u8> {
        number.to_le_bytes().into_iter().cycle().take(length).collect()
    }

    #[test]
    fn pieces_keep_their_bytes_whatever_is_read_later() {
        let mut kept = Vec::new();
        for number in 0..10_000 {
            let data = piece(number, number * 7 % (MAX_SHORT + 50));
            let copy = copy_input(&data);
            assert_eq!(copy, data);
            if number % 5 == 0 {
                kept.push((data, copy));
            }
            if number % 100 == 0 {
                kept.truncate(kept.len() / 2);
            }
            assert!(kept.iter().all(|(data, copy)| data == copy));
        }
    }

    #[test]
    fn memory_is_used_again_when_all_pieces_are_dropped() {
        let place = copy_input(&[0; MAX_SHORT]).as_ptr();
        let again = (0..100).any(|_| copy_input(&[0; MAX_SHORT]).as_ptr() == place);
        assert!(again);
    }
}
