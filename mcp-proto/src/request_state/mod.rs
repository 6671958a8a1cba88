//! Sealed, bound and short-lived `requestState` strings.
//!
//! A handler that needs input answers with an `InputRequiredResult` and drops the request. The
//! handler's data for the next round are sent to the client, which returns them as the string
//! `requestState`. A client may forge this string. In: the data to seal, and the request. Out: a
//! string for `InputRequiredResult::request_state`; in the other direction the data, or the reason
//! of a refusal ([`RequestStateError`]). Handlers call this module; the machines do not.
//!
//! - **Integrity, not secrecy.** A state is authenticated with HMAC-SHA-256. The client can read
//!   the payload. Data that the client must not know must be encrypted first, or stay on the
//!   server.
//! - **Bound** to method, salient parameters and principal ([`StateBinding`]).
//! - **Short-lived.** Time is an argument, as the time since the Unix epoch. A state outlives
//!   restarts, and may be returned to another process that has the key.
//! - **Not single-use** by itself: see [`UsedNonces`].
//!
//! # Two rounds
//!
//! ```
//! use mcp_proto::request_state::{StateBinding, RequestStateCodec, RequestStateKey};
//! use mcp_proto::{Duration, ErrorData, Json};
//! use serde::{Deserialize, Serialize};
//!
//! /// The data that the handler needs again.
//! #[derive(Serialize, Deserialize, Debug, PartialEq)]
//! struct Draft {
//!     price: u32,
//! }
//!
//! /// The parameters that are used in addition to the arguments.
//! #[derive(Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Params {
//!     request_state: Option<String>,
//! }
//!
//! enum Answer {
//!     /// Becomes an `InputRequiredResult` that asks the user to confirm.
//!     Ask { state: String },
//!     Bought(Draft),
//! }
//!
//! fn buy(
//!     codec: &RequestStateCodec,
//!     now: Duration,     // since the Unix epoch
//!     nonce: [u8; 16],   // random bytes
//!     user: &str,
//!     params: &Json,
//! ) -> Result<Answer, ErrorData> {
//!     let binding = StateBinding::new("tools/call", params).principal(user);
//!     let read: Params = params.decode().map_err(|e| ErrorData::internal(e.to_string()))?;
//!     let Some(state) = read.request_state else {
//!         let draft = Json::encode(&Draft { price: 12 }).expect("a draft is JSON");
//!         let state = codec
//!             .mint(now, nonce, &binding, draft.as_bytes())
//!             .map_err(|e| ErrorData::internal(e.to_string()))?;
//!         return Ok(Answer::Ask { state });
//!     };
//!     Ok(Answer::Bought(codec.verify(now, &binding, &state)?.decode()?))
//! }
//!
//! let codec = RequestStateCodec::new(RequestStateKey::new(1, &[7; 32])?);
//! let now = Duration::from_secs(1_785_196_800);
//!
//! let first = Json::parse(r#"{"name":"buy","arguments":{"what":"tea","cups":2}}"#)?;
//! let Answer::Ask { state } = buy(&codec, now, [1; 16], "alice", &first)? else { panic!() };
//!
//! // The client asks the user, and sends the request again, encoded differently.
//! let again = |what| Json::parse(format!(
//!     r#"{{"name":"buy","arguments":{{"cups":2, "what":"{what}"}},"requestState":"{state}"}}"#
//! ));
//! let later = now + Duration::from_secs(30);
//! let Answer::Bought(draft) = buy(&codec, later, [2; 16], "alice", &again("tea")?)? else {
//!     panic!()
//! };
//! assert_eq!(draft, Draft { price: 12 });
//!
//! // The state is not valid for another request, principal or time.
//! assert!(buy(&codec, later, [2; 16], "alice", &again("gold")?).is_err());
//! assert!(buy(&codec, later, [2; 16], "mallory", &again("tea")?).is_err());
//! assert!(buy(&codec, now + Duration::from_secs(600), [2; 16], "alice", &again("tea")?).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The string
//!
//! URL-safe Base64 without padding, of these bytes, numbers big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version of the format, 1 |
//! | 4 | id of the key |
//! | 16 | nonce |
//! | 8 | expiry, milliseconds since the Unix epoch |
//! | any | payload |
//! | 32 | HMAC-SHA-256 of a label, the [`StateBinding`] and all bytes before |
//!
//! [Specification: Multi Round-Trip Requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr)

