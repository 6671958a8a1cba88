//! Code that the programs of this crate share.

#[cfg(feature = "compare")]
pub mod envelope;
#[cfg(feature = "compare")]
pub mod listening;
pub mod server;
#[cfg(feature = "compare")]
pub mod tools;
pub mod usage;
