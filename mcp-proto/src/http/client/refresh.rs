//! Refresh of the tools after the server has refused the headers of a call. The call is sent again
//! if its headers differ afterwards.
//!
//! In: the refused call, pages of the list. Out: the request for the next page. At the end: the
//! call to send again, or the refusal.
//!
//! [Specification: Client Behavior](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior)

use alloc::boxed::Box;
use alloc::format;

use bytes::Bytes;

use super::call::{Call, Sent};
use super::tools::{Tools, next_page};
use crate::error::EmitError;
use crate::json::Json;
use crate::message::{ErrorData, Outgoing, RequestId, Response};

/// A tool call that waits for the schema of its tool.
#[derive(Debug)]
pub(super) struct Refresh {
    call: Box<Call>,
    sent: Sent,
    refusal: Response,
    /// The status of the refusal.
    status: u16,
    /// The request for a page of the list.
    id: RequestId,
    pages: usize,
}

/// The end of a refresh.
#[derive(Debug)]
pub(super) enum Refreshed {
    /// The call has other headers than before.
    Again(Box<Call>, Outgoing),
    /// The call has the same headers; holds the refusal and its status.
    Same(Response, u16),
    /// An argument cannot be written into its header.
    Invalid(EmitError),
}

impl Refresh {
    /// A call that was refused. A long refusal is shortened: many calls may wait.
    pub(super) fn new(call: Box<Call>, sent: Sent, refusal: Response, status: u16) -> Self {
        let refusal = Response { body: refusal.body.map_err(ErrorData::limited), ..refusal };
        Self { call, sent, refusal, status, id: RequestId::number(0), pages: 0 }
    }

    /// The id of the call.
    pub(super) fn call(&self) -> &RequestId {
        &self.call.id
    }

    pub(super) fn id(&self) -> &RequestId {
        &self.id
    }

    /// The request for a page of the list.
    pub(super) fn list(&mut self, serial: u64, stamp: Bytes, params: Json) -> Outgoing {
        self.id = RequestId::string(&format!("headers-{serial}"));
        let id = self.id.clone();
        Outgoing::Request { id, method: "tools/list".into(), stamp, params }
    }

    /// Counts a page; returns the parameters for the next one, if there is one.
    pub(super) fn next(&mut self, page: &Json, max_pages: usize) -> Option<Json> {
        self.pages += 1;
        next_page(page).filter(|_| self.pages < max_pages)
    }

    /// Ends the refresh: compares the headers of the call with the refused ones. If the server has
    /// become legacy (`is_modern` is false), no headers help.
    pub(super) fn finish(self, tools: &Tools, is_modern: bool) -> Refreshed {
        let Outgoing::Request { method, params, .. } = &self.sent.message else {
            return Refreshed::Same(self.refusal, self.status);
        };
        if !is_modern {
            return Refreshed::Same(self.refusal, self.status);
        }
        match tools.headers(method, params) {
            Err(error) => Refreshed::Invalid(error),
            Ok(headers) if headers == self.sent.headers => {
                Refreshed::Same(self.refusal, self.status)
            }
            Ok(_) => {
                let call = Call::new(self.call.id, self.call.method);
                let call = Call { is_second: true, ..call };
                Refreshed::Again(Box::new(call), self.sent.message)
            }
        }
    }
}
