//! The flow of an authorizer: its state, and its tokens.
//!
//! In: events, and requests for tokens. Out: actions in the [`AuthOutbox`], and a report at the end
//! of each flow. [`AuthStep`] has the states.

use alloc::boxed::Box;
use alloc::string::String;
use core::mem;

use super::action::{AuthState, FetchAnswer, SignInId, TokenId};
use super::auth_step::AuthStep;
use super::binding;
use super::config::Config;
use super::current_tokens::{CurrentTokens, TokenSource};
use super::discovery::{Discovered, DiscoveredServer, Discovery};
use super::error::AuthError;
use super::event::{AuthEvent, StepContext, StepProgress};
use super::goal::{AuthGoal, FailedRefresh, GoalKind, SignInRequest};
use super::nonces::Nonces;
use super::outbox::AuthOutbox;
use super::record::ServerRecord;
use super::refresh::{RefreshOutcome, TokenRefresh};
use super::scopes::Scopes;
use super::secret::Secret;
use super::service_grant::{ServiceGrant, ServiceOutcome};
use super::sign_in::{SignIn, SignedIn, TokenGoal};
use super::unix_clock::UnixClock;
use crate::time::{Duration, Instant};

/// The flow, its settings, and the tokens of the last flow.
#[derive(Debug)]
pub(super) struct AuthFlow {
    pub(super) config: Config,
    pub(super) outbox: AuthOutbox,
    step: AuthStep,
    pub(super) tokens: Option<CurrentTokens>,
    /// The server from the last discovery.
    pub(super) server: Option<DiscoveredServer>,
    /// The last known text in the store; `None` until the store was read.
    pub(super) stored: Option<Secret>,
    clock: UnixClock,
    /// The request of the application to sign in.
    request: SignInRequest,
    /// True if no request that waits for the flow may show the sign-in page.
    is_quiet: bool,
    pub(super) nonces: Nonces,
}

impl AuthFlow {
    /// An idle flow, without tokens.
    pub(super) fn new(config: Config, random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self {
            config,
            outbox: AuthOutbox::new(random),
            step: AuthStep::Idle,
            tokens: None,
            server: None,
            stored: None,
            clock: UnixClock::default(),
            request: SignInRequest::default(),
            is_quiet: false,
            nonces: Nonces::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.step, AuthStep::Idle)
    }

    /// True if an answer of a server or a person is pending, or a step-up begins.
    pub(super) fn is_asking(&self) -> bool {
        self.step.is_asking()
    }

    /// Sets the time since the Unix epoch.
    pub(super) fn set_clock(&mut self, now: Instant, unix: Duration) {
        self.clock = UnixClock::new(now, unix);
    }

    /// Records a request that waits for the flow, or starts the next one.
    pub(super) fn join(&mut self, may_prompt: bool) {
        self.is_quiet = !may_prompt && (self.is_quiet || self.is_idle());
    }

    /// Records that no request waits for the flow any more.
    pub(super) fn leave(&mut self) {
        self.is_quiet = true;
    }

    /// Signs in for the application. Joins the sign-in of the current flow. During another flow,
    /// signs in at its end.
    pub(super) fn authorize(&mut self, now: Instant, scopes: &Scopes) -> SignInId {
        self.join(true);
        let id = self.request.id().unwrap_or_else(|| SignInId(self.outbox.next_id()));
        if self.is_idle() {
            self.request = SignInRequest::Running(id);
            self.read(now, Some(AuthGoal::sign_in(scopes.clone())));
        } else if self.step.is_signing_in(self.tokens.as_ref()) && !self.request.is_queued() {
            self.request = SignInRequest::Running(id);
        } else {
            self.request.queue(id, scopes);
        }
        id
    }

    /// Begins a flow by reading the store.
    pub(super) fn read(&mut self, now: Instant, goal: Option<AuthGoal>) {
        let reading = self.outbox.load(now, self.config.server_key(), false);
        self.step = AuthStep::Reading { reading, goal };
    }

    /// Begins a flow with a refresh, before any discovery.
    pub(super) fn refresh(&mut self, now: Instant) {
        let refresh = TokenRefresh::start(&mut self.context(now).0);
        self.step = AuthStep::Refreshing { refresh, goal: AuthGoal::renewal(), server: None };
    }

    /// Continues with an event.
    pub(super) fn handle(&mut self, now: Instant, event: AuthEvent<'_>) {
        let step = mem::replace(&mut self.step, AuthStep::Idle);
        let next = self.advance(now, step, event);
        self.settle(now, next);
    }

