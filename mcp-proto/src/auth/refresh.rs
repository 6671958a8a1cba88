//! Refresh of tokens.
//!
//! In: events of the driver. Out: actions, and at the end a [`RefreshOutcome`]. Several programs
//! may share one store. So the key is locked, the record is read again, and a newer record is used
//! in place of a refresh. If the store cannot lock, the record is read once more after a refused
//! refresh. A record that was removed belongs to a user who has signed out: its tokens are dropped.
//!
//! Another program may hold the lock for longer than 10 s, while it refreshes the same tokens. Some
//! servers revoke all tokens if both use one refresh token. So without the lock a refresh only
//! begins after the access token has expired or was refused, or if the store cannot lock or does
//! not answer at all.
//!
//! | state | waits for | at most |
//! |---|---|---|
//! | `Loading` | the record, whose key is locked | 10 s |
//! | `LoadingUnlocked` | the record, whose key another program has locked | 10 s, as if it were unchanged |
//! | `Sent` | the answer of the token endpoint | 30 s, and 30 s for each signature |
//! | `Rereading` | the record, after a refusal | 10 s, as if there were none |
//!
//! [Specification: Refresh Tokens](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization),
//! [RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)

use alloc::boxed::Box;
use alloc::string::String;

use super::action::RecordId;
use super::current_tokens::CurrentTokens;
use super::error::AuthError;
use super::event::{AuthEvent, StepContext, StepProgress};
use super::granted::{
    self, AccessTokenState, ClientOrigin, GrantAnswer, GrantRequest, GrantStep, GrantedToken,
    StoredTokens, TokenAnswer,
};
use super::record::ServerRecord;
use super::registration::RegisteredClient;
use super::token_call::TokenCall;
use super::token_request::{Grant, TokenDraft};

/// A refresh in progress.
#[derive(Debug)]
pub(super) enum TokenRefresh {
    Loading { reading: RecordId },
    LoadingUnlocked { reading: RecordId },
    Sent { call: TokenCall },
    Rereading { reading: RecordId, refusal: RefusedRefresh },
}

/// A refusal of the token endpoint.
#[derive(Debug)]
pub(super) struct RefusedRefresh {
    kind: GrantAnswer,
    error: String,
    description: Option<String>,
}

/// Result of a refresh.
#[derive(Debug)]
pub(super) enum RefreshOutcome {
    /// New tokens, which must be stored.
    Token(GrantedToken),
    /// Tokens that another program has stored.
    Adopt(Box<ServerRecord>),
    /// The record of the tokens was removed.
    Removed,
    /// Do not refresh before the access token has expired.
    Keep,
    /// The refresh token was refused. `may_retry` is true if the refusal does not call it invalid:
    /// it may come from an intermediary.
    Reauthorize { may_retry: bool },
    /// The refresh token and the client are no longer valid.
    Reregister,
    /// There was no answer, or one that says that the server is unavailable; or another program has
    /// the lock, and the access token is still valid.
    Later,
}

type RefreshStep = Result<StepProgress<TokenRefresh, RefreshOutcome>, AuthError>;

impl TokenRefresh {
    /// Starts by locking the record.
    pub(super) fn start(context: &mut StepContext<'_>) -> Self {
        let key = context.config.server_key();
        Self::Loading { reading: context.outbox.load(context.now, key, true) }
    }

    /// Continues with an event; an event of another step changes nothing. `issuer` is the issuer
    /// that a discovery has found: tokens of other issuers are not used then.
    pub(super) fn handle(
        self,
        event: AuthEvent<'_>,
        tokens: &CurrentTokens,
        issuer: Option<&str>,
        context: &mut StepContext<'_>,
    ) -> RefreshStep {
        match (self, event) {
            (Self::Loading { reading }, AuthEvent::Loaded(id, record)) if id == reading => {
                match stored(record, tokens, issuer, context) {
                    Some(outcome) => Ok(StepProgress::Done(outcome)),
                    None => send(tokens, context),
                }
            }
            (Self::Loading { .. }, AuthEvent::TimedOut) => {
                context.outbox.unlock();
                let key = context.config.server_key();
                let reading = context.outbox.load(context.now, key, false);
                Ok(StepProgress::Pending(Self::LoadingUnlocked { reading }))
            }
            (Self::LoadingUnlocked { reading }, AuthEvent::Loaded(id, record)) if id == reading => {
                match stored(record, tokens, issuer, context) {
                    Some(outcome) => Ok(StepProgress::Done(outcome)),
                    None if tokens.is_valid(context.now) => {
                        Ok(StepProgress::Done(RefreshOutcome::Later))
                    }
                    None => send(tokens, context),
                }
            }
            (Self::LoadingUnlocked { .. }, AuthEvent::TimedOut) => send(tokens, context),
            (Self::Sent { call }, event) => match call.handle(event, context)? {
                StepProgress::Pending(call) => Ok(StepProgress::Pending(Self::Sent { call })),
                StepProgress::Done(answer) => Ok(handle_answer(answer, context)),
            },
            (Self::Rereading { reading, refusal }, AuthEvent::Loaded(id, record))
                if id == reading =>
            {
                refusal.decide(newer(record, tokens, issuer, context), tokens, context)
            }
            (Self::Rereading { refusal, .. }, AuthEvent::TimedOut) => {
                refusal.decide(None, tokens, context)
            }
            (step, _) => Ok(StepProgress::Pending(step)),
        }
    }
}

