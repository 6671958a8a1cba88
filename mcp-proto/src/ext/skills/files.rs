//! The files of a skill that a server has in memory.
//!
//! In: a directory's URI, and paths with bytes. Out: the skill's entry, its resources, and their
//! contents.

use alloc::collections::BTreeMap;
use alloc::string::String;

use bytes::Bytes;

use super::file_types::mime_type;
use super::{SKILL_FILE, Skill, SkillError, SkillFile, frontmatter, uri};
use crate::types::{Resource, ResourceContents};
use crate::url::percent;

/// The files of a skill, and its entry.
///
/// ```
/// use mcp_proto::ext::skills::SkillFiles;
///
/// let text = "---\nname: refunds\ndescription: Refunds a customer\n---\nSee examples/email.md.\n";
/// let files = [("SKILL.md", text), ("examples/email.md", "Dear customer,\n")];
/// let refunds = SkillFiles::new("skill://acme/refunds", files)?;
/// assert_eq!(refunds.skill().uri(), "skill://acme/refunds/SKILL.md");
/// assert_eq!(refunds.skill().description(), "Refunds a customer");
/// # Ok::<(), mcp_proto::ext::skills::SkillError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkillFiles {
    skill: Skill,
    /// The bytes of the files, by URI.
    files: BTreeMap<String, Bytes>,
}

impl SkillFiles {
    /// The skill with this directory, such as `skill://acme/refunds`, and these files. Paths are
    /// relative to the directory and separated by `/`.
    ///
    /// Fails with the [`SkillError`] of the rule that the skill breaks.
    pub fn new<P: AsRef<str>, B: Into<Bytes>>(
        directory: &str,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Result<Self, SkillError> {
        let uri = alloc::format!("{directory}/{SKILL_FILE}");
        let (_, path) = directory.split_once("://").unwrap_or_default();
        if !uri::is_reg_name(path.split('/').next().unwrap_or_default()) {
            let reason = "its first segment must be a registered name";
            return Err(SkillError::InvalidUri { uri, reason });
        }
        let mut by_uri = BTreeMap::new();
        for (path, bytes) in files {
            let uri = file_uri(directory, path.as_ref())?;
            if by_uri.contains_key(&uri) {
                return Err(SkillError::DuplicateFile { uri });
            }
            by_uri.insert(uri, bytes.into());
        }
        check_directories(&by_uri)?;
        let text = by_uri.get(&uri).ok_or(SkillError::NoSkillFile)?;
        let frontmatter = frontmatter::parse(text)?;
        let listed = by_uri.iter().map(|(uri, bytes)| SkillFile::of(&**uri, bytes)).collect();
        let skill = Skill::new(uri, frontmatter, Some(listed), None)?;
        Ok(Self { skill, files: by_uri })
    }

    /// The entry.
    pub fn skill(&self) -> &Skill {
        &self.skill
    }

    /// The resources of the files. The resource of `SKILL.md` has the skill's name and description.
    pub fn resources(&self) -> impl Iterator<Item = Resource> {
        self.files.iter().map(|(uri, bytes)| {
            let is_skill = uri == self.skill.uri();
            let name = name_of(uri);
            let mut resource = if is_skill {
                Resource::new(&**uri, self.skill.name()).description(self.skill.description())
            } else {
                Resource::new(&**uri, &*name)
            };
            resource.size = u64::try_from(bytes.len()).ok();
            resource.mime_type(mime_type(&name, bytes))
        })
    }

    /// The contents of a file: text if it is UTF-8, else bytes.
    pub fn contents(&self, uri: &str) -> Option<ResourceContents> {
        let bytes = self.files.get(uri)?;
        let contents = match core::str::from_utf8(bytes) {
            Ok(text) => ResourceContents::text(uri, text),
            Err(_) => ResourceContents::blob_from_bytes(uri, bytes),
        };
        Some(contents.mime_type(mime_type(&name_of(uri), bytes)))
    }
}

/// The name of a file or a directory.
pub(super) fn name_of(uri: &str) -> String {
    let segment = uri.rsplit('/').next().unwrap_or_default();
    uri::decoded(segment).unwrap_or_else(|| segment.into())
}

/// Fails for a file whose URI is also the URI of a directory.
fn check_directories(files: &BTreeMap<String, Bytes>) -> Result<(), SkillError> {
    let is_directory = |uri: &&String| {
        let prefix = alloc::format!("{uri}/");
        files.range(prefix.clone()..).next().is_some_and(|(next, _)| next.starts_with(&*prefix))
    };
    match files.keys().find(is_directory) {
        Some(uri) => {
            let reason = "a file cannot be a directory as well";
            Err(SkillError::InvalidUri { uri: uri.clone(), reason })
        }
        None => Ok(()),
    }
}

/// The URI of a file in a directory.
fn file_uri(directory: &str, path: &str) -> Result<String, SkillError> {
    let mut uri = String::from(directory);
    for segment in path.split('/') {
        uri.push('/');
        percent::encode(segment, &mut uri);
    }
    match uri::path_within(directory, &uri) {
        Some(_) => Ok(uri),
        None => Err(SkillError::OutsideFile { uri: path.into() }),
    }
}
