//! The stored credentials of a bridge, which says if it cannot store them.
//!
//! In: keys and records. Out: the results of a [`FileVault`], and a line on standard error for each
//! record that cannot be stored. The commands for one request have a client, which reports that.

use std::io;

use mcp_tokio::auth::{AuthFuture, FileVault, Secret, Vault, VaultLock};

use crate::print;

/// A vault that reports failed writes.
pub(crate) struct NotedVault(pub(crate) FileVault);

impl Vault for NotedVault {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        self.0.read(key)
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        let written = self.0.write(key, record);
        Box::pin(async {
            written.await.inspect_err(|error| {
                print::notes(&[
                    &*format!("mcp: the new credentials cannot be stored: {error}"),
                    "     the next bridge may need `mcp login`",
                ]);
            })
        })
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        self.0.remove(key)
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        self.0.lock(key)
    }
}
