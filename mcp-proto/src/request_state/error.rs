//! Reason why a state is refused.

use core::fmt;

use super::{CLOCK_SKEW, MAX_REQUEST_STATE_BYTES};
use crate::error::{ErrorCode, ValidationStep};
use crate::message::ErrorData;

const PAGE: &str = "2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow";

/// Error of a refused `requestState`: a fault of the peer or of the configuration.
///
/// The text of the error is for the operator of the server. The peer gets -32602 ([`ErrorData`] is
/// made from it) with one text for all variants, so that an attacker learns nothing from the
/// answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RequestStateError {
    /// The state is longer than [`MAX_REQUEST_STATE_BYTES`].
    TooLong,
    /// The state does not have the format that the codec mints.
    Malformed,
    /// The state names a key that the codec does not have.
    UnknownKey {
        /// The id of the key.
        id: u32,
    },
    /// The authentication code does not match the state and the binding. The state was changed, or
    /// belongs to another method, other parameters or another principal.
    Forged,
    /// The state has expired.
    Expired,
    /// The remaining lifetime of the state is longer than the codec allows, or the clocks of two
    /// servers differ by more than [`CLOCK_SKEW`].
    ExpiresTooLate,
    /// The state was used before.
    Replayed,
    /// There is no room to record another used state.
    Full {
        /// The maximum number of recorded states.
        capacity: usize,
    },
    /// The state is authentic, but its payload is not JSON of the expected type.
    Payload,
}

impl fmt::Display for RequestStateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `requestState` ", ValidationStep::Params)?;
        match self {
            Self::TooLong => {
                write!(f, "is longer than MAX_REQUEST_STATE_BYTES = {MAX_REQUEST_STATE_BYTES}")
            }
            Self::Malformed => f.write_str(
                "is not URL-safe Base64 without padding, or not of the format that this version \
                 of the codec mints",
            ),
            Self::UnknownKey { id } => write!(
                f,
                "names the key {id}, which this codec does not have; after a rotation, keep the \
                 earlier key with RequestStateCodec::accept for as long as the ttl"
            ),
            Self::Forged => f.write_str(
                "was changed, or minted for another method, other parameters or another \
                 principal, or under another key with the same id",
            ),
            Self::Expired => {
                f.write_str("has expired; RequestStateCodec::ttl says how long a state lives")
            }
            Self::ExpiresTooLate => write!(
                f,
                "expires later than RequestStateCodec::ttl allows; servers that share keys need \
                 the same ttl and clocks within {CLOCK_SKEW:?}"
            ),
            Self::Replayed => f.write_str("was used before"),
            Self::Full { capacity } => write!(
                f,
                "cannot be used: UsedNonces has room for {capacity} states, and none of those has \
                 expired"
            ),
            Self::Payload => f.write_str(
                "is genuine, but its payload is not of the wanted type; was it minted by another \
                 version of the handler?",
            ),
        }?;
        write!(f, "; see https://modelcontextprotocol.io/specification/{PAGE}")
    }
}

impl core::error::Error for RequestStateError {}

impl From<RequestStateError> for ErrorData {
    fn from(_: RequestStateError) -> Self {
        Self::new(
            ErrorCode::INVALID_PARAMS,
            "params: `requestState` is not valid for this request; send the request again without \
             it; see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr",
        )
    }
}
