//! Session with a legacy server: its requests, and batches.
//!
//! In: requests of the server, perhaps in a batch. Out: answers, or inputs for the application. A
//! batch is several messages in one array, whose answers form one array; only revision 2025-03-26
//! has batches.
//!
//! [Specification: Lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)

use alloc::vec::Vec;

use bytes::Bytes;

use super::binding::MessageSource;
use super::call::{Call, Goal};
use super::config::Config;
use super::inputs::{Inputs, Requester, check_messages, lacks};
use super::negotiation::ServerInfo;
use super::outbox::Outbox;
use crate::error::{ProtocolError, UsageError};
use crate::json::Json;
use crate::limits::Limits;
use crate::message::batches::Batches;
use crate::message::{Batch, ErrorData, Method, Outgoing, Request, RequestId};
use crate::types::{CreateMessageRequestParams, ElicitRequestParams, InputRequest};

/// Session that `initialize` established.
#[derive(Debug)]
pub(super) struct Session {
    server: ServerInfo,
    /// True if `initialize` declared notifications about changes of the roots.
    tells_roots: bool,
    batches: Batches,
}

impl Session {
    pub(super) fn new(server: ServerInfo, tells_roots: bool) -> Self {
        Self { server, tells_roots, batches: Batches::default() }
    }

    pub(super) fn server(&self) -> &ServerInfo {
        &self.server
    }

    pub(super) fn tells_roots(&self) -> bool {
        self.tells_roots
    }

    pub(super) fn has_batches(&self) -> bool {
        self.server.version.has_batches()
    }

    /// Opens a batch; returns its number and its messages.
    pub(super) fn begin_batch(
        &mut self,
        batch: &Batch,
        limits: &Limits,
    ) -> Result<(u64, Vec<Bytes>), ProtocolError> {
        let max_in_flight = limits.max_in_flight;
        let texts =
            batch.elements(max_in_flight).ok_or(ProtocolError::BatchTooLong { max_in_flight })?;
        if texts.is_empty() {
            return Err(ProtocolError::EmptyBatch);
        }
        if self.batches.messages() + texts.len() > max_in_flight {
            return Err(ProtocolError::TooManyInFlight { max_in_flight });
        }
        Ok((self.batches.begin(0, texts.len(), None), texts))
    }

    /// Records that a message of `batch`, if there is a batch, is answered. The last message of a
    /// batch sends the answers.
    pub(super) fn leave_batch(&mut self, batch: Option<u64>, outbox: &mut Outbox) {
        let answers = batch.and_then(|id| self.batches.leave(id));
        if let Some(answers) = answers.filter(|answers| !answers.is_empty()) {
            outbox.send(Outgoing::Batch(answers));
        }
    }

    /// Sends an answer, or keeps it until its batch is complete.
    pub(super) fn respond(&mut self, batch: Option<u64>, answer: Outgoing, outbox: &mut Outbox) {
        let answer = match batch {
            Some(id) => self.batches.push(id, answer),
            None => Some(answer),
        };
        if let Some(answer) = answer {
            outbox.send(answer);
        }
        self.leave_batch(batch, outbox);
    }

    /// Handles a request of the server; returns whether the application is asked for input.
    pub(super) fn handle_request(
        &mut self,
        request: Request,
        origin: MessageSource,
        config: &Config,
        inputs: &mut Inputs,
        outbox: &mut Outbox,
    ) -> bool {
        let MessageSource { batch, call, .. } = origin;
        if let Some(batch) = batch {
            self.batches.enter(batch);
        }
        let version = self.server.version;
        let refusal = |error| ErrorData::in_revision(&error, version);
        if inputs.has_request(&request.id) {
            // The id belongs to a request that is not answered yet, so the refusal has no id.
            let error = refusal(ProtocolError::DuplicateId { id: request.id.as_str().into() });
            self.respond(batch, Outgoing::Error { id: None, error }, outbox);
            return false;
        }
        let Request { id, method, params, size } = request;
        let has_roots = config.capabilities.roots.is_some();
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are not a client's")]
        let input = match method {
            Method::Ping => {
                self.respond(batch, answer(id, Ok(Json::EMPTY_OBJECT)), outbox);
                return false;
            }
            method if config.forwards => {
                let (method, params) = (method.name().into(), params.json().clone());
                let admitted = inputs.admit(1, size, &config.limits);
                admitted.map(|()| InputRequest::Forwarded { method, params })
            }
            Method::ListRoots if has_roots => {
                self.respond(batch, answer(id, Ok(inputs.list_roots())), outbox);
                return false;
            }
            Method::CreateMessage | Method::Elicit => read(&method, params.json(), config)
                .and_then(|request| {
                    inputs.admit(1, size, &config.limits)?;
                    Ok(request)
                }),
            _ => Err(ProtocolError::MethodNotFound { method: method.name().into() }),
        };
        match input {
            Ok(request) => {
                inputs.request_input(Requester::Request { id, batch, call }, size, request, outbox);
                true
            }
            Err(error) => {
                let answer = answer(id, Err(refusal(error)));
                self.respond(batch, answer, outbox);
                false
            }
        }
    }
}

/// Adapts a call that is about to be sent to a legacy server. A modern server may have begun to
/// answer the call: a list with its cursor starts again.
///
/// Fails if the call follows a task, which only modern servers have.
pub(super) fn adapt(call: &mut Call) -> Result<(), UsageError> {
    match &call.goal {
        Goal::Task(_) => {
            Err(UsageError::NotInRevision { method: "tasks/get", since: "2026-07-28" })
        }
        Goal::Pages(pages) if pages.is_modern() => {
            call.restart_pages();
            Ok(())
        }
        Goal::Pages(_)
        | Goal::Answer { .. }
        | Goal::Listen { .. }
        | Goal::Subscribe { .. }
        | Goal::Nobody
        | Goal::Notification => Ok(()),
    }
}

/// The response to a request of a legacy server.
pub(super) fn answer(id: RequestId, answer: Result<Json, ErrorData>) -> Outgoing {
    match answer {
        Ok(result) => Outgoing::Result { id, stamp: Bytes::new(), result: result.into() },
        Err(error) => Outgoing::Error { id: Some(id), error },
    }
}

/// The input that a request asks for, if the client has declared such input.
fn read(method: &Method, params: &Json, config: &Config) -> Result<InputRequest, ProtocolError> {
    let request = if matches!(method, Method::Elicit) {
        params.decode_lossy().map(|params: ElicitRequestParams| params.into())
    } else {
        params.decode_lossy().map(|params: CreateMessageRequestParams| params.into())
    };
    let invalid =
        |_| ProtocolError::InvalidParam { member: "message", expected: "as the schema says" };
    let request = request.map_err(invalid)?;
    match lacks(&config.capabilities, &request) {
        None => check_messages(&request).map(|()| request),
        // The client lacks the mode, not the method.
        Some(capability) if capability.contains('.') => {
            Err(ProtocolError::UndeclaredInput { capability })
        }
        Some(_) => Err(ProtocolError::MethodNotFound { method: method.name().into() }),
    }
}
