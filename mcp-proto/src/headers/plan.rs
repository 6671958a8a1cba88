//! Compilation of a tool's `inputSchema` into the headers of its calls.
//!
//! The schema is read in one pass. An annotation on a chain of `properties` from the root makes an
//! entry. An annotation under any other keyword, known or not, is an error, because some clients
//! may support that keyword. Keys of maps (`properties`, `$defs`, …) are names, and the values of
//! `const`, `default`, `enum` and `examples` are data: neither is ever an annotation.

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::name::{ANNOTATION, PREFIX, is_name};
use crate::error::PlanError;
use crate::json::scan::{MAX_DEPTH, ScanError, Scanner, Span};
use crate::json::{Json, Raw};

/// The maximum bytes of names and paths in a plan. Each entry has its own path, so a small schema
/// of an untrusted server could otherwise make a large plan. The default limit for the head of a
/// request is half as long.
const MAX_BYTES: usize = 64 * 1024;

/// Mapping from the arguments of a tool to HTTP headers.
///
/// ```
/// use mcp_proto::{Json, headers::HeaderPlan};
///
/// let schema = Json::parse(concat!(
///     r#"{"type":"object","properties":{"region":"#,
///     r#"{"type":"string","x-mcp-header":"Region"}}}"#
/// ))?;
/// let plan = HeaderPlan::compile(&schema)?;
/// assert_eq!(plan.entries()[0].header(), "Mcp-Param-Region");
/// assert_eq!(plan.entries()[0].path(), ["region"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeaderPlan {
    entries: Vec<Entry>,
    /// Indices of the entries, in the order of their paths, so that those below one property are
    /// adjacent.
    by_path: Vec<usize>,
}

impl HeaderPlan {
    /// Reads the annotations of a tool's `inputSchema`. A schema without annotations has an empty
    /// plan; only its depth is checked then.
    ///
    /// Fails with a [`PlanError`] that gives the reason why clients must reject the tool.
    ///
    /// [Specification: x-mcp-header](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header)
    pub fn compile(schema: &Json) -> Result<Self, PlanError> {
        let text = schema.as_bytes();
        // The usual case, in a fifth of the instructions: no annotation, and few levels.
        let containers = memchr::memchr2_iter(b'{', b'[', text).count();
        if containers <= MAX_DEPTH && !schema.raw().may_contain(&[ANNOTATION]) {
            return Ok(Self::default());
        }
        let mut walk = SchemaWalk::new(text);
        // The text is JSON, so only its depth can be wrong.
        walk.schema(&mut Scanner::new(text, MAX_DEPTH), Reach::Properties)
            .map_err(|_| PlanError::TooDeep)?;
        match (walk.fault, walk.duplicate) {
            (Some(fault), _) => Err(fault),
            (None, Some(duplicate)) if !walk.entries.is_empty() => Err(duplicate),
            _ => Ok(Self::new(walk.entries)),
        }
    }

    fn new(entries: Vec<Entry>) -> Self {
        let path = |index: &usize| entries.get(*index).map(Entry::path);
        let mut by_path: Vec<usize> = (0..entries.len()).collect();
        by_path.sort_by(|one, other| path(one).cmp(&path(other)));
        Self { entries, by_path }
    }

    /// The headers, in the order of the schema; their names differ by more than case.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Indices of [`HeaderPlan::entries`], in the order of their paths.
    pub(super) fn by_path(&self) -> &[usize] {
        &self.by_path
    }

    /// Returns whether no argument is mirrored into a header.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Annotations that are allowed, but do not work with some clients.
    pub fn warnings(&self) -> impl Iterator<Item = PlanWarning<'_>> {
        let inexact = |entry: &&Entry| !matches!(entry.declared, Declared::Exact(_));
        self.entries.iter().filter(inexact).map(|entry| PlanWarning { entry })
    }
}

/// An argument that is mirrored into a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    path: Vec<String>,
    header: String,
    declared: Declared,
}

impl Entry {
    /// The names of the properties that lead to the argument, from the root.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The name of the header: `Mcp-Param-` and the name.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// The name as the schema has it.
    pub fn name(&self) -> &str {
        self.header.strip_prefix(PREFIX).unwrap_or_default()
    }

    /// Type of the argument as the schema declares it.
    pub fn declared(&self) -> Declared {
        self.declared
    }
}

