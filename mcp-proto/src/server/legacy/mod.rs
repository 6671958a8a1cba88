//! What only the legacy era needs: `initialize`, its session, `ping`, log levels, subscriptions to
//! resources, batches, and requests to the client.
//!
//! In: a request or a batch that the table routes as legacy, and responses. Out: answers, requests
//! in flight, and requests to the client.
//!
//! [Specification: Lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)

mod batches;
mod bridge;
mod outside;
mod wrap;

use alloc::boxed::Box;
use alloc::sync::Arc;

use bytes::Bytes;

use super::call::{ReplyPath, Requester};
use super::inputs::Inputs;
use super::names::has_scheme;
use super::serve::{Served, not_found, string};
use super::{Input, Opening, Peer, Server};
use crate::error::ProtocolError;
use crate::json::{Json, Raw};
use crate::message::{Capability, Incoming, Member, Message, Method, Outgoing, Params, Request};
use crate::meta;
use crate::negotiate;
use crate::time::Instant;
use crate::types::{LoggingLevel, SetLevelRequestParams};
use crate::version::{Era, ProtocolVersion};

use bridge::Asked;
pub(super) use wrap::{wrapped_content, wrapped_schema};

/// What `initialize` established.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) version: ProtocolVersion,
    /// `None` if each request stands alone.
    client_info: Option<Json>,
    capabilities: Json,
    /// What the client may be asked for.
    inputs: Inputs,
    /// The least severe log messages that it wants.
    log_level: LoggingLevel,
    /// Whether it has sent `notifications/initialized`.
    initialized: bool,
    asked: Asked,
}

impl Server {
    pub(super) fn legacy_request(&mut self, now: Instant, request: Request, path: ReplyPath) {
        let id = request.id.clone();
        if let Err(error) = self.serve_legacy(now, request, path) {
            self.refuse(path, Some(id), &error);
        }
    }

