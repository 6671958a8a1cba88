//! Sign-in of a person: from a discovered server to tokens.
//!
//! In: events of the driver. Out: actions, and at the end a [`SignedIn`] or an error.
//!
//! | state | waits for | at most |
//! |---|---|---|
//! | `LoadingClient` | the stored registration, whose key is locked | 10 s, as if there were none |
//! | `Listening` | the redirect URI | 10 s |
//! | `Registering` | the answer to a registration, with scopes and then without | 10 s each |
//! | `Consenting` | a redirect, or a refusal by the person | 5 min |
//! | `Redeeming` | the answer of the token endpoint | 30 s, and 30 s for each signature |
//!
//! The issuer, the verifier and the state are recorded before a page is shown. Each is used once: a
//! restarted sign-in creates new values.
//!
//! [Specification: Authorization
//! Flow](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-flow-steps)

use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::action::{ConsentPage, RecordId};
use super::authorization_request::AuthorizationRequest;
use super::client_registration::ClientRegistration;
use super::config::Config;
use super::current_tokens::{CurrentTokens, expires_at};
use super::discovery::DiscoveredServer;
use super::error::{AuthError, shown};
use super::event::{AuthEvent, StepContext, StepProgress};
use super::goal::AuthGoal;
use super::grant_kind::GrantKind;
use super::granted::{
    self, AccessTokenState, ClientOrigin, GrantRequest, GrantStep, GrantedToken, StoredTokens,
    TokenAnswer,
};
use super::pkce;
use super::record::{ClientRecord, ServerRecord};
use super::redirect::{Expected, Redirect};
use super::redirect_uri;
use super::registration::{self, ClientChoice, Preset, RegisteredClient};
use super::scopes::{OFFLINE_ACCESS, Scopes};
use super::secret::Secret;
use super::token_call::TokenCall;
use super::token_request::{Grant, TokenDraft};
use crate::time::Duration;
use crate::url::Url;

/// A sign-in in progress.
#[derive(Debug)]
pub(super) enum SignIn {
    LoadingClient { reading: RecordId, goal: TokenGoal },
    Listening { goal: TokenGoal, stored: Option<ClientRecord> },
    Registering { request: ClientRegistration, goal: TokenGoal },
    Consenting(Consenting),
    Redeeming { call: TokenCall, consented: Consenting },
}

/// A request for tokens of a discovered server.
#[derive(Debug)]
pub(super) struct TokenGoal {
    pub(super) server: DiscoveredServer,
    /// The scopes of the challenge, if it has any.
    pub(super) challenged: Option<Scopes>,
    /// The scopes that were requested earlier at this issuer.
    pub(super) requested_scopes: Scopes,
    /// The access token that is no longer valid, if there is one.
    pub(super) current_token: Option<Secret>,
    /// The id of the registered client that was refused. The store may have another one by now.
    pub(super) refused_client: Option<String>,
    /// True if this sign-in has registered a client.
    pub(super) has_registered: bool,
    /// True if `offline_access` was refused.
    pub(super) omits_offline: bool,
}

impl TokenGoal {
    /// The goal of a flow at a server, with its current tokens.
    pub(super) fn new(
        server: DiscoveredServer,
        goal: AuthGoal,
        current: Option<&CurrentTokens>,
    ) -> Self {
        let refused_client = current.and_then(CurrentTokens::refused_client).map(String::from);
        let current = current.map(|tokens| &tokens.record);
        Self {
            server,
            challenged: goal.challenged,
            requested_scopes: current.map(|it| it.requested_scopes.clone()).unwrap_or_default(),
            current_token: current.map(|record| record.access_token.clone()),
            refused_client,
            has_registered: false,
            omits_offline: false,
        }
    }

    /// The scopes to request, and true if `offline_access` was added because the authorization
    /// server lists it.
    fn scopes(&self, config: &Config) -> (Scopes, bool) {
        let wanted = self.challenged.as_ref().unwrap_or(&self.server.scopes);
        let mut scopes = config.scopes.union(&self.requested_scopes).union(wanted);
        if self.omits_offline {
            return (scopes.without(OFFLINE_ACCESS), false);
        }
        let is_listed = self.server.issuer.scopes_supported.contains(OFFLINE_ACCESS);
        let adds_offline = is_listed && !scopes.contains(OFFLINE_ACCESS);
        if adds_offline {
            scopes.insert(OFFLINE_ACCESS);
        }
        (scopes, adds_offline)
    }
}

/// A page that is shown, and the values that its redirect must match.
#[derive(Debug)]
pub(super) struct Consenting {
    goal: TokenGoal,
    client: RegisteredClient,
    origin: ClientOrigin,
    expected: Expected,
    verifier: Secret,
    scopes: Scopes,
    /// True if `offline_access` was added because the authorization server lists it.
    adds_offline: bool,
}

