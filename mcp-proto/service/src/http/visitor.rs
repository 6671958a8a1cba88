//! Waker of a visitor of the endpoint.

use alloc::sync::Arc;

use super::super::service_mailbox::ServiceMailbox;

/// Waker by which the endpoint wakes a connection or exchange that has visited it.
#[derive(Clone, Debug)]
pub struct EndpointWaker(Option<Arc<ServiceMailbox>>);

impl EndpointWaker {
    /// The waker of a visitor that does not wait, and visits again before it does.
    pub(super) const NOBODY: Self = Self(None);

    pub(in super::super) fn new(mailbox: Arc<ServiceMailbox>) -> Self {
        Self(Some(mailbox))
    }

    /// Requests a visit, unless the visitor is `present` at the endpoint.
    pub(super) fn request_visit(&self, present: Option<&Self>) {
        let Self(Some(mailbox)) = self else { return };
        let present = present.and_then(|present| present.0.as_ref());
        if !present.is_some_and(|present| Arc::ptr_eq(present, mailbox)) {
            mailbox.request_visit();
        }
    }
}
