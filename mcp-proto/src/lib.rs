//! The Model Context Protocol as a pure state machine: bytes in, actions out.

#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod deadlines;
mod error;
pub mod frame;
mod json;
mod limits;
mod machine;
pub mod message;
mod meta;
pub mod negotiate;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "server")]
pub mod stdio;
mod time;
pub mod types;
mod version;

pub use bytes::Bytes;
pub use error::{ErrorCode, ProtocolError, Rung, UsageError};
pub use json::{InvalidJson, Json};
pub use limits::Limits;
pub use machine::{Action, Machine};
pub use message::{ErrorData, ProgressToken, RequestId};
pub use time::{Duration, Instant};
pub use version::{Era, EraPolicy, ProtocolVersion};
