//! Binding of a sealed state to a request.

use sha2::{Digest, Sha256};

use crate::json::{Json, canonical};
use crate::message::{MethodRow, Subject};

/// The request that a state belongs to. A state is minted with the binding of one request, and
/// verified with the binding of the request that returns it.
///
/// Two bindings are equal if the following are equal:
///
/// - the method;
/// - the salient parameters: `name` and `arguments` of `tools/call` and `prompts/get`, `uri` of
///   `resources/read`, `taskId` of requests about a task, and of other methods all parameters
///   except `_meta`, `inputResponses` and `requestState`. They are compared as JSON values. The
///   order of keys, blanks and escapes are ignored, because a client may encode a repeated request
///   differently. Everything else matters: `1` and `1.0` differ, and so do an absent member, a
///   `null` and an empty value;
/// - the principal: no principal differs from an empty principal.
///
/// A binding consists of digests, and stores nothing of the request. Creating a binding takes one
/// pass over the parameters, and a copy of each object in them whose keys are out of order.
///
/// [Specification: Server Requirements](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow)
#[derive(Clone, Debug)]
pub struct StateBinding {
    request: [u8; 32],
    principal: Option<[u8; 32]>,
}

impl StateBinding {
    /// The binding to a request, without a principal.
    pub fn new(method: &str, params: &Json) -> Self {
        let subject = MethodRow::named(method).and_then(|row| row.subject);
        let keep = |key: &[u8]| match subject {
            Some(Subject::Name) => matches!(key, b"\"name\"" | b"\"arguments\""),
            Some(Subject::Uri) => key == b"\"uri\"",
            Some(Subject::TaskId) => key == b"\"taskId\"",
            None => !matches!(key, b"\"_meta\"" | b"\"inputResponses\"" | b"\"requestState\""),
        };
        let hash = request_hash(method);
        let request = match canonical::text(params, keep) {
            Some(text) => hash.chain_update([0]).chain_update(text),
            // The parameters are nested deeper than a peer can send. Comparing their unchanged text
            // can only be too strict.
            None => hash.chain_update([1]).chain_update(params.as_bytes()),
        };
        Self { request: request.finalize().into(), principal: None }
    }

    /// Also binds to an authenticated principal: any text that names exactly one user, such as the
    /// issuer and the subject of a token.
    pub fn principal(mut self, principal: impl AsRef<[u8]>) -> Self {
        self.principal = Some(Sha256::digest(principal.as_ref()).into());
        self
    }

    /// Input of the authentication code. Of two different bindings, neither is a prefix of the
    /// other.
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        match &self.principal {
            None => [&self.request, &[0], &[]],
            Some(principal) => [&self.request, &[1], principal],
        }
    }
}

/// The length comes before the method, so that the rest cannot be confused with the method.
fn request_hash(method: &str) -> Sha256 {
    let length = u64::try_from(method.len()).unwrap_or(u64::MAX);
    Sha256::new().chain_update(length.to_be_bytes()).chain_update(method)
}
