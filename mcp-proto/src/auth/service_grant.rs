//! Grants without a person: from a discovered server to tokens.
//!
//! In: events of the driver. Out: actions, and at the end a [`SignedIn`] or an error.
//!
//! | state | grant | waits for | at most |
//! |---|---|---|---|
//! | `Loading` | all | the stored tokens, whose key is locked | 10 s, as if there were none |
//! | `AskingSubject` | enterprise, workload | the token of the person or the workload | 30 s |
//! | `Exchanging` | enterprise | the identity provider, which gives an assertion | 30 s, and 30 s for each signature |
//! | `Granting` | all | the token endpoint of the authorization server | the same |
//!
//! Several programs may share one store, and some assertions can be used only once. So one program
//! requests tokens, and the others use its tokens.
//!
//! [Specification: OAuth Client
//! Credentials](https://modelcontextprotocol.io/extensions/auth/oauth-client-credentials),
//! [Specification: Enterprise-Managed
//! Authorization](https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization)

use alloc::boxed::Box;

use super::action::{RecordId, SubjectId};
use super::error::{AuthError, shown};
use super::event::{AuthEvent, StepContext, StepProgress};
use super::grant_kind::GrantKind;
use super::granted::{
    self, AccessTokenState, ClientOrigin, GrantRequest, GrantStep, StoredTokens, TokenAnswer,
};
use super::record::ServerRecord;
use super::registration::{self, ClientChoice, RegisteredClient};
use super::scopes::Scopes;
use super::secret::Secret;
use super::sign_in::{SignedIn, TokenGoal};
use super::token_call::TokenCall;
use super::token_request::{Grant, TokenDraft};

/// A grant in progress.
#[derive(Debug)]
pub(super) struct ServiceGrant {
    goal: TokenGoal,
    /// The client at the authorization server; a workload has none.
    client: Option<RegisteredClient>,
    scopes: Scopes,
    state: GrantState,
}

#[derive(Debug)]
enum GrantState {
    Loading(RecordId),
    AskingSubject(SubjectId),
    Exchanging(TokenCall),
    Granting(TokenCall),
}

/// Result of a grant.
pub(super) enum ServiceOutcome {
    /// Another program has stored these tokens.
    Adopt(Box<ServerRecord>),
    /// There are new tokens.
    SignedIn(Box<SignedIn>),
}

type ServiceStep = Result<StepProgress<ServiceGrant, ServiceOutcome>, AuthError>;

impl ServiceGrant {
    /// Starts with the choice of a client, and the lock of the record.
    pub(super) fn start(goal: TokenGoal, context: &mut StepContext<'_>) -> Result<Self, AuthError> {
        let issuer = &goal.server.issuer;
        let grant = goal.server.grant;
        let preset = context.config.preset(grant, &issuer.issuer);
        let decisions = &mut context.outbox.decisions;
        let (choice, row) = registration::choose(issuer, grant, preset, (false, false), decisions)?;
        decisions.record("registration", row);
        let has_client = choice == ClientChoice::UsePreset;
        let client = context.config.preset_client(issuer).filter(|_| has_client);
        let client_id = client.as_ref().map(|client| &*client.id).unwrap_or_default();
        context.config.bind(client_id, &issuer.issuer);
        let config = &*context.config;
        let wanted = goal.challenged.as_ref().unwrap_or(&goal.server.scopes);
        let scopes = config.scopes.union(&goal.requested_scopes).union(wanted);
        let reading = context.outbox.load(context.now, config.server_key(), true);
        Ok(Self { goal, client, scopes, state: GrantState::Loading(reading) })
    }

    /// Requests tokens, or first the token that is exchanged for them.
    fn ask(self, context: &mut StepContext<'_>) -> ServiceStep {
        let state = if self.goal.server.grant == GrantKind::ClientCredentials {
            let scope = self.scopes.to_param();
            let grant = Grant::ClientCredentials { scope: &scope };
            let draft = draft(&grant, true, &self.goal, self.client.clone(), context);
            GrantState::Granting(TokenCall::start(draft, context)?)
        } else {
            let config = &*context.config;
            let provider = config.provider.as_ref();
            provider.map(|it| config.policy.check(&it.token_endpoint)).transpose()?;
            let provider = provider.map(|provider| &provider.issuer);
            let receiver = provider.unwrap_or(&self.goal.server.issuer.issuer).clone();
            GrantState::AskingSubject(context.outbox.subject(context.now, receiver))
        };
        Ok(StepProgress::Pending(Self { state, ..self }))
    }

    /// The stored tokens, if they are newer and valid, and have the requested issuer, scopes and
    /// binding.
    fn adopt(&self, text: Option<&str>, context: &mut StepContext<'_>) -> Option<ServerRecord> {
        let record = context.read_newer(text)?;
        let server = &self.goal.server;
        let is_good = record.issuer == server.issuer.issuer
            && record.proof_key.is_some() == server.binds
            && record.expires_at.is_none_or(|at| at > context.unix)
            && record.requested_scopes.contains_all(&self.scopes)
            && Some(&record.access_token) != self.goal.current_token.as_ref();
        is_good.then(|| context.adopt(text))?;
        Some(record)
    }

    /// Continues with an event; an event of another step changes nothing.
    pub(super) fn handle(self, event: AuthEvent<'_>, context: &mut StepContext<'_>) -> ServiceStep {
        let GrantState::Loading(reading) = self.state else {
            return self.handle_answer(event, context);
        };
        if matches!(event, AuthEvent::TimedOut) {
            context.outbox.unlock();
            return self.ask(context);
        }
        let AuthEvent::Loaded(id, record) = event else { return Ok(StepProgress::Pending(self)) };
        if id != reading {
            return Ok(StepProgress::Pending(self));
        }
        match self.adopt(record, context) {
            Some(record) => Ok(StepProgress::Done(ServiceOutcome::Adopt(Box::new(record)))),
            None => self.ask(context),
        }
    }

