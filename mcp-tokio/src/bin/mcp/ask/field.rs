//! A field of a form: its question, and the parser of its answer.

use std::iter;

use mcp_tokio::Json;
use mcp_tokio::types::{
    ContentError, ElicitRequestFormParams, NumberType, PrimitiveSchemaDefinition as Schema,
    RequestedSchema,
};
use serde_json::{Value, json};

pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) schema: &'a Schema,
    pub(super) required: bool,
}

/// Texts of a schema for people.
struct About<'a> {
    texts: [Option<&'a String>; 2],
    kind: &'static str,
}

impl Field<'_> {
    /// The name, title, description, type and default of the field; then its choices.
    pub(super) fn describe(&self) -> Vec<String> {
        let About { texts, kind } = self.about();
        let mut notes = vec![kind.to_owned()];
        if self.required {
            notes.push("required".into());
        }
        if let Some(default) = self.default() {
            notes.push(format!("default {}", default.as_str().trim_matches('"')));
        }
        let notes = notes.join(", ");
        let words: Vec<_> = texts.into_iter().flatten().map(|it| &**it).collect();
        let about = [self.name].into_iter().chain(words).collect::<Vec<_>>().join(": ");
        let mut lines = vec![format!("{about} ({notes})")];
        for (number, (text, title)) in self.choices().iter().enumerate() {
            let text = if text == title { String::new() } else { format!(" ({text})") };
            lines.push(format!("    {}  {title}{text}", number + 1));
        }
        lines
    }

    /// Parses a line; `None` if the line is empty and the field may be omitted.
    pub(super) fn read(&self, line: &str) -> Result<Option<Value>, String> {
        if line.is_empty() {
            let is_missing = self.required && self.default().is_none();
            return if is_missing { Err("it is required".into()) } else { Ok(None) };
        }
        let value = self.value(line)?;
        self.check(&value)?;
        Ok(Some(value))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other schemas are text")]
    fn value(&self, line: &str) -> Result<Value, String> {
        Ok(match self.schema {
            Schema::Number(_) => serde_json::from_str(line).unwrap_or_else(|_| json!(line)),
            Schema::Boolean(_) => match line.to_lowercase().as_str() {
                "y" | "yes" | "true" => json!(true),
                "n" | "no" | "false" => json!(false),
                _ => return Err("answer yes or no".into()),
            },
            Schema::UntitledMultiSelectEnum(_) | Schema::TitledMultiSelectEnum(_) => {
                let chosen = line.split(',').map(|choice| self.choice(choice.trim()));
                Value::Array(chosen.collect::<Result<_, _>>()?)
            }
            Schema::UntitledSingleSelectEnum(_)
            | Schema::TitledSingleSelectEnum(_)
            | Schema::LegacyTitledEnum(_) => self.choice(line)?,
            Schema::Other(_) => serde_json::from_str(line).unwrap_or_else(|_| json!(line)),
            _ => json!(line),
        })
    }

    /// A choice by its number, its title or its text.
    fn choice(&self, line: &str) -> Result<Value, String> {
        let choices = self.choices();
        let named = choices.iter().find(|(text, title)| text == line || title == line);
        let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen = named.or_else(|| choices.get(number?));
        chosen.map(|(text, _)| json!(text)).ok_or_else(|| format!("there is no choice {line}"))
    }

    /// Checks a value with a form that has this field only.
    fn check(&self, value: &Value) -> Result<(), String> {
        let alone = RequestedSchema::new().optional(self.name, self.schema.clone());
        let form = ElicitRequestFormParams::new("", alone);
        match form.accept(&json!({ self.name: value })) {
            Err(ContentError::Fields(fields)) => {
                let wrong: Vec<_> = fields.iter().map(|(_, error)| format!("it {error}")).collect();
                Err(wrong.join("; "))
            }
            Err(error) => Err(error.to_string()),
            Ok(_) => Ok(()),
        }
    }

    fn default(&self) -> Option<Json> {
        let alone = RequestedSchema::new().optional(self.name, self.schema.clone());
        alone.defaults().next().map(|(_, default)| default)
    }

    /// Choices, with titles.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else has choices")]
    fn choices(&self) -> Vec<(String, String)> {
        let same = |texts: &[String]| texts.iter().map(|it| (it.clone(), it.clone())).collect();
        match self.schema {
            Schema::UntitledSingleSelectEnum(schema) => same(&schema.r#enum),
            Schema::UntitledMultiSelectEnum(schema) => same(&schema.items.r#enum),
            Schema::TitledSingleSelectEnum(schema) => {
                let options = schema.one_of.iter();
                options.map(|it| (it.r#const.clone(), it.title.clone())).collect()
            }
            Schema::TitledMultiSelectEnum(schema) => {
                let options = schema.items.any_of.iter();
                options.map(|it| (it.r#const.clone(), it.title.clone())).collect()
            }
            Schema::LegacyTitledEnum(schema) => {
                // A text without a title is its own title.
                let titles = schema.enum_names.iter().map(Some).chain(iter::repeat(None));
                let pairs = schema.r#enum.iter().zip(titles);
                pairs.map(|(text, title)| (text.clone(), title.unwrap_or(text).clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other schemas have no texts")]
    fn about(&self) -> About<'_> {
        macro_rules! about {
            ($schema:ident, $kind:expr) => {
                About { texts: [$schema.title.as_ref(), $schema.description.as_ref()], kind: $kind }
            };
        }
        match self.schema {
            Schema::String(schema) => about!(schema, "text"),
            Schema::Number(schema) if schema.r#type == NumberType::Integer => {
                about!(schema, "whole number")
            }
            Schema::Number(schema) => about!(schema, "number"),
            Schema::Boolean(schema) => about!(schema, "yes or no"),
            Schema::UntitledSingleSelectEnum(schema) => about!(schema, "one of them"),
            Schema::TitledSingleSelectEnum(schema) => about!(schema, "one of them"),
            Schema::LegacyTitledEnum(schema) => about!(schema, "one of them"),
            Schema::UntitledMultiSelectEnum(schema) => {
                about!(schema, "some of them, with commas between")
            }
            Schema::TitledMultiSelectEnum(schema) => {
                about!(schema, "some of them, with commas between")
            }
            _ => About { texts: [None, None], kind: "JSON" },
        }
    }
}
