//! Equality of frontmatter: the object of an entry compared with that of a file, field by field.
//!
//! Strings are compared by their characters, objects without order, and numbers by value: `1.0` in
//! a file equals `1` in an entry.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::SkillError;
use crate::json::{Json, Raw};

/// Fails with [`SkillError::FrontmatterMismatch`] for the first field, by name, that differs.
pub(super) fn check(entry: &Json, file: &Json) -> Result<(), SkillError> {
    let differs = |field: &str| SkillError::FrontmatterMismatch { field: field.into() };
    let (Some(entry), Some(file)) = (fields(entry.raw()), fields(file.raw())) else {
        return Err(differs(""));
    };
    for (name, value) in &entry {
        if !file.get(name).is_some_and(|other| are_equal(*value, *other)) {
            return Err(differs(name));
        }
    }
    match file.keys().find(|name| !entry.contains_key(*name)) {
        Some(name) => Err(differs(name)),
        None => Ok(()),
    }
}

/// Recursion is safe, because JSON is nested at most 128 deep.
fn are_equal(one: Raw<'_>, other: Raw<'_>) -> bool {
    match one.0.first() {
        Some(b'{') => match (fields(one), fields(other)) {
            (Some(one), Some(other)) => {
                one.len() == other.len()
                    && one.iter().zip(&other).all(
                        |((name, value), (name_of_other, value_of_other))| {
                            name == name_of_other && are_equal(*value, *value_of_other)
                        },
                    )
            }
            _ => false,
        },
        Some(b'[') => {
            let (one, another) = (elements(one), elements(other));
            other.is_array()
                && one.len() == another.len()
                && one.iter().zip(&another).all(|(one, other)| are_equal(*one, *other))
        }
        Some(b'"') => one.string().is_some_and(|text| other.string() == Some(text)),
        Some(b'-' | b'0'..=b'9') => one.0 == other.0 || have_equal_value(one.0, other.0),
        _ => one.0 == other.0,
    }
}

/// The members of an object; `None` for another value, and for a duplicate name.
fn fields(value: Raw<'_>) -> Option<BTreeMap<String, Raw<'_>>> {
    let mut fields = BTreeMap::new();
    let mut is_plain = value.is_object();
    value.members(|key, value| {
        let name = key.string().map(Cow::into_owned);
        is_plain &= name.is_some_and(|name| fields.insert(name, value).is_none());
    });
    is_plain.then_some(fields)
}

fn elements(value: Raw<'_>) -> Vec<Raw<'_>> {
    let mut elements = Vec::new();
    value.elements(|element| elements.push(element));
    elements
}

/// Returns whether two numbers that are written in different ways are equal. Integers with more
/// digits than a double can represent are equal only if they are written alike.
fn have_equal_value(one: &[u8], other: &[u8]) -> bool {
    let value = |text| core::str::from_utf8(text).ok()?.parse::<f64>().ok();
    let is_exact = |number: f64| number.abs() <= 9_007_199_254_740_992.0 || number % 1.0 != 0.0;
    matches!((value(one), value(other)), (Some(one), Some(other)) if is_exact(one) && one.to_bits() == other.to_bits())
        || [one, other].iter().all(|text| value(text) == Some(0.0))
}