/// Declared type of an annotated argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declared {
    /// A `type` of one word.
    Exact(Kind),
    /// A `type` that is a list with this type, usually next to `null`.
    Union(Kind),
    /// There is no `type`.
    Absent,
}

impl Declared {
    /// The type of a value other than `null`, `None` if the schema declares none.
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Self::Exact(kind) | Self::Union(kind) => Some(kind),
            Self::Absent => None,
        }
    }
}

/// The types that can be mirrored into headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `"string"`.
    String,
    /// `"integer"`: a value within ±(2<sup>53</sup>−1).
    Integer,
    /// `"boolean"`.
    Boolean,
}

impl Kind {
    fn of(word: &str) -> Option<Self> {
        match word {
            "string" => Some(Self::String),
            "integer" => Some(Self::Integer),
            "boolean" => Some(Self::Boolean),
            _ => None,
        }
    }
}

/// An annotation that the specification allows, but for which TypeScript, Python and Rust clients
/// reject the tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PlanWarning<'a> {
    /// The annotation concerned.
    pub entry: &'a Entry,
}

impl fmt::Display for PlanWarning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = if self.entry.declared == Declared::Absent { "no" } else { "a list as its" };
        write!(
            f,
            "the argument {:?} with the header {} has {is} `type`, \
             which TypeScript, Python and Rust clients reject",
            self.entry.path.join("."),
            self.entry.header,
        )
    }
}

/// Path from the root of a schema to a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Only `properties`, or the root itself.
    Properties,
    Otherwise,
}

struct SchemaWalk<'a> {
    text: &'a [u8],
    /// Keys and indices of the current path. On a chain of `properties`, every second key is the
    /// name of a property.
    at: Vec<Cow<'a, str>>,
    entries: Vec<Entry>,
    /// The bytes of the entries' names and paths.
    bytes: usize,
    /// Index of the entry for each name, in lower case.
    names: BTreeMap<String, usize>,
    /// The first fault.
    fault: Option<PlanError>,
    /// The first duplicate key; harmless if there are no annotations.
    duplicate: Option<PlanError>,
}

