//! The arguments of a tool, by its input schema.
//!
//! In: a schema, and `key=value` words. Out: the arguments of the schema, as lines; and the parsed
//! arguments, with the types of the schema. Schemas come from servers and may be malformed. A value
//! of unknown type is parsed as JSON or as text, and the server checks it.

use mcp_tokio::Json;
use mcp_tokio::types::PromptArgument;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// An argument of a tool or a prompt.
pub(crate) struct Argument {
    name: String,
    kind: String,
    required: bool,
    description: String,
}

impl Argument {
    pub(crate) fn of_prompt(argument: &PromptArgument) -> Self {
        Self {
            name: argument.name.clone(),
            kind: "string".into(),
            required: argument.required,
            description: argument.description.clone().unwrap_or_default(),
        }
    }
}

/// The arguments of a schema, required ones first.
pub(crate) fn of_schema(schema: &Json) -> Vec<Argument> {
    let schema = Schema::new(schema);
    let properties = schema.properties().into_iter().flatten();
    let argument = |(name, property): (&String, &Value)| Argument {
        name: name.clone(),
        kind: kind(property),
        required: schema.requires(name),
        description: text(property, "description"),
    };
    let mut arguments: Vec<_> = properties.map(argument).collect();
    arguments.sort_by_key(|argument| !argument.required);
    arguments
}

/// A table with a line for each argument.
pub(crate) fn table(arguments: &[Argument]) -> String {
    let width = |of: fn(&Argument) -> &str| {
        arguments.iter().map(|argument| of(argument).chars().count()).max().unwrap_or_default()
    };
    let names = width(|argument| &argument.name);
    let kinds = width(|argument| &argument.kind);
    let line = |argument: &Argument| {
        let Argument { name, kind, required, description } = argument;
        let need = if *required { "required" } else { "optional" };
        // Only the first line of a description is shown.
        let description = description.lines().next().unwrap_or_default();
        let line = format!("{name:names$}  {kind:kinds$}  {need}  {description}");
        format!("{}\n", line.trim_end())
    };
    arguments.iter().map(line).collect()
}

/// Parses `key=value` words as arguments.
///
/// Fails for the first invalid word.
pub(crate) fn read(words: &[String], schema: &Json) -> Result<Json, Failure> {
    let schema = Schema::new(schema);
    let mut arguments = Map::new();
    for word in words {
        let (key, text) = word.split_once('=').ok_or_else(|| {
            Failure::usage(format!("{word:?} is no argument")).advice(format!(
                "arguments are KEY=VALUE, or JSON behind --args; {}",
                schema.summary()
            ))
        })?;
        let property = schema.properties().and_then(|properties| properties.get(key));
        if property.is_none() && !schema.is_open() {
            return Err(Failure::usage(format!("the tool has no argument {key:?}"))
                .advice(schema.summary()));
        }
        let value = value(text, property.unwrap_or(&Value::Null)).ok_or_else(|| {
            let wanted = property.map(wanted).unwrap_or_default();
            Failure::usage(format!("{key}={text}: the tool wants {wanted} there"))
        })?;
        arguments.insert(key.to_owned(), value);
    }
    Json::encode(&arguments).map_err(Failure::usage)
}

struct Schema(Value);

impl Schema {
    fn new(schema: &Json) -> Self {
        Self(schema.decode().unwrap_or_default())
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.0.get("properties")?.as_object()
    }

    fn requires(&self, name: &str) -> bool {
        let required = self.0.get("required").and_then(Value::as_array);
        required.is_some_and(|all| all.iter().any(|it| it == name))
    }

    /// Returns whether other arguments than the named ones are allowed.
    fn is_open(&self) -> bool {
        match self.0.get("additionalProperties") {
            Some(Value::Bool(is_open)) => *is_open,
            Some(_) => true,
            None => self.0.get("properties").is_none(),
        }
    }

    /// List of the arguments, for an error message.
    fn summary(&self) -> String {
        let names = self.properties().into_iter().flat_map(Map::keys);
        let (first, then): (Vec<_>, Vec<_>) = names.partition(|name| self.requires(name));
        let first = first.into_iter().map(|name| format!("{name} (required)"));
        let names: Vec<_> = first.chain(then.into_iter().cloned()).collect();
        if names.is_empty() {
            return "the tool has no arguments".into();
        }
        format!("the tool has {}", names.join(", "))
    }
}

/// The value, with a type of the property; `None` if it fits no type.
fn value(text: &str, property: &Value) -> Option<Value> {
    let types = types(property);
    let json: Option<Value> = serde_json::from_str(text).ok();
    let fits = |json: &Value| types.iter().any(|name| is_a(json, name));
    match json {
        // A JSON string stays as typed, with its quotes, if the property may be a string.
        Some(json) if !json.is_string() && (types.is_empty() || fits(&json)) => Some(json),
        _ if types.is_empty() || types.contains(&"string") => Some(Value::String(text.to_owned())),
        Some(json) if fits(&json) => Some(json),
        _ => None,
    }
}

