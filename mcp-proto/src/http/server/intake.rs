//! What a connection reads: requests, and the bytes of those that are to be answered later.
//!
//! In: bytes. Out: parts of requests; whether what is read fits into
//! `Limits::max_endpoint_bytes`. Up to 4 KiB per connection are not counted.

use core::ops::{Deref, DerefMut};

use crate::budget::{Account, Full, SMALL};
use crate::frame::http1::RequestReader;
use crate::server;

/// As many bytes of requests that are to be answered later are read.
const AHEAD: usize = 64 * 1024;

/// The reader of a connection, and what it holds of the endpoint's budget.
#[derive(Debug)]
pub(super) struct Intake {
    reader: RequestReader,
    account: Account,
}

impl Intake {
    pub(super) fn new(config: &server::Config) -> Self {
        Self { reader: RequestReader::new(&config.limits), account: config.account() }
    }

    /// Counts what is buffered. With so many bytes of a body before it, that is new work, which may
    /// not fit; else it is what was read ahead.
    pub(super) fn count(&mut self, body: Option<usize>) -> Result<(), Full> {
        let bytes = self.reader.buffered().saturating_add(body.unwrap_or(0));
        let bytes = if bytes > SMALL { bytes } else { 0 };
        if body.is_some() {
            return self.account.admit(bytes);
        }
        self.account.set(bytes);
        Ok(())
    }

    /// Returns whether more is to be read while a request is being answered.
    pub(super) fn wants_ahead(&self) -> bool {
        let buffered = self.reader.buffered();
        buffered == 0 || buffered < AHEAD && !self.account.is_tight()
    }

    /// Returns whether the endpoint is to forget what it keeps for resumption, or to report
    /// refusals.
    pub(super) fn needs_room(&self) -> bool {
        self.account.needs_endpoint()
    }
}

impl Deref for Intake {
    type Target = RequestReader;

    fn deref(&self) -> &RequestReader {
        &self.reader
    }
}

impl DerefMut for Intake {
    fn deref_mut(&mut self) -> &mut RequestReader {
        &mut self.reader
    }
}
