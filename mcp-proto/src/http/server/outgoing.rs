//! Output buffer of a connection.
//!
//! In: encoded heads and bodies. Out: chunks for the driver to write.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::frame::http1::{RequestKind, ResponseHead};

/// The length at which a chunk is passed to the driver.
const CHUNK: usize = 64 * 1024;

/// The capacity of the buffer that is kept while there is nothing to write.
const KEPT: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct OutgoingBytes {
    pub(super) bytes: Vec<u8>,
}

impl OutgoingBytes {
    /// Makes room for an answer of the usual size.
    pub(super) fn prepare(&mut self) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(KEPT / 2);
        }
    }

    /// Adds a whole answer to input that is not a valid request.
    pub(super) fn refuse(&mut self, mut head: ResponseHead, why: &str) {
        head.length = Some(why.len() as u64);
        head.fields.push(("Content-Type", "text/plain".into()));
        let mut framing = head.encode(RequestKind::REFUSED, &mut self.bytes);
        framing.data(why.as_bytes(), &mut self.bytes);
        framing.end(&mut self.bytes);
    }

    /// Returns whether there is a full chunk for the driver.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK
    }

    /// Takes the bytes to write. Keeps a buffer of the usual size for the next answer.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        if self.bytes.is_empty() {
            return None;
        }
        if self.bytes.capacity() > KEPT {
            return Some(Bytes::from(core::mem::take(&mut self.bytes)));
        }
        let written = Bytes::copy_from_slice(&self.bytes);
        self.bytes.clear();
        Some(written)
    }

    /// Drops the output, because nobody reads it.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}
