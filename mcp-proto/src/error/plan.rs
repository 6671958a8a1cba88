//! Errors in the `x-mcp-header` annotations of a tool.

use alloc::string::String;
use core::fmt;

/// Reason why the `inputSchema` of a tool cannot be mirrored into headers. A server that registers
/// such a tool is at fault; a client on HTTP must leave the tool out of the list.
///
/// `at` is the place of the fault in the schema, as a JSON Pointer after a `#`. In the error's
/// text, texts of the schema are shortened to 200 characters.
///
/// [Specification: x-mcp-header](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header)
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// An annotation is not a string.
    NotAString {
        /// The place in the schema.
        at: String,
    },
    /// A name is empty, or not a token of RFC 9110.
    InvalidName {
        /// The place in the schema.
        at: String,
        /// The name.
        name: String,
    },
    /// Duplicate name. Names are compared without case.
    DuplicateName {
        /// The place in the schema.
        at: String,
        /// The name.
        name: String,
        /// Place of the other annotation with this name.
        other: String,
    },
    /// An annotated property is not a string, integer or boolean.
    InvalidType {
        /// The place in the schema.
        at: String,
        /// The `type` of the property, as JSON.
        declared: String,
    },
    /// The path to an annotation has other keywords than `properties`.
    Misplaced {
        /// The place in the schema.
        at: String,
    },
    /// A key occurs twice in a schema with annotations: parsers differ in the value that they use.
    DuplicateKey {
        /// The object with the duplicate key.
        at: String,
        /// The key.
        key: String,
    },
    /// The schema is nested more than 128 deep.
    TooDeep,
    /// The names of the headers and of the properties that lead to them are too long.
    TooLarge {
        /// The maximum total bytes of these names.
        max_bytes: usize,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAString { at } => {
                write!(f, "`x-mcp-header` at {} must be a string", PlanExcerpt(at))
            }
            Self::InvalidName { at, name } => write!(
                f,
                "`x-mcp-header` \"{}\" at {} must have one or more of the characters \
                 A-Z a-z 0-9 ! # $ % & ' * + - . ^ _ ` | ~",
                PlanExcerpt(name),
                PlanExcerpt(at)
            ),
            Self::DuplicateName { at, name, other } => write!(
                f,
                "`x-mcp-header` \"{}\" at {} is also at {}; names that differ only in case are \
                 the same header",
                PlanExcerpt(name),
                PlanExcerpt(at),
                PlanExcerpt(other)
            ),
            Self::InvalidType { at, declared } => write!(
                f,
                "the property at {} has an `x-mcp-header` and the type {}; it must be a string, \
                 an integer or a boolean",
                PlanExcerpt(at),
                // JSON as written, but shortened.
                declared.chars().take(EXCERPT).collect::<String>()
            ),
            Self::Misplaced { at } => write!(
                f,
                "`x-mcp-header` at {} is not reached from the root by `properties` alone; \
                 annotate a property of the root or of an object nested in place (in Rust, give \
                 the nested type `#[schemars(inline)]`)",
                PlanExcerpt(at)
            ),
            Self::DuplicateKey { at, key } => {
                write!(f, "duplicate key \"{}\" at {}", PlanExcerpt(key), PlanExcerpt(at))
            }
            Self::TooDeep => f.write_str("the schema is nested more than 128 deep"),
            Self::TooLarge { max_bytes } => write!(
                f,
                "the names of the headers and of the properties that lead to them have more than \
                 {max_bytes} bytes"
            ),
        }?;
        f.write_str(
            "; see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header",
        )
    }
}

/// Shows the text of `Display`, because `main` prints a returned error with `Debug`.
impl fmt::Debug for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for PlanError {}

/// Longest excerpt of foreign text in an error, in characters.
const EXCERPT: usize = 200;

/// Foreign text, shown on one line.
struct PlanExcerpt<'a>(&'a str);

impl fmt::Display for PlanExcerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(EXCERPT) {
            write!(f, "{}", character.escape_debug())?;
        }
        if characters.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}
