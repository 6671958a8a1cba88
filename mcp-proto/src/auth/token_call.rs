//! A call of a token endpoint, with the signatures that it needs.
//!
//! In: a [`TokenDraft`], and events of the driver. Out: actions, and at the end the answer.
//!
//! | state | waits for | at most |
//! |---|---|---|
//! | `Asserting` | the signature of the client's assertion | 30 s |
//! | `Proving` | the signature of the proof, if the token is to be bound to a key | 30 s |
//! | `Sent` | the answer | 30 s |
//!
//! An endpoint that requires a nonce is called once more, with new signatures.

use alloc::boxed::Box;
use alloc::string::String;

use super::action::{FetchAnswer, FetchId, KeyRole, SignId};
use super::error::AuthError;
use super::event::{AuthEvent, StepContext, StepProgress};
use super::granted::{
    self, AccessTokenState, ClientOrigin, GrantAnswer, GrantStep, StoredTokens, TokenAnswer,
};
use super::jwt::{self, ProofTarget};
use super::secret::Secret;
use super::token_request::TokenDraft;

/// A call in progress.
#[derive(Debug)]
pub(super) struct TokenCall {
    draft: Box<TokenDraft>,
    state: CallState,
}

#[derive(Debug)]
enum CallState {
    Asserting { sign: SignId, input: Secret },
    Proving { sign: SignId, input: Secret, assertion: Option<Secret> },
    Sent { fetch: FetchId },
}

type CallStep = Result<StepProgress<TokenCall, TokenAnswer>, AuthError>;

impl TokenCall {
    /// Starts with the signatures, or sends the request if it needs none.
    pub(super) fn start(
        draft: TokenDraft,
        context: &mut StepContext<'_>,
    ) -> Result<Self, AuthError> {
        Self::sign(Box::new(draft), context)
    }

    /// Continues with an event; an event of another step changes nothing.
    pub(super) fn handle(self, event: AuthEvent<'_>, context: &mut StepContext<'_>) -> CallStep {
        let Self { draft, state } = self;
        match (state, event) {
            (CallState::Asserting { sign, input }, AuthEvent::Signed(id, signature))
                if id == sign =>
            {
                let assertion = signed(&input, signature)?;
                Self::prove(draft, Some(assertion), context).map(StepProgress::Pending)
            }
            (CallState::Proving { sign, input, assertion }, AuthEvent::Signed(id, signature))
                if id == sign =>
            {
                let proof = signed(&input, signature)?;
                Self::send(draft, assertion.as_ref(), Some(proof), context)
                    .map(StepProgress::Pending)
            }
            (CallState::Asserting { .. } | CallState::Proving { .. }, AuthEvent::TimedOut) => {
                Err(unsigned())
            }
            (CallState::Sent { fetch }, AuthEvent::Fetched(id, answer)) if id == fetch => {
                Self::read(draft, answer.as_ref(), context)
            }
            (CallState::Sent { .. }, AuthEvent::TimedOut) => {
                Ok(StepProgress::Done(TokenAnswer::Unavailable))
            }
            (state, _) => Ok(StepProgress::Pending(Self { draft, state })),
        }
    }

    fn sign(draft: Box<TokenDraft>, context: &mut StepContext<'_>) -> Result<Self, AuthError> {
        let Some(client) = draft.signing_client() else {
            return Self::prove(draft, None, context);
        };
        let Some(key) = &context.config.client_key else {
            let reason = "private_key_jwt needs a key, and none is configured".into();
            return Err(AuthError::Signature { reason });
        };
        let random = context.outbox.random();
        let key_id = key.id.as_deref();
        let input = jwt::assertion(&client.id, &draft.audience, key_id, context.unix, random);
        let sign = context.outbox.sign(context.now, KeyRole::Client, input.clone());
        Ok(Self { draft, state: CallState::Asserting { sign, input } })
    }

    fn prove(
        draft: Box<TokenDraft>,
        assertion: Option<Secret>,
        context: &mut StepContext<'_>,
    ) -> Result<Self, AuthError> {
        let Some(key) = context.config.proof_key.as_ref().filter(|_| draft.binds) else {
            return Self::send(draft, assertion.as_ref(), None, context);
        };
        let nonce = context.nonces.of(&draft.endpoint);
        let target = ProofTarget { method: "POST", url: &draft.endpoint, token: None, nonce };
        let input = key.proof(&target, context.unix, context.outbox.random());
        let sign = context.outbox.sign(context.now, KeyRole::Proof, input.clone());
        Ok(Self { draft, state: CallState::Proving { sign, input, assertion } })
    }

    fn send(
        draft: Box<TokenDraft>,
        assertion: Option<&Secret>,
        proof: Option<Secret>,
        context: &mut StepContext<'_>,
    ) -> Result<Self, AuthError> {
        let request = draft.request(assertion, proof);
        let policy = &context.config.policy;
        let fetch = context.outbox.post(context.now, &draft.endpoint, request, policy)?;
        Ok(Self { draft, state: CallState::Sent { fetch } })
    }

    fn read(
        mut draft: Box<TokenDraft>,
        answer: Option<&FetchAnswer<'_>>,
        context: &mut StepContext<'_>,
    ) -> CallStep {
        let nonce = answer.and_then(|answer| answer.nonce);
        if let Some(nonce) = nonce {
            context.nonces.set(&draft.endpoint, nonce);
        }
        let answer = answer.map(|answer| (answer.status, answer.body));
        let answer = TokenAnswer::read(answer, draft.expected());
        let may_repeat = draft.may_repeat && nonce.is_some();
        if may_repeat && answer.wants_nonce() {
            let (client, store) = (ClientOrigin::Given, StoredTokens::Same);
            let case = (draft.kind, GrantAnswer::Nonce, client, store, AccessTokenState::Over);
            if let Some(row) = granted::TABLE.find(case).filter(|it| it.then == GrantStep::Repeat) {
                context.outbox.decisions.record("granted", row.name);
                draft.may_repeat = false;
                return Self::sign(draft, context).map(StepProgress::Pending);
            }
        }
        Ok(StepProgress::Done(answer))
    }
}

/// The error if a signature does not come in time.
pub(super) fn unsigned() -> AuthError {
    AuthError::Signature { reason: "there was no signature within 30 seconds".into() }
}

/// The token of an input and its signature.
pub(super) fn signed(
    input: &Secret,
    signature: Result<&[u8], String>,
) -> Result<Secret, AuthError> {
    let signature = signature.map_err(|reason| AuthError::Signature { reason })?;
    let reason = || "a signature by ES256 has 64 bytes".into();
    jwt::signed(input, signature).ok_or_else(|| AuthError::Signature { reason: reason() })
}
