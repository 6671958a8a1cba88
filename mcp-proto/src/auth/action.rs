//! Actions of an authorizer, and the answers to questions about it.
//!
//! In: nothing. Out: what a driver is to do. No `Debug` of these types shows a secret, a body, or the
//! query of a URL.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::error::{AuthError, shown};
use super::policy::FetchReach;
use super::secret::Secret;
use crate::url::Url;

/// Something that a driver is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthAction {
    /// Send a request. Answer with [`handle_fetched`](super::Authorizer::handle_fetched) or
    /// [`handle_unfetched`](super::Authorizer::handle_unfetched).
    Fetch(Fetch),
    /// Read what is stored under a key. Answer with
    /// [`handle_held`](super::Authorizer::handle_held).
    Hold {
        /// The number of the question.
        id: HoldId,
        /// The key.
        key: String,
        /// True to lock the key until [`AuthAction::Release`], against other processes too.
        locks: bool,
    },
    /// Store a record, and unlock its key if it is locked. Answer with
    /// [`handle_kept`](super::Authorizer::handle_kept).
    Release {
        /// The number of the question, or a new one if there was none.
        id: HoldId,
        /// The key.
        key: String,
        /// The record; `None` leaves what is stored.
        record: Option<Secret>,
    },
    /// Remove a record. There is no answer.
    Remove {
        /// The key.
        key: String,
    },
    /// Be ready for a redirect. Answer with
    /// [`handle_listening`](super::Authorizer::handle_listening).
    Listen {
        /// The configured redirect URI.
        redirect_uri: String,
        /// The port of the last time, to be used if it is free.
        port: Option<u16>,
    },
    /// No redirect is expected any more.
    StopListening,
    /// Show a page to a person. Answer with
    /// [`handle_redirect`](super::Authorizer::handle_redirect) or
    /// [`handle_refused_consent`](super::Authorizer::handle_refused_consent).
    Consent(ConsentPage),
    /// Sign bytes with ES256: ECDSA with P-256 and SHA-256. Answer with
    /// [`handle_signed`](super::Authorizer::handle_signed).
    Sign {
        /// The number of the signature.
        id: SignId,
        /// The key.
        key: KeyRole,
        /// The bytes to sign, which are ASCII.
        input: Secret,
    },
    /// Give the token of a workload, or of the person who has signed in at the identity provider.
    /// Answer with [`handle_subject`](super::Authorizer::handle_subject).
    Subject {
        /// The number of the question.
        id: SubjectId,
    },
    /// Requests that wait ask for [`access`](super::Authorizer::access) again. Nothing else has changed.
    Resume,
    /// The state has changed. Requests that wait ask for
    /// [`access`](super::Authorizer::access) again, or fail.
    Changed(AuthState),
}

/// A request of HTTP. The driver follows no redirects.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetch {
    /// The number of the request.
    pub id: FetchId,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The URL.
    pub url: Url,
    /// Fields of the head.
    pub fields: Vec<(&'static str, Secret)>,
    /// The body; empty for a GET.
    pub body: Secret,
    /// The addresses that the request may go to.
    pub reach: FetchReach,
}

/// A page for a person.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsentPage {
    /// The URL. Hand it to a browser as one argument, never to a shell.
    pub url: Url,
    /// The redirect URI at which the redirect arrives.
    pub redirect_uri: String,
    /// The `state` of the redirect. A listener ignores redirects with another one.
    pub state: Secret,
}

/// The state of an authorizer, for those who wait.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthState {
    /// There are tokens, or it is known that there are none.
    Ready {
        /// The reason why the tokens could not be stored, if they could not.
        unsaved: Option<String>,
    },
    /// A person is asked.
    Asking,
    /// There are no tokens.
    Failed(AuthError),
}

/// The credentials of the next request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Send the request with these.
    Ready(Credentials),
    /// Wait for [`AuthAction::Changed`].
    Wait,
    /// Send the request without credentials.
    None,
}

/// A token, as it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Credentials {
    /// The number of the token, for [`SentRequest`].
    pub token: TokenId,
    /// The value of the field `Authorization`. It is for the origin of the server only.
    pub authorization: Secret,
    /// The value of the field `DPoP`, for a token that is bound to a key. It is good for one request.
    pub proof: Option<Secret>,
}

/// The role of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyRole {
    /// It authenticates the client at the token endpoint: `private_key_jwt`.
    Client,
    /// It proves the possession of tokens that are bound to it: `DPoP`.
    Proof,
}

/// A request that a server refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentRequest<'a> {
    /// The token that it had.
    pub token: Option<TokenId>,
    /// Its operation, such as a method and a name: step-ups are counted for each.
    pub operation: &'a str,
    /// The number of earlier attempts, each of them refused.
    pub tries: u8,
    /// The number of those that were refused for want of a nonce.
    pub nonces: u8,
}

/// The advice for a request that a server refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusalAdvice {
    /// Send it again at once.
    Repeat,
    /// Wait for [`AuthAction::Changed`], then send it again.
    Wait,
    /// Fail it.
    Fail(AuthError),
}

/// An answer to a [`Fetch`].
#[derive(Clone, Copy, Debug)]
pub struct FetchAnswer<'a> {
    /// The status.
    pub status: u16,
    /// The value of `Location`, if there is one.
    pub location: Option<&'a str>,
    /// The value of `DPoP-Nonce`, if there is one.
    pub nonce: Option<&'a str>,
    /// The body, at most [`MAX_BODY_BYTES`](super::MAX_BODY_BYTES).
    pub body: &'a [u8],
}

/// The number of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FetchId(pub(super) u64);

/// The number of a question to the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HoldId(pub(super) u64);

/// The number of a signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SignId(pub(super) u64);

/// The number of a question for a subject.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SubjectId(pub(super) u64);

/// The number of a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TokenId(pub(super) u64);

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetch({} {} {})", self.id.0, self.method, shown(self.url.as_str()))
    }
}

impl fmt::Debug for ConsentPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Page({})", shown(self.url.as_str()))
    }
}
