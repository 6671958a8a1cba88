//! The authorizer: its methods, and its reaction to refusals.
//!
//! In: inputs of the driver, refusals of the server. Out: actions, and the credentials of a
//! request. [`AuthFlow`] has the states; one flow at a time serves all requests that need a token.

use alloc::boxed::Box;
use alloc::string::String;

use super::action::{
    Access, AuthAction, Credentials, FetchAnswer, FetchId, RecordId, RefusalAdvice, SentRequest,
    SignId, SignInId, SubjectId, TokenId,
};
use super::auth_flow::AuthFlow;
use super::binding::ChallengeSchemes;
use super::config::Config;
use super::current_tokens::{CurrentTokens, TokenSource};
use super::decisions::AuthDecision;
use super::error::{AuthError, visible};
use super::event::AuthEvent;
use super::goal::{AuthGoal, GoalKind};
use super::proofs::{ProofProgress, Proofs};
use super::record::ServerRecord;
use super::refusal::{self, RefusalChallenge, RefusalStatus, RefusalStep, SentToken};
use super::scopes::Scopes;
use super::secret::Secret;
use super::step_ups::StepUps;
use crate::challenge::Unauthorized;
use crate::time::{Duration, Instant};
use crate::url::Url;

/// The maximum number of attempts of one request, including the first.
const MAX_TRIES: u8 = 4;

/// An OAuth client for one server. See the [module](super).
#[derive(Debug)]
pub struct Authorizer {
    flow: AuthFlow,
    step_ups: StepUps,
    proofs: Proofs,
}

impl Authorizer {
    /// An authorizer without tokens. `random` returns 16 random bytes at each call.
    pub fn new(config: Config, random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self {
            flow: AuthFlow::new(config, random),
            step_ups: StepUps::default(),
            proofs: Proofs::default(),
        }
    }

    /// Sets the time since the Unix epoch, for proofs, assertions and records. Optional: otherwise
    /// the time counts on from the last [`handle_loaded`](Self::handle_loaded). A monotonic clock
    /// may stand still while the machine sleeps, so set the time before each turn.
    pub fn set_unix_time(&mut self, now: Instant, unix: Duration) {
        self.flow.set_clock(now, unix);
    }

    /// Handles an answer to [`AuthAction::Fetch`].
    pub fn handle_fetched(&mut self, now: Instant, id: FetchId, answer: FetchAnswer<'_>) {
        self.flow.handle(now, AuthEvent::Fetched(id, Some(answer)));
    }

    /// Handles a request that got no answer.
    pub fn handle_unfetched(&mut self, now: Instant, id: FetchId) {
        self.flow.handle(now, AuthEvent::Fetched(id, None));
    }

    /// Handles the answer to [`AuthAction::Load`]: the time since the Unix epoch, and the record.
    /// `None` means that there is no record: tokens whose record was removed are dropped.
    pub fn handle_loaded(
        &mut self,
        now: Instant,
        id: RecordId,
        unix: Duration,
        record: Option<&str>,
    ) {
        if let Some((id, issuer)) = record.and_then(ServerRecord::read_configured_client) {
            self.flow.config.bind(&id, &issuer);
        }
        self.flow.set_clock(now, unix);
        self.flow.handle(now, AuthEvent::Loaded(id, record));
    }

    /// Handles a failure to read a record. The tokens of the last record stay known. A registration
    /// that cannot be read counts as absent.
    pub fn handle_unloaded(&mut self, now: Instant, id: RecordId, unix: Duration) {
        let known = self.flow.stored.clone();
        let known = known.as_ref().map(Secret::expose).filter(|text| !text.is_empty());
        self.handle_loaded(now, id, unix, known);
    }

    /// Handles the answer to [`AuthAction::Release`] with a record: the result of storing the
    /// record.
    pub fn handle_released(&mut self, now: Instant, id: RecordId, kept: Result<(), String>) {
        self.flow.handle(now, AuthEvent::Stored(id, kept));
    }

    /// Handles the answer to [`AuthAction::Listen`]: the redirect URI with its port, or the reason
    /// why listening failed.
    pub fn handle_listening(&mut self, now: Instant, listening: Result<String, String>) {
        self.flow.handle(now, AuthEvent::Listening(listening));
    }

    /// Handles a redirect, as a URL or as its query. A redirect with another `state` is ignored.
    pub fn handle_redirect(&mut self, now: Instant, redirect: &str) {
        self.flow.handle(now, AuthEvent::Redirect(redirect));
    }

