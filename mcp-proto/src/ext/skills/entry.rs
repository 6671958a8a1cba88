//! The entry of a skill, and the verification of its files.
//!
//! In: JSON of a server, or the files themselves. Out: a valid [`Skill`]. [`Skill::verify`] turns
//! the bytes of a file into a [`VerifiedFile`] or a [`SkillError`].

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{MAX_BYTES, MAX_FILES, SkillDigest, SkillError, equality, frontmatter, uri};
use crate::json::integer::integer;
use crate::json::{Json, Raw};

/// A file of a skill, as listed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// The URI of its resource.
    pub uri: String,
    /// The digest of its bytes.
    pub digest: SkillDigest,
    /// The number of its bytes.
    #[serde(deserialize_with = "integer")]
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
/// An entry is always valid: JSON that breaks a rule of the specification cannot be decoded. The
/// URI and the name are well-formed. The files are within the skill's directory, each listed once,
/// with `SKILL.md` among them. There are at most 512, with at most 16 MiB in total.
///
/// A skill is identified by its URI together with its server. Two servers may have skills with the
/// same URI. Names do not identify skills.
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
    /// The entry with these parts; `files` is `None` if they change.
    ///
    /// Fails with the [`SkillError`] of the rule that the entry breaks.
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

    /// The name: a label, which other skills may have too.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description, by which a model chooses.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The frontmatter of its `SKILL.md`, an object. A host must not apply fields that widen
    /// permissions, such as `allowed-tools`, without the approval of a user.
    pub fn frontmatter(&self) -> &Json {
        &self.frontmatter
    }

    /// All its files; `None` if they change, so that they cannot be verified.
    ///
    /// A user approves these files with these digests: if the digests differ later, ask again.
    pub fn files(&self) -> Option<&[SkillFile]> {
        self.files.as_deref()
    }

    /// Metadata of the skill (`_meta`).
    pub fn meta(&self) -> Option<&Json> {
        self.meta.as_ref()
    }

    /// The file that a reference in the text of this skill names: a path from the skill's
    /// directory, such as `references/FORMS.md`, or a URI.
    ///
    /// Fails with [`SkillError::Dynamic`] and [`SkillError::Unlisted`].
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

    /// Verifies the bytes of a file: "it MUST verify the content against that entry's `digest` and
    /// `size`", and for `SKILL.md` compare the frontmatter "field-by-field".
    ///
    /// Fails with [`SkillError::Dynamic`], [`SkillError::Unlisted`], [`SkillError::SizeMismatch`],
    /// [`SkillError::DigestMismatch`], [`SkillError::Frontmatter`] and
    /// [`SkillError::FrontmatterMismatch`]. In these cases do not use the bytes. The skill may have
    /// changed: get its entry again.
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

/// A file of a skill whose bytes match the skill's entry. Only [`Skill::verify`] creates it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifiedFile {
    uri: String,
    bytes: Bytes,
}

impl VerifiedFile {
    /// The URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The text; `None` if it is not UTF-8. `SKILL.md` always is UTF-8.
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