    fn settle(&mut self, now: Instant, next: Result<AuthStep, AuthError>) {
        match next {
            Ok(step) => self.step = step,
            Err(error) => self.fail(now, error),
        }
    }

    /// Ends the flow, and a queued sign-in.
    pub(super) fn cancel(&mut self, error: AuthError) {
        self.step = AuthStep::Idle;
        self.outbox.end_flow(AuthState::Failed(error.clone()));
        if let Some(id) = self.request.end() {
            self.outbox.authorized(id, Err(error));
        }
    }

    /// Ends the flow, or continues it with a queued sign-in.
    fn fail(&mut self, now: Instant, error: AuthError) {
        let Some(goal) = self.request.start_alone() else { return self.cancel(error) };
        self.outbox.unlock();
        let started = self.discover(now, goal);
        self.settle(now, started);
    }

    /// Ends the flow with tokens, or without if the store has none. A queued sign-in begins.
    fn finish(&mut self, now: Instant, unsaved: Option<String>) -> Result<AuthStep, AuthError> {
        self.outbox.end_flow(AuthState::Ready { unsaved });
        if let Some(goal) = self.request.start_alone() {
            // The store was just read. While a server or a person is asked, other requests can use
            // the current token.
            return self.discover(now, goal);
        }
        if let Some(id) = self.request.end() {
            self.outbox.authorized(id, Ok(()));
        }
        Ok(AuthStep::Idle)
    }

    /// The step after an event.
    fn advance(
        &mut self,
        now: Instant,
        step: AuthStep,
        event: AuthEvent<'_>,
    ) -> Result<AuthStep, AuthError> {
        use StepProgress::{Done, Pending};
        match (step, event) {
            (AuthStep::Reading { reading, goal }, AuthEvent::Loaded(id, record))
                if id == reading =>
            {
                self.handle_record(now, goal, record)
            }
            (AuthStep::Reading { goal, .. }, AuthEvent::TimedOut) => self.use_known(now, goal),
            (AuthStep::Discovering { fetch, discovery, goal }, AuthEvent::Fetched(id, answer))
                if id == fetch =>
            {
                self.handle_metadata(now, discovery, goal, answer.as_ref())
            }
            (AuthStep::Discovering { discovery, goal, .. }, AuthEvent::TimedOut) => {
                self.handle_metadata(now, discovery, goal, None)
            }
            (AuthStep::Refreshing { refresh, goal, server }, event) => {
                let (mut context, tokens) = self.context(now);
                let Some(tokens) = tokens else { return self.discover(now, goal) };
                let issuer = server.as_ref().map(|server| &*server.issuer.issuer);
                match refresh.handle(event, tokens, issuer, &mut context)? {
                    Pending(refresh) => Ok(AuthStep::Refreshing { refresh, goal, server }),
                    Done(refreshed) => self.handle_refreshed(now, refreshed, goal, server),
                }
            }
            (AuthStep::SigningIn(sign_in), event) => {
                match sign_in.handle(event, &mut self.context(now).0)? {
                    Pending(sign_in) => Ok(AuthStep::SigningIn(sign_in)),
                    Done(signed_in) => Ok(self.handle_signed_in(now, signed_in)),
                }
            }
            (AuthStep::Granting(grant), event) => {
                match grant.handle(event, &mut self.context(now).0)? {
                    Pending(grant) => Ok(AuthStep::Granting(grant)),
                    Done(ServiceOutcome::SignedIn(it)) => Ok(self.handle_signed_in(now, *it)),
                    Done(ServiceOutcome::Adopt(record)) => self.adopt(now, *record),
                }
            }
            (AuthStep::Storing { write, text }, AuthEvent::Stored(id, kept)) if id == write => {
                // If storing fails, `stored` keeps the text that is in the store. Otherwise the
                // older tokens there would count as newer.
                if kept.is_ok() {
                    self.stored = Some(text);
                }
                self.finish(now, kept.err())
            }
            (AuthStep::Storing { .. }, AuthEvent::TimedOut) => {
                self.finish(now, Some("the store did not answer".into()))
            }
            (step, _) => Ok(step),
        }
    }

