//! Output of an authorizer: its actions, and its open requests.
//!
//! In: requests of the machines. Out: numbered actions, and one deadline for the current step. At
//! the end of a flow the outbox releases its lock and its listener.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::action::{
    AuthAction, AuthState, ConsentPage, Fetch, FetchId, KeyRole, RecordId, SignId, SignInId,
    SubjectId,
};
use super::decisions::Decisions;
use super::error::AuthError;
use super::policy::UrlPolicy;
use super::secret::Secret;
use super::token_request::TokenRequest;
use crate::time::{Duration, Instant};
use crate::url::Url;

/// The maximum number of requests of one flow.
const MAX_FETCHES: u8 = 40;

const METADATA_TIME: Duration = Duration::from_secs(10);
const TOKEN_TIME: Duration = Duration::from_secs(30);
pub(super) const SIGN_TIME: Duration = Duration::from_secs(30);
const STORE_TIME: Duration = Duration::from_secs(10);
const CONSENT_TIME: Duration = Duration::from_secs(5 * 60);

/// Queued actions, the current lock and listener, and the deadline of the current step.
pub(super) struct AuthOutbox {
    actions: VecDeque<AuthAction>,
    last_id: u64,
    fetches: u8,
    /// The lock that is held.
    lock: Option<(RecordId, String)>,
    is_listening: bool,
    /// The deadline of the current step.
    deadline: Option<Instant>,
    random: Box<dyn FnMut() -> [u8; 16] + Send>,
    pub(super) decisions: Decisions,
}

impl AuthOutbox {
    pub(super) fn new(random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self {
            actions: VecDeque::new(),
            last_id: 0,
            fetches: 0,
            lock: None,
            is_listening: false,
            deadline: None,
            random,
            decisions: Decisions::default(),
        }
    }

