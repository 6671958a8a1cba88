//! What only the legacy era needs: the session, requests of the server, and batches.
//!
//! In: requests of the server, of a batch perhaps. Out: answers, or inputs for the application.
//!
//! [Specification: Lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)

mod batches;

use super::input::Asker;
use super::{Client, Origin, ServerInfo};
use crate::error::ProtocolError;
use crate::json::Json;
use crate::message::batches::Batches;
use crate::message::{ErrorData, Method, Request, RequestId};
use crate::types::{CreateMessageRequestParams, ElicitRequestParams, InputRequest};
use crate::version::ProtocolVersion;

/// What `initialize` established.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) server: ServerInfo,
    /// Whether the server was told that it will hear of changes of the roots.
    pub(super) tells_roots: bool,
    batches: Batches,
}

impl Session {
    pub(super) fn new(server: ServerInfo, tells_roots: bool) -> Self {
        Self { server, tells_roots, batches: Batches::default() }
    }

    pub(super) fn has_batches(&self) -> bool {
        self.server.version.has_batches()
    }
}

pub(super) fn is_ping(request: &Request) -> bool {
    matches!(request.method, Method::Ping)
}

impl Client {
    pub(super) fn answer_ping(&mut self, id: RequestId) {
        self.respond_legacy(None, id, Ok(Json::EMPTY_OBJECT));
    }

    pub(super) fn legacy_request(&mut self, request: Request, origin: Origin) {
        let Origin { batch, call, .. } = origin;
        self.enter_batch(batch);
        if self.asked.find(&request.id).is_some() {
            let id = request.id.as_str().into();
            return self.refuse_legacy(batch, &ProtocolError::DuplicateId { id });
        }
        let Request { id, method, params, size } = request;
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are not a client's")]
        let input = match method {
            Method::Ping => return self.respond_legacy(batch, id, Ok(Json::EMPTY_OBJECT)),
            Method::ListRoots if self.config.capabilities.roots.is_some() => {
                let roots = self.list_roots();
                return self.respond_legacy(batch, id, Ok(roots));
            }
            Method::CreateMessage | Method::Elicit => match read(&method, params.json()) {
                None => {
                    let member = "message";
                    Err(ProtocolError::InvalidParam { member, expected: "as the schema says" })
                }
                Some(request) => match self.lacks(&request) {
                    // It lacks the mode, not the method.
                    Some(capability) if capability.contains('.') => {
                        Err(ProtocolError::UndeclaredInput { capability })
                    }
                    Some(_) => Err(ProtocolError::MethodNotFound { method: method.name().into() }),
                    None => self.asked.admit(1, size, &self.config.limits).map(|()| request),
                },
            },
            _ => Err(ProtocolError::MethodNotFound { method: method.name().into() }),
        };
        match input {
            Ok(request) => self.ask(Asker::Request { id, batch, call }, size, call, request),
            Err(error) => {
                let error = self.error_of(&error);
                self.respond_legacy(batch, id, Err(error));
            }
        }
    }

    /// The error as a legacy server gets it.
    fn error_of(&self, error: &ProtocolError) -> ErrorData {
        ErrorData::in_revision(error, self.version().unwrap_or(ProtocolVersion::LATEST_LEGACY))
    }

    /// The server does not want the input any more that one of its requests asks for.
    pub(super) fn input_cancelled(&mut self, id: &RequestId) -> Option<super::InputId> {
        let input = self.asked.find(id)?;
        if let Some(Asker::Request { batch, .. }) = self.asked.remove(input) {
            self.leave_batch(batch);
        }
        Some(input)
    }
}

fn read(method: &Method, params: &Json) -> Option<InputRequest> {
    if matches!(method, Method::Elicit) {
        params.decode().map(|params: ElicitRequestParams| params.into()).ok()
    } else {
        params.decode().map(|params: CreateMessageRequestParams| params.into()).ok()
    }
}
