//! A compiled schema, and the limits of a check.
//!
//! In: a schema; values to check. Out: [`Misfits`] of values that do not fit.
//!
//! | step | bound | beyond it |
//! |---|---|---|
//! | read the value | [`MAX_VALUES`] values, depth 128 | a misfit |
//! | decide | [`MAX_STEPS`] visits | a misfit |
//! | find the places | [`MAX_EXPLAIN_STEPS`] visits, [`MAX_NAMES`] bytes of names on a path | the places found so far, or a misfit without a place |
//!
//! The validator memoizes its decisions about values, but not while it collects places. So it
//! decides first, and has fewer visits for the places. Each error has a copy of its path, so long
//! names are limited. With patterns, each byte of a string counts as visits: 64 for the largest
//! pattern. So the visits to decide take about 1 s at most.

use alloc::string::ToString;
use core::fmt;

use jsonschema::{PatternOptions, options_for};
use serde_json::Value;

use super::budget::{Counted, Counting, Patterns, Steps};
use super::cost::{self, MAX_NAME_COUNT};
use super::hints::Hints;
use super::misfits::{Misfits, cut};
use super::reason;
use mcp_proto::Json;
use mcp_proto::internals::count_values;
use mcp_proto::schema::Dialect;
use mcp_proto::schema::SchemaError;

/// The most values in a value to be checked, including members and elements.
const MAX_VALUES: usize = 100_000;

/// The most visits to decide whether a value fits.
const MAX_STEPS: usize = 1_000_000;

/// The most visits to find the places of misfits.
const MAX_EXPLAIN_STEPS: usize = 10_000;

/// The most bytes of names on a path, if places are reported.
const MAX_NAMES: usize = 2 * 1024;

/// Smaller bounds of the bytes of a compiled pattern, in ascending order. The first one that all
/// patterns of a schema satisfy determines their cost.
const PATTERN_BYTES: [usize; 4] = [1024, 4 * 1024, 16 * 1024, 64 * 1024];

/// The most bytes of a compiled pattern, and of the cache of its engine.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// The origin of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// This program.
    Ours,
    /// The peer.
    Peer,
}

/// A compiled schema.
pub(super) struct Validator {
    compiled: jsonschema::Validator<Counting>,
    patterns: Patterns,
    /// The schema, to look up names.
    schema: Json,
}

impl Validator {
    pub(super) fn compile(schema: &Json, trust: Trust) -> Result<Self, SchemaError> {
        let draft = match Dialect::of(schema)? {
            Dialect::Draft07 => jsonschema::Draft::Draft7,
            // The default of `Dialect::of` for a schema that names none.
            _ => jsonschema::Draft::Draft202012,
        };
        let invalid = |reason: &str| SchemaError::Invalid { reason: cut(reason) };
        if trust == Trust::Peer {
            cost::check_size(schema)?;
        }
        let text = schema.clone();
        let schema: Value =
            serde_json::from_slice(schema.as_bytes()).map_err(|_| invalid("it cannot be read"))?;
        if trust == Trust::Peer {
            cost::check(&schema)?;
        }
        let mut patterns = Patterns { size: 0, per_name: patterns_per_name(&schema) };
        let mut result = build(&schema, draft, MAX_PATTERN_BYTES);
        if result.is_ok() && has_patterns(&schema) {
            patterns.size = MAX_PATTERN_BYTES;
            let fits = |size| build(&schema, draft, size).ok().map(|compiled| (size, compiled));
            if let Some((size, compiled)) = PATTERN_BYTES.into_iter().find_map(fits) {
                patterns.size = size;
                result = Ok(compiled);
            }
        }
        match result {
            Ok(compiled) => Ok(Self { compiled, patterns, schema: text }),
            Err(error) => match error.instance_path().as_str() {
                "" => Err(invalid(&error.to_string())),
                path => Err(invalid(&alloc::format!("{path}: {error}"))),
            },
        }
    }

    /// Checks a value.
    pub(super) fn check(&self, json: &Json) -> Result<(), Misfits> {
        if count_values(json.as_bytes()) > MAX_VALUES {
            return Err(Misfits::whole("has more than 100,000 values, which are not checked"));
        }
        let Ok(value) = serde_json::from_slice::<Value>(json.as_bytes()) else {
            return Err(Misfits::whole(
                "cannot be read: a number is too large, or a string is not Unicode",
            ));
        };
        let steps = Steps::new(MAX_STEPS, self.patterns);
        let fits = self.compiled.is_valid(Counted::new(&value, &steps));
        match (steps.are_spent(), fits) {
            (true, _) => Err(Misfits::whole("takes more than 1,000,000 steps to check")),
            (false, true) => Ok(()),
            (false, false) => Err(self.explain(&value)),
        }
    }

    /// Finds the places where a value does not fit.
    fn explain(&self, value: &Value) -> Misfits {
        let unknown = || Misfits::whole("does not fit, and is too large to say where");
        if longest_names(value) > MAX_NAMES {
            return unknown();
        }
        let steps = Steps::new(MAX_EXPLAIN_STEPS, self.patterns);
        let errors = self.compiled.iter_errors(Counted::new(value, &steps));
        let schema = self.schema.decode().unwrap_or_default();
        reason::misfits(errors, &Hints { schema: &schema, value }).unwrap_or_else(unknown)
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

/// Compiles a schema with a limit for each compiled pattern.
fn build(
    schema: &Value,
    draft: jsonschema::Draft,
    pattern_bytes: usize,
) -> Result<jsonschema::Validator<Counting>, jsonschema::ValidationError<'static>> {
    let patterns =
        PatternOptions::regex().size_limit(pattern_bytes).dfa_size_limit(MAX_PATTERN_BYTES);
    options_for::<Counting>()
        .with_draft(draft)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns)
        .build(schema)
}

/// Returns whether a schema may have patterns. Recursive: the depth is at most 128.
fn has_patterns(schema: &Value) -> bool {
    match schema {
        Value::Array(elements) => elements.iter().any(has_patterns),
        Value::Object(members) => members.iter().any(|(name, value)| {
            matches!(&**name, "pattern" | "patternProperties") || has_patterns(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The most patterns of a schema that apply to a name. Recursive: the depth is at most 128.
fn patterns_per_name(schema: &Value) -> usize {
    match schema {
        Value::Array(elements) => elements.iter().map(patterns_per_name).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match (&**name, value) {
                ("patternProperties", Value::Object(patterns)) => {
                    patterns.len() + patterns_per_name(value)
                }
                // Their visits are not counted, but there are few: see `cost`.
                ("propertyNames", Value::Object(_)) if has_patterns(value) => MAX_NAME_COUNT,
                _ => patterns_per_name(value),
            })
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The most bytes of names on a path in this value. Recursive: the depth is at most 128.
fn longest_names(value: &Value) -> usize {
    match value {
        Value::Array(elements) => elements.iter().map(longest_names).max().unwrap_or(0),
        Value::Object(members) => {
            let lengths = members.iter().map(|(name, value)| name.len() + longest_names(value));
            lengths.max().unwrap_or(0)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