    /// Uses the stored tokens if they are other ones, and drops tokens whose record was removed.
    /// Ends the flow if the tokens meet the goal, or without a goal. Otherwise starts discovery,
    /// which a step-up at a known server does not need.
    fn handle_record(
        &mut self,
        now: Instant,
        mut goal: Option<AuthGoal>,
        text: Option<&str>,
    ) -> Result<AuthStep, AuthError> {
        let mut context = self.context(now).0;
        let (record, is_removed) = (context.read_newer(text), context.is_removed(text));
        context.adopt(text);
        self.tokens.take_if(|_| is_removed);
        let is_other =
            |it: &ServerRecord| self.tokens.as_ref().is_none_or(|own| !own.are_those_of(it));
        if let Some(record) = record.filter(is_other) {
            goal = goal.filter(|goal| !goal.is_met_by(&record.requested_scopes));
            self.set_tokens(now, TokenSource::Store, record);
        }
        let Some(goal) = goal else { return self.finish(now, None) };
        match self.server.as_ref().filter(|_| goal.kind == GoalKind::StepUp).cloned() {
            Some(server) => self.get_tokens(now, server, goal),
            None => self.discover(now, goal),
        }
    }

    /// Continues without an answer of the store. What is known of the record stays known.
    fn use_known(&mut self, now: Instant, goal: Option<AuthGoal>) -> Result<AuthStep, AuthError> {
        self.handle_record(now, goal, self.stored.clone().as_ref().map(Secret::expose))
    }

    /// Starts discovery. Without a challenge, or for a step-up, an earlier challenge may have named
    /// the metadata.
    fn discover(&mut self, now: Instant, mut goal: AuthGoal) -> Result<AuthStep, AuthError> {
        let is_known = goal.schemes.is_none() || goal.kind == GoalKind::StepUp;
        let tokens = self.tokens.as_ref().filter(|_| is_known);
        let earlier = tokens.and_then(|tokens| tokens.record.metadata_url.clone());
        goal.metadata_url = goal.metadata_url.or(earlier);
        let discovery = Discovery::start(&self.config, goal.metadata_url.as_deref())?;
        let fetch = self.outbox.get(now, discovery.url(), &self.config.policy)?;
        Ok(AuthStep::Discovering { fetch, discovery, goal })
    }

    fn handle_metadata(
        &mut self,
        now: Instant,
        discovery: Discovery,
        goal: AuthGoal,
        answer: Option<&FetchAnswer<'_>>,
    ) -> Result<AuthStep, AuthError> {
        let current_issuer = self.tokens.as_ref().map(|tokens| tokens.record.issuer.as_str());
        let decisions = &mut self.outbox.decisions;
        match discovery.handle_answer(&self.config, answer, current_issuer, decisions) {
            Ok(Discovered::Ask(discovery)) => {
                let fetch = self.outbox.get(now, discovery.url(), &self.config.policy)?;
                Ok(AuthStep::Discovering { fetch, discovery, goal })
            }
            Ok(Discovered::Server(server)) => self.handle_discovered(now, server, goal),
            Err(error) => self.handle_undiscovered(now, error, &goal),
        }
    }

    /// Fails without metadata, or lets the waiting requests be sent, since only a challenge may
    /// name the metadata.
    fn handle_undiscovered(
        &mut self,
        now: Instant,
        error: AuthError,
        goal: &AuthGoal,
    ) -> Result<AuthStep, AuthError> {
        goal.check_available()?;
        let tokens = self.tokens.as_mut().filter(|_| goal.is_early);
        tokens.ok_or(error)?.mark_unused();
        self.finish(now, None)
    }

    /// Refreshes the tokens if the issuer is the same, and the goal accepts that or the endpoint is
    /// another one. Tokens of another issuer are dropped.
    fn handle_discovered(
        &mut self,
        now: Instant,
        mut server: DiscoveredServer,
        goal: AuthGoal,
    ) -> Result<AuthStep, AuthError> {
        let is_bound = self.tokens.as_ref().is_some_and(|it| it.record.proof_key.is_some());
        let decisions = &mut self.outbox.decisions;
        let binds = binding::binds(goal.schemes, server.binds, is_bound, &self.config, decisions);
        server.binds = binds?;
        let proof_key = self.config.thumbprint().filter(|_| server.binds);
        self.server = Some(server.clone());
        self.tokens.take_if(|tokens| tokens.record.issuer != server.issuer.issuer);
        if let Some(tokens) = &mut self.tokens {
            tokens.record.token_endpoint = server.issuer.token_endpoint.as_str().into();
            tokens.record.resource.clone_from(&server.resource);
            tokens.record.metadata_url.clone_from(&server.metadata_url);
            let is_renewal = goal.kind == GoalKind::Renewal;
            let refreshes = is_renewal || goal.follows(&server.issuer.token_endpoint);
            if refreshes && tokens.record.refresh_token.is_some() {
                // The next token is bound to this key. During a refresh no request is sent.
                tokens.record.proof_key = proof_key;
                let refresh = TokenRefresh::start(&mut self.context(now).0);
                return Ok(AuthStep::Refreshing { refresh, goal, server: Some(server) });
            }
        }
        self.get_tokens(now, server, goal)
    }

