//! Answers to the input requests of a server.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// The answers of a client, by the keys of the [`InputRequests`](crate::types::InputRequests).
///
/// [Schema: `InputResponses`](https://modelcontextprotocol.io/specification/2026-07-28/schema#inputresponses)
pub type InputResponses = BTreeMap<String, InputResponse>;

/// The answer to an [`InputRequest`](crate::types::InputRequest). Its type follows from the
/// request.
///
/// [Specification: Multi Round-Trip](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InputResponse(Json);

impl InputResponse {
    /// The answer as received.
    pub fn json(&self) -> &Json {
        &self.0
    }
}

impl From<Json> for InputResponse {
    fn from(result: Json) -> Self {
        Self(result)
    }
}