mod binding;
mod error;
mod nonces;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::de::DeserializeOwned;
use sha2::Sha256;

use crate::error::UsageError;
use crate::time::Duration;

pub use binding::StateBinding;
pub use error::RequestStateError;
pub use nonces::UsedNonces;

/// The longest `requestState` that is accepted or minted, in bytes of its text: 64 KiB.
pub const MAX_REQUEST_STATE_BYTES: usize = 64 * 1024;

/// Default lifetime of a state, which [`RequestStateCodec::ttl`] changes: 10 minutes.
pub const DEFAULT_REQUEST_STATE_TTL: Duration = Duration::from_secs(10 * 60);

/// Tolerated difference between the clocks of servers that share keys: 1 minute.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

const VERSION: u8 = 1;

/// Domain separator: no other use of the same key may begin with these bytes.
const LABEL: &[u8] = b"mcp-proto requestState\0";

const NONCE: usize = 16;
const CODE: usize = 32;

/// Bytes that sealing adds to a payload.
const OVERHEAD: usize = 1 + 4 + NONCE + 8 + CODE;

/// The longest payload that fits, in bytes: just under 48 KiB.
const MAX_PAYLOAD: usize = MAX_REQUEST_STATE_BYTES / 4 * 3 - OVERHEAD;

/// A secret, and the number that identifies it in states.
#[derive(Clone)]
pub struct RequestStateKey {
    id: u32,
    mac: Hmac<Sha256>,
}

impl RequestStateKey {
    /// A key; `id` is not secret, and must never be reused for another key. The secret is at least
    /// 32 random bytes, the same for all processes to which a client may return a state. Another
    /// service with the same secret would accept the states of this service.
    ///
    /// # Errors
    ///
    /// [`UsageError::ShortKey`].
    pub fn new(id: u32, secret: &[u8]) -> Result<Self, UsageError> {
        let short = UsageError::ShortKey { bytes: secret.len() };
        if secret.len() < 32 {
            return Err(short);
        }
        Hmac::new_from_slice(secret).map(|mac| Self { id, mac }).map_err(|_| short)
    }
}

/// Shows only the id.
impl fmt::Debug for RequestStateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestStateKey({})", self.id)
    }
}

/// Mints and verifies sealed `requestState` strings.
///
/// To replace a key, first make all servers [`accept`](Self::accept) the new key. Then make the new
/// key the current key, and `accept` the old key. Drop the old key after the ttl has passed.
#[derive(Clone, Debug)]
pub struct RequestStateCodec {
    current: RequestStateKey,
    others: Vec<RequestStateKey>,
    ttl: Duration,
}

impl RequestStateCodec {
    /// A codec that mints and verifies with one key.
    pub const fn new(current: RequestStateKey) -> Self {
        Self { current, others: Vec::new(), ttl: DEFAULT_REQUEST_STATE_TTL }
    }

    /// Also accepts states that were minted with this key.
    ///
    /// # Errors
    ///
    /// [`UsageError::DuplicateKey`] if there is a key of the same id.
    pub fn accept(mut self, key: RequestStateKey) -> Result<Self, UsageError> {
        if self.key(key.id).is_some() {
            return Err(UsageError::DuplicateKey { id: key.id });
        }
        self.others.push(key);
        Ok(self)
    }