/// The end of a refresh that needs no request: the record has other tokens, or was removed.
fn stored(
    text: Option<&str>,
    tokens: &CurrentTokens,
    issuer: Option<&str>,
    context: &mut StepContext<'_>,
) -> Option<RefreshOutcome> {
    if context.is_removed(text) {
        context.adopt(text);
        // A sign-in that follows locks a key of its own.
        context.outbox.unlock();
        return Some(RefreshOutcome::Removed);
    }
    let record = newer(text, tokens, issuer, context)?;
    Some(RefreshOutcome::Adopt(Box::new(record)))
}

/// A record with other tokens than the current tokens; they are used from now on.
fn newer(
    text: Option<&str>,
    tokens: &CurrentTokens,
    issuer: Option<&str>,
    context: &mut StepContext<'_>,
) -> Option<ServerRecord> {
    let record = context.read_newer(text)?;
    let is_of_server = issuer.is_none_or(|issuer| record.issuer == issuer);
    let is_other = !tokens.are_those_of(&record) && is_of_server;
    is_other.then(|| context.adopt(text))?;
    Some(record)
}

/// Sends the refresh token, if its endpoint may be used.
fn send(tokens: &CurrentTokens, context: &mut StepContext<'_>) -> RefreshStep {
    let (record, config) = (&tokens.record, &*context.config);
    let endpoint = config.policy.check(&record.token_endpoint);
    let (Ok(endpoint), Some(token)) = (endpoint, &record.refresh_token) else {
        context.outbox.unlock();
        return Ok(StepProgress::Done(RefreshOutcome::Reauthorize { may_retry: false }));
    };
    let resource = (!config.omits_resource).then_some(record.resource.as_str());
    let stored_secret = || record.client.secret.clone().filter(|_| record.is_dynamic);
    let client = RegisteredClient {
        secret: stored_secret().or_else(|| config.preset_secret(&record.issuer, &record.client.id)),
        ..record.client.clone()
    };
    let target = (&endpoint, record.issuer.as_str());
    let binds = record.proof_key.is_some();
    let client = Some(client).filter(|client| !client.is_of_workload());
    let scopes = config.repeats_scopes.then(|| record.scopes_to_repeat().to_param());
    let grant = Grant::Refresh { token, scope: scopes.as_deref().unwrap_or_default() };
    let draft = TokenDraft::new(&grant, resource, client, target, binds);
    Ok(StepProgress::Pending(TokenRefresh::Sent { call: TokenCall::start(draft, context)? }))
}

/// Handles the answer. A token ends the refresh, and the key stays locked until the token is
/// stored. A missing answer also ends the refresh. After a refusal the record is read once more.
fn handle_answer(
    answer: TokenAnswer,
    context: &mut StepContext<'_>,
) -> StepProgress<TokenRefresh, RefreshOutcome> {
    let kind = answer.kind();
    let is_temporary =
        |code: &str| matches!(code, "temporarily_unavailable" | "server_error" | "slow_down");
    let (error, description) = match answer {
        TokenAnswer::Token(token) => {
            context.outbox.decisions.record("granted", "token");
            return StepProgress::Done(RefreshOutcome::Token(token));
        }
        TokenAnswer::Unavailable => return later(context),
        TokenAnswer::Error(code, _) if is_temporary(&code) => return later(context),
        TokenAnswer::Error(error, description) => (error, description),
        TokenAnswer::Unusable => ("no token".into(), None),
    };
    context.outbox.unlock();
    let reading = context.outbox.load(context.now, context.config.server_key(), false);
    StepProgress::Pending(TokenRefresh::Rereading {
        reading,
        refusal: RefusedRefresh { kind, error, description },
    })
}

fn later(context: &mut StepContext<'_>) -> StepProgress<TokenRefresh, RefreshOutcome> {
    context.outbox.decisions.record("granted", "later");
    context.outbox.unlock();
    StepProgress::Done(RefreshOutcome::Later)
}

impl RefusedRefresh {
    fn decide(
        self,
        newer: Option<ServerRecord>,
        tokens: &CurrentTokens,
        context: &mut StepContext<'_>,
    ) -> RefreshStep {
        let is_given = !tokens.record.is_dynamic && context.config.has_client_of(&tokens.record);
        let origin = if is_given { ClientOrigin::Given } else { ClientOrigin::Dynamic };
        let store = if newer.is_some() { StoredTokens::Newer } else { StoredTokens::Same };
        let is_valid = tokens.is_valid(context.now);
        let access = if is_valid { AccessTokenState::Valid } else { AccessTokenState::Over };
        let row = granted::TABLE.find((GrantRequest::Refresh, self.kind, origin, store, access));
        context.outbox.decisions.record("granted", row.map_or("gap", |row| row.name));
        let done = match (row.map(|row| row.then), newer) {
            (Some(GrantStep::Adopt), Some(record)) => RefreshOutcome::Adopt(Box::new(record)),
            (Some(GrantStep::Keep), _) => RefreshOutcome::Keep,
            (Some(GrantStep::Reauthorize), _) => RefreshOutcome::Reauthorize { may_retry: false },
            (Some(GrantStep::ReauthorizeOrRetry), _) => {
                RefreshOutcome::Reauthorize { may_retry: true }
            }
            (Some(GrantStep::Reregister), _) => RefreshOutcome::Reregister,
            _ => {
                let Self { error, description, .. } = self;
                return Err(AuthError::Refused { error, description });
            }
        };
        Ok(StepProgress::Done(done))
    }
}