    /// Continues with the answer to a request.
    fn handle_answer(self, event: AuthEvent<'_>, context: &mut StepContext<'_>) -> ServiceStep {
        let Self { goal, client, scopes, state } = self;
        let wait = |goal, client, scopes, state| {
            Ok(StepProgress::Pending(Self { goal, client, scopes, state }))
        };
        match (state, event) {
            (GrantState::AskingSubject(asked), AuthEvent::Subject(id, subject)) if id == asked => {
                let subject = subject.map_err(|reason| AuthError::Subject { reason })?;
                let state = match &context.config.provider {
                    Some(_) => exchange(&subject, &goal, &scopes, context)?,
                    None => assert(&subject, &goal, &scopes, client.clone(), context)?,
                };
                wait(goal, client, scopes, state)
            }
            (GrantState::AskingSubject(_), AuthEvent::TimedOut) => {
                let reason = "the application did not answer within 30 seconds".into();
                Err(AuthError::Subject { reason })
            }
            (GrantState::Exchanging(call), event) => match call.handle(event, context)? {
                StepProgress::Pending(call) => {
                    wait(goal, client, scopes, GrantState::Exchanging(call))
                }
                StepProgress::Done(answer) => {
                    let token = token(GrantRequest::Exchange, answer, &goal, context)?;
                    let state =
                        assert(&token.access_token, &goal, &scopes, client.clone(), context)?;
                    wait(goal, client, scopes, state)
                }
            },
            (GrantState::Granting(call), event) => match call.handle(event, context)? {
                StepProgress::Pending(call) => {
                    wait(goal, client, scopes, GrantState::Granting(call))
                }
                StepProgress::Done(answer) => {
                    let token = token(GrantRequest::Grant, answer, &goal, context)?;
                    let (server, origin) = (goal.server, ClientOrigin::Given);
                    let client = client.unwrap_or_else(RegisteredClient::of_workload);
                    let signed_in =
                        SignedIn { server, client, origin, requested_scopes: scopes, token };
                    Ok(StepProgress::Done(ServiceOutcome::SignedIn(Box::new(signed_in))))
                }
            },
            (state, _) => wait(goal, client, scopes, state),
        }
    }
}

/// Asks the identity provider for an assertion.
fn exchange(
    subject: &Secret,
    goal: &TokenGoal,
    scopes: &Scopes,
    context: &mut StepContext<'_>,
) -> Result<GrantState, AuthError> {
    let config = &*context.config;
    let reason = || "no identity provider is configured".into();
    let provider = config.provider.as_ref();
    let provider = provider.ok_or_else(|| AuthError::Subject { reason: reason() })?;
    let endpoint = config.policy.check(&provider.token_endpoint)?;
    let scope = scopes.to_param();
    let grant = Grant::Exchange {
        subject,
        subject_type: provider.subject_type,
        audience: &goal.server.issuer.issuer,
        scope: &scope,
    };
    let resource = (!config.omits_resource).then_some(goal.server.resource.as_str());
    let client = Some(provider.client.clone());
    let draft = TokenDraft::new(&grant, resource, client, (&endpoint, &provider.issuer), false);
    Ok(GrantState::Exchanging(TokenCall::start(draft, context)?))
}

/// Sends an assertion to the authorization server. The assertion of a company's provider contains
/// the resource and the scopes itself.
fn assert(
    assertion: &Secret,
    goal: &TokenGoal,
    scopes: &Scopes,
    client: Option<RegisteredClient>,
    context: &mut StepContext<'_>,
) -> Result<GrantState, AuthError> {
    let is_exchanged = context.config.provider.is_some();
    let scope = if is_exchanged { Scopes::none() } else { scopes.clone() }.to_param();
    let grant = Grant::Assertion { assertion, scope: &scope };
    let draft = draft(&grant, !is_exchanged, goal, client, context);
    Ok(GrantState::Granting(TokenCall::start(draft, context)?))
}

/// A request to the token endpoint of the authorization server.
fn draft(
    grant: &Grant<'_>,
    names_resource: bool,
    goal: &TokenGoal,
    client: Option<RegisteredClient>,
    context: &StepContext<'_>,
) -> TokenDraft {
    let server = &goal.server;
    let names_resource = names_resource && !context.config.omits_resource;
    let resource = names_resource.then_some(server.resource.as_str());
    let target = (&server.issuer.token_endpoint, server.issuer.issuer.as_str());
    TokenDraft::new(grant, resource, client, target, server.binds)
}

/// The token of an answer, by the table.
fn token(
    request: GrantRequest,
    answer: TokenAnswer,
    goal: &TokenGoal,
    context: &mut StepContext<'_>,
) -> Result<granted::GrantedToken, AuthError> {
    let (client, store) = (ClientOrigin::Given, StoredTokens::Same);
    let row = granted::TABLE.find((request, answer.kind(), client, store, AccessTokenState::Over));
    context.outbox.decisions.record("granted", row.map_or("gap", |row| row.name));
    let exchanges = request == GrantRequest::Exchange;
    match (row.map(|row| row.then), answer) {
        (Some(GrantStep::Ready), TokenAnswer::Token(token)) => Ok(token),
        (Some(GrantStep::FailUnavailable), _) => {
            let provider = context.config.provider.as_ref().filter(|_| exchanges);
            let url = provider.map_or(goal.server.issuer.token_endpoint.as_str(), |provider| {
                provider.token_endpoint.as_str()
            });
            Err(AuthError::Unavailable { url: shown(url) })
        }
        (_, answer) => Err(answer.into_error()),
    }
}