/// Tokens, and the data of their request.
#[derive(Debug)]
pub(super) struct SignedIn {
    pub(super) server: DiscoveredServer,
    pub(super) client: RegisteredClient,
    pub(super) origin: ClientOrigin,
    pub(super) requested_scopes: Scopes,
    pub(super) token: GrantedToken,
}

impl SignedIn {
    /// The record of the tokens. `thumbprint` is that of the client's proof key.
    pub(super) fn into_record(self, unix: Duration, thumbprint: Option<String>) -> ServerRecord {
        ServerRecord {
            issuer: self.server.issuer.issuer.clone(),
            requested_scopes: self.requested_scopes,
            granted_scopes: self.token.scopes,
            access_token: self.token.access_token,
            expires_at: expires_at(self.token.expires_in, unix),
            refresh_token: self.token.refresh_token,
            proof_key: thumbprint.filter(|_| self.server.binds),
            token_endpoint: self.server.issuer.token_endpoint.as_str().into(),
            metadata_url: self.server.metadata_url,
            resource: self.server.resource,
            client: self.client,
            is_dynamic: self.origin == ClientOrigin::Dynamic,
        }
    }
}

type SignInStep = Result<StepProgress<SignIn, SignedIn>, AuthError>;

impl SignIn {
    /// Starts with the choice of a client.
    pub(super) fn start(goal: TokenGoal, context: &mut StepContext<'_>) -> Result<Self, AuthError> {
        let issuer = &goal.server.issuer;
        if context.config.unattended {
            return Err(AuthError::ConsentNeeded { issuer: issuer.issuer.clone() });
        }
        let redirect_uri = &context.config.redirect_uri;
        redirect_uri::check(redirect_uri)?;
        let preset = context.config.preset(GrantKind::Code, &issuer.issuer);
        let document = context.config.document_client(issuer, redirect_uri);
        if preset == Preset::Absent && document.is_none() {
            let key = context.config.registration_key(&issuer.issuer);
            let reading = context.outbox.load(context.now, key, true);
            return Ok(Self::LoadingClient { reading, goal });
        }
        let found = (document.is_some(), false);
        let decisions = &mut context.outbox.decisions;
        registration::choose(issuer, GrantKind::Code, preset, found, decisions)?;
        context.outbox.listen(context.now, redirect_uri, None);
        Ok(Self::Listening { goal, stored: None })
    }

    /// Continues with an event; an event of another step changes nothing.
    pub(super) fn handle(self, event: AuthEvent<'_>, context: &mut StepContext<'_>) -> SignInStep {
        match (self, event) {
            (Self::LoadingClient { reading, goal }, AuthEvent::Loaded(id, record))
                if id == reading =>
            {
                listen(goal, record, context)
            }
            (Self::LoadingClient { goal, .. }, AuthEvent::TimedOut) => {
                context.outbox.unlock();
                listen(goal, None, context)
            }
            (Self::Listening { goal, stored }, AuthEvent::Listening(listening)) => {
                let redirect_uri = listening.map_err(|reason| AuthError::Consent { reason })?;
                redirect_uri::check(&redirect_uri)?;
                find_client(goal, stored, redirect_uri, context)
            }
            (Self::Listening { .. }, AuthEvent::TimedOut) => {
                Err(AuthError::Consent { reason: "nothing listens for the redirect".into() })
            }
            (Self::Registering { request, goal }, event) => {
                match request.handle(event, &goal.server.issuer, context)? {
                    StepProgress::Pending(request) => {
                        Ok(StepProgress::Pending(Self::Registering { request, goal }))
                    }
                    StepProgress::Done(record) => handle_registered(goal, record, context),
                }
            }
            (Self::Consenting(consenting), AuthEvent::Redirect(text)) => {
                consenting.handle_redirect(text, context)
            }
            (Self::Consenting(_), AuthEvent::RefusedConsent(reason)) => {
                Err(AuthError::Consent { reason })
            }
            (Self::Consenting(consenting), AuthEvent::TimedOut) => Err(consenting.unanswered()),
            (Self::Redeeming { call, consented }, event) => match call.handle(event, context)? {
                StepProgress::Pending(call) => {
                    Ok(StepProgress::Pending(Self::Redeeming { call, consented }))
                }
                StepProgress::Done(answer) => consented.handle_answer(answer, context),
            },
            (step, _) => Ok(StepProgress::Pending(step)),
        }
    }
}