    pub(super) fn pop(&mut self) -> Option<AuthAction> {
        self.actions.pop_front()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Ends a flow: unlocks, stops listening, and reports the state. The next flow may send as many
    /// requests again.
    pub(super) fn end_flow(&mut self, state: AuthState) {
        self.unlock();
        self.stop_listening();
        self.deadline = None;
        self.fetches = 0;
        self.actions.push_back(AuthAction::Changed(state));
    }

    /// Reports the end of a requested sign-in.
    pub(super) fn authorized(&mut self, id: SignInId, result: Result<(), AuthError>) {
        self.actions.push_back(AuthAction::Authorized { id, result });
    }

    /// Requests a document.
    pub(super) fn get(
        &mut self,
        now: Instant,
        url: &Url,
        policy: &UrlPolicy,
    ) -> Result<FetchId, AuthError> {
        self.deadline = Some(now + METADATA_TIME);
        self.fetch("GET", url, Vec::new(), Secret::default(), policy)
    }

    /// Registers a client.
    pub(super) fn register(
        &mut self,
        now: Instant,
        url: &Url,
        body: String,
        policy: &UrlPolicy,
    ) -> Result<FetchId, AuthError> {
        let fields = Vec::from([("Content-Type", Secret::new("application/json"))]);
        self.deadline = Some(now + METADATA_TIME);
        self.fetch("POST", url, fields, Secret::new(body), policy)
    }

    /// Requests a token.
    pub(super) fn post(
        &mut self,
        now: Instant,
        url: &Url,
        request: TokenRequest,
        policy: &UrlPolicy,
    ) -> Result<FetchId, AuthError> {
        let form = Secret::new("application/x-www-form-urlencoded");
        let mut fields = Vec::from([("Content-Type", form)]);
        fields.extend(request.authorization.map(|value| ("Authorization", value)));
        fields.extend(request.proof.map(|value| ("DPoP", value)));
        self.deadline = Some(now + TOKEN_TIME);
        self.fetch("POST", url, fields, request.body, policy)
    }

    /// Reads the stored record of a key.
    pub(super) fn load(&mut self, now: Instant, key: String, locks: bool) -> RecordId {
        let id = RecordId(self.next_id());
        if locks {
            self.lock = Some((id, key.clone()));
        }
        self.deadline = Some(now + STORE_TIME);
        self.actions.push_back(AuthAction::Load { id, key, locks });
        id
    }

    /// Stores a record, and releases the lock of its key, if there is one.
    pub(super) fn keep(&mut self, now: Instant, key: String, record: Secret) -> RecordId {
        let id = match self.lock.take_if(|(_, locked)| *locked == key) {
            Some((id, _)) => id,
            None => RecordId(self.next_id()),
        };
        self.deadline = Some(now + STORE_TIME);
        self.actions.push_back(AuthAction::Release { id, key, record: Some(record) });
        id
    }

    /// Releases the lock, if there is one.
    pub(super) fn unlock(&mut self) {
        if let Some((id, key)) = self.lock.take() {
            self.actions.push_back(AuthAction::Release { id, key, record: None });
        }
    }

    pub(super) fn remove(&mut self, key: String) {
        self.actions.push_back(AuthAction::Remove { key });
    }

    pub(super) fn listen(&mut self, now: Instant, redirect_uri: &str, port: Option<u16>) {
        self.is_listening = true;
        self.deadline = Some(now + STORE_TIME);
        let redirect_uri = redirect_uri.into();
        self.actions.push_back(AuthAction::Listen { redirect_uri, port });
    }

    pub(super) fn stop_listening(&mut self) {
        if core::mem::take(&mut self.is_listening) {
            self.actions.push_back(AuthAction::StopListening);
        }
    }

    pub(super) fn consent(&mut self, now: Instant, page: ConsentPage) {
        self.deadline = Some(now + CONSENT_TIME);
        self.actions.push_back(AuthAction::Changed(AuthState::Asking));
        self.actions.push_back(AuthAction::Consent(page));
    }

    /// Requests a signature that the flow waits for.
    pub(super) fn sign(&mut self, now: Instant, key: KeyRole, input: Secret) -> SignId {
        self.deadline = Some(now + SIGN_TIME);
        self.sign_aside(key, input)
    }

    /// Requests a signature outside of a flow.
    pub(super) fn sign_aside(&mut self, key: KeyRole, input: Secret) -> SignId {
        let id = SignId(self.next_id());
        self.actions.push_back(AuthAction::Sign { id, key, input });
        id
    }

    /// Requests the token of a workload or of a person, which will be sent to this issuer.
    pub(super) fn subject(&mut self, now: Instant, issuer: String) -> SubjectId {
        let id = SubjectId(self.next_id());
        self.deadline = Some(now + SIGN_TIME);
        self.actions.push_back(AuthAction::Subject { id, issuer });
        id
    }

    /// Makes waiting requests try again.
    pub(super) fn resume(&mut self) {
        self.actions.push_back(AuthAction::Resume);
    }

    /// 16 random bytes.
    pub(super) fn random(&mut self) -> [u8; 16] {
        (self.random)()
    }

    /// An unused number.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn fetch(
        &mut self,
        method: &'static str,
        url: &Url,
        own_fields: Vec<(&'static str, Secret)>,
        body: Secret,
        policy: &UrlPolicy,
    ) -> Result<FetchId, AuthError> {
        if self.fetches >= MAX_FETCHES {
            return Err(AuthError::TooManyFetches);
        }
        // Well-known and guessed URLs have the scheme and host of the server, which no peer names.
        policy.check_scheme(url)?;
        self.fetches += 1;
        // Without `Accept-Encoding` a server may choose any coding.
        let fields = [("Accept", "application/json"), ("Accept-Encoding", "identity")];
        let mut fields = Vec::from(fields.map(|(name, value)| (name, Secret::new(value))));
        fields.extend(own_fields);
        let id = FetchId(self.next_id());
        let (url, reach) = (url.clone(), policy.reach(url));
        self.actions.push_back(AuthAction::Fetch(Fetch { id, method, url, fields, body, reach }));
        Ok(id)
    }
}

impl fmt::Debug for AuthOutbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthOutbox").field("actions", &self.actions).finish_non_exhaustive()
    }
}
