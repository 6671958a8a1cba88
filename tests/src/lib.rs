//! What the tests of the whole share.

pub mod fuzz;
pub mod transcript;
