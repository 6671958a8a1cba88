use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::PrimitiveSchemaDefinition;
use super::codec::{or_default, present};
use crate::json::Json;

/// The fields of a form: a JSON Schema of an object without nesting.
///
/// ```
/// use mcp_proto::Json;
/// use mcp_proto::types::{RequestedSchema, StringSchema};
///
/// let schema = RequestedSchema::new().required("name", StringSchema::new());
/// assert_eq!(
///     Json::encode(&schema)?.as_str(),
///     r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// [Schema: `ElicitRequestFormParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#elicitrequestformparams)
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestedSchema {
    /// The dialect, `$schema`; default 2020-12.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    #[serde(default)]
    r#type: ObjectType,
    /// The fields, in the order in which to show them; none for a question of yes or no.
    #[serde(default, with = "properties")]
    pub properties: Vec<(String, PrimitiveSchemaDefinition)>,
    /// The names of the fields that must be filled in.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
enum ObjectType {
    #[default]
    #[serde(rename = "object")]
    Object,
}

impl RequestedSchema {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field that may be left out.
    pub fn optional(
        mut self,
        name: impl Into<String>,
        schema: impl Into<PrimitiveSchemaDefinition>,
    ) -> Self {
        self.properties.push((name.into(), schema.into()));
        self
    }

    /// Adds a field that must be filled in.
    pub fn required(
        mut self,
        name: impl Into<String>,
        schema: impl Into<PrimitiveSchemaDefinition>,
    ) -> Self {
        let name = name.into();
        self.required.push(name.clone());
        self.optional(name, schema)
    }

    /// The fields that have a default, in their order, with the default.
    pub fn defaults(&self) -> impl Iterator<Item = (&str, Json)> {
        self.properties.iter().filter_map(|(name, schema)| Some((&**name, default_of(schema)?)))
    }
}

/// The member `default` of a schema, also of a kind of schema that this version does not know.
fn default_of(schema: &PrimitiveSchemaDefinition) -> Option<Json> {
    #[derive(Deserialize)]
    struct Field {
        /// `null` is a default, too.
        #[serde(default, deserialize_with = "present")]
        default: Option<Json>,
    }
    let field: Field = Json::encode(schema).ok()?.decode().ok()?;
    field.default
}

/// An object whose members keep their order.
mod properties {
    use alloc::string::String;
    use alloc::vec::Vec;
    use core::fmt;

    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};

    use super::PrimitiveSchemaDefinition;

    type Properties = Vec<(String, PrimitiveSchemaDefinition)>;

    pub(super) fn serialize<S: Serializer>(
        properties: &Properties,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(properties.iter().map(|(name, schema)| (name, schema)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Properties, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Properties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of schemas")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
                let mut properties = Vec::new();
                while let Some(property) = map.next_entry()? {
                    properties.push(property);
                }
                Ok(properties)
            }

            fn visit_unit<E>(self) -> Result<Properties, E> {
                Ok(Properties::new())
            }
        }

        deserializer.deserialize_any(Object)
    }
}
