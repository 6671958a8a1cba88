//! The request of a [`Call`](super::call::Call) before it is sent.
//!
//! In: a method with its parameters, in any Rust types. Out: a call of a method of the machine, or
//! an error if the method does not accept the parameters.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

use serde::Serialize;

use mcp_proto::Instant;
use mcp_proto::Json;
use mcp_proto::UsageError;
use mcp_proto::client::{CallError, CallId, CallOptions, Client};
use mcp_proto::internals::trusted;
use mcp_proto::internals::write;

/// Room for usual arguments, in bytes.
const ROOM: usize = 128;

/// Request of a call.
pub(super) enum UnsentCall {
    Call {
        method: Cow<'static, str>,
        params: Json,
    },
    /// A call of a tool. If the server makes a task of the call, the response is the task.
    StartTool {
        params: Json,
    },
    /// A call with a method of its own on the machine.
    MachineCall {
        method: &'static str,
        start: Box<Start>,
    },
}

/// A method of the machine that begins a call.
type Start = dyn FnOnce(&mut Client, Instant, CallOptions) -> Result<CallId, UsageError> + Send;

impl UnsentCall {
    /// A call with `params`; `None` if they could not be encoded.
    pub(super) fn call(
        method: impl Into<Cow<'static, str>>,
        params: Option<Json>,
    ) -> Result<Self, CallError> {
        let method = method.into();
        match params {
            Some(params) => Ok(Self::Call { method, params }),
            None => Err(CallError::Usage(UsageError::NotJson { name: method.into_owned() })),
        }
    }

    /// A request that `start` begins on the machine.
    pub(super) fn on_machine(
        method: &'static str,
        start: impl FnOnce(&mut Client, Instant, CallOptions) -> Result<CallId, UsageError>
        + Send
        + 'static,
    ) -> Self {
        Self::MachineCall { method, start: Box::new(start) }
    }

    /// The same tool call, whose response may be a task.
    pub(super) fn taking_task(self) -> Self {
        match self {
            Self::Call { params, .. } => Self::StartTool { params },
            other => other,
        }
    }

    /// Begins the call.
    pub(super) fn start(
        self,
        client: &mut Client,
        now: Instant,
        options: CallOptions,
    ) -> Result<CallId, UsageError> {
        match self {
            Self::Call { method, params } => client.call(now, method, params, options),
            Self::StartTool { params } => client.start_tool(now, params, options),
            Self::MachineCall { start, .. } => start(client, now, options),
        }
    }

    /// A request to read a resource.
    pub(super) fn read_resource(uri: &str) -> Result<Self, CallError> {
        Self::call("resources/read", Some(write::text_object("uri", uri)))
    }

    /// A method with the parameters `name` and `arguments`.
    pub(super) fn with_arguments(
        method: &'static str,
        name: &str,
        arguments: &(impl Serialize + ?Sized),
    ) -> Result<Self, CallError> {
        let mut params = Vec::with_capacity(name.len() + ROOM);
        params.extend_from_slice(b"{\"name\":");
        write::string(&mut params, name);
        let without = params.len();
        params.extend_from_slice(b",\"arguments\":");
        let start = params.len();
        if serde_json::to_writer(&mut params, arguments).is_err() {
            return Self::call(method, None);
        }
        match params.get(start..) {
            Some([b'{', ..]) => {}
            Some(b"null") => params.truncate(without),
            _ => return Err(CallError::Usage(UsageError::NotAnObject { name: name.into() })),
        }
        params.push(b'}');
        Self::call(method, Some(trusted(params)))
    }

    /// The method and the parameters, for a trace; a `MachineCall` has no parameters.
    pub(super) fn about(&self) -> (&str, Option<&Json>) {
        match self {
            Self::Call { method, params } => (method, Some(params)),
            Self::StartTool { params } => ("tools/call", Some(params)),
            Self::MachineCall { method, .. } => (method, None),
        }
    }
}
