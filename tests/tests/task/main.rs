//! Calls of tools that go on as tasks: handlers, stores, and what clients see.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a test ends here, and says why"
)]

mod ends;
mod hosts;
mod input;
mod jobs;
mod late;
mod limits;
mod listen;
mod principals;
mod replaced;
mod starts;
mod stores;
mod unsent;
mod world;

use std::future::Future;

use mcp_proto::Json;
use mcp_proto::types::{Implementation, Tool};
use mcp_service::{Context, IntoToolResult, Registry, Tasks};
use serde_json::Value;

/// A server whose one tool, `t`, is `f`.
pub(crate) fn registry<F, Fut, R>(tasks: Tasks, f: F) -> Registry
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    let mut registry = Registry::new(Implementation::new("tasks", "1.0.0"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.tool_with(Tool::new("t", schema), move |_: Value, context| f(context)).unwrap();
    registry.tasks("t", tasks).unwrap();
    registry
}
