//! Proofs for requests to the server: each request with a bound token has its own proof.
//!
//! In: requests to send, and signatures. Out: proofs, each for one request.
//!
//! | state of a proof | ends with |
//! |---|---|
//! | pending | its signature, within 30 s |
//! | ready | a request of its method to its URL, within 5 s; another token or nonce |
//!
//! A request takes its proof when it tries again. A proof remains if its request was cancelled, or
//! waits for a connection. Some servers only accept a proof for 25 s.
//!
//! While any proof is pending, requests wait. Afterwards all waiting requests try again. At most 64
//! proofs are pending.
//!
//! [RFC 9449, section 7](https://www.rfc-editor.org/rfc/rfc9449#section-7)

use alloc::string::String;
use alloc::vec::Vec;

use super::action::{KeyRole, SignId, TokenId};
use super::error::AuthError;
use super::event::StepContext;
use super::jwt::ProofTarget;
use super::outbox::SIGN_TIME;
use super::secret::Secret;
use super::token_call::{signed, unsigned};
use crate::time::{Duration, Instant};
use crate::url::Url;

const MAX_PENDING: usize = 64;

const MAX_AGE: Duration = Duration::from_secs(60);

/// The time for which a proof can be used once no signature is pending: then its request takes it.
const MAX_REST: Duration = Duration::from_secs(5);

/// Pending proofs and signed proofs.
#[derive(Debug, Default)]
pub(super) struct Proofs {
    pending: Vec<PendingProof>,
    ready: Vec<ReadyProof>,
}

/// A proof for a method, a URL, a token and a nonce.
#[derive(Debug)]
struct ProofDraft {
    method: String,
    url: String,
    token: TokenId,
    nonce: Option<Secret>,
    made_at: Instant,
}

#[derive(Debug)]
struct PendingProof {
    sign: SignId,
    input: Secret,
    draft: ProofDraft,
}

#[derive(Debug)]
struct ReadyProof {
    text: Secret,
    /// The time at which the waiting requests tried again, if they have.
    rests_since: Option<Instant>,
    draft: ProofDraft,
}

/// Effect of a signature.
pub(super) enum ProofProgress {
    /// The signature belongs to something else.
    Other,
    /// Other signatures are pending.
    Wait,
    /// No signature is pending.
    Resume,
}

impl Proofs {
    /// The deadline of the pending signatures.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pending.iter().map(|proof| proof.draft.made_at + SIGN_TIME).min()
    }

    /// Removes and returns the ready proof for a request. Without a ready proof, requests a
    /// signature for a new proof and returns `None`.
    pub(super) fn take(
        &mut self,
        method: &str,
        url: &Url,
        token: (TokenId, &Secret),
        context: &mut StepContext<'_>,
    ) -> Option<Secret> {
        let nonce = context.nonces.of(url);
        let now = context.now;
        let is_good = |ReadyProof { draft, rests_since, .. }: &ReadyProof| {
            draft.token == token.0
                && draft.nonce.as_ref() == nonce
                && now.duration_since(draft.made_at) < MAX_AGE
                && rests_since.is_none_or(|since| now.duration_since(since) < MAX_REST)
        };
        self.ready.retain(is_good);
        let is_for = |draft: &ProofDraft| draft.method == method && draft.url == url.as_str();
        let place = self.ready.iter().position(|proof| is_for(&proof.draft));
        if let Some(place) = place {
            return Some(self.ready.remove(place).text);
        }
        if self.pending.len() < MAX_PENDING
            && let Some(key) = &context.config.proof_key
        {
            let target = ProofTarget { method, url, token: Some(token.1), nonce };
            let input = key.proof(&target, context.unix, context.outbox.random());
            let sign = context.outbox.sign_aside(KeyRole::Proof, input.clone());
            let (method, url, nonce) = (method.into(), url.as_str().into(), nonce.cloned());
            let draft = ProofDraft { method, url, token: token.0, nonce, made_at: now };
            self.pending.push(PendingProof { sign, input, draft });
        }
        None
    }

    /// Handles a signature.
    pub(super) fn handle_signed(
        &mut self,
        now: Instant,
        id: SignId,
        signature: Result<&[u8], String>,
    ) -> Result<ProofProgress, AuthError> {
        let Some(place) = self.pending.iter().position(|proof| proof.sign == id) else {
            return Ok(ProofProgress::Other);
        };
        let PendingProof { input, draft, .. } = self.pending.remove(place);
        match signed(&input, signature) {
            Ok(text) => self.ready.push(ReadyProof { text, rests_since: None, draft }),
            Err(error) => {
                *self = Self::default();
                return Err(error);
            }
        }
        if !self.pending.is_empty() {
            return Ok(ProofProgress::Wait);
        }
        for proof in &mut self.ready {
            proof.rests_since.get_or_insert(now);
        }
        Ok(ProofProgress::Resume)
    }

    /// Fails the pending signatures after their deadline. Signed proofs are as old, and dropped.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), AuthError> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        *self = Self::default();
        Err(unsigned())
    }
}
