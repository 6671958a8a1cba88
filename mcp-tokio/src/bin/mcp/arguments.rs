//! The arguments of a tool, by its input schema.
//!
//! In: a schema, and `key=value` words. Out: the arguments of the schema, as lines; and the parsed
//! arguments, with the types of the schema. A [`Property`] has the rule. Schemas come from servers
//! and may be malformed.

use std::collections::{BTreeMap, BTreeSet};

use mcp_tokio::Json;
use mcp_tokio::types::PromptArgument;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::property::Property;

/// The width of a column that longer texts do not widen. Formatting panics beyond 65,535.
const MAX_COLUMN: usize = 60;

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
        kind: schema.property(property).kind(),
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
        let widths = arguments.iter().map(|argument| of(argument).chars().count());
        widths.filter(|width| *width <= MAX_COLUMN).max().unwrap_or_default()
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

/// Parses `key=value` words as all arguments of a call.
///
/// Fails for the first invalid word, and for the first missing argument.
pub(crate) fn read_all(words: &[String], schema: &Json) -> Result<Json, Failure> {
    let arguments = read(words, schema)?;
    let schema = Schema::new(schema);
    let is_given = |name: &str| {
        words.iter().any(|word| word.split_once('=').is_some_and(|(key, _)| key == name))
    };
    match schema.required().find(|name| !is_given(name)) {
        Some(missing) => Err(Failure::usage(format!("the tool needs the argument {missing:?}"))
            .advice(schema.summary())),
        None => Ok(arguments),
    }
}

/// Parses `key=value` words as arguments.
///
/// Fails for the first invalid word.
pub(crate) fn read(words: &[String], schema: &Json) -> Result<Json, Failure> {
    let schema = Schema::new(schema);
    let mut arguments = BTreeMap::new();
    let advice = || format!("arguments are KEY=VALUE, or JSON behind --args; {}", schema.summary());
    for (key, text) in pairs(words, "argument", advice)? {
        let property = schema.properties().and_then(|properties| properties.get(key));
        if property.is_none() && !schema.is_open() {
            return Err(Failure::usage(format!("the tool has no argument {key:?}"))
                .advice(schema.summary()));
        }
        let property = schema.property(property.unwrap_or(&Value::Null));
        let value = property.value(text).ok_or_else(|| {
            Failure::usage(format!("{key}={text}: the tool wants {} there", property.wanted()))
        })?;
        arguments.insert(key, value);
    }
    Json::encode(&arguments).map_err(Failure::usage)
}

/// The keys and values of `key=value` words, called `noun`.
///
/// Fails for a word without `=`, with this advice, and for a key that is given twice.
pub(crate) fn pairs<'a>(
    words: &'a [String],
    noun: &str,
    advice: impl Fn() -> String,
) -> Result<Vec<(&'a str, &'a str)>, Failure> {
    let mut keys = BTreeSet::new();
    let pair = |word: &'a String| {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Failure::usage(format!("{word:?} is no {noun}")).advice(advice()));
        };
        if !keys.insert(key) {
            return Err(Failure::usage(format!("the {noun} {key:?} is given twice")));
        }
        Ok((key, value))
    };
    words.iter().map(pair).collect()
}

struct Schema(Value);

impl Schema {
    fn new(schema: &Json) -> Self {
        Self(schema.decode().unwrap_or_default())
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.0.get("properties")?.as_object()
    }

    fn property<'a>(&'a self, schema: &'a Value) -> Property<'a> {
        Property::new(&self.0, schema)
    }

    fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.0.get("required").and_then(Value::as_array);
        required.into_iter().flatten().filter_map(Value::as_str)
    }

    fn requires(&self, name: &str) -> bool {
        self.required().any(|it| it == name)
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

fn text(property: &Value, name: &str) -> String {
    property.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"type":"object","properties":{
        "count":{"type":"integer"},"ratio":{"type":"number"},"flag":{"type":"boolean"},
        "list":{"type":"array","items":{"type":"string"}},"at":{"type":"object"},
        "name":{"type":"string"},"maybe":{"type":["string","null"]},
        "size":{"type":["integer","null"]},"any":{},"choice":{"enum":["a","b"]},
        "level":{"enum":[1,2]},"unit":{"$ref":"#/$defs/unit"}
    },"required":["count"],"$defs":{"unit":{"anyOf":[{"const":"kg"},{"type":"null"}]}}}"##;

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
            ("level=2", r#"{"level":2}"#),
            ("unit=kg", r#"{"unit":"kg"}"#),
            ("unit=null", r#"{"unit":null}"#),
            ("any=12345678901234567890123", r#"{"any":12345678901234567890123}"#),
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
            ("choice=c", "choice=c: the tool wants one of a|b there"),
            ("unit=g", "unit=g: the tool wants one of kg|null there"),
            ("other=1", "the tool has no argument \"other\""),
            ("count", "\"count\" is no argument"),
        ] {
            assert_eq!(read_one(word).unwrap_err().message, message, "{word}");
        }
        let advice = read_one("other=1").unwrap_err().advice.unwrap();
        assert!(advice.starts_with("the tool has count (required), any, "), "{advice}");
    }

    #[test]
    fn long_type_does_not_widen_its_column() {
        let choices: Vec<_> = (0..20_000).map(|it| it.to_string()).collect();
        let schema = serde_json::json!({ "properties": {
            "a": { "enum": choices },
            "bb": { "type": "string", "description": "text" },
        }});
        let table = table(&of_schema(&Json::encode(&schema).unwrap()));
        assert!(table.ends_with("\nbb  string  optional  text\n"), "{}", table.len());
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
