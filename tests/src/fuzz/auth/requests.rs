//! Requests of a run: those that are held, and those that were sent.

use std::collections::BTreeMap;

use mcp_proto::auth::{AuthDecision, TokenId};

/// The most requests at once.
const MAX_REQUESTS: usize = 12;

/// The most attempts of one request.
const MAX_TRIES: u8 = 4;

/// The most step-ups of an operation that is not accepted in between.
const MAX_STEP_UPS: u8 = 3;

const OPERATIONS: [&str; 3] = ["tools/list", "tools/call x", "stream"];

/// A request.
#[derive(Clone)]
pub(super) struct ScriptedRequest {
    pub(super) operation: &'static str,
    pub(super) token: Option<TokenId>,
    pub(super) tries: u8,
    pub(super) nonces: u8,
    /// The times that it was sent again for want of a nonce.
    nonce_repeats: u8,
}

/// The requests, and the step-ups of their operations.
#[derive(Default)]
pub(super) struct Requests {
    held: Vec<ScriptedRequest>,
    sent: Vec<ScriptedRequest>,
    step_ups: BTreeMap<&'static str, u8>,
}

impl ScriptedRequest {
    pub(super) fn new(number: u8) -> Self {
        let place = usize::from(number) % OPERATIONS.len();
        Self {
            operation: OPERATIONS.get(place).copied().unwrap_or("stream"),
            token: None,
            tries: 0,
            nonces: 0,
            nonce_repeats: 0,
        }
    }

    /// It was refused, and is to be sent again.
    pub(super) fn refuse(&mut self, wants_nonce: bool, row: Option<AuthDecision>) {
        self.tries += 1;
        self.nonces += u8::from(wants_nonce);
        assert!(self.tries < MAX_TRIES, "it is sent more than {MAX_TRIES} times");
        if row.is_some_and(|row| row.table == "refusal" && row.row == "nonce") {
            self.nonce_repeats += 1;
            assert!(self.nonce_repeats <= 1, "it is repeated twice for want of a nonce");
        }
    }
}

impl Requests {
    pub(super) fn is_full(&self) -> bool {
        self.held.len() + self.sent.len() >= MAX_REQUESTS
    }

    pub(super) fn hold(&mut self, request: ScriptedRequest) {
        self.held.push(request);
    }

    pub(super) fn send(&mut self, request: ScriptedRequest) {
        self.sent.push(request);
    }

    pub(super) fn take_held(&mut self) -> Vec<ScriptedRequest> {
        std::mem::take(&mut self.held)
    }

    pub(super) fn take_sent(&mut self, number: u8) -> Option<ScriptedRequest> {
        let place = usize::from(number).checked_rem(self.sent.len())?;
        Some(self.sent.remove(place))
    }

    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn count_step_up(&mut self, operation: &'static str) {
        let count = self.step_ups.entry(operation).or_default();
        *count += 1;
        assert!(*count <= MAX_STEP_UPS, "{operation} steps up more than {MAX_STEP_UPS} times");
    }

    pub(super) fn accept(&mut self, operation: &str) {
        self.step_ups.remove(operation);
    }
}
