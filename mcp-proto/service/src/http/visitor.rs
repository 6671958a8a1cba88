//! Address of a visitor of the endpoint.

use alloc::sync::Arc;

use super::super::port::Port;

/// Finds the visitor of the endpoint again.
#[derive(Clone, Debug)]
pub struct Visitor(pub(in super::super) Arc<Port>);
