//! The flow of an authorizer: what it waits for, and what it has.
//!
//! In: events, and wishes for tokens. Out: actions in the [`AuthOutbox`], and at the end of each flow a
//! report.
//!
//! | state | waits for | next |
//! |---|---|---|
//! | `Idle` | a wish | `Reading`, `Refreshing`, `SigningIn` |
//! | `Reading` | the stored tokens, at most 10 s | `Idle`, or `Discovering` if they are of no use |
//! | `Discovering` | metadata, 10 s for each document | `Refreshing` or `SigningIn` |
//! | `Refreshing` | the states of [`TokenRefresh`] | `Keeping`; `SigningIn` or `Discovering` if refused |
//! | `SigningIn` | the states of [`SignIn`] | `Keeping` |
//! | `Granting` | the states of [`ServiceGrant`] | `Keeping` |
//! | `Keeping` | tokens that are stored, at most 10 s | `Idle` |
//!
//! A failure in any state leads to `Idle`.

use alloc::boxed::Box;
use alloc::string::String;

use super::action::{AuthState, FetchAnswer, FetchId, HoldId, TokenId};
use super::binding::{self, BindingStep, ChallengeSchemes};
use super::config::Config;
use super::discovery::{Discovered, Discovery, Site};
use super::error::{AuthError, shown};
use super::event::{AuthEvent, StepProgress, Surroundings};
use super::granted::ClientOrigin;
use super::held::{HeldTokens, TokenSource, expires_at};
use super::nonces::Nonces;
use super::outbox::AuthOutbox;
use super::record::ServerRecord;
use super::refresh::{RefreshOutcome, TokenRefresh};
use super::scopes::Scopes;
use super::secret::Secret;
use super::service_grant::ServiceGrant;
use super::sign_in::{SignIn, SignedIn, Visit};
use crate::time::{Duration, Instant};

/// The flow, its settings, and the tokens of the last one.
#[derive(Debug)]
pub(super) struct AuthFlow {
    pub(super) config: Config,
    pub(super) outbox: AuthOutbox,
    step: AuthStep,
    pub(super) tokens: Option<HeldTokens>,
    /// The server as it was discovered last.
    pub(super) site: Option<Site>,
    /// The text of the stored tokens, for its unknown members; `None` until it was read.
    stored: Option<Secret>,
    clock: Clock,
    pub(super) nonces: Nonces,
}

/// The step that waits.
#[derive(Debug)]
enum AuthStep {
    Idle,
    Reading { hold: HoldId, goal: Option<AuthGoal> },
    Discovering { fetch: FetchId, discovery: Discovery, goal: AuthGoal },
    Refreshing { refresh: TokenRefresh, goal: AuthGoal, site: Option<Site> },
    SigningIn(SignIn),
    Granting(ServiceGrant),
    Keeping { hold: HoldId },
}

/// The aim of a flow.
#[derive(Debug, Default)]
pub(super) struct AuthGoal {
    /// The scopes of the challenge, if it has any.
    pub(super) challenged: Option<Scopes>,
    /// The URL of metadata in the challenge.
    pub(super) named: Option<String>,
    /// The schemes of the challenge.
    pub(super) schemes: ChallengeSchemes,
    /// True if other tokens in the store, or a refresh, may do.
    pub(super) renews: bool,
    /// True if the stored registration is of no use.
    pub(super) reregisters: bool,
}

/// A time since the Unix epoch, and when it was.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    unix: Duration,
    at: Instant,
}

impl AuthFlow {
    /// No flow, and no tokens.
    pub(super) fn new(config: Config, random: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self {
            config,
            outbox: AuthOutbox::new(random),
            step: AuthStep::Idle,
            tokens: None,
            site: None,
            stored: None,
            clock: Clock::default(),
            nonces: Nonces::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.step, AuthStep::Idle)
    }

