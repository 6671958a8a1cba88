//! The bytes that a connection is to write.
//!
//! In: heads and bodies, encoded. Out: chunks for the driver to write.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::frame::http1::{RequestKind, ResponseHead};

/// As many bytes make a chunk worth handing on.
const CHUNK: usize = 64 * 1024;

/// A buffer for answers of so many bytes is kept while nothing is to be written.
const KEPT: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
}

impl Outgoing {
    /// Makes room for an answer of usual size.
    pub(super) fn prepare(&mut self) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(KEPT / 2);
        }
    }

    /// Adds a whole answer to what is no request that could be served.
    pub(super) fn refuse(&mut self, mut head: ResponseHead, why: &str) {
        head.length = Some(why.len() as u64);
        head.fields.push(("Content-Type", "text/plain".into()));
        let mut framing = head.encode(RequestKind::REFUSED, &mut self.bytes);
        framing.data(why.as_bytes(), &mut self.bytes);
        framing.end(&mut self.bytes);
    }

    /// Returns whether there is enough to be handed on.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK
    }

    /// Takes what is to be written. A buffer of usual size is kept for the next answer.
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

    /// Nobody reads it.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}