/// Listens at the port of the stored registration, if the port is free.
fn listen(goal: TokenGoal, record: Option<&str>, context: &mut StepContext<'_>) -> SignInStep {
    let refused = goal.refused_client.as_ref().filter(|_| !goal.has_registered);
    let is_refused = |record: &ClientRecord| Some(&record.client.id) == refused;
    let record = record.and_then(ClientRecord::read).filter(|record| !is_refused(record));
    let issuer = &goal.server.issuer;
    let (grant, preset) = (GrantKind::Code, Preset::Absent);
    let decisions = &mut context.outbox.decisions;
    registration::choose(issuer, grant, preset, (false, record.is_some()), decisions)?;
    let stored_uri = record.as_ref().and_then(|record| Url::parse(&record.redirect_uri).ok());
    let port = stored_uri.map(|url| url.port());
    context.outbox.listen(context.now, &context.config.redirect_uri, port);
    Ok(StepProgress::Pending(SignIn::Listening { goal, stored: record }))
}

/// Finds the client for this redirect URI, or registers it.
fn find_client(
    goal: TokenGoal,
    stored: Option<ClientRecord>,
    redirect_uri: String,
    context: &mut StepContext<'_>,
) -> SignInStep {
    let issuer = &goal.server.issuer;
    let preset = context.config.preset(GrantKind::Code, &issuer.issuer);
    let document = context.config.document_client(issuer, &redirect_uri);
    let stored = stored.filter(|record| record.is_good(&redirect_uri, context.unix));
    let found = (document.is_some(), stored.is_some());
    let decisions = &mut context.outbox.decisions;
    let (choice, row) = registration::choose(issuer, GrantKind::Code, preset, found, decisions)?;
    decisions.record("registration", row);
    let client = match choice {
        ClientChoice::UsePreset => context.config.preset_client(issuer),
        ClientChoice::UseDocument => document,
        ClientChoice::UseNone
        | ClientChoice::UseStored
        | ClientChoice::Register
        | ClientChoice::FailElsewhere
        | ClientChoice::FailNoClient => None,
    };
    if let Some(client) = client {
        context.config.bind(&client.id, &issuer.issuer);
        return show_page(goal, client, ClientOrigin::Given, redirect_uri, context);
    }
    if let Some(record) = stored {
        context.outbox.unlock();
        return show_page(goal, record.client, ClientOrigin::Dynamic, redirect_uri, context);
    }
    let (scopes, _) = goal.scopes(context.config);
    let request = ClientRegistration::start(issuer, redirect_uri, scopes, context)?;
    Ok(StepProgress::Pending(SignIn::Registering { request, goal }))
}

/// Stores a new client, and uses it.
fn handle_registered(
    goal: TokenGoal,
    record: ClientRecord,
    context: &mut StepContext<'_>,
) -> SignInStep {
    let key = context.config.registration_key(&goal.server.issuer.issuer);
    context.outbox.keep(context.now, key, record.write());
    let goal = TokenGoal { has_registered: true, ..goal };
    show_page(goal, record.client, ClientOrigin::Dynamic, record.redirect_uri, context)
}

/// Shows a person the page of the authorization server.
fn show_page(
    goal: TokenGoal,
    client: RegisteredClient,
    origin: ClientOrigin,
    redirect_uri: String,
    context: &mut StepContext<'_>,
) -> SignInStep {
    let issuer = &goal.server.issuer;
    let (scopes, adds_offline) = goal.scopes(context.config);
    let mut bytes = [0; 32];
    for half in bytes.chunks_exact_mut(16) {
        half.copy_from_slice(&context.outbox.random());
    }
    let state = Secret::new(URL_SAFE_NO_PAD.encode(context.outbox.random()));
    let consenting = Consenting {
        expected: Expected {
            redirect_uri,
            state,
            issuer: issuer.issuer.clone(),
            promises_iss: issuer.authorization_response_iss_parameter_supported,
        },
        verifier: pkce::verifier(bytes),
        goal,
        client,
        origin,
        scopes,
        adds_offline,
    };
    let page = consenting.page(context)?;
    context.outbox.consent(context.now, page);
    Ok(StepProgress::Pending(SignIn::Consenting(consenting)))
}

impl Consenting {
    /// The page of the authorization server.
    fn page(&self, context: &StepContext<'_>) -> Result<ConsentPage, AuthError> {
        let issuer = &self.goal.server.issuer;
        let no_page = || AuthError::NoIssuer { issuer: issuer.issuer.clone() };
        let endpoint = issuer.authorization_endpoint.as_ref().ok_or_else(no_page)?;
        let request = AuthorizationRequest {
            client_id: &self.client.id,
            redirect_uri: &self.expected.redirect_uri,
            state: &self.expected.state,
            verifier: &self.verifier,
            resource: self.resource(context),
            scopes: &self.scopes,
        };
        Ok(ConsentPage {
            url: context.config.policy.check(&request.url(endpoint.as_str()))?,
            redirect_uri: self.expected.redirect_uri.clone(),
            state: self.expected.state.clone(),
        })
    }