    /// Gets tokens from a person, or by the configured grant.
    fn get_tokens(
        &mut self,
        now: Instant,
        server: DiscoveredServer,
        goal: AuthGoal,
    ) -> Result<AuthStep, AuthError> {
        goal.check_available()?;
        let wanted = goal.challenged.as_ref().unwrap_or(&server.scopes);
        let challenged = self.request.start(wanted).or(goal.challenged);
        let goal = AuthGoal { challenged, ..goal };
        let token_goal = TokenGoal::new(server, goal, self.tokens.as_ref());
        let is_quiet = self.is_quiet;
        let mut context = self.context(now).0;
        if token_goal.server.grant.is_of_service() {
            return ServiceGrant::start(token_goal, &mut context).map(AuthStep::Granting);
        }
        if is_quiet {
            return Err(AuthError::Consent {
                reason: "a stream or the end of a session opens no sign-in page".into(),
            });
        }
        SignIn::start(token_goal, &mut context).map(AuthStep::SigningIn)
    }

    fn handle_refreshed(
        &mut self,
        now: Instant,
        refreshed: RefreshOutcome,
        mut goal: AuthGoal,
        server: Option<DiscoveredServer>,
    ) -> Result<AuthStep, AuthError> {
        let unix = self.clock.at(now);
        let Some(tokens) = &mut self.tokens else { return self.discover(now, goal) };
        let is_unavailable = match refreshed {
            RefreshOutcome::Token(token) => {
                let record = tokens.refreshed(token, unix);
                return Ok(self.store_tokens(now, TokenSource::Refresh, record));
            }
            RefreshOutcome::Adopt(record) => return self.adopt(now, *record),
            RefreshOutcome::Removed => {
                self.tokens = None;
                // Without a token, the request that has begun an early flow gets a challenge.
                return if goal.is_early {
                    self.finish(now, None)
                } else {
                    self.discover(now, goal)
                };
            }
            RefreshOutcome::Keep => {
                tokens.skip_refresh_until_expiry();
                return self.finish(now, None);
            }
            RefreshOutcome::Later => {
                tokens.schedule_retry(now);
                if tokens.is_valid(now) {
                    return self.finish(now, None);
                }
                Some(true)
            }
            RefreshOutcome::Reauthorize { may_retry } => {
                tokens.refuse_refresh(now, may_retry);
                may_retry.then_some(false)
            }
            RefreshOutcome::Reregister => {
                tokens.refuse_client();
                None
            }
        };
        let endpoint = tokens.record.token_endpoint.clone();
        let failed = |is_unavailable| FailedRefresh { endpoint, is_unavailable };
        goal.failed_refresh = is_unavailable.map(failed);
        goal.kind = GoalKind::SignIn;
        match server {
            Some(server) => self.get_tokens(now, server, goal),
            None => self.discover(now, goal),
        }
    }

    /// Uses tokens that another program has stored.
    fn adopt(&mut self, now: Instant, record: ServerRecord) -> Result<AuthStep, AuthError> {
        self.set_tokens(now, TokenSource::Store, record);
        self.finish(now, None)
    }

    fn handle_signed_in(&mut self, now: Instant, signed_in: SignedIn) -> AuthStep {
        let record = signed_in.into_record(self.clock.at(now), self.config.thumbprint());
        self.store_tokens(now, TokenSource::Authorization, record)
    }

    /// Stores the tokens before their first use.
    fn store_tokens(
        &mut self,
        now: Instant,
        source: TokenSource,
        record: ServerRecord,
    ) -> AuthStep {
        let text = record.write(self.stored.as_ref().map(Secret::expose));
        self.set_tokens(now, source, record);
        let write = self.outbox.keep(now, self.config.server_key(), text.clone());
        AuthStep::Storing { write, text }
    }

    fn set_tokens(&mut self, now: Instant, source: TokenSource, record: ServerRecord) {
        // Another program may have found another authorization server.
        self.server.take_if(|server| server.issuer.issuer != record.issuer);
        let (id, unix) = (TokenId(self.outbox.next_id()), self.clock.at(now));
        self.tokens = Some(CurrentTokens::new(id, source, record, now, unix));
    }

    /// The context of a step, and the current tokens.
    pub(super) fn context(&mut self, now: Instant) -> (StepContext<'_>, Option<&CurrentTokens>) {
        let unix = self.clock.at(now);
        let Self { config, outbox, tokens, nonces, stored, .. } = self;
        (StepContext { now, unix, config, outbox, nonces, stored }, tokens.as_ref())
    }
}
