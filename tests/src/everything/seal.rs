//! Sealed `requestState`: a key for the life of the process, the system's clock, and nonces.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use mcp_proto::request_state::{RequestStateCodec, RequestStateKey};
use mcp_proto::server::InputRequired;
use mcp_proto::{ErrorData, UsageError};
use mcp_service::Context;
use mcp_service::Interrupt;

/// Seals what a handler wants to get back with the answers.
pub(super) struct Seal(RequestStateCodec);

impl Seal {
    pub(super) fn new() -> Result<Self, UsageError> {
        let secret: Vec<u8> = random().into_iter().chain(random()).collect();
        Ok(Self(RequestStateCodec::new(RequestStateKey::new(1, &secret)?)))
    }

    /// Asks for input, with a note that comes back with it.
    pub(super) fn ask(&self, context: &Context, required: InputRequired, note: &str) -> Interrupt {
        let Some(binding) = context.binding() else { return unbound().into() };
        match self.0.mint(now(), random(), &binding, note.as_bytes()) {
            Ok(state) => required.state(state).into(),
            Err(_) => ErrorData::internal("the state is too long").into(),
        }
    }

    /// The note, if there is one.
    pub(super) fn note(&self, context: &Context) -> Result<Option<String>, Interrupt> {
        let Some(state) = context.input().and_then(|input| input.state.as_deref()) else {
            return Ok(None);
        };
        let binding = context.binding().ok_or_else(unbound)?;
        let verified = self.0.verify(now(), &binding, state).map_err(ErrorData::from)?;
        Ok(Some(String::from_utf8_lossy(&verified.payload).into_owned()))
    }
}

fn unbound() -> ErrorData {
    ErrorData::internal("the handler asks for input, and its type does not say so")
}

fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Good enough for a server that keeps nothing: the standard library's seeds are random.
fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    for half in bytes.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
    }
    bytes
}