    fn serve_legacy(
        &mut self,
        now: Instant,
        request: Request,
        path: ReplyPath,
    ) -> Result<(), ProtocolError> {
        self.context.declaration().check_capability(&request.method)?;
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others are of both eras, or of none"
        )]
        let result = match request.method {
            Method::Initialize => self.initialize(&request.params)?,
            Method::Ping => Json::EMPTY_OBJECT,
            Method::SetLevel => self.set_level(&request.params)?,
            Method::Subscribe => self.subscribe(&request.params)?,
            Method::Unsubscribe => {
                self.subscriptions.unsubscribe(&string(&request.params, Member::Uri)?);
                Json::EMPTY_OBJECT
            }
            _ => {
                match self.context.declaration().serve(
                    Era::Legacy,
                    &request.method,
                    &request.params,
                    None,
                )? {
                    Served::Page(_, result) | Served::Result(result) => result,
                    Served::Handler(target) => {
                        let Opening::Legacy(session) = &self.opening else {
                            return Err(not_found(&request.method));
                        };
                        let logs = self.context.declaration().declares(Capability::Logging);
                        let requester =
                            session.requester(logs, None, self.context.principal().cloned());
                        return self.calls.start(
                            now,
                            &mut self.context,
                            request,
                            target,
                            requester,
                            path,
                        );
                    }
                }
            }
        };
        self.context.answer(
            path,
            None,
            Outgoing::Result { id: request.id, stamp: Bytes::new(), result },
        );
        Ok(())
    }

    fn set_level(&mut self, params: &Params) -> Result<Json, ProtocolError> {
        let params: SetLevelRequestParams =
            params.json().decode().map_err(|_| ProtocolError::InvalidParam {
                member: "level",
                expected: "one of debug, info, notice, warning, error, critical, alert, emergency",
            })?;
        if let Opening::Legacy(session) = &mut self.opening {
            session.log_level = params.level;
        }
        Ok(Json::EMPTY_OBJECT)
    }

    fn subscribe(&mut self, params: &Params) -> Result<Json, ProtocolError> {
        let uri = string(params, Member::Uri)?;
        // A resource that does not exist may come to exist, which is what the client waits for.
        if !has_scheme(&uri) {
            return Err(ProtocolError::ResourceNotFound { uri: uri.into_owned() });
        }
        self.subscriptions.subscribe(&uri, self.context.limits())?;
        Ok(Json::EMPTY_OBJECT)
    }

    /// The client has taken note of the answer to `initialize`.
    pub(super) fn initialized(&mut self) {
        if let Opening::Legacy(session) = &mut self.opening {
            session.initialized = true;
            self.subscriptions.start_session();
            // What comes of a message stands where the message stood, however the bytes are split.
            self.tell_changes();
        }
    }

    /// The least severe log messages that the session wants; all until it says so.
    pub(super) fn session_level(&self) -> Option<LoggingLevel> {
        match &self.opening {
            Opening::Legacy(session) => Some(session.log_level),
            Opening::Undecided | Opening::Modern => None,
        }
    }

    /// The revision that the session was opened with.
    pub(crate) fn session_version(&self) -> Option<ProtocolVersion> {
        match &self.opening {
            Opening::Legacy(session) => Some(session.version),
            Opening::Undecided | Opening::Modern => None,
        }
    }

    /// The revision that errors are written for. Before an opening it is a modern one.
    pub(in super::super) fn spoken_version(&self) -> ProtocolVersion {
        self.session_version().unwrap_or(ProtocolVersion::LATEST_MODERN)
    }

    /// The bytes of what a session knows of its client, and of the URIs that it subscribed to.
    pub(crate) fn session_bytes(&self) -> usize {
        let Opening::Legacy(session) = &self.opening else { return 0 };
        let info = session.client_info.as_ref().map_or(0, |info| info.as_bytes().len());
        info + session.capabilities.as_bytes().len() + self.subscriptions.bytes()
    }

    /// A client without a session, whose every request stands alone: it may only open with
    /// `initialize`, or it counts as having done so.
    pub(crate) fn open_stateless(&mut self, incoming: &Incoming, version: ProtocolVersion) {
        let opens = matches!(
            incoming,
            Incoming::Message(Message::Request(request)) if matches!(request.method, Method::Initialize)
        );
        self.opening = if opens {
            Opening::Undecided
        } else {
            Opening::Legacy(Session {
                version,
                client_info: None,
                inputs: Inputs::default(),
                capabilities: Json::EMPTY_OBJECT,
                log_level: LoggingLevel::Debug,
                initialized: true,
                asked: Asked::default(),
            })
        };
    }

    fn initialize(&mut self, params: &Params) -> Result<Json, ProtocolError> {
        let invalid = |member: Member, expected| ProtocolError::InvalidParam {
            member: member.name(),
            expected,
        };
        let requested = params.raw(Member::ProtocolVersion).and_then(Raw::string);
        let requested = requested.ok_or(invalid(Member::ProtocolVersion, "a string"))?;
        let capabilities = params.get(Member::Capabilities).filter(|json| json.raw().is_object());
        let capabilities = capabilities.ok_or(invalid(Member::Capabilities, "an object"))?;
        let client_info = params.get(Member::ClientInfo).filter(meta::is_implementation);
        let client_info = client_info.ok_or(invalid(
            Member::ClientInfo,
            "an object with the strings `name` and `version`",
        ))?;
        for (member, value) in
            [(Member::Capabilities, &capabilities), (Member::ClientInfo, &client_info)]
        {
            if value.as_bytes().len() > self.context.limits().max_client_bytes {
                return Err(invalid(member, "no longer than Limits::max_client_bytes"));
            }
        }
        let version = negotiate::legacy_version(&requested);
        self.opening = Opening::Legacy(Session {
            version,
            client_info: Some(client_info.detach()),
            inputs: Inputs::of(&capabilities),
            capabilities: capabilities.detach(),
            log_level: LoggingLevel::Debug,
            initialized: false,
            asked: Asked::default(),
        });
        self.subscriptions.open_session();
        Ok(self.context.declaration().initialize(version))
    }
}

impl Session {
    /// Gives back the memory that an idle session does not need.
    pub(super) fn shrink(&mut self) {
        self.asked.shrink();
    }

    fn requester(
        &self,
        logs: bool,
        input: Option<Box<Input>>,
        principal: Option<Arc<str>>,
    ) -> Requester {
        Requester {
            inputs: self.inputs,
            input,
            log_level: logs.then_some(self.log_level),
            peer: Peer {
                version: self.version,
                client_info: self.client_info.clone(),
                capabilities: self.capabilities.clone(),
                principal,
            },
        }
    }
}
