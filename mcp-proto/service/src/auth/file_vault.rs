//! Vault in files, for one user of the machine.
//!
//! | file of a key | content |
//! |---|---|
//! | `HASH.json` | the record |
//! | `HASH.lock` | nothing; it is locked while a client refreshes |
//! | `HASH.` and 16 hexadecimal digits | a record that is written; it stays after a crash |
//!
//! `HASH` is the SHA-256 of the key in hexadecimal digits, so that file names reveal nothing.
//!
//! The thread that changes a record also holds the lock of its key, so that the key stays locked
//! until then if the client is dropped. Otherwise another process could use the refresh token that
//! the change replaces.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::{Arc, Weak};
use core::fmt::Write as _;
use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mcp_proto::auth::Secret;
use sha2::{Digest, Sha256};

use super::vault::{AuthFuture, Vault, VaultLock};
use crate::lock::Lock;
use crate::runtime::unblock;

/// The time between two attempts to take a lock.
const PAUSE: Duration = Duration::from_millis(10);

/// A vault in a directory, with a file for each record.
///
/// On Unix a new directory gets the mode 0700 and the files 0600. Elsewhere choose a directory of
/// the user's profile. Files are replaced atomically, and locks work between processes.
#[derive(Clone, Debug)]
pub struct FileVault {
    directory: PathBuf,
    /// The locked files of this process, by their paths.
    locked: Arc<Lock<BTreeMap<PathBuf, Weak<File>>>>,
}

impl FileVault {
    /// Opens the vault in a directory, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The error of the file system if the directory cannot be created, with its path.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&directory).map_err(|error| {
            let place = directory.display();
            io::Error::new(error.kind(), format!("no vault at {place}: {error}"))
        })?;
        Ok(Self { directory, locked: Arc::default() })
    }

    fn path(&self, key: &str, extension: &str) -> PathBuf {
        let mut name = String::new();
        for byte in Sha256::digest(key.as_bytes()) {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        self.directory.join(format!("{name}.{extension}"))
    }

    /// Changes the record of a key, which stays locked until then if it is.
    fn change(
        &self,
        key: &str,
        f: impl FnOnce(&Path) -> io::Result<()> + Send + 'static,
    ) -> AuthFuture<io::Result<()>> {
        let path = self.path(key, "json");
        let lock = self.locked.lock().get(&self.path(key, "lock")).and_then(Weak::upgrade);
        Box::pin(unblock(move || {
            let changed = f(&path);
            drop(lock);
            changed.map_err(|error| at(&path, &error))
        }))
    }
}

impl Vault for FileVault {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        let path = self.path(key, "json");
        Box::pin(unblock(move || match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path, &error)),
        }))
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        let record = record.clone();
        self.change(key, move |path| replace(path, record.expose()))
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        self.change(key, |path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        let path = self.path(key, "lock");
        let waiter = LockWaiter::default();
        let (is_over, locked) = (waiter.0.clone(), self.locked.clone());
        Box::pin(async move {
            let _waiter = waiter;
            let own = path.clone();
            let locking = move || lock(&own, &is_over).map_err(|error| at(&own, &error));
            let file = Arc::new(unblock(locking).await?);
            let mut locked = locked.lock();
            locked.retain(|_, file| file.strong_count() > 0);
            locked.insert(path, Arc::downgrade(&file));
            Ok(Box::new(file) as VaultLock)
        })
    }
}

/// The error of a file, with its path.
fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A future that waits for a lock. Dropping it ends the thread that waits.
#[derive(Default)]
struct LockWaiter(Arc<AtomicBool>);

impl Drop for LockWaiter {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Waits for the lock of a file. A call that blocks would keep its thread and its file for as long
/// as another process holds the lock, also if nobody waits any more.
#[expect(clippy::disallowed_methods, reason = "a thread of its own waits for the lock")]
fn lock(path: &Path, is_over: &AtomicBool) -> io::Result<File> {
    let file = options().truncate(false).open(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if is_over.load(Ordering::Acquire) => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
        }
    }
}

/// Writes a new file in the same directory, and renames it to `path`.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut suffix = [0; 8];
    getrandom::fill(&mut suffix).map_err(|error| io::Error::other(error.to_string()))?;
    let beside = path.with_extension(format!("{:016x}", u64::from_le_bytes(suffix)));
    let written = write_new(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The first error is returned.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file: File = options().create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vault_that_cannot_be_opened_names_its_place() {
        let file = std::env::current_exe().unwrap();
        let error = FileVault::open(&file).unwrap_err();
        let place = format!("no vault at {}: ", file.display());
        assert!(error.to_string().starts_with(&place), "{error}");
    }
}
