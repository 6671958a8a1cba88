//! Values of the official schemas: the examples, and values that have every member.

#![expect(clippy::unwrap_used, reason = "a test that has no schema ends here, and says why")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The revisions that have a schema, oldest first.
pub const REVISIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The official examples of a definition of 2026-07-28, each with the name of its file.
///
/// # Panics
///
/// Panics if there are none, or if one cannot be read.
pub fn examples(definition: &str) -> Vec<(String, Value)> {
    let files = fs::read_dir(folder("2026-07-28").join("examples").join(definition)).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = format!("{definition}/{}", path.file_name().unwrap().to_string_lossy());
        (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// A schema of a revision.
#[derive(Debug)]
pub struct Schema {
    schema: Value,
    /// True if objects have members that no schema defines.
    is_extended: bool,
}

impl Schema {
    /// The schema of this revision.
    ///
    /// # Panics
    ///
    /// Panics if there is none, or if it cannot be read.
    pub fn of(revision: &str) -> Self {
        let text = fs::read(folder(revision).join("schema.json")).unwrap();
        Self { schema: serde_json::from_slice(&text).unwrap(), is_extended: false }
    }

    /// The same, with an undefined member in each object that allows one.
    #[must_use]
    pub fn extended(self) -> Self {
        Self { is_extended: true, ..self }
    }

    /// Values of a definition. Each has every member. Together they have every form of each member.
    pub fn values(&self, definition: &str) -> Vec<Value> {
        self.of_definition(definition).map_or_else(Vec::new, |schema| self.write(schema))
    }

    fn of_definition(&self, name: &str) -> Option<&Value> {
        self.schema.get("$defs").or_else(|| self.schema.get("definitions"))?.get(name)
    }

    fn write(&self, schema: &Value) -> Vec<Value> {
        if let Some(path) = schema["$ref"].as_str() {
            return match path.rsplit('/').next().unwrap_or_default() {
                "JSONValue" => vec![json!({"a": [1.5, null]})],
                "JSONObject" => vec![json!({"com.example/a": {"b": [null]}})],
                name => self.values(name),
            };
        }
        if let Some(value) = schema.get("const") {
            return vec![value.clone()];
        }
        for forms in ["enum", "anyOf", "oneOf"] {
            match schema[forms].as_array() {
                Some(values) if forms == "enum" => return values.clone(),
                Some(schemas) => return schemas.iter().flat_map(|it| self.write(it)).collect(),
                None => {}
            }
        }
        if let Some(types) = schema["type"].as_array() {
            let of_type = |kind: &Value| self.write_type(kind.as_str(), schema);
            return types.iter().flat_map(of_type).collect();
        }
        self.write_type(schema["type"].as_str(), schema)
    }

    fn write_type(&self, kind: Option<&str>, schema: &Value) -> Vec<Value> {
        match kind {
            Some("object") => self.write_object(schema),
            Some("array") => vec![self.write(&schema["items"]).into()],
            Some("string") => match schema["format"].as_str() {
                Some("byte") => vec![json!("AAE=")],
                Some("uri") => vec![json!("https://a.example/b")],
                _ => vec![json!("text")],
            },
            Some("integer") => vec![json!(7)],
            Some("number") if schema.get("maximum").is_some() => vec![json!(0.5)],
            Some("number") => vec![json!(7.5)],
            Some("boolean") => vec![json!(true)],
            Some("null") => vec![Value::Null],
            _ => vec![json!({"com.example/any": [1.5, null]})],
        }
    }

    /// The forms of an object: the n-th form has the n-th form of each member.
    fn write_object(&self, schema: &Value) -> Vec<Value> {
        let none = Map::new();
        let members = schema["properties"].as_object().unwrap_or(&none);
        let forms: Vec<(&String, Vec<Value>)> =
            members.iter().map(|(name, schema)| (name, self.write(schema))).collect();
        let others = match schema.get("additionalProperties") {
            Some(others) if others.is_object() => self.write(others),
            None if self.is_extended => vec![json!([{"": null}])],
            _ => Vec::new(),
        };
        let count = forms.iter().map(|(_, forms)| forms.len()).chain([others.len(), 1]).max();
        let form = |at: usize| {
            let nth = |forms: &[Value]| forms.get(at % forms.len().max(1)).cloned();
            let mut object: Map<String, Value> = forms
                .iter()
                .filter_map(|(name, forms)| Some(((*name).clone(), nth(forms)?)))
                .collect();
            object.extend(nth(&others).map(|other| ("com.example/other".to_owned(), other)));
            Value::Object(object)
        };
        (0..count.unwrap_or_default()).map(form).collect()
    }
}

fn folder(revision: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("spec").join(revision)
}
