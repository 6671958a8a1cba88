//! Outcomes of requests, as handlers return them.

use alloc::string::String;
use core::fmt;

use crate::json::Json;
use crate::message::ErrorData;
use crate::types::{InputRequest, InputRequests, InputResponses};

/// Outcome of a request.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// A result: a JSON object. The machine adds what the era asks for.
    Complete(Json),
    /// The client is to give input first. A handler of `tools/call`, `prompts/get` or
    /// `resources/read` is asked again then, with an [`Input`].
    InputRequired(InputRequired),
    /// A JSON-RPC error. (A tool that failed is a result with `isError`, not this.) A code that
    /// the specification reserves and does not define for this era goes out as -32603.
    Error(ErrorData),
}

/// What a handler needs before it can answer. A modern client gets it as the result, and sends its
/// request again; a legacy one gets the requests themselves, one by one, in the order of their
/// keys. The handler sees no difference.
///
/// One that has neither requests nor a state is answered with -32603, and so is one that asks for
/// what a legacy client did not declare; a modern client gets -32021 then.
///
/// [Specification: Multi Round-Trip Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct InputRequired {
    /// Requests to the client, by keys that the handler chooses.
    pub requests: InputRequests,
    /// State that the client returns together with its answers. A client may change the state:
    /// seal it if anything depends on it (feature `request-state`).
    pub state: Option<String>,
}

impl InputRequired {
    /// Asks for one thing.
    pub fn new(key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        Self::default().and(key, request)
    }

    /// Asks for another thing at the same time.
    pub fn and(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.requests.insert(key.into(), request.into());
        self
    }

    /// Sets what comes back with the answers.
    pub fn state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }
}

/// As an error it lets a handler end with `?`.
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
    /// The state that came with the requests.
    pub state: Option<String>,
}
