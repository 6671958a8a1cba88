//! The official schemas.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

pub(crate) const MODERN: &str = "2026-07-28";
/// Revision for legacy messages before the session has one.
pub(crate) const LATEST_LEGACY: &str = "2025-11-25";

/// The official schemas, each read and each definition compiled when it is first needed.
#[derive(Default)]
pub(crate) struct Schemas {
    files: BTreeMap<String, Value>,
    validators: BTreeMap<(String, String), Validator>,
}

impl Schemas {
    /// Returns whether a revision has this definition.
    pub(crate) fn defines(&mut self, revision: &str, name: &str) -> bool {
        let schema = self.schema(revision);
        schema[container(schema)].get(name).is_some()
    }

    /// Faults of a value that should have this definition.
    pub(crate) fn check(&mut self, revision: &str, name: &str, value: &Value) -> Vec<String> {
        if !self.defines(revision, name) {
            return vec![format!("{revision} has no {name}")];
        }
        let key = (revision.to_owned(), name.to_owned());
        if !self.validators.contains_key(&key) {
            let mut schema = self.schema(revision).clone();
            schema["allOf"] = json!([{ "$ref": format!("#/{}/{name}", container(&schema)) }]);
            self.validators.insert(key.clone(), jsonschema::validator_for(&schema).unwrap());
        }
        let faults = self.validators.get(&key).unwrap().iter_errors(value);
        faults.map(|fault| format!("no {name} of {revision}: {fault}")).collect()
    }

    /// Faults of an error response.
    pub(crate) fn check_error(&mut self, revision: &str, message: &Value) -> Vec<String> {
        let no_form = message.get("id").is_none() && revision != MODERN;
        let revision = if no_form { LATEST_LEGACY } else { revision };
        let code = message["error"]["code"].as_i64().and_then(error_of);
        let names = [code, Some("JSONRPCErrorResponse"), Some("JSONRPCError")];
        let name = names.into_iter().flatten().find(|name| self.defines(revision, name));
        self.check(revision, name.unwrap(), message)
    }

    /// Faults of a response whose result should have this definition.
    pub(crate) fn check_result(
        &mut self,
        revision: &str,
        name: &str,
        message: &Value,
    ) -> Vec<String> {
        let envelope = ["JSONRPCResultResponse", "JSONRPCResponse"];
        let envelope = envelope.into_iter().find(|name| self.defines(revision, name));
        let mut faults = self.check(revision, envelope.unwrap(), message);
        faults.extend(self.check(revision, name, &message["result"]));
        faults
    }

    fn schema(&mut self, revision: &str) -> &Value {
        self.files.entry(revision.to_owned()).or_insert_with(|| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec").join(revision);
            serde_json::from_slice(&fs::read(folder.join("schema.json")).unwrap()).unwrap()
        })
    }
}

/// The member that holds the definitions.
fn container(schema: &Value) -> &'static str {
    if schema.get("$defs").is_some() { "$defs" } else { "definitions" }
}

/// The definition of an error that has one of its own.
fn error_of(code: i64) -> Option<&'static str> {
    Some(match code {
        -32020 => "HeaderMismatchError",
        -32021 => "MissingRequiredClientCapabilityError",
        -32022 => "UnsupportedProtocolVersionError",
        -32042 => "URLElicitationRequiredError",
        _ => return None,
    })
}
