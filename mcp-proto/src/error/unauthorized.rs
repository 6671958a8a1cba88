//! stand-in until the parser is there
use alloc::vec::Vec;
/// x
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unauthorized { /// x
 pub status: u16, /// x
 pub challenges: Vec<()> }
impl core::fmt::Display for Unauthorized { fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result { write!(f, "{}", self.status) } }
impl core::error::Error for Unauthorized {}
