//! Reading of skills from folders.
//!
//! In: a folder. Out: its regular files, within the limits of a skill. Links are refused, since
//! they could expose files outside of the folder.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use alloc::string::String;
use alloc::vec::Vec;

use mcp_proto::ext::skills::{MAX_BYTES, MAX_FILES, SkillError, SkillFiles};

/// The deepest nesting of folders in a skill.
const MAX_DEPTH: usize = 16;

/// The most entries of all folders of a skill, including hidden ones.
const MAX_ENTRIES: usize = 4096;

/// Reads a skill from its folder, whose name is that of the skill; if `folder` is a link, the name
/// is that of its target. `prefix` is the path before the name in its URI: with `acme/billing` the
/// folder `refunds` becomes `skill://acme/billing/refunds`, with an empty prefix `skill://refunds`.
///
/// Reads all regular files below the folder, except files and folders whose names begin with a dot.
/// The function blocks, so call it when the server starts.
///
/// Fails with the error of the file system, with the path of the file or folder. Fails with
/// [`io::ErrorKind::InvalidData`] for a link or another file that is not regular, for a name that
/// is not UTF-8, beyond 16 levels of folders, and beyond 4,096 entries. For a skill that breaks a
/// rule, such as the limit of 512 files and 16 MiB, the error contains a [`SkillError`].
pub fn read_skill_folder(folder: impl AsRef<Path>, prefix: &str) -> io::Result<SkillFiles> {
    let folder = folder.as_ref();
    let root = fs::canonicalize(folder).map_err(at(folder))?;
    let name = root.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| refused(folder, "has no name in UTF-8"))?;
    let slash = if prefix.is_empty() { "" } else { "/" };
    let directory = alloc::format!("skill://{prefix}{slash}{name}");
    let mut reader = FolderReader { files: Vec::new(), entries: 0, bytes: 0 };
    reader.read(&root, "", 0)?;
    SkillFiles::new(&directory, reader.files).map_err(invalid)
}

/// The files of a folder that have been read.
struct FolderReader {
    files: Vec<(String, Vec<u8>)>,
    entries: usize,
    bytes: u64,
}

impl FolderReader {
    /// Reads a folder. Recursive, to a depth of at most [`MAX_DEPTH`].
    fn read(&mut self, folder: &Path, path: &str, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(refused(folder, "is nested too deep"));
        }
        for entry in fs::read_dir(folder).map_err(at(folder))? {
            let place = entry.map_err(at(folder))?.path();
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(refused(folder, "has too many entries"));
            }
            let name = place.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| refused(&place, "has a name that is not UTF-8"))?;
            if name.starts_with('.') {
                continue;
            }
            let path = if path.is_empty() { name.into() } else { alloc::format!("{path}/{name}") };
            // This does not follow links.
            let metadata = fs::symlink_metadata(&place).map_err(at(&place))?;
            if metadata.is_dir() {
                self.read(&place, &path, depth + 1)?;
            } else if metadata.is_file() {
                self.read_file(&place, path, &metadata)?;
            } else {
                return Err(refused(&place, "is a link, or no regular file"));
            }
        }
        Ok(())
    }

    fn read_file(&mut self, place: &PathBuf, path: String, looked: &Metadata) -> io::Result<()> {
        if self.files.len() >= MAX_FILES {
            return Err(invalid(SkillError::TooManyFiles { files: self.files.len() + 1 }));
        }
        let file = File::open(place).map_err(at(place))?;
        if !is_same(&file.metadata().map_err(at(place))?, looked) {
            return Err(refused(place, "was replaced while it was read"));
        }
        let mut bytes = Vec::new();
        let left = MAX_BYTES.saturating_sub(self.bytes);
        let read = file.take(left + 1).read_to_end(&mut bytes);
        self.bytes += read.map_err(at(place))? as u64;
        if self.bytes > MAX_BYTES {
            return Err(invalid(SkillError::TooManyBytes { bytes: self.bytes }));
        }
        self.files.push((path, bytes));
        Ok(())
    }
}

/// Returns whether both belong to the same file: a link may have replaced it.
#[cfg(unix)]
fn is_same(opened: &Metadata, looked: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    opened.is_file() && (opened.dev(), opened.ino()) == (looked.dev(), looked.ino())
}

#[cfg(not(unix))]
fn is_same(opened: &Metadata, _: &Metadata) -> bool {
    opened.is_file()
}

fn invalid(error: SkillError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Adds the path of a file or folder to its error.
fn at(place: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), alloc::format!("{}: {error}", place.display()))
}

fn refused(place: &Path, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, alloc::format!("{}: it {reason}", place.display()))
}