    /// The error if nobody answers. A page that does not know a client has no redirect.
    fn unanswered(&self) -> AuthError {
        let is_stored = self.origin == ClientOrigin::Dynamic && !self.goal.has_registered;
        let advice = "; if the page does not know the client, forget the authorization";
        let advice = if is_stored { advice } else { "" };
        AuthError::Consent { reason: ["nobody answered within 5 minutes", advice].concat() }
    }

    fn resource(&self, context: &StepContext<'_>) -> Option<&str> {
        (!context.config.omits_resource).then_some(self.goal.server.resource.as_str())
    }

    fn handle_redirect(self, text: &str, context: &mut StepContext<'_>) -> SignInStep {
        let redirect = Redirect::read(text, &self.expected, &mut context.outbox.decisions);
        if redirect == Redirect::Ignored {
            return Ok(StepProgress::Pending(SignIn::Consenting(self)));
        }
        context.outbox.stop_listening();
        match redirect {
            Redirect::Code(code) => self.redeem(&code, context),
            // The authorization endpoint refuses clients by the same errors as the token endpoint.
            Redirect::Error(error, description) => {
                self.handle_answer(TokenAnswer::Error(error, description), context)
            }
            Redirect::Rejected | Redirect::Ignored => {
                Err(AuthError::Redirect { issuer: self.expected.issuer })
            }
        }
    }

    fn redeem(self, code: &Secret, context: &mut StepContext<'_>) -> SignInStep {
        let redirect_uri = &self.expected.redirect_uri;
        let grant = Grant::Code { code, redirect_uri, verifier: &self.verifier };
        let server = &self.goal.server;
        let target = (&server.issuer.token_endpoint, server.issuer.issuer.as_str());
        let client = Some(self.client.clone());
        let draft = TokenDraft::new(&grant, self.resource(context), client, target, server.binds);
        let call = TokenCall::start(draft, context)?;
        Ok(StepProgress::Pending(SignIn::Redeeming { call, consented: self }))
    }

    /// Handles the answer of the token endpoint, or an error in the redirect.
    fn handle_answer(self, answer: TokenAnswer, context: &mut StepContext<'_>) -> SignInStep {
        let case = (
            GrantRequest::Redeem,
            answer.kind(),
            self.origin,
            StoredTokens::Same,
            AccessTokenState::Over,
        );
        let row = granted::TABLE.find(case);
        context.outbox.decisions.record("granted", row.map_or("gap", |row| row.name));
        match (row.map(|row| row.then), answer) {
            (Some(GrantStep::Ready), TokenAnswer::Token(token)) => {
                let Self {
                    goal: TokenGoal { server, .. },
                    client,
                    origin,
                    scopes: requested_scopes,
                    ..
                } = self;
                Ok(StepProgress::Done(SignedIn { server, client, origin, requested_scopes, token }))
            }
            (Some(GrantStep::Reregister), _) if !self.goal.has_registered => {
                self.register_again(context)
            }
            (Some(GrantStep::FailUnavailable), _) => {
                let url = shown(self.goal.server.issuer.token_endpoint.as_str());
                Err(AuthError::Unavailable { url })
            }
            (_, TokenAnswer::Error(error, description)) => {
                self.refused(error, description, context)
            }
            (_, answer) => Err(answer.into_error()),
        }
    }

    /// Starts again with another client. The stored registration is kept until it is replaced.
    fn register_again(self, context: &mut StepContext<'_>) -> SignInStep {
        let goal = TokenGoal { refused_client: Some(self.client.id), ..self.goal };
        SignIn::start(goal, context).map(StepProgress::Pending)
    }

    /// Handles an error of the authorization server. After `invalid_scope` registers a client for
    /// the scopes, if the client was registered earlier, maybe for fewer. If this client has added
    /// `offline_access`, requests the other scopes once more.
    fn refused(
        self,
        error: String,
        description: Option<String>,
        context: &mut StepContext<'_>,
    ) -> SignInStep {
        let is_scope = error == "invalid_scope";
        if is_scope && self.origin == ClientOrigin::Dynamic && !self.goal.has_registered {
            return self.register_again(context);
        }
        if is_scope && self.adds_offline {
            let goal = TokenGoal { omits_offline: true, ..self.goal };
            return SignIn::start(goal, context).map(StepProgress::Pending);
        }
        Err(AuthError::Refused { error, description })
    }
}
