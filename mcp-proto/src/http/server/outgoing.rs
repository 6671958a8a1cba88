//! Output buffer of a connection.
//!
//! In: encoded heads and bodies. Out: chunks for the driver to write.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::frame::http1::{RequestKind, ResponseHead};

/// The length at which a chunk is passed to the driver.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct OutgoingBytes {
    pub(super) bytes: Vec<u8>,
}

impl OutgoingBytes {
    /// Adds a whole answer to input that is not a valid request.
    pub(super) fn refuse(&mut self, mut head: ResponseHead, why: &str) {
        head.length = Some(why.len() as u64);
        head.push("Content-Type", "text/plain");
        let mut framing = head.encode(RequestKind::REFUSED, &mut self.bytes);
        framing.data(why.as_bytes(), &mut self.bytes);
        framing.end(&mut self.bytes);
    }

    /// Returns whether there is a full chunk for the driver.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK
    }

    /// Takes the bytes to write. An idle connection keeps no buffer.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        (!self.bytes.is_empty()).then(|| Bytes::from(core::mem::take(&mut self.bytes)))
    }

    /// Drops the output, because nobody reads it.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}
