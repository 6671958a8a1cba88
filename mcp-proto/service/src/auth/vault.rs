//! Stores of credentials.
//!
//! In: keys and records, which are secret texts. Out: the records, and locks of keys.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::future::{Future, poll_fn, ready};
use core::mem;
use core::pin::Pin;
use core::task::{Poll, Waker};
use std::io;

use mcp_proto::auth::Secret;

use crate::lock::Lock;

/// A future in a box.
pub type AuthFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The lock of a key. Dropping it unlocks the key.
pub type VaultLock = Box<dyn Send>;

/// A store of credentials, for any number of clients.
///
/// A client waits 10 s for a result, and continues without it. A client that closes waits for the
/// end of pending writes and removals, but not longer than `Limits::drain`.
pub trait Vault: Send + Sync {
    /// Reads the record of a key; `None` if there is none. A client drops tokens whose record was
    /// removed, and keeps them if this fails.
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>>;

    /// Stores the record of a key, and replaces an earlier one atomically.
    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>>;

    /// Removes the record of a key, if there is one.
    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>>;

    /// Waits for the lock of a key, and takes it. Clients use refresh tokens that change with each
    /// use under this lock. A client that has waited 10 s drops the future, which must then not
    /// leave the key locked. It tries again later while its access token is valid. The default does
    /// not lock: if two processes refresh at once, one of them has to ask the user again.
    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        let _ = key;
        Box::pin(ready(Ok(Box::new(()) as VaultLock)))
    }
}

/// An in-memory vault. Clones share the records.
#[derive(Clone, Debug, Default)]
pub struct MemoryVault(Arc<Lock<Records>>);

#[derive(Debug, Default)]
struct Records {
    by_key: BTreeMap<String, Secret>,
    locked: BTreeSet<String>,
    waiting: Vec<Waker>,
}

impl MemoryVault {
    /// An empty vault.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Vault for MemoryVault {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        Box::pin(ready(Ok(self.0.lock().by_key.get(key).cloned())))
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        self.0.lock().by_key.insert(key.into(), record.clone());
        Box::pin(ready(Ok(())))
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        self.0.lock().by_key.remove(key);
        Box::pin(ready(Ok(())))
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        let (records, key) = (self.0.clone(), String::from(key));
        Box::pin(poll_fn(move |context| {
            let mut guard = records.lock();
            if guard.locked.insert(key.clone()) {
                let lock = KeyLock { records: records.clone(), key: key.clone() };
                return Poll::Ready(Ok(Box::new(lock) as VaultLock));
            }
            if !guard.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                guard.waiting.push(context.waker().clone());
            }
            Poll::Pending
        }))
    }
}

struct KeyLock {
    records: Arc<Lock<Records>>,
    key: String,
}

impl Drop for KeyLock {
    fn drop(&mut self) {
        let mut records = self.records.lock();
        records.locked.remove(&self.key);
        let waiting = mem::take(&mut records.waiting);
        drop(records);
        waiting.into_iter().for_each(Waker::wake);
    }
}
