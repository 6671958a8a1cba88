//! The code of `docs/guide/tasks.md`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::UsageError;
use mcp_proto::ext;
use mcp_proto::server::Progress;
use mcp_proto::types::Implementation;
use mcp_service::testing::Pair;
use mcp_service::{Context, MemoryStore, Registry, TaskConfig, Tasks};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Film {
    title: String,
    minutes: u32,
}

async fn render(film: Film, context: Context) -> String {
    for minute in 1..=film.minutes {
        if context.is_cancelled() {
            break;
        }
        context.sleep(Duration::from_secs(1)).await;
        context.progress(Progress::new(minute).total(film.minutes).message("rendering"));
    }
    format!("{} is ready", film.title)
}

fn studio() -> Result<Registry, UsageError> {
    let mut registry = Registry::new(Implementation::new("studio", "1.0.0"));
    registry.tool("render", "Renders a film", render)?;
    registry.tasks("render", Tasks::After(Duration::from_secs(5)))?;
    Ok(registry)
}

fn settings(registry: &mut Registry) {
    let mut config = TaskConfig::default();
    config.ttl = Duration::from_secs(24 * 3600);
    registry.task_config(config).task_store(Arc::new(MemoryStore::default().max_tasks(100)));
}

#[test]
fn a_client_without_the_extension_waits() -> Result<(), Box<dyn Error>> {
    let mut registry = studio()?;
    settings(&mut registry);
    let mut pair = Pair::new(registry);
    let server = pair.run(pair.client().connected())?;
    assert!(server.extension(ext::TASKS).is_some());
    let call = pair.client().call_tool("render", &json!({"title": "Rain", "minutes": 20}));
    assert_eq!(pair.run(call)?.content[0].as_text(), Some("Rain is ready"));
    Ok(())
}
