//! Input of a connection: the current request, and bytes of later requests.
//!
//! In: bytes. Out: parts of requests, and a check that the bytes fit into
//! `Limits::max_endpoint_bytes`. The first 4 KiB of a connection are not charged.

use core::ops::{Deref, DerefMut};

use super::admit::SESSION_ID;
use crate::budget::{Account, BudgetExceeded, SMALL};
use crate::frame::http1::RequestReader;
use crate::limits::Limits;
use crate::server;

/// The most bytes that are read ahead, for requests that are answered later.
const AHEAD: usize = 64 * 1024;

/// The reader of a connection, on which requests of several sessions may take turns.
pub fn request_reader(limits: &Limits) -> RequestReader {
    RequestReader::with_varying(limits, SESSION_ID)
}

/// The reader of a connection, and its share of the endpoint's budget.
#[derive(Debug)]
pub(super) struct Intake {
    reader: RequestReader,
    account: Account,
    /// True after a visit that has not made enough room, until more is read.
    has_asked_for_room: bool,
}

impl Intake {
    pub(super) fn new(config: &server::Config) -> Self {
        Self {
            reader: request_reader(&config.limits),
            account: config.account(),
            has_asked_for_room: false,
        }
    }

    /// Charges the buffered bytes. With `body`, the length of a body so far, the bytes are new
    /// work, and the charge may be refused. Without `body` they were only read ahead.
    pub(super) fn charge(&mut self, body: Option<usize>) -> Result<(), BudgetExceeded> {
        self.has_asked_for_room = false;
        let bytes = self.reader.buffered().saturating_add(body.unwrap_or(0));
        let bytes = if bytes > SMALL { bytes } else { 0 };
        if body.is_some() {
            return self.account.admit(bytes);
        }
        self.account.set(bytes);
        Ok(())
    }

    /// Returns whether the connection reads more while a request is being answered.
    pub(super) fn wants_ahead(&self) -> bool {
        let buffered = self.reader.buffered();
        buffered == 0 || buffered < AHEAD && !self.account.is_tight()
    }

    /// Returns whether the endpoint must drop events that it keeps for resumption, or report
    /// refusals. A visit that has made no room is not repeated at once: all events may be those of
    /// another server with the same budget.
    pub(super) fn needs_room(&self) -> bool {
        let is_over = !self.has_asked_for_room && self.account.is_over();
        is_over || self.account.has_refusals()
    }

    /// Handles the end of a visit to the endpoint.
    pub(super) fn handle_visited(&mut self) {
        self.has_asked_for_room = self.account.is_over();
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
