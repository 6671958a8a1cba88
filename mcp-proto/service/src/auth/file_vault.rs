//! Vault in files, for one user of the machine.
//!
//! | file of a key | content |
//! |---|---|
//! | `HASH.json` | the record |
//! | `HASH.lock` | nothing; it is locked while a client refreshes |
//!
//! `HASH` is the SHA-256 of the key in hexadecimal digits, so that file names reveal nothing.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mcp_proto::auth::Secret;
use sha2::{Digest, Sha256};

use super::vault::{AuthFuture, Vault, VaultLock};
use crate::runtime::unblock;

/// A vault in a directory, with a file for each record.
///
/// On Unix a new directory gets the mode 0700 and the files 0600. Elsewhere choose a directory of
/// the user's profile. Files are replaced atomically, and locks work between processes.
#[derive(Clone, Debug)]
pub struct FileVault {
    directory: PathBuf,
}

impl FileVault {
    /// Opens the vault in a directory, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The error of the file system if the directory cannot be created.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&directory)?;
        Ok(Self { directory })
    }

    fn path(&self, key: &str, extension: &str) -> PathBuf {
        let mut name = String::new();
        for byte in Sha256::digest(key.as_bytes()) {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
        }
        self.directory.join(format!("{name}.{extension}"))
    }
}

impl Vault for FileVault {
    fn read(&self, key: &str) -> AuthFuture<io::Result<Option<Secret>>> {
        let path = self.path(key, "json");
        Box::pin(unblock(move || match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }))
    }

    fn write(&self, key: &str, record: &Secret) -> AuthFuture<io::Result<()>> {
        let (path, record) = (self.path(key, "json"), record.clone());
        Box::pin(unblock(move || replace(&path, record.expose())))
    }

    fn remove(&self, key: &str) -> AuthFuture<io::Result<()>> {
        let path = self.path(key, "json");
        Box::pin(unblock(move || match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }))
    }

    fn lock(&self, key: &str) -> AuthFuture<io::Result<VaultLock>> {
        let path = self.path(key, "lock");
        Box::pin(unblock(move || {
            let file = options().truncate(false).open(&path)?;
            file.lock()?;
            Ok(Box::new(file) as VaultLock)
        }))
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
