//! Skills: instructions for models, with their files (SEP-2640).
//!
//! In: the files of a skill, or JSON of a server. Out: a valid [`Skill`], and verified files.
//! Called by the methods of registries and clients for skills; needs the feature `skills`.
//!
//! | a host has | and gets |
//! |---|---|
//! | an entry of `skills/list` or `skills/get` | a [`Skill`]; an entry that breaks a rule cannot be decoded |
//! | the bytes of a file that it has read | a [`VerifiedFile`] by [`Skill::verify`], or a [`SkillError`] |
//! | a reference in the text of a skill | the file that it means, by [`Skill::resolve`] |
//!
//! A server makes [`SkillFiles`] from bytes, and a [`SkillCatalog`] of them answers all methods.
//!
//! Digests are not signed: they prove that a file matches its entry, not that either can be
//! trusted. For a model, skills of servers are untrusted input.
//!
//! [Specification: Skills](https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx)

mod catalog;
mod digest;
mod entry;
mod equality;
mod error;
mod file_types;
mod files;
mod frontmatter;
mod results;
mod scalar;
mod uri;

pub use catalog::SkillCatalog;
pub use digest::{InvalidDigest, SkillDigest};
pub use entry::{Skill, SkillFile, VerifiedFile};
pub use error::{FrontmatterError, SkillError};
pub use files::SkillFiles;
pub use results::{GetSkillResult, ListSkillsResult, ReadResourceDirectoryResult};

use crate::json::Json;

/// The identifier of the extension.
pub const ID: &str = super::SKILLS;

/// The maximum number of files of a skill, including `SKILL.md`.
pub const MAX_FILES: usize = 512;

/// The maximum bytes of all files of a skill: 16 MiB.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The media type of directories.
pub const DIRECTORY_MIME_TYPE: &str = "inode/directory";

/// The name of the file that every skill has.
const SKILL_FILE: &str = "SKILL.md";

/// Returns whether a server with these settings of the extension answers
/// `resources/directory/read`.
pub fn reads_directories(settings: &Json) -> bool {
    settings.raw().member("directoryRead").is_some_and(|value| value.0 == b"true")
}
