//! Outcomes of requests, as handlers return them.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use crate::json::Json;
use crate::message::{ErrorData, PlainText};
use crate::types::{InputRequest, InputRequests, InputResponses, Task};

/// Outcome of a request.
///
/// ```
/// use mcp_proto::Json;
/// use mcp_proto::server::Outcome;
/// use mcp_proto::types::CallToolResult;
///
/// let rain = Outcome::Complete(Json::encode(&CallToolResult::text("Rain in Oslo."))?);
/// let failure = Outcome::Complete(Json::encode(&CallToolResult::error("No such city."))?);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The result of the method as JSON: an object, such as a
    /// [`CallToolResult`](crate::types::CallToolResult). The machine adds the members that the era
    /// requires.
    Complete(Json),
    /// The result of a tool: this block of text. It costs less than the same as
    /// [`Self::Complete`].
    Text(PlainText),
    /// The client must give input first. A handler of `tools/call`, `prompts/get` or
    /// `resources/read` is then called again, with an [`Input`].
    InputRequired(InputRequired),
    /// The call continues as a task, which `tasks/get` finds from now on. Only for a request with
    /// [`may_be_task`](super::Request::may_be_task); otherwise the answer is -32603.
    Task(Box<Task>),
    /// A JSON-RPC error. (A failed tool returns a result with `isError` instead.) A code from
    /// -32099 to -32000 that the specification does not define for this era is sent as -32603, or
    /// as -32602 in place of -32002.
    Error(ErrorData),
}

impl Outcome {
    /// The same outcome, with a text as JSON.
    #[must_use]
    pub fn encoded(self) -> Self {
        if let Self::Text(text) = self { Self::Complete(text.to_result()) } else { self }
    }
}

/// Input that a handler needs before it can answer. A modern client gets the requests as the
/// result, and repeats its request with the input. A legacy client gets the requests themselves,
/// one by one, in the order of their keys. The handler sees no difference.
///
/// A value without requests and without a state is answered with -32603. If a client has not
/// declared the capability for a request, a legacy client gets -32603, and a modern client gets
/// -32021.
///
/// [Specification: Multi Round-Trip Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct InputRequired {
    /// Requests to the client, by keys that the handler chooses.
    pub requests: InputRequests,
    /// State that the client returns with its answers. A client may change the state: seal it if
    /// anything depends on it (feature `request-state`).
    pub state: Option<String>,
}

impl InputRequired {
    /// Asks for one input.
    pub fn new(key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        Self::default().and(key, request)
    }

    /// Asks for another input at the same time.
    pub fn and(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.requests.insert(key.into(), request.into());
        self
    }

    /// Sets the state that the client returns with its answers.
    pub fn state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }
}

/// Makes this value an error, so that a handler can return it with `?`.
impl fmt::Display for InputRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("input is required")?;
        for (at, key) in self.requests.keys().enumerate() {
            write!(f, "{} `{key}`", if at == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for InputRequired {}

/// Answers of a client to an [`InputRequired`]. They are not validated: keys may be missing or
/// unknown, and the state may be any string.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Input {
    /// The answers, by the keys of the requests.
    pub responses: InputResponses,
    /// The state that the client has returned.
    pub state: Option<String>,
}