impl<'a> SchemaWalk<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: Vec::new(),
            entries: Vec::new(),
            bytes: 0,
            names: BTreeMap::new(),
            fault: None,
            duplicate: None,
        }
    }

    /// Reads a schema, or a value that may be one.
    fn schema(&mut self, scanner: &mut Scanner<'a>, reach: Reach) -> Result<(), ScanError> {
        match scanner.peek() {
            Some(b'{') => self.object(scanner, reach),
            Some(b'[') => {
                let mut index = 0_usize;
                let elements = scanner.elements(|scanner| {
                    self.nested(index.to_string().into(), |walk| {
                        walk.schema(scanner, Reach::Otherwise)
                    })?;
                    index += 1;
                    Ok(())
                });
                elements.map(drop)
            }
            _ => scanner.skip_unchecked().map(drop),
        }
    }

    fn object(&mut self, scanner: &mut Scanner<'a>, reach: Reach) -> Result<(), ScanError> {
        let mut keys = BTreeSet::new();
        let mut annotation = None;
        let mut declared = None;
        scanner.members(|scanner, key| {
            let key = self.key(key);
            if reach == Reach::Properties && !keys.insert(key.clone()) {
                self.duplicate_key(&key);
            }
            match &*key {
                ANNOTATION => annotation = Some(self.raw(scanner.skip_unchecked()?)),
                "type" => declared = Some(self.raw(scanner.skip_unchecked()?)),
                "const" | "default" | "enum" | "examples" => drop(scanner.skip_unchecked()?),
                "properties" => self.nested(key, |walk| walk.map(scanner, reach))?,
                "$defs" | "definitions" | "patternProperties" | "dependencies"
                | "dependentRequired" | "dependentSchemas" => {
                    self.nested(key, |walk| walk.map(scanner, Reach::Otherwise))?;
                }
                _ => self.nested(key, |walk| walk.schema(scanner, Reach::Otherwise))?,
            }
            Ok(())
        })?;
        if let Some(annotation) = annotation
            && self.fault.is_none()
        {
            self.fault = self.annotated(annotation, declared, reach).err();
        }
        Ok(())
    }

    /// An object whose keys are names and whose values are schemas.
    fn map(&mut self, scanner: &mut Scanner<'a>, reach: Reach) -> Result<(), ScanError> {
        if scanner.peek() != Some(b'{') {
            return self.schema(scanner, Reach::Otherwise);
        }
        let mut names = BTreeSet::new();
        let members = scanner.members(|scanner, key| {
            // An argument whose name is not Unicode cannot be found.
            let readable = self.raw(key).string().is_some();
            let reach = if readable { reach } else { Reach::Otherwise };
            let name = self.key(key);
            if reach == Reach::Properties && !names.insert(name.clone()) {
                self.duplicate_key(&name);
            }
            self.nested(name, |walk| walk.schema(scanner, reach))
        });
        members.map(drop)
    }

    fn annotated(
        &mut self,
        annotation: Raw<'a>,
        declared: Option<Raw<'a>>,
        reach: Reach,
    ) -> Result<(), PlanError> {
        let at = || pointer(&self.at);
        if reach == Reach::Otherwise || self.at.is_empty() {
            return Err(PlanError::Misplaced { at: at() });
        }
        let Some(name) = annotation.string() else {
            return Err(PlanError::NotAString { at: at() });
        };
        if !is_name(&name) {
            return Err(PlanError::InvalidName { at: at(), name: name.into_owned() });
        }
        let Some(declared) = declared.map_or(Some(Declared::Absent), type_of) else {
            let declared = declared.map_or(&[][..], |declared| declared.0);
            let declared = String::from_utf8_lossy(declared).into_owned();
            return Err(PlanError::InvalidType { at: at(), declared });
        };
        self.bytes += name.len() + self.at.iter().map(|step| step.len()).sum::<usize>();
        if self.bytes > MAX_BYTES {
            return Err(PlanError::TooLarge { max_bytes: MAX_BYTES });
        }
        if let Some(other) = self.names.insert(name.to_ascii_lowercase(), self.entries.len()) {
            let path = self.entries.get(other).map_or(&[][..], |entry| &*entry.path);
            let other: Vec<_> = path.iter().flat_map(|name| ["properties", &**name]).collect();
            let at = at();
            let other = pointer(&other);
            return Err(PlanError::DuplicateName { at, name: name.into_owned(), other });
        }
        let path = self.at.iter().skip(1).step_by(2).map(|name| (**name).to_owned()).collect();
        self.entries.push(Entry { path, header: [PREFIX, &name].concat(), declared });
        Ok(())
    }

    /// Runs `then` one step further down.
    fn nested<T>(&mut self, step: Cow<'a, str>, then: impl FnOnce(&mut Self) -> T) -> T {
        self.at.push(step);
        let done = then(self);
        self.at.pop();
        done
    }

    fn duplicate_key(&mut self, key: &str) {
        if self.duplicate.is_none() {
            self.duplicate =
                Some(PlanError::DuplicateKey { at: pointer(&self.at), key: key.to_owned() });
        }
    }

    /// The key at `span`, or its text if the key is not Unicode.
    fn key(&self, span: Span) -> Cow<'a, str> {
        let raw = self.raw(span);
        raw.string().unwrap_or_else(|| String::from_utf8_lossy(raw.0))
    }

    fn raw(&self, span: Span) -> Raw<'a> {
        Raw(span.of(self.text))
    }
}

/// A JSON Pointer after a `#`.
fn pointer(steps: &[impl AsRef<str>]) -> String {
    let mut pointer = "#".to_owned();
    for step in steps {
        pointer.push('/');
        pointer.push_str(&step.as_ref().replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

/// Parses a `type`. Returns `None` if headers cannot contain values of this type.
fn type_of(declared: Raw<'_>) -> Option<Declared> {
    if let Some(word) = declared.string() {
        return Kind::of(&word).map(Declared::Exact);
    }
    let mut kinds = Vec::new();
    let mut nulls = 0;
    let mut scanner = Scanner::new(declared.0, MAX_DEPTH);
    let elements = scanner.elements(|scanner| {
        match Raw(scanner.skip_unchecked()?.of(declared.0)).string().as_deref() {
            Some("null") => nulls += 1,
            word => kinds.push(word.and_then(Kind::of)),
        }
        Ok(())
    });
    match (elements, &*kinds, nulls) {
        (Ok(_), [Some(kind)], 0 | 1) => Some(Declared::Union(*kind)),
        _ => None,
    }
}
