//! Accounting of response bytes that another HTTP stack buffers until its client has read them.

use bytes::Bytes;

use super::ServerShared;
use mcp_proto::server::Account;

/// Bytes and their share of the server's budget.
struct CountedBytes {
    data: Bytes,
    _account: Account,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl ServerShared {
    /// Returns the same bytes, which count against `Limits::max_endpoint_bytes` until the last copy
    /// is dropped.
    pub(super) fn count_bytes(&self, data: Bytes) -> Bytes {
        if data.len() <= Account::UNCOUNTED {
            return data;
        }
        let mut account = self.config.server.account();
        account.set(data.len());
        Bytes::from_owner(CountedBytes { data, _account: account })
    }

    /// Returns whether the endpoint must drop events kept for resumption, or report refusals.
    pub(super) fn needs_room(&self) -> bool {
        self.account.needs_endpoint()
    }
}
