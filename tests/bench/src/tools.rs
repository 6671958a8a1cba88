//! Arguments and results of the tools that `mcp-server` and `rmcp-server` have in common.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arguments of `echo`.
#[derive(Deserialize, JsonSchema)]
pub struct Echo {
    /// The message to send back.
    pub message: String,
}

/// Arguments of `report`.
#[derive(Deserialize, JsonSchema)]
pub struct Report {
    /// The message to send back at the end.
    pub message: String,
    /// The number of progress notifications before the end; 1 if it is absent.
    pub count: Option<u32>,
}

/// The result of `items`, about 2 MB of JSON.
#[derive(Serialize, JsonSchema)]
pub struct Items {
    items: Vec<Item>,
}

/// A row of such a result.
#[derive(Serialize, JsonSchema)]
struct Item {
    id: u64,
    path: String,
    score: f64,
    is_open: bool,
    labels: Vec<String>,
    summary: String,
}

/// 10,000 items.
pub static ITEMS: LazyLock<Items> = LazyLock::new(|| {
    let item = |id: u64| Item {
        id,
        path: format!("src/module_{}/file_{id}.rs", id % 100),
        score: id as f64 / 8.0,
        is_open: id.is_multiple_of(2),
        labels: vec!["first".into(), format!("label-{}", id % 10)],
        summary: "Pack my box with five dozen jugs, then say \"done\". ".repeat(2),
    };
    Items { items: (0..10_000).map(item).collect() }
});

/// The number of tools that a server has in addition, which the environment may set.
pub fn more_tools() -> usize {
    std::env::var("TOOLS").ok().and_then(|count| count.parse().ok()).unwrap_or_default()
}

/// URI of the resource that is read.
pub const RESOURCE: &str = "bench:///text";

/// Text of the resource, 1 MB.
pub static TEXT: LazyLock<String> = LazyLock::new(|| {
    "Pack my box with five dozen jugs.\n".chars().cycle().take(1_000_000).collect()
});
