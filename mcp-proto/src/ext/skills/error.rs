//! Errors of skills.

use alloc::string::String;
use core::fmt;

/// A skill, or a file of one, breaks a rule of the specification.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SkillError {
    /// A URI cannot be the URI of a skill's file.
    InvalidUri {
        /// The URI.
        uri: String,
        /// The rule.
        reason: &'static str,
    },
    /// A name has characters other than lower-case letters, digits and single hyphens, or more than
    /// 64.
    InvalidName {
        /// The name.
        name: String,
    },
    /// The name of a skill's directory differs from the name in its frontmatter.
    NameMismatch {
        /// The directory's name.
        directory: String,
        /// The name in the frontmatter.
        name: String,
    },
    /// The frontmatter lacks a text.
    MissingField {
        /// `name` or `description`.
        field: &'static str,
    },
    /// The frontmatter of `SKILL.md` cannot be read.
    Frontmatter(FrontmatterError),
    /// There is no `SKILL.md` among the files.
    NoSkillFile,
    /// A file is listed twice.
    DuplicateFile {
        /// The URI.
        uri: String,
    },
    /// A file is outside of the skill's directory.
    OutsideFile {
        /// The URI.
        uri: String,
    },
    /// More than 512 files.
    TooManyFiles {
        /// The number of files.
        files: usize,
    },
    /// More than 16 MiB.
    TooManyBytes {
        /// The bytes of all files.
        bytes: u64,
    },
    /// The entry lists no files because they change: nothing can be verified.
    Dynamic,
    /// The entry does not list the file. The skill may have changed: get its entry again.
    Unlisted {
        /// The URI, or the reference.
        uri: String,
    },
    /// The size of the file differs from its entry.
    SizeMismatch {
        /// The URI.
        uri: String,
        /// The size that is listed, in bytes.
        expected: u64,
        /// The size of the bytes read.
        found: u64,
    },
    /// The digest of the file differs from its entry.
    DigestMismatch {
        /// The URI.
        uri: String,
    },
    /// A field of the frontmatter in `SKILL.md` differs from the entry.
    FrontmatterMismatch {
        /// The field.
        field: String,
    },
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUri { uri, reason } => {
                write!(f, "{uri:?} is not the URI of a skill: {reason}")
            }
            Self::InvalidName { name } => write!(
                f,
                "{name:?} is no name of a skill: it has 1 to 64 lower-case letters, digits and \
                 single hyphens"
            ),
            Self::NameMismatch { directory, name } => {
                write!(f, "the directory {directory:?} must have the name of its skill, {name:?}")
            }
            Self::MissingField { field } => {
                write!(f, "the frontmatter must have the text `{field}`")
            }
            Self::Frontmatter(error) => write!(f, "the frontmatter of SKILL.md: {error}"),
            Self::NoSkillFile => f.write_str("the skill has no SKILL.md"),
            Self::DuplicateFile { uri } => write!(f, "{uri:?} is listed twice"),
            Self::OutsideFile { uri } => write!(f, "{uri:?} is outside of the skill's directory"),
            Self::TooManyFiles { files } => {
                write!(f, "{files} files, and a skill has at most {}", super::MAX_FILES)
            }
            Self::TooManyBytes { bytes } => {
                write!(f, "{bytes} bytes, and a skill has at most {}", super::MAX_BYTES)
            }
            Self::Dynamic => f.write_str("the skill lists no files, so that none can be verified"),
            Self::Unlisted { uri } => write!(f, "the skill does not list {uri:?}"),
            Self::SizeMismatch { uri, expected, found } => {
                write!(f, "{uri:?} has {found} bytes instead of {expected}")
            }
            Self::DigestMismatch { uri } => {
                write!(f, "{uri:?} has another digest than listed")
            }
            Self::FrontmatterMismatch { field } => {
                write!(f, "the field {field:?} of the frontmatter differs from the entry")
            }
        }
    }
}

impl core::error::Error for SkillError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        if let Self::Frontmatter(error) = self { Some(error) } else { None }
    }
}

impl From<FrontmatterError> for SkillError {
    fn from(error: FrontmatterError) -> Self {
        Self::Frontmatter(error)
    }
}

/// Error of frontmatter that cannot be read as a JSON object.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FrontmatterError {
    /// The file is not UTF-8.
    NotUtf8,
    /// The file does not begin with a line `---`.
    Missing,
    /// There is no second line `---` within the first 64 KiB.
    Unclosed,
    /// The frontmatter is not YAML, or its YAML has no equivalent in JSON.
    Yaml {
        /// The line of the file.
        line: usize,
        /// Description of the fault.
        reason: &'static str,
    },
}

impl fmt::Display for FrontmatterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("the file is not UTF-8"),
            Self::Missing => f.write_str("the file must begin with a line ---"),
            Self::Unclosed => f.write_str("there is no line --- at its end, within 64 KiB"),
            Self::Yaml { line, reason } => write!(f, "line {line}: {reason}"),
        }
    }
}

impl core::error::Error for FrontmatterError {}
