//! stand-in until the parser is there
use alloc::vec::Vec;
/// x
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unauthorized {
    /// x
    pub status: u16,
    /// x
    pub challenges: Vec<()>,
    /// m
    pub message: Option<alloc::string::String>,
}
impl Unauthorized {
    pub(crate) fn new<'a>(status: u16, _v: impl Iterator<Item = &'a [u8]>) -> Self {
        Self { status, challenges: Vec::new(), message: None }
    }
}
impl core::fmt::Display for Unauthorized {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.status)
    }
}
impl core::error::Error for Unauthorized {}
