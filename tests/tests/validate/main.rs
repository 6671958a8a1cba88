//! Validation by JSON Schema: tools of servers in both eras, results at clients, the official
//! cases, and the bounds of a check.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod bounds;
mod clients;
mod official;
mod servers;

use mcp_proto::Json;
use mcp_proto::types::Tool;
use mcp_service::schema::ToolSchemas;
use serde_json::Value;

/// A tool with this schema, compiled.
fn schemas(schema: &Value) -> ToolSchemas {
    ToolSchemas::of(&Tool::new("t", json(schema))).unwrap()
}

/// Text of the misfits of a value; empty if it fits the schema.
fn misfits(schema: &Value, value: &Value) -> String {
    let checked = schemas(schema).check_arguments(&json(value));
    checked.err().map(|misfits| misfits.to_string()).unwrap_or_default()
}

fn json(value: &Value) -> Json {
    Json::encode(value).unwrap()
}
