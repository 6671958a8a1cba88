//! Answers to the input requests of a server.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::json::{Json, Raw};
use crate::types::{CreateMessageResult, ElicitResult, ListRootsResult};

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

    /// Returns whether the answer has the type that a request for input expects: that of the result
    /// of its method. Any object answers a method that this library does not know.
    pub fn is_for(&self, request: &Json) -> bool {
        let method = request.raw().member("method").and_then(Raw::string);
        let has_type = match method.as_deref() {
            Some("elicitation/create") => self.0.decode_lossy::<ElicitResult>().is_ok(),
            Some("sampling/createMessage") => self.0.decode_lossy::<CreateMessageResult>().is_ok(),
            Some("roots/list") => self.0.decode_lossy::<ListRootsResult>().is_ok(),
            Some(_) | None => true,
        };
        has_type && self.0.raw().is_object()
    }
}

impl From<Json> for InputResponse {
    fn from(result: Json) -> Self {
        Self(result)
    }
}
