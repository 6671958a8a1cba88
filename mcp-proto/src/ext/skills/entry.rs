//! The entry of a skill, and the files that are held against it.
//!
//! In: JSON of a server, or the files themselves. Out: a [`Skill`], which keeps the rules; then bytes of
//! files in, a [`VerifiedFile`] or a [`SkillError`] out.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MAX_BYTES, MAX_FILES, SkillDigest, SkillError, equality, frontmatter, uri};
use crate::json::{Json, Raw};

/// A file of a skill, as it is listed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// The resource to read it by.
    pub uri: String,
    /// The digest of its bytes.
    pub digest: SkillDigest,
    /// The number of its bytes.
    pub size: u64,
}

impl SkillFile {
    /// The file with these bytes.
    pub fn of(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self { uri: uri.into(), digest: SkillDigest::of(bytes), size: bytes.len() as u64 }
    }
}

/// The entry of a skill: its frontmatter, and its files with their digests.
///
/// It keeps the rules of the specification: those of its URI and its name, and those of its files. These
/// are all within its directory, each once, with `SKILL.md` among them. There are at most 512, with at
/// most 16 MiB. Another entry cannot be decoded.
///
/// A skill is identified by its URI together with the server that serves it. Two servers may have
/// skills of the same URI, and names say nothing about either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skill {
    uri: String,
    name: String,
    description: String,
    frontmatter: Json,
    /// `None` for `dynamic`.
    files: Option<Vec<SkillFile>>,
    meta: Option<Json>,
}

impl Skill {
    /// The entry with these parts; `None` for files that change.
    ///
    /// Fails with the rule that it breaks.
    pub(super) fn new(
        uri: String,
        frontmatter: Json,
        files: Option<Vec<SkillFile>>,
        meta: Option<Json>,
    ) -> Result<Self, SkillError> {
        let (directory, name) = uri::skill(&uri)?;
        let text = |field: &'static str| {
            let value = frontmatter.raw().member(field).and_then(Raw::string);
            let value = value.filter(|value| !value.is_empty());
            value.map(Cow::into_owned).ok_or(SkillError::MissingField { field })
        };
        let (own_name, description) = (text("name")?, text("description")?);
        if own_name != name {
            return Err(SkillError::NameMismatch { directory: name.into(), name: own_name });
        }
        if let Some(files) = &files {
            check_files(&uri, directory, files)?;
        }
        Ok(Self { uri, name: own_name, description, frontmatter, files, meta })
    }

    /// The URI of its `SKILL.md`.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The URI of its directory, without a slash at the end.
    pub fn directory(&self) -> &str {
        uri::skill(&self.uri).map_or("", |(directory, _)| directory)
    }

    /// Its name: a label, which other skills may have too.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its description, for the choice of a model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The frontmatter of its `SKILL.md`, an object. A host must not follow what widens permissions
    /// there, such as `allowed-tools`, unless a user has approved that.
    pub fn frontmatter(&self) -> &Json {
        &self.frontmatter
    }

    /// Its files, all of them; `None` if they change, so that nothing can be verified.
    ///
    /// An approval of a user is for these files with these digests: where they differ, ask again.
    pub fn files(&self) -> Option<&[SkillFile]> {
        self.files.as_deref()
    }

    /// Metadata of the skill (`_meta`).
    pub fn meta(&self) -> Option<&Json> {
        self.meta.as_ref()
    }

    /// The file that a reference in the text of this skill means: a path from the skill's directory,
    /// such as `references/FORMS.md`, or a URI.
    ///
    /// Fails with [`SkillError::Dynamic`], and with [`SkillError::Unlisted`].
    pub fn resolve(&self, reference: &str) -> Result<&SkillFile, SkillError> {
        let files = self.files.as_deref().ok_or(SkillError::Dynamic)?;
        let unlisted = || SkillError::Unlisted { uri: reference.into() };
        if let Some(file) = files.iter().find(|file| file.uri == reference) {
            return Ok(file);
        }
        let wanted = normal_path(reference).ok_or_else(unlisted)?;
        let directory = self.directory();
        let has_path = |file: &&SkillFile| {
            let path = uri::path_within(directory, &file.uri);
            path.is_some_and(|path| {
                path == wanted || uri::decoded(path).is_some_and(|path| path == wanted)
            })
        };
        files.iter().find(has_path).ok_or_else(unlisted)
    }

    /// Holds the bytes of a file against this entry: "it MUST verify the content against that entry's
    /// `digest` and `size`", and for `SKILL.md` compare the frontmatter "field-by-field".
    ///
    /// Fails with [`SkillError::Dynamic`], [`SkillError::Unlisted`], [`SkillError::SizeMismatch`],
    /// [`SkillError::DigestMismatch`], [`SkillError::Frontmatter`] and
    /// [`SkillError::FrontmatterMismatch`]. Use nothing of the bytes then. The skill may have changed:
    /// get its entry again.
    ///
    /// [Specification: Integrity and Verification](https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx#integrity-and-verification)
    pub fn verify(&self, uri: &str, bytes: impl Into<Bytes>) -> Result<VerifiedFile, SkillError> {
        let bytes = bytes.into();
        let files = self.files.as_deref().ok_or(SkillError::Dynamic)?;
        let listed = files.iter().find(|file| file.uri == uri);
        let listed = listed.ok_or_else(|| SkillError::Unlisted { uri: uri.into() })?;
        let found = bytes.len() as u64;
        if listed.size != found {
            let (uri, expected) = (uri.into(), listed.size);
            return Err(SkillError::SizeMismatch { uri, expected, found });
        }
        if listed.digest != SkillDigest::of(&bytes) {
            return Err(SkillError::DigestMismatch { uri: uri.into() });
        }
        if uri == self.uri {
            equality::check(&self.frontmatter, &frontmatter::parse(&bytes)?)?;
        }
        Ok(VerifiedFile { uri: uri.into(), bytes })
    }
}

