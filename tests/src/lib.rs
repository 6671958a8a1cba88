//! What the tests of the whole share.

pub mod everything;
pub mod fuzz;
#[cfg(unix)]
pub mod process;
pub mod transcript;
