//! Waker of a visitor of the endpoint.

use alloc::sync::Arc;

use super::super::service_mailbox::ServiceMailbox;

/// Waker by which the endpoint wakes a connection or exchange that has visited it.
#[derive(Clone, Debug)]
pub struct EndpointWaker(pub(in super::super) Arc<ServiceMailbox>);
