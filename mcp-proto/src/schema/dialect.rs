//! The dialects of JSON Schema that are supported.

use crate::error::{SchemaError, excerpt};
use crate::json::Json;

/// A supported dialect of JSON Schema. A schema names its dialect in `$schema`; without it the
/// dialect is 2020-12.
///
/// ```
/// use mcp_proto::Json;
/// use mcp_proto::schema::{Dialect, SchemaError};
///
/// let schema = Json::parse(r#"{"type":"object"}"#)?;
/// assert_eq!(Dialect::of(&schema), Ok(Dialect::Draft202012));
/// let schema = Json::parse(r#"{"$schema":"http://json-schema.org/draft-04/schema#"}"#)?;
/// assert!(matches!(Dialect::of(&schema), Err(SchemaError::UnsupportedDialect { .. })));
/// # Ok::<(), mcp_proto::InvalidJson>(())
/// ```
///
/// [Specification: Schema Dialect](https://modelcontextprotocol.io/specification/2026-07-28/basic#schema-dialect)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// `https://json-schema.org/draft/2020-12/schema`, the default.
    #[default]
    Draft202012,
    /// `http://json-schema.org/draft-07/schema#`.
    Draft07,
}

impl Dialect {
    /// The dialect of a schema.
    ///
    /// Fails with [`SchemaError::UnsupportedDialect`] if `$schema` is not the URI of a supported
    /// dialect. `https` and `http` are equivalent, and so are an empty and an absent fragment.
    pub fn of(schema: &Json) -> Result<Self, SchemaError> {
        let raw = schema.raw();
        // The search is cheaper than reading the members, and most schemas name no dialect.
        if !raw.may_contain(&["$schema"]) {
            return Ok(Self::default());
        }
        let Some(declared) = raw.member("$schema") else { return Ok(Self::default()) };
        let uri = declared.string().unwrap_or_default();
        let address = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"));
        match address.map(|address| address.strip_suffix('#').unwrap_or(address)) {
            Some("json-schema.org/draft/2020-12/schema") => Ok(Self::Draft202012),
            Some("json-schema.org/draft-07/schema") => Ok(Self::Draft07),
            _ => {
                let text = core::str::from_utf8(declared.0).unwrap_or_default();
                Err(SchemaError::UnsupportedDialect { declared: excerpt(text) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use super::*;

    #[test]
    fn second_hour_17_dialects() {
        let of = |schema: &str| Dialect::of(&Json::parse(schema.to_owned()).unwrap());
        let supported = [
            ("{}", Dialect::Draft202012),
            (r#"{"$schema":"https://json-schema.org/draft/2020-12/schema"}"#, Dialect::Draft202012),
            (r#"{"$schema":"http://json-schema.org/draft/2020-12/schema#"}"#, Dialect::Draft202012),
            (r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, Dialect::Draft07),
            (r#"{"\u0024schema":"https://json-schema.org/draft-07/schema"}"#, Dialect::Draft07),
            (r#"{"properties":{"$schema":{"type":"string"}}}"#, Dialect::Draft202012),
        ];
        for (schema, dialect) in supported {
            assert_eq!(of(schema), Ok(dialect), "{schema}");
        }
        for declared in [
            r#""https://json-schema.org/draft/2019-09/schema""#,
            r#""http://json-schema.org/draft-04/schema#""#,
            r#""http://json-schema.org/draft-07/schema##""#,
            r#""json-schema.org/draft-07/schema""#,
            r#""""#,
            "7",
            "null",
        ] {
            let expected = SchemaError::UnsupportedDialect { declared: declared.to_owned() };
            assert_eq!(of(&alloc::format!(r#"{{"$schema":{declared}}}"#)), Err(expected));
        }
    }
}