fn is_a(json: &Value, name: &str) -> bool {
    match name {
        "integer" => {
            json.is_i64() || json.is_u64() || json.as_f64().is_some_and(|it| it.fract() == 0.0)
        }
        "number" => json.is_number(),
        "boolean" => json.is_boolean(),
        "array" => json.is_array(),
        "object" => json.is_object(),
        "null" => json.is_null(),
        _ => false,
    }
}

/// The types of a property; empty if `type` and `enum` are absent.
fn types(property: &Value) -> Vec<&str> {
    match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ if property.get("enum").is_some() => vec!["string"],
        _ => Vec::new(),
    }
}

/// Short description of a property's type.
fn kind(property: &Value) -> String {
    let choices = property.get("enum").and_then(Value::as_array);
    if let Some(choices) = choices {
        let choices = choices.iter().map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
        return choices.collect::<Vec<_>>().join("|");
    }
    let types = types(property);
    let kind = if types.is_empty() { "any".into() } else { types.join("|") };
    match property.get("items") {
        Some(items) if kind == "array" => format!("array of {}", self::kind(items)),
        _ => kind,
    }
}

/// The type of a property, with an article.
fn wanted(property: &Value) -> String {
    let kind = kind(property);
    if property.get("enum").is_some() {
        return format!("one of {kind}");
    }
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {}", kind.replace('|', " or "))
}

fn text(property: &Value, name: &str) -> String {
    property.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{
        "count":{"type":"integer"},"ratio":{"type":"number"},"flag":{"type":"boolean"},
        "list":{"type":"array","items":{"type":"string"}},"at":{"type":"object"},
        "name":{"type":"string"},"maybe":{"type":["string","null"]},
        "size":{"type":["integer","null"]},"any":{},"choice":{"enum":["a","b"]}
    },"required":["count"]}"#;

    fn read_one(word: &str) -> Result<String, Failure> {
        let schema = Json::parse(SCHEMA).unwrap();
        read(&[word.to_owned()], &schema).map(|json| json.to_string())
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        for (word, expected) in [
            ("count=3", r#"{"count":3}"#),
            ("ratio=0.5", r#"{"ratio":0.5}"#),
            ("flag=true", r#"{"flag":true}"#),
            (r#"list=["a"]"#, r#"{"list":["a"]}"#),
            (r#"at={"x":1}"#, r#"{"at":{"x":1}}"#),
            ("name=3", r#"{"name":"3"}"#),
            ("name=a=b", r#"{"name":"a=b"}"#),
            ("name=", r#"{"name":""}"#),
            (r#"name="quoted""#, r#"{"name":"\"quoted\""}"#),
            ("maybe=null", r#"{"maybe":null}"#),
            ("maybe=nil", r#"{"maybe":"nil"}"#),
            ("size=null", r#"{"size":null}"#),
            ("any=3", r#"{"any":3}"#),
            ("any=three", r#"{"any":"three"}"#),
            ("choice=a", r#"{"choice":"a"}"#),
        ] {
            assert_eq!(read_one(word).unwrap(), expected, "{word}");
        }
    }

    #[test]
    fn invalid_words_are_reported() {
        for (word, message) in [
            ("count=many", "count=many: the tool wants an integer there"),
            ("count=1.5", "count=1.5: the tool wants an integer there"),
            ("flag=yes", "flag=yes: the tool wants a boolean there"),
            ("list=a", "list=a: the tool wants an array of string there"),
            ("size=big", "size=big: the tool wants an integer or null there"),
            ("other=1", "the tool has no argument \"other\""),
            ("count", "\"count\" is no argument"),
        ] {
            assert_eq!(read_one(word).unwrap_err().message, message, "{word}");
        }
        let advice = read_one("other=1").unwrap_err().advice.unwrap();
        assert!(advice.starts_with("the tool has count (required), any, "), "{advice}");
    }

    #[test]
    fn a_schema_may_be_open() {
        for (schema, is_open) in [
            (r#"{"type":"object"}"#, true),
            (r#"{"type":"object","properties":{}}"#, false),
            (r#"{"type":"object","properties":{},"additionalProperties":true}"#, true),
            (r#"{"type":"object","properties":{},"additionalProperties":{"type":"string"}}"#, true),
            (r#"{"type":"object","additionalProperties":false}"#, false),
        ] {
            let done = read(&["a=1".to_owned()], &Json::parse(schema).unwrap());
            assert_eq!(done.is_ok(), is_open, "{schema}");
        }
    }
}