    /// Handles a refusal by the person, or the absence of a person.
    pub fn handle_refused_consent(&mut self, now: Instant, reason: String) {
        self.flow.handle(now, AuthEvent::RefusedConsent(reason));
    }

    /// Handles the answer to [`AuthAction::Sign`]: 64 bytes, or the reason why signing failed.
    pub fn handle_signed(&mut self, now: Instant, id: SignId, signature: Result<&[u8], String>) {
        match self.proofs.handle_signed(now, id, signature.clone()) {
            Ok(ProofProgress::Other) => self.flow.handle(now, AuthEvent::Signed(id, signature)),
            Ok(ProofProgress::Wait) => {}
            Ok(ProofProgress::Resume) => self.flow.outbox.resume(),
            Err(error) => self.fail_proofs(error),
        }
    }

    /// Handles the answer to [`AuthAction::Subject`]: the token, or the reason why there is none.
    pub fn handle_subject(&mut self, now: Instant, id: SubjectId, token: Result<Secret, String>) {
        self.flow.handle(now, AuthEvent::Subject(id, token));
    }

    /// Handles the value of `DPoP-Nonce` in an answer of the server, with any status.
    pub fn handle_nonce(&mut self, nonce: &str) {
        let server = self.flow.config.server.clone();
        self.flow.nonces.set(&server, nonce);
    }

