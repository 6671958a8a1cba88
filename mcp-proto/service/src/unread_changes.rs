//! Notifications of another server for a client that does not read.
//!
//! In: notifications about changes, while too much output is unwritten. Out: whether a notification
//! is sent even so. Progress and log messages are not: later ones make up for them. A client that
//! misses a change, or the acknowledgement of its subscription, is not notified again.

use mcp_proto::server::Notification;

/// The most notifications for a client that does not read.
const MAX_NOTIFICATIONS: usize = 1024;

/// The most bytes of their methods and parameters.
const MAX_BYTES: usize = 256 * 1024;

/// The notifications since the client has stopped reading.
#[derive(Debug, Default)]
pub(super) struct UnreadChanges {
    count: usize,
    bytes: usize,
}

impl UnreadChanges {
    /// Returns whether a notification is sent, and counts it if so.
    pub(super) fn admit(&mut self, notification: &Notification) -> bool {
        let Notification::Forwarded { method, params } = notification else { return false };
        let is_change = !["notifications/progress", "notifications/message"].contains(&&**method);
        let bytes = method.len().saturating_add(params.as_bytes().len());
        let bytes = self.bytes.saturating_add(bytes);
        let fits = is_change && self.count < MAX_NOTIFICATIONS && bytes <= MAX_BYTES;
        if fits {
            *self = Self { count: self.count + 1, bytes };
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_proto::Json;

    fn forwarded(method: &str, length: usize) -> Notification {
        let params = Json::encode(&[("a", "x".repeat(length))]).unwrap();
        Notification::Forwarded { method: method.into(), params }
    }

    #[test]
    fn changes_are_bounded_in_number_and_in_bytes() {
        let long =
            Notification::Forwarded { method: "x".repeat(MAX_BYTES), params: Json::EMPTY_OBJECT };
        assert!(!UnreadChanges::default().admit(&long));
        for (length, most) in [(0, MAX_NOTIFICATIONS), (MAX_BYTES / 4, 3), (MAX_BYTES, 0)] {
            let mut unread = UnreadChanges::default();
            let changed = forwarded("notifications/tools/list_changed", length);
            let admitted = (0..2 * MAX_NOTIFICATIONS).filter(|_| unread.admit(&changed)).count();
            assert_eq!(admitted, most, "{length}");
        }
    }

    #[test]
    fn progress_and_log_messages_are_dropped() {
        for method in ["notifications/progress", "notifications/message"] {
            assert!(!UnreadChanges::default().admit(&forwarded(method, 0)), "{method}");
        }
    }
}
