//! State of a legacy session: the parameters of `initialize`, and later changes by the client.
//!
//! In: the parameters of `initialize` and of `logging/setLevel`. Out: the sender of the session's
//! requests, and the kinds of input that its client supports.
//!
//! [Specification: Lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle)

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use super::super::call::Requester;
use super::super::context::Context;
use super::super::event::Peer;
use super::super::extensions::Extensions;
use super::super::inputs::{Inputs, check_content, check_json};
use super::super::outcome::Input;
use crate::error::{ProtocolError, UsageError};
use crate::json::{Json, Raw};
use crate::message::{Capability, Member, Params};
use crate::meta;
use crate::negotiate;
use crate::types::{
    ElicitRequestParams, InputRequest, InputRequests, LoggingLevel, SetLevelRequestParams,
};
use crate::version::ProtocolVersion;

/// The client of a legacy session.
#[derive(Debug)]
pub(in super::super) struct Session {
    /// The client, without the values of an HTTP request.
    client: Arc<Peer>,
    /// Kinds of input that the client supports.
    inputs: Inputs,
    /// The least severe log messages that the client wants; initially `debug`.
    log_level: LoggingLevel,
    /// True if the client has sent `notifications/initialized`.
    initialized: bool,
}

impl Session {
    /// The session that an `initialize` with these parameters opens.
    pub(super) fn open(context: &Context, params: &Params) -> Result<Self, ProtocolError> {
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
            if value.as_bytes().len() > context.limits().max_client_bytes {
                return Err(invalid(member, "no longer than Limits::max_client_bytes"));
            }
        }
        let inputs = Inputs::of(&capabilities);
        let client = Peer {
            version: negotiate::legacy_version(&requested),
            client_info: Some(client_info.detach()),
            capabilities: capabilities.detach(),
            principal: context.principal().cloned(),
            extensions: Extensions::default(),
            is_http: context.is_http(),
        };
        Ok(Self {
            client: Arc::new(client),
            inputs,
            log_level: LoggingLevel::Debug,
            initialized: false,
        })
    }

    /// The session for a single request of a client without sessions.
    pub(in super::super) fn stateless(
        version: ProtocolVersion,
        principal: Option<Arc<str>>,
    ) -> Self {
        let client = Peer {
            version,
            client_info: None,
            capabilities: Json::EMPTY_OBJECT,
            principal,
            extensions: Extensions::default(),
            is_http: true,
        };
        Self {
            client: Arc::new(client),
            inputs: Inputs::default(),
            log_level: LoggingLevel::Debug,
            initialized: true,
        }
    }

    /// Handles `notifications/initialized`.
    pub(in super::super) fn initialize(&mut self) {
        self.initialized = true;
    }

    pub(super) fn set_level(&mut self, params: &Params) -> Result<(), ProtocolError> {
        let params: SetLevelRequestParams =
            params.json().decode().map_err(|_| ProtocolError::InvalidParam {
                member: "level",
                expected: "one of debug, info, notice, warning, error, critical, alert, emergency",
            })?;
        self.log_level = params.level;
        Ok(())
    }

    /// The client, for an equal one in its place.
    pub(in super::super) fn client_mut(&mut self) -> &mut Arc<Peer> {
        &mut self.client
    }

    /// The revision with which the session was opened.
    pub(in super::super) fn version(&self) -> ProtocolVersion {
        self.client.version
    }

    pub(in super::super) fn log_level(&self) -> LoggingLevel {
        self.log_level
    }

    pub(in super::super) fn is_initialized(&self) -> bool {
        self.initialized
    }

    /// The bytes that the session stores about its client.
    pub(in super::super) fn bytes(&self) -> usize {
        let info = self.client.client_info.as_ref().map_or(0, |info| info.as_bytes().len());
        info + self.client.capabilities.as_bytes().len()
    }

    /// The client's `ClientCapabilities`.
    pub(super) fn capabilities(&self) -> &Json {
        &self.client.capabilities
    }

    /// The sender of a request of the session.
    pub(super) fn requester(&self, context: &Context, input: Option<Box<Input>>) -> Requester {
        let declaration = context.declaration();
        let logs = declaration.declares(Capability::Logging) || declaration.forward.is_some();
        Requester {
            inputs: self.inputs,
            input,
            log_level: logs.then_some(self.log_level),
            peer: self.peer(context),
        }
    }

    /// The sender of the requests of the session.
    pub(in super::super) fn peer(&self, context: &Context) -> Arc<Peer> {
        let extensions = context.extensions();
        if extensions.is_empty() {
            return self.client.clone();
        }
        Arc::new(Peer { extensions: extensions.clone(), ..Peer::clone(&self.client) })
    }

    /// Checks that the client can get these requests; an error tells the handler why not.
    pub(in super::super) fn takes(&self, requests: &InputRequests) -> Result<(), String> {
        if !self.initialized {
            return Err("the client is not initialized, and cannot be asked for input".into());
        }
        for (key, request) in requests {
            if let Some(since) = self.lacks(request) {
                return Err(alloc::format!("the input `{key}` needs {since}"));
            }
        }
        Ok(())
    }

    /// Checks that the client can get this request outside of its own requests.
    pub(super) fn check(&self, request: &InputRequest) -> Result<(), UsageError> {
        if !self.initialized {
            return Err(UsageError::NotInitialized);
        }
        if let Some(since) = self.lacks(request) {
            let Cow::Borrowed(method) = request.method_name() else { return Ok(()) };
            return Err(UsageError::NotInRevision { method, since: since.as_str() });
        }
        match self.inputs.missing(request) {
            Some(capability) => return Err(UsageError::UndeclaredByClient { capability }),
            None => check_content(request)?,
        }
        check_json(request).map_err(|_| UsageError::NotJson { name: request.method_name().into() })
    }

    /// The first revision that defines this request, if the session's revision does not.
    pub(super) fn lacks(&self, request: &InputRequest) -> Option<ProtocolVersion> {
        use ProtocolVersion::{V2025_06_18, V2025_11_25};
        let since: &[ProtocolVersion] = match request {
            InputRequest::Elicit(ElicitRequestParams::Url(_)) => &[V2025_11_25],
            InputRequest::CreateMessage(params) if params.needs_tools() || params.needs_lists() => {
                &[V2025_11_25]
            }
            InputRequest::Elicit(ElicitRequestParams::Form(_)) => &[V2025_06_18, V2025_11_25],
            InputRequest::CreateMessage(_)
            | InputRequest::ListRoots(_)
            | InputRequest::Forwarded { .. } => return None,
        };
        if since.contains(&self.client.version) { None } else { since.first().copied() }
    }
}

/// The parameters of the legacy request. A URL needs an id that no other request of the session
/// has.
pub(super) fn input_params(request: InputRequest, number: u64) -> Json {
    let params = match request {
        InputRequest::Elicit(ElicitRequestParams::Url(mut url)) => {
            url.elicitation_id.get_or_insert_with(|| alloc::format!("elicitation-{number}"));
            Json::encode(&url)
        }
        InputRequest::Elicit(params) => Json::encode(&params),
        InputRequest::CreateMessage(mut params) => {
            params.unwrap_single_blocks();
            Json::encode(&params)
        }
        InputRequest::ListRoots(params) => Json::encode(&params),
        InputRequest::Forwarded { params, .. } => Ok(params),
    };
    params.unwrap_or(Json::EMPTY_OBJECT)
}
