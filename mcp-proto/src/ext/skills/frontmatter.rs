//! Frontmatter of `SKILL.md`: YAML, read as a JSON object.
//!
//! In: the bytes of the file. Out: the object, or a [`FrontmatterError`]. The crate `granit-parser`
//! parses the YAML, and this module composes JSON from its events. Everything is bounded: 64 KiB,
//! 32 levels, and no aliases, which could expand to more. A duplicate key is an error, because
//! parsers differ in the value that they use.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::FrontmatterError;
use super::scalar;
use crate::json::{Json, write};

/// The maximum bytes of frontmatter.
const MAX_BYTES: usize = 64 * 1024;

/// The maximum levels of nesting.
const MAX_DEPTH: usize = 32;

/// The frontmatter of a file.
pub(super) fn parse(file: &[u8]) -> Result<Json, FrontmatterError> {
    let text = core::str::from_utf8(file).map_err(|_| FrontmatterError::NotUtf8)?;
    let rest = text.strip_prefix("---").ok_or(FrontmatterError::Missing)?;
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('\r').unwrap_or(rest);
    let yaml = rest.strip_prefix('\n').ok_or(FrontmatterError::Missing)?;
    let mut length = 0;
    for line in yaml.split_inclusive('\n') {
        if length > MAX_BYTES {
            break;
        }
        if line.strip_prefix("---").is_some_and(|rest| rest.trim_end().is_empty()) {
            return compose(yaml.get(..length).unwrap_or_default());
        }
        length += line.len();
    }
    Err(FrontmatterError::Unclosed)
}

/// The only document of a text, a mapping.
fn compose(yaml: &str) -> Result<Json, FrontmatterError> {
    let mut composer = Composer { out: Vec::new(), open: Vec::new(), documents: 0 };
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| {
            let reason = "the YAML cannot be parsed";
            FrontmatterError::Yaml { line: error.marker().line() + 1, reason }
        })?;
        // The line of the opening `---` was not parsed.
        let line = span.start.line() + 1;
        composer.take(event).map_err(|reason| FrontmatterError::Yaml { line, reason })?;
    }
    if composer.out.first() != Some(&b'{') || !composer.open.is_empty() {
        return Err(FrontmatterError::Yaml { line: 2, reason: "it must be a mapping" });
    }
    Ok(Json::trusted(composer.out))
}

/// JSON text, composed from events.
struct Composer {
    out: Vec<u8>,
    open: Vec<Collection>,
    documents: usize,
}

/// A collection that has not ended.
enum Collection {
    Sequence { is_empty: bool },
    Mapping { keys: BTreeSet<String>, wants_value: bool },
}

impl Composer {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the other events have no part in the value"
    )]
    fn take(&mut self, event: Event<'_>) -> Result<(), &'static str> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("there is more than one document");
                }
            }
            Event::Scalar(text, style, _, tag) => self.scalar(&text, style, tag.as_deref())?,
            Event::SequenceStart(_, _, tag) => {
                self.open(tag.as_deref(), "seq", Collection::Sequence { is_empty: true }, b'[')?;
            }
            Event::MappingStart(_, _, tag) => {
                let mapping = Collection::Mapping { keys: BTreeSet::new(), wants_value: false };
                self.open(tag.as_deref(), "map", mapping, b'{')?;
            }
            Event::SequenceEnd => self.close(b']'),
            Event::MappingEnd => self.close(b'}'),
            Event::Alias(..) | Event::UnresolvedAlias(..) => {
                return Err("aliases are not supported");
            }
            _ => {}
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
    ) -> Result<(), &'static str> {
        if tag.is_some_and(|tag| !tag.is_yaml_core_schema_tag("str")) {
            return Err("tags other than !!str are not supported");
        }
        if let Some(Collection::Mapping { keys, wants_value: wants_value @ false }) =
            self.open.last_mut()
        {
            if !keys.insert(text.into()) {
                return Err("a key stands twice");
            }
            if keys.len() > 1 {
                self.out.push(b',');
            }
            *wants_value = true;
            write::string(&mut self.out, text);
            self.out.push(b':');
            return Ok(());
        }
        self.begin_value();
        if style == ScalarStyle::Plain && tag.is_none() {
            return scalar::plain(text, &mut self.out);
        }
        write::string(&mut self.out, text);
        Ok(())
    }

    fn open(
        &mut self,
        tag: Option<&Tag>,
        own: &str,
        collection: Collection,
        bracket: u8,
    ) -> Result<(), &'static str> {
        if tag.is_some_and(|tag| !tag.is_yaml_core_schema_tag(own)) {
            return Err("tags other than !!str are not supported");
        }
        if self.open.len() >= MAX_DEPTH {
            return Err("it is nested more than 32 deep");
        }
        if matches!(self.open.last(), Some(Collection::Mapping { wants_value: false, .. })) {
            return Err("a key must be a scalar");
        }
        self.begin_value();
        self.out.push(bracket);
        self.open.push(collection);
        Ok(())
    }

    /// Begins a value. Writes a comma before each element of a sequence except the first.
    fn begin_value(&mut self) {
        match self.open.last_mut() {
            Some(Collection::Sequence { is_empty }) => {
                if !*is_empty {
                    self.out.push(b',');
                }
                *is_empty = false;
            }
            Some(Collection::Mapping { wants_value, .. }) => *wants_value = false,
            None => {}
        }
    }

    fn close(&mut self, bracket: u8) {
        self.open.pop();
        self.out.push(bracket);
    }
}