    /// Handles the deadlines that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.flow.outbox.deadline().is_some_and(|deadline| deadline <= now) {
            self.flow.handle(now, AuthEvent::TimedOut);
        }
        if let Err(error) = self.proofs.handle_timeout(now) {
            self.fail_proofs(error);
        }
    }

    /// Fails the requests that wait for proofs. During a flow they wait for its end instead, so
    /// that one signature costs neither a refresh nor a sign-in.
    fn fail_proofs(&mut self, error: AuthError) {
        if self.flow.is_idle() {
            self.flow.cancel(error);
        }
    }

    /// Handles a request that the server has accepted: its operation may step up again.
    pub fn handle_accepted(&mut self, operation: &str) {
        self.step_ups.clear(operation);
    }

    /// Handles a refused request. Returns what to do with the request.
    ///
    /// During a flow a refused request waits for the end of the flow, and is sent again. A request
    /// that lacked only the current token or nonce is repeated at once.
    pub fn handle_refusal(
        &mut self,
        now: Instant,
        unauthorized: &Unauthorized,
        sent: &SentRequest<'_>,
    ) -> RefusalAdvice {
        if sent.tries.saturating_add(1) >= MAX_TRIES {
            return RefusalAdvice::Fail(refused(unauthorized));
        }
        let challenged = unauthorized.token_param("scope").map(Scopes::words);
        let challenged = challenged.filter(|scopes| !scopes.is_empty());
        let case = self.refusal_case(unauthorized, sent, challenged.as_ref());
        let row = refusal::TABLE.find(case);
        let repeats = row.is_some_and(|row| row.then == RefusalStep::Repeat);
        self.flow.join(true);
        if !self.flow.is_idle() && !repeats {
            return RefusalAdvice::Wait;
        }
        self.flow.outbox.decisions.record("refusal", row.map_or("gap", |row| row.name));
        let metadata_url = unauthorized.token_param("resource_metadata").map(String::from);
        let schemes = Some(ChallengeSchemes::of(unauthorized));
        let goal = AuthGoal { challenged, metadata_url, schemes, ..AuthGoal::default() };
        match row.map(|row| row.then) {
            Some(RefusalStep::Repeat) => RefusalAdvice::Repeat,
            Some(RefusalStep::StepUp) => {
                self.step_ups.count(sent.operation);
                self.flow.read(now, Some(AuthGoal { kind: GoalKind::StepUp, ..goal }));
                RefusalAdvice::Wait
            }
            Some(next @ (RefusalStep::Authorize | RefusalStep::Discover)) => {
                self.flow.tokens.iter_mut().for_each(CurrentTokens::refuse);
                let may_renew = next == RefusalStep::Discover;
                let kind = if may_renew { GoalKind::Renewal } else { GoalKind::SignIn };
                self.flow.read(now, Some(AuthGoal { kind, ..goal }));
                RefusalAdvice::Wait
            }
            Some(RefusalStep::FailScopes) => {
                let scopes = goal.challenged.unwrap_or_default();
                RefusalAdvice::Fail(AuthError::Scopes { scopes })
            }
            Some(RefusalStep::FailRefused) | None => RefusalAdvice::Fail(refused(unauthorized)),
        }
    }

    /// The credentials of the next request, with this method and URL. The URL is the server's, or a
    /// redirect from the server. A URL of another origin gets no credentials. The first call reads
    /// the store. Later calls refresh a token that is about to expire, and request a signature for
    /// a token that is bound to a key.
    pub fn access(&mut self, now: Instant, method: &str, url: &Url) -> Access {
        self.access_for(now, method, url, true)
    }

    /// Does the same as [`access`](Self::access). A flow that is only for requests without
    /// `may_prompt` asks no person.
    pub(crate) fn access_for(
        &mut self,
        now: Instant,
        method: &str,
        url: &Url,
        may_prompt: bool,
    ) -> Access {
        if !url.same_origin(&self.flow.config.server) {
            return Access::None;
        }
        self.flow.join(may_prompt);
        let is_idle = self.flow.is_idle();
        if is_idle && self.flow.stored.is_none() {
            self.flow.read(now, None);
            return Access::Wait;
        }
        let Some(tokens) = &self.flow.tokens else {
            return if is_idle { Access::None } else { Access::Wait };
        };
        if is_idle && tokens.must_refresh(now) {
            self.flow.refresh(now);
            return Access::Wait;
        }
        let server = self.flow.server.as_ref();
        let is_service = server.is_some_and(|server| server.grant.is_of_service());
        if is_idle && is_service && tokens.is_expired_for_good(now) {
            self.flow.read(now, Some(AuthGoal::renewal()));
            return Access::Wait;
        }
        // A person may take minutes to widen a grant; meanwhile other requests use the current
        // token.
        let may_go_on = is_idle || (self.flow.is_asking() && tokens.is_valid(now));
        if !may_go_on {
            return Access::Wait;
        }
        self.credentials(now, method, url)
    }

    /// The current token, with a proof if it is bound to a key.
    fn credentials(&mut self, now: Instant, method: &str, url: &Url) -> Access {
        let (mut context, tokens) = self.flow.context(now);
        let Some(CurrentTokens { id, record, .. }) = tokens else { return Access::None };
        let (token, access_token) = (*id, &record.access_token);
        let is_bound = record.proof_key.is_some();
        let scheme = if is_bound { "DPoP" } else { "Bearer" };
        let value = alloc::format!("{scheme} {}", access_token.expose());
        let mut proof = None;
        if is_bound {
            proof = self.proofs.take(method, url, (token, access_token), &mut context);
            if proof.is_none() {
                return Access::Wait;
            }
        }
        if let Some(tokens) = &mut self.flow.tokens {
            tokens.mark_used();
        }
        Access::Ready(Credentials { token, authorization: Secret::new(value), proof })
    }

    /// Requests tokens, from a person or by the configured grant, before the server has refused a
    /// request. [`AuthAction::Authorized`] reports the end, with the returned number.
    ///
    /// Joins a sign-in that is in progress, without adding `scopes`. While the store is read or
    /// tokens are refreshed, the sign-in waits for the end of the read or refresh. Requests that
    /// share a sign-in share its number, and get one report.
    pub fn authorize(&mut self, now: Instant, scopes: &Scopes) -> SignInId {
        self.flow.authorize(now, scopes)
    }

    /// Sets a client that was registered by hand at an issuer.
    pub fn set_client(&mut self, issuer: &str, id: &str, secret: Option<&str>) {
        self.flow.config.add_client(Some(issuer), id, secret, None);
    }

    /// Drops the tokens and the registration of the client, here and in the store, and the issuer
    /// of [`Config::client_of_server`] and [`Config::workload_of_server`]. Ends a running flow. The
    /// tokens tell where the client is registered; without tokens, the last discovery does.
    pub fn forget(&mut self) {
        if !self.flow.is_idle() {
            let reason = "the authorization was forgotten".into();
            self.flow.cancel(AuthError::Consent { reason });
        }
        // A sign-in that has failed may have registered the client.
        let registrar = self.flow.server.as_ref().map(|server| server.issuer.issuer.clone());
        let issuer = match self.flow.tokens.take() {
            Some(tokens) => Some(tokens.record.issuer).filter(|_| tokens.record.is_dynamic),
            None => registrar,
        };
        self.flow.config.unbind();
        self.flow.outbox.remove(self.flow.config.server_key());
        if let Some(issuer) = issuer {
            self.flow.outbox.remove(self.flow.config.registration_key(&issuer));
        }
    }

    /// True if any operation has stepped up since it was accepted.
    pub(crate) fn counts_step_ups(&self) -> bool {
        !self.step_ups.is_empty()
    }

    /// Records that all requests have ended. A flow in progress, or one for a later request without
    /// `may_prompt`, does not show another page.
    pub(crate) fn end_prompts(&mut self) {
        self.flow.leave();
    }

    /// The current token, if there is one.
    pub(crate) fn token(&self) -> Option<TokenId> {
        self.flow.tokens.as_ref().map(|tokens| tokens.id)
    }

    /// True if the last flow was for more scopes, and has failed. The earlier tokens remain usable
    /// for other requests.
    pub(crate) fn keeps_tokens(&self) -> bool {
        self.step_ups.has_failed() && self.flow.tokens.is_some()
    }

    /// The next action.
    pub fn poll_action(&mut self) -> Option<AuthAction> {
        let action = self.flow.outbox.pop()?;
        if let AuthAction::Changed(state) = &action {
            self.step_ups.handle_state(state);
        }
        Some(action)
    }

    /// The next time at which to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.flow.outbox.deadline().into_iter().chain(self.proofs.deadline()).min()
    }

    /// The last 64 table rows that decided.
    pub fn decisions(&self) -> impl Iterator<Item = AuthDecision> {
        self.flow.outbox.decisions.iter()
    }

    fn refusal_case(
        &self,
        unauthorized: &Unauthorized,
        sent: &SentRequest<'_>,
        challenged: Option<&Scopes>,
    ) -> (RefusalStatus, RefusalChallenge, SentToken, bool, bool) {
        let is_forbidden = unauthorized.status == 403;
        let knows_nonce = self.flow.nonces.of(&self.flow.config.server).is_some();
        let challenge = match unauthorized.token_param("error") {
            Some("insufficient_scope") => RefusalChallenge::InsufficientScope,
            _ if unauthorized.wants_nonce() && sent.nonces == 0 && knows_nonce => {
                RefusalChallenge::Nonce
            }
            _ if unauthorized.token_param("resource_metadata").is_some() => {
                RefusalChallenge::Metadata
            }
            _ => RefusalChallenge::Other,
        };
        // A refusal that only requires a nonce does not concern the token. The exception holds once
        // per request: a server that requires another nonce refuses the request.
        let was_refused = sent.tries > sent.nonces.min(1);
        let token = match (sent.token, &self.flow.tokens) {
            (_, None) => SentToken::Absent,
            (Some(id), Some(tokens)) if id == tokens.id => match tokens.source {
                TokenSource::Authorization if was_refused => SentToken::Fresh,
                TokenSource::Refresh if was_refused => SentToken::Refreshed,
                TokenSource::Authorization | TokenSource::Refresh | TokenSource::Store => {
                    SentToken::Held
                }
            },
            _ => SentToken::Older,
        };
        let wanted = challenged.or(self.flow.server.as_ref().map(|server| &server.scopes));
        let asked = self.flow.tokens.as_ref().map(|tokens| &tokens.record.requested_scopes);
        let names_new = match (wanted, asked) {
            (Some(wanted), Some(asked)) => !asked.contains_all(wanted),
            // The required scopes are unknown; an authorization shows them.
            _ => wanted.is_none_or(|wanted| !wanted.is_empty()),
        };
        let status =
            if is_forbidden { RefusalStatus::Forbidden } else { RefusalStatus::Unauthorized };
        (status, challenge, token, names_new, self.step_ups.is_left(sent.operation))
    }
}

/// The error for a refusal by the server.
fn refused(unauthorized: &Unauthorized) -> AuthError {
    let mut challenges = unauthorized.token_challenges().chain(&unauthorized.challenges);
    let challenge = challenges.find(|challenge| challenge.error().is_some());
    let error = challenge.and_then(|challenge| challenge.error()).map(visible);
    let description = challenge.and_then(|challenge| challenge.error_description());
    AuthError::Refused {
        error: error.unwrap_or_else(|| alloc::format!("HTTP {}", unauthorized.status)),
        description: description.map(visible),
    }
}
