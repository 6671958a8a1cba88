//! Actions of an authorizer, and its answers to callers.
//!
//! The `Debug` of these types shows no secrets, bodies, or queries of URLs.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::error::{AuthError, shown};
use super::policy::FetchReach;
use super::secret::Secret;
use crate::url::Url;

/// An action for the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthAction {
    /// Send a request. Answer with [`handle_fetched`](super::Authorizer::handle_fetched) or
    /// [`handle_unfetched`](super::Authorizer::handle_unfetched).
    Fetch(Fetch),
    /// Read the stored record of a key. Answer with
    /// [`handle_loaded`](super::Authorizer::handle_loaded) or
    /// [`handle_unloaded`](super::Authorizer::handle_unloaded).
    Load {
        /// The number of the request.
        id: RecordId,
        /// The key.
        key: String,
        /// True to lock the key until [`AuthAction::Release`], also against other processes.
        locks: bool,
    },
    /// Store a record, and unlock its key if it is locked. Answer with
    /// [`handle_released`](super::Authorizer::handle_released) if there is a record. If the load
    /// request still waits for the lock, stop waiting, or unlock the key as soon as it is locked.
    Release {
        /// The number of the load request that has locked the key; a new number if the key is not
        /// locked.
        id: RecordId,
        /// The key.
        key: String,
        /// The record; `None` keeps the stored record.
        record: Option<Secret>,
    },
    /// Remove a record. There is no answer.
    Remove {
        /// The key.
        key: String,
    },
    /// Listen for a redirect. Answer with
    /// [`handle_listening`](super::Authorizer::handle_listening).
    Listen {
        /// The configured redirect URI.
        redirect_uri: String,
        /// The port of the stored registration, to be used again if the port is free.
        port: Option<u16>,
    },
    /// Stop listening for redirects. Pending answers to [`AuthAction::Listen`] and
    /// [`AuthAction::Consent`] must not follow.
    StopListening,
    /// Show a page to a person. Answer with [`handle_redirect`](super::Authorizer::handle_redirect)
    /// or [`handle_refused_consent`](super::Authorizer::handle_refused_consent).
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
    /// Return the token of a workload, or of the person who has signed in at the identity provider.
    /// Answer with [`handle_subject`](super::Authorizer::handle_subject).
    Subject {
        /// The number of the request.
        id: SubjectId,
        /// The issuer to which the token is sent: the authorization server for the token of a
        /// workload, the identity provider for the token of a person. Return no token that is meant
        /// for another issuer.
        issuer: String,
    },
    /// Waiting requests must ask for [`access`](super::Authorizer::access) again. The state is
    /// unchanged.
    Resume,
    /// The state has changed. Waiting requests must ask for [`access`](super::Authorizer::access)
    /// again, or fail.
    Changed(AuthState),
    /// A sign-in that [`authorize`](super::Authorizer::authorize) has requested has ended. This
    /// follows the [`AuthAction::Changed`] of the sign-in.
    Authorized {
        /// The number that `authorize` has returned.
        id: SignInId,
        /// `Ok` if there are tokens; otherwise the reason why there are none.
        result: Result<(), AuthError>,
    },
}

/// An HTTP request. The driver must not follow redirects.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetch {
    /// The number of the request.
    pub id: FetchId,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The URL.
    pub url: Url,
    /// Header fields.
    pub fields: Vec<(&'static str, Secret)>,
    /// The body; empty for a GET.
    pub body: Secret,
    /// The addresses to which the request may connect.
    pub reach: FetchReach,
}

/// A page for a person.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsentPage {
    /// The URL. Pass the URL to a browser as one argument, never to a shell.
    pub url: Url,
    /// The redirect URI at which the redirect arrives.
    pub redirect_uri: String,
    /// The `state` of the redirect. A listener ignores redirects with another `state`.
    pub state: Secret,
}

/// The state of an authorizer, for waiting requests.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AuthState {
    /// The flow has ended: there are tokens, or the store has no tokens.
    Ready {
        /// The reason why the tokens could not be stored, if storing failed.
        unsaved: Option<String>,
    },
    /// A person is being asked for consent.
    Asking,
    /// There are no tokens.
    Failed(AuthError),
}

/// The credentials of the next request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Send the request with these credentials.
    Ready(Credentials),
    /// Wait for [`AuthAction::Changed`] or [`AuthAction::Resume`].
    Wait,
    /// Send the request without credentials.
    None,
}

/// A token in the form in which it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Credentials {
    /// The number of the token, for [`SentRequest`].
    pub token: TokenId,
    /// The value of the field `Authorization`. Send the value to the origin of the server only.
    pub authorization: Secret,
    /// The value of the field `DPoP`, for a token that is bound to a key. A proof is valid for one
    /// request.
    pub proof: Option<Secret>,
}

/// The role of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyRole {
    /// Authentication of the client at the token endpoint: `private_key_jwt`.
    Client,
    /// Proof of possession for tokens that are bound to the key: `DPoP`.
    Proof,
}

/// A request that a server refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SentRequest<'a> {
    /// The token that the request was sent with.
    pub token: Option<TokenId>,
    /// The operation, such as a method and a name; step-ups are counted per operation.
    pub operation: &'a str,
    /// The number of earlier attempts, each of them refused.
    pub tries: u8,
    /// The number of attempts that were refused for lack of a nonce.
    pub nonces: u8,
}

impl<'a> SentRequest<'a> {
    /// The first attempt at an operation, sent without a token.
    pub fn new(operation: &'a str) -> Self {
        Self { token: None, operation, tries: 0, nonces: 0 }
    }
}

/// The advice for a request that a server refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusalAdvice {
    /// Send the request again at once.
    Repeat,
    /// Wait for [`AuthAction::Changed`], then send the request again.
    Wait,
    /// Fail the request.
    Fail(AuthError),
}

/// An answer to a [`Fetch`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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

impl<'a> FetchAnswer<'a> {
    /// An answer without `Location` and `DPoP-Nonce`.
    pub fn new(status: u16, body: &'a [u8]) -> Self {
        Self { status, location: None, nonce: None, body }
    }
}

/// The number of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FetchId(pub(super) u64);

/// The number of a request to the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordId(pub(super) u64);

/// The number of a signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SignId(pub(super) u64);

/// The number of a request for a subject's token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubjectId(pub(super) u64);

/// The number of a requested sign-in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SignInId(pub(super) u64);

/// The number of a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
