//! Headers that mirror parts of a message: plans, values, and both roles.

#![expect(clippy::unwrap_used, reason = "a test ends here, and says why")]

mod check;
mod emit;
mod gateway;
mod integer;
mod laws;
mod passing;
mod plan;
mod value;

use mcp_proto::Json;
use mcp_proto::headers::{HeaderError, HeaderPlan, MirroredHeaders};
use serde_json::Value;

/// The fields of a head, `name: value` each, without a blank that is not the value's own.
fn head<'a>(fields: &[&'a str]) -> MirroredHeaders<'a> {
    MirroredHeaders::of(fields.iter().map(|field| {
        let (name, value) = field.split_once(':').unwrap();
        (name, value.as_bytes())
    }))
}

fn plan(properties: &Value) -> HeaderPlan {
    let schema = serde_json::json!({"type": "object", "properties": properties});
    HeaderPlan::compile(&json(&schema.to_string())).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text.to_owned()).unwrap()
}

/// A verdict in a word, and the header that it is about.
fn told(result: Result<(), HeaderError>) -> String {
    let Err(error) = result else { return "ok".to_owned() };
    let header = error.header();
    match &error {
        HeaderError::Missing { .. } => format!("{header} Missing"),
        HeaderError::Repeated { .. } => format!("{header} Repeated"),
        HeaderError::Mismatch { .. } => format!("{header} Mismatch"),
        HeaderError::Unexpected { .. } => format!("{header} Unexpected"),
        HeaderError::NotDecodable { reason, .. } => format!("{header} {reason:?}"),
        HeaderError::OutOfRange { place, .. } => format!("{header} OutOfRange {place:?}"),
        HeaderError::NotWhole { place, .. } => format!("{header} NotWhole {place:?}"),
        HeaderError::NotUnicode { .. } => format!("{header} NotUnicode"),
        HeaderError::Unvalidated { .. } => format!("{header} Unvalidated"),
        other => other.to_string(),
    }
}
