//! A server whose tools have schemas of many kinds, all from Rust types: what
//! `tests/interop/inspector/run` shows to the official Inspector.

use mcp_tokio::{Implementation, Registry, Structured, serve_stdio};

/// The arguments.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Query {
    limit: Option<u64>,
    ratio: Option<f32>,
    area: Option<Area>,
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, Clone, Copy, Default)]
struct Area {
    width: u32,
    height: i32,
}

/// The structured content.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Found {
    count: u8,
    area: Area,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    within: Vec<Self>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new(Implementation::new("schemas", "1.0.0"));
    registry
        .tool("search", "Searches", |query: Query, _| async move {
            let area = query.area.unwrap_or_default();
            let count = query.limit.map_or(0, |limit| u8::try_from(limit).unwrap_or(u8::MAX));
            let score = query.ratio.map(f64::from);
            Structured(Found { count, area, score, within: Vec::new() })
        })?
        .tool("count", "Counts", |_: Nothing, _| async { Structured(vec![1_u16, 2]) })?;
    Ok(serve_stdio(registry).await?)
}