/// A file of a skill whose bytes are those that the skill's entry describes. Nothing else makes one
/// than [`Skill::verify`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedFile {
    uri: String,
    bytes: Bytes,
}

impl VerifiedFile {
    /// Its URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Its text; `None` if it is not UTF-8. `SKILL.md` is.
    pub fn text(&self) -> Option<&str> {
        core::str::from_utf8(&self.bytes).ok()
    }
}

fn check_files(uri: &str, directory: &str, files: &[SkillFile]) -> Result<(), SkillError> {
    if files.len() > MAX_FILES {
        return Err(SkillError::TooManyFiles { files: files.len() });
    }
    let bytes = files.iter().fold(0_u64, |bytes, file| bytes.saturating_add(file.size));
    if bytes > MAX_BYTES {
        return Err(SkillError::TooManyBytes { bytes });
    }
    let mut known = BTreeSet::new();
    for file in files {
        if uri::path_within(directory, &file.uri).is_none() {
            return Err(SkillError::OutsideFile { uri: file.uri.clone() });
        }
        if !known.insert(&*file.uri) {
            return Err(SkillError::DuplicateFile { uri: file.uri.clone() });
        }
    }
    if known.contains(uri) { Ok(()) } else { Err(SkillError::NoSkillFile) }
}

/// A path without `.` and `..`; `None` if it leaves the directory or has a scheme.
fn normal_path(reference: &str) -> Option<String> {
    if reference.contains("://") || reference.starts_with('/') {
        return None;
    }
    let mut segments = Vec::new();
    for segment in reference.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

impl Serialize for Skill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = if self.meta.is_some() { 4 } else { 3 };
        let mut skill = serializer.serialize_struct("Skill", fields)?;
        skill.serialize_field("uri", &self.uri)?;
        skill.serialize_field("frontmatter", &self.frontmatter)?;
        match &self.files {
            Some(files) => skill.serialize_field("resources", files)?,
            None => skill.serialize_field("resources", "dynamic")?,
        }
        if let Some(meta) = &self.meta {
            skill.serialize_field("_meta", meta)?;
        }
        skill.end()
    }
}

impl<'de> Deserialize<'de> for Skill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Entry {
            uri: String,
            frontmatter: Json,
            resources: Json,
            #[serde(rename = "_meta")]
            meta: Option<Json>,
        }
        let Entry { uri, frontmatter, resources, meta } = Entry::deserialize(deserializer)?;
        let files = if resources.raw().string().as_deref() == Some("dynamic") {
            None
        } else {
            Some(resources.decode().map_err(D::Error::custom)?)
        };
        Self::new(uri, frontmatter, files, meta).map_err(D::Error::custom)
    }
}