    /// True if a server or a person is asked, which may take minutes.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.step, AuthStep::Discovering { .. } | AuthStep::SigningIn(_))
    }

    /// True if the store was read.
    pub(super) fn has_read(&self) -> bool {
        self.stored.is_some()
    }

    /// Sets the time since the Unix epoch.
    pub(super) fn set_clock(&mut self, now: Instant, unix: Duration) {
        self.clock = Clock { unix, at: now };
    }

    /// The server has refused the access token.
    pub(super) fn refuse_token(&mut self) {
        if let Some(tokens) = &mut self.tokens {
            tokens.refuse();
        }
    }

    /// Begins a flow with a look into the store.
    pub(super) fn read(&mut self, now: Instant, goal: Option<AuthGoal>) {
        self.outbox.begin_flow();
        let hold = self.outbox.hold(now, self.config.server_key(), false);
        self.step = AuthStep::Reading { hold, goal };
    }

    /// Begins a flow with a refresh, where nothing was discovered yet.
    pub(super) fn refresh(&mut self, now: Instant) {
        self.outbox.begin_flow();
        let refresh = TokenRefresh::start(&mut self.around(now).0);
        self.step = AuthStep::Refreshing { refresh, goal: AuthGoal::default(), site: None };
    }

    /// Begins a flow for more scopes at the server that is known.
    pub(super) fn step_up(&mut self, now: Instant, goal: AuthGoal) {
        self.outbox.begin_flow();
        let started = match self.site.clone() {
            Some(site) => self.get_tokens(now, site, goal),
            None => self.discover(now, goal),
        };
        self.settle(started);
    }

    /// Goes on with an event.
    pub(super) fn handle(&mut self, now: Instant, event: AuthEvent<'_>) {
        let step = core::mem::replace(&mut self.step, AuthStep::Idle);
        let next = self.advance(now, step, event);
        self.settle(next);
    }

    fn settle(&mut self, next: Result<AuthStep, AuthError>) {
        match next {
            Ok(step) => self.step = step,
            Err(error) => self.fail(error),
        }
    }

    /// Ends the flow.
    pub(super) fn fail(&mut self, error: AuthError) {
        self.step = AuthStep::Idle;
        self.outbox.end_flow(AuthState::Failed(error));
    }

    fn finish(&mut self, unsaved: Option<String>) -> AuthStep {
        self.outbox.end_flow(AuthState::Ready { unsaved });
        AuthStep::Idle
    }

    /// The step after an event.
    fn advance(
        &mut self,
        now: Instant,
        step: AuthStep,
        event: AuthEvent<'_>,
    ) -> Result<AuthStep, AuthError> {
        match (step, event) {
            (AuthStep::Reading { hold, goal }, AuthEvent::Held(id, record)) if id == hold => {
                self.handle_record(now, goal, record)
            }
            (AuthStep::Reading { goal, .. }, AuthEvent::TimedOut) => {
                self.handle_record(now, goal, None)
            }
            (AuthStep::Discovering { fetch, discovery, goal }, AuthEvent::Fetched(id, answer))
                if id == fetch =>
            {
                self.handle_metadata(now, discovery, goal, answer.as_ref())
            }
            (AuthStep::Discovering { discovery, goal, .. }, AuthEvent::TimedOut) => {
                self.handle_metadata(now, discovery, goal, None)
            }
            (AuthStep::Refreshing { refresh, goal, site }, event) => {
                let (mut around, tokens) = self.around(now);
                let Some(tokens) = tokens else { return self.discover(now, goal) };
                match refresh.handle(event, tokens, &mut around)? {
                    StepProgress::Wait(refresh) => Ok(AuthStep::Refreshing { refresh, goal, site }),
                    StepProgress::Done(refreshed) => {
                        self.handle_refreshed(now, refreshed, goal, site)
                    }
                }
            }
            (AuthStep::SigningIn(sign_in), event) => {
                match sign_in.handle(event, &mut self.around(now).0)? {
                    StepProgress::Wait(sign_in) => Ok(AuthStep::SigningIn(sign_in)),
                    StepProgress::Done(signed_in) => Ok(self.handle_signed_in(now, signed_in)),
                }
            }
            (AuthStep::Granting(grant), event) => {
                match grant.handle(event, &mut self.around(now).0)? {
                    StepProgress::Wait(grant) => Ok(AuthStep::Granting(grant)),
                    StepProgress::Done(signed_in) => Ok(self.handle_signed_in(now, signed_in)),
                }
            }
            (AuthStep::Keeping { hold }, AuthEvent::Kept(id, kept)) if id == hold => {
                Ok(self.finish(kept.err()))
            }
            (AuthStep::Keeping { .. }, AuthEvent::TimedOut) => {
                Ok(self.finish(Some("the store did not answer".into())))
            }
            (step, _) => Ok(step),
        }
    }

    /// Uses what is stored, if it is other than what was refused.
    fn handle_record(
        &mut self,
        now: Instant,
        goal: Option<AuthGoal>,
        text: Option<&str>,
    ) -> Result<AuthStep, AuthError> {
        self.stored = Some(Secret::new(text.unwrap_or_default()));
        let own = self.tokens.as_ref().map(|tokens| &tokens.record.access_token);
        let record = text.and_then(|text| self.config.read_record(text));
        let other = record.filter(|record| Some(&record.access_token) != own);
        let may_adopt = goal.as_ref().is_none_or(|goal| goal.renews);
        match (other.filter(|_| may_adopt), goal) {
            (Some(record), _) => {
                self.hold_tokens(now, TokenSource::Store, record);
                Ok(self.finish(None))
            }
            (None, Some(goal)) => self.discover(now, goal),
            (None, None) => Ok(self.finish(None)),
        }
    }

    fn discover(&mut self, now: Instant, goal: AuthGoal) -> Result<AuthStep, AuthError> {
        let discovery = Discovery::start(&self.config, goal.named.as_deref())?;
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
        let held = self.tokens.as_ref().map(|tokens| tokens.record.issuer.as_str());
        let decisions = &mut self.outbox.decisions;
        match discovery.handle_answer(&self.config, answer, held, decisions)? {
            Discovered::Ask(discovery) => {
                let fetch = self.outbox.get(now, discovery.url(), &self.config.policy)?;
                Ok(AuthStep::Discovering { fetch, discovery, goal })
            }
            Discovered::Site(site) => self.handle_site(now, site, goal),
        }
    }

    /// Refreshes at the same issuer; what belongs to another issuer is not used any more.
    fn handle_site(
        &mut self,
        now: Instant,
        mut site: Site,
        goal: AuthGoal,
    ) -> Result<AuthStep, AuthError> {
        site.binds = self.binds(&site, &goal)?;
        let proof_key = self.config.thumbprint().filter(|_| site.binds);
        self.site = Some(site.clone());
        self.tokens.take_if(|tokens| tokens.record.issuer != site.issuer.issuer);
        if let Some(tokens) = &mut self.tokens {
            tokens.record.token_endpoint = site.issuer.token_endpoint.as_str().into();
            tokens.record.resource.clone_from(&site.resource);
            tokens.record.proof_key = proof_key;
            if goal.renews && tokens.record.refresh_token.is_some() {
                let refresh = TokenRefresh::start(&mut self.around(now).0);
                return Ok(AuthStep::Refreshing { refresh, goal, site: Some(site) });
            }
        }
        self.get_tokens(now, site, goal)
    }

    /// Whether tokens are to be bound to a key, by the table.
    fn binds(&mut self, site: &Site, goal: &AuthGoal) -> Result<bool, AuthError> {
        let case = (goal.schemes, site.binds, self.config.proof_key.is_some());
        let row = binding::TABLE.find(case);
        self.outbox.decisions.record("binding", row.map_or("gap", |row| row.name));
        match row.map(|row| row.then) {
            Some(BindingStep::Bind) => Ok(true),
            Some(BindingStep::Bear) => Ok(false),
            Some(BindingStep::FailNoKey) | None => {
                Err(AuthError::NoProofKey { server: shown(self.config.server.as_str()) })
            }
        }
    }

    /// Asks a person, or whoever the configured grant asks.
    fn get_tokens(
        &mut self,
        now: Instant,
        site: Site,
        goal: AuthGoal,
    ) -> Result<AuthStep, AuthError> {
        let asked = self.tokens.as_ref().map(|tokens| tokens.record.asked.clone());
        let visit = Visit {
            site,
            challenged: goal.challenged,
            asked: asked.unwrap_or_default(),
            reregisters: goal.reregisters,
            omits_offline: false,
        };
        let mut around = self.around(now).0;
        if visit.site.grant.is_of_service() {
            return ServiceGrant::start(visit, &mut around).map(AuthStep::Granting);
        }
        SignIn::start(visit, &mut around).map(AuthStep::SigningIn)
    }

    fn handle_refreshed(
        &mut self,
        now: Instant,
        refreshed: RefreshOutcome,
        goal: AuthGoal,
        site: Option<Site>,
    ) -> Result<AuthStep, AuthError> {
        let unix = self.unix(now);
        let Some(tokens) = &mut self.tokens else { return self.discover(now, goal) };
        let reregisters = goal.reregisters || matches!(refreshed, RefreshOutcome::Reregister);
        match refreshed {
            RefreshOutcome::Token(token) => {
                let record = tokens.refreshed(token, unix);
                Ok(self.keep_tokens(now, TokenSource::Refresh, record))
            }
            RefreshOutcome::Adopt(record) => {
                self.hold_tokens(now, TokenSource::Store, record);
                Ok(self.finish(None))
            }
            RefreshOutcome::Keep => {
                tokens.keep_until_over();
                Ok(self.finish(None))
            }
            RefreshOutcome::Later => {
                tokens.rest(now);
                if tokens.is_valid(now) {
                    return Ok(self.finish(None));
                }
                Err(AuthError::Unavailable { url: shown(&tokens.record.token_endpoint) })
            }
            RefreshOutcome::Reauthorize | RefreshOutcome::Reregister => {
                tokens.drop_refresh_token();
                let goal = AuthGoal { reregisters, renews: false, ..goal };
                match site {
                    Some(site) => self.get_tokens(now, site, goal),
                    None => self.discover(now, goal),
                }
            }
        }
    }

    fn handle_signed_in(&mut self, now: Instant, signed_in: SignedIn) -> AuthStep {
        let SignedIn { site, client, origin, asked, token } = signed_in;
        let record = ServerRecord {
            issuer: site.issuer.issuer.clone(),
            resource: site.resource.clone(),
            asked,
            access_token: token.access_token,
            expires_at: expires_at(token.expires_in, self.unix(now)),
            refresh_token: token.refresh_token,
            proof_key: self.config.thumbprint().filter(|_| site.binds),
            token_endpoint: site.issuer.token_endpoint.as_str().into(),
            client,
            is_dynamic: origin == ClientOrigin::Dynamic,
        };
        self.keep_tokens(now, TokenSource::Authorization, record)
    }

    /// Stores tokens before anything else.
    fn keep_tokens(&mut self, now: Instant, source: TokenSource, record: ServerRecord) -> AuthStep {
        let text = record.write(self.stored.as_ref().map(Secret::expose));
        self.hold_tokens(now, source, record);
        self.stored = Some(text.clone());
        AuthStep::Keeping { hold: self.outbox.keep(now, self.config.server_key(), text) }
    }

    fn hold_tokens(&mut self, now: Instant, source: TokenSource, record: ServerRecord) {
        let (id, unix) = (TokenId(self.outbox.next_id()), self.unix(now));
        self.tokens = Some(HeldTokens::new(id, source, record, now, unix));
    }

    /// The time since the Unix epoch, as it was said last and as it has passed since.
    fn unix(&self, now: Instant) -> Duration {
        self.clock.unix.saturating_add(now.duration_since(self.clock.at))
    }

    /// The surroundings of a step, and the tokens beside them.
    pub(super) fn around(&mut self, now: Instant) -> (Surroundings<'_>, Option<&HeldTokens>) {
        let unix = self.unix(now);
        let Self { config, outbox, tokens, nonces, .. } = self;
        (Surroundings { now, unix, config, outbox, nonces }, tokens.as_ref())
    }
}
