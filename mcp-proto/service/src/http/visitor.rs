//! Address of a visitor of the endpoint.

use alloc::sync::Arc;

use super::super::service_mailbox::ServiceMailbox;

/// Finds the visitor of the endpoint again.
#[derive(Clone, Debug)]
pub struct EndpointWaker(pub(in super::super) Arc<ServiceMailbox>);
