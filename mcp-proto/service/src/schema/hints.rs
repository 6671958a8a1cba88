//! Suggestions for misspelt members, where a value does not fit a schema.
//!
//! In: the schema, the value, and an error about a missing or an additional member of an object.
//! Out: the misspelt members of that object: members that the schema does not define, and that are
//! similar to an absent one. Called only for values that do not fit.

use alloc::vec::Vec;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::misfits::{Misfit, cut};
use crate::nearest::nearest;

/// The most members of an object that are compared.
const MAX_MEMBERS: usize = 16;

/// A schema and a value that does not fit.
pub(super) struct Hints<'a> {
    pub(super) schema: &'a Value,
    pub(super) value: &'a Value,
}

impl Hints<'_> {
    /// The misspelt members of the object that an error is about.
    pub(super) fn about(&self, error: &ValidationError<'_>) -> Vec<Misfit> {
        let about_members = matches!(
            error.kind(),
            Kind::Required { .. }
                | Kind::AdditionalProperties { .. }
                | Kind::UnevaluatedProperties { .. }
        );
        if about_members { self.members(error).unwrap_or_default() } else { Vec::new() }
    }

    fn members(&self, error: &ValidationError<'_>) -> Option<Vec<Misfit>> {
        let place = error.instance_path().as_str();
        let (subschema, _) = error.schema_path().as_str().rsplit_once('/')?;
        let known = self.schema.pointer(subschema)?.get("properties")?.as_object()?;
        let members = self.value.pointer(place)?.as_object()?;
        let unknown = members.keys().filter(|name| !known.contains_key(*name));
        let misspelt = unknown.take(MAX_MEMBERS).filter_map(|name| {
            let absent = known.keys().filter(|name| !members.contains_key(*name));
            let near = nearest(name, absent.map(|name| &**name))?;
            let token = name.replace('~', "~0").replace('/', "~1");
            let path = cut(&alloc::format!("{place}/{token}"));
            Some(Misfit { path, reason: alloc::format!("did you mean `{}`?", cut(near)) })
        });
        Some(misspelt.collect())
    }
}
