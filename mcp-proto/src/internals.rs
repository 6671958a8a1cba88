//! Parts for use by the crate `mcp-service` only.
//!
//! Handlers and clients as futures read and write JSON, keep timers and share limits like the
//! machines. These types are independent of the protocol, and are not an API. They are public
//! because crates cannot share code otherwise. They are hidden from the documentation, and may
//! change in any release.
//!
//! | part | `mcp-service` |
//! |---|---|
//! | [`Raw`], [`mod@write`], [`raw`], [`trusted`] | reads results in place; writes params and results whose shape is fixed |
//! | [`explain`], [`DecodeError`] | says where arguments and results do not fit |
//! | [`Deadlines`] | the sleeps of handlers, the timeouts of exchanges |
//! | [`SeqMap`] | the calls that an application waits for |
//! | `Alarms`, `Holder`, `Shares` | the connections of a server, by address |

pub use crate::deadlines::Deadlines;
pub use crate::http::server::alarms::Alarms;
pub use crate::http::server::shares::{Holder, Shares};
use crate::json::Json;
pub use crate::json::{DecodeError, Misfit, MisfitReason, Raw, write};
pub use crate::seq_map::SeqMap;

/// A view of a value.
#[inline]
pub fn raw(json: &Json) -> Raw<'_> {
    json.raw()
}

/// Marks a text as one valid JSON value.
#[inline]
pub fn trusted(text: impl Into<bytes::Bytes>) -> Json {
    Json::trusted(text)
}

/// The places at which a value does not match `T`; `None` if they cannot be found.
#[cold]
pub fn explain<T: serde::de::DeserializeOwned>(json: &Json) -> Option<DecodeError> {
    crate::json::explain::<T>(json.as_str())
}