    /// Sets the lifetime of a state, rounded down to milliseconds; default
    /// [`DEFAULT_REQUEST_STATE_TTL`]. Users may take this long to answer.
    ///
    /// A state with a longer remaining life is refused, so that a shorter ttl takes effect at once,
    /// also for earlier states; [`CLOCK_SKEW`] is tolerated.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Seals a payload into a string.
    ///
    /// `now` is the time since the Unix epoch (`SystemTime::now().duration_since(UNIX_EPOCH)`), and
    /// `nonce` is 16 random bytes. The payload may be any bytes; for a typed value use
    /// `Json::encode(&value)?.as_bytes()`.
    ///
    /// # Errors
    ///
    /// [`UsageError::RequestStateTooLong`] if the payload is longer than the maximum, just under 48
    /// KiB.
    pub fn mint(
        &self,
        now: Duration,
        nonce: [u8; 16],
        binding: &StateBinding,
        payload: &[u8],
    ) -> Result<String, UsageError> {
        if payload.len() > MAX_PAYLOAD {
            let payload = payload.len();
            return Err(UsageError::RequestStateTooLong { payload, max: MAX_PAYLOAD });
        }
        let expires = millis(now).saturating_add(millis(self.ttl));
        let mut bytes = Vec::with_capacity(OVERHEAD + payload.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.current.id.to_be_bytes());
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&expires.to_be_bytes());
        bytes.extend_from_slice(payload);
        let code = authenticate(&self.current, binding, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&code);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Opens a string that a client sent.
    ///
    /// `now` is the time since the Unix epoch. The contents are only used after the authentication
    /// code was checked, in constant time.
    ///
    /// # Errors
    ///
    /// All of [`RequestStateError`] except `Replayed`, `Full` and `Payload`. In a handler that
    /// fails with [`ErrorData`](crate::ErrorData), `?` turns the error into the answer.
    pub fn verify(
        &self,
        now: Duration,
        binding: &StateBinding,
        state: &str,
    ) -> Result<Verified, RequestStateError> {
        if state.len() > MAX_REQUEST_STATE_BYTES {
            return Err(RequestStateError::TooLong);
        }
        // The decoder is strict: it accepts exactly one string for each sequence of bytes.
        let bytes = URL_SAFE_NO_PAD.decode(state).map_err(|_| RequestStateError::Malformed)?;
        let bytes = Bytes::from(bytes);
        let sealed = Sealed::read(&bytes).ok_or(RequestStateError::Malformed)?;
        let id = sealed.key;
        let key = self.key(id).ok_or(RequestStateError::UnknownKey { id })?;
        authenticate(key, binding, sealed.authenticated_bytes)
            .verify_slice(sealed.code)
            .map_err(|_| RequestStateError::Forged)?;
        let now = millis(now);
        if now >= sealed.expires {
            return Err(RequestStateError::Expired);
        }
        if sealed.expires - now > millis(self.ttl.saturating_add(CLOCK_SKEW)) {
            return Err(RequestStateError::ExpiresTooLate);
        }
        Ok(Verified {
            payload: bytes.slice_ref(sealed.payload),
            nonce: sealed.nonce,
            expires: Duration::from_millis(sealed.expires),
        })
    }

    fn key(&self, id: u32) -> Option<&RequestStateKey> {
        core::iter::once(&self.current).chain(&self.others).find(|key| key.id == id)
    }
}

/// Content of a state that is authentic and has not expired.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// The sealed payload.
    pub payload: Bytes,
    /// The nonce with which the state was minted.
    pub nonce: [u8; 16],
    /// Expiry as time since the Unix epoch. Verification fails from this time on.
    pub expires: Duration,
}

impl Verified {
    /// Reads a payload that is JSON.
    ///
    /// # Errors
    ///
    /// [`RequestStateError::Payload`] if the payload is not JSON, or not a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, RequestStateError> {
        serde_json::from_slice(&self.payload).map_err(|_| RequestStateError::Payload)
    }
}

/// The parts of a state.
struct Sealed<'a> {
    key: u32,
    nonce: [u8; NONCE],
    expires: u64,
    payload: &'a [u8],
    /// All parts above, as received.
    authenticated_bytes: &'a [u8],
    code: &'a [u8; CODE],
}

impl<'a> Sealed<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (authenticated_bytes, code) = bytes.split_last_chunk()?;
        let rest = authenticated_bytes.strip_prefix(&[VERSION])?;
        let (key, rest) = rest.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (expires, payload) = rest.split_first_chunk()?;
        Some(Self {
            key: u32::from_be_bytes(*key),
            nonce: *nonce,
            expires: u64::from_be_bytes(*expires),
            payload,
            authenticated_bytes,
            code,
        })
    }
}

/// The label and the binding are self-delimiting, so the following bytes cannot be confused with
/// them.
fn authenticate(
    key: &RequestStateKey,
    binding: &StateBinding,
    authenticated_bytes: &[u8],
) -> Hmac<Sha256> {
    let mut mac = key.mac.clone().chain_update(LABEL);
    for part in binding.parts() {
        mac.update(part);
    }
    mac.chain_update(authenticated_bytes)
}

/// Milliseconds of a time. An overflow becomes the end of time, when everything has expired.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
