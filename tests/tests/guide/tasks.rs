//! The code of `docs/guide/tasks.md`.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::UsageError;
use mcp_proto::client::{CallError, Config as ClientConfig};
use mcp_proto::ext;
use mcp_proto::server::Progress;
use mcp_proto::server::task::TaskId;
use mcp_proto::types::{CallToolResult, Implementation};
use mcp_service::testing::Pair;
use mcp_service::{
    Catalog, Context, Interrupt, MemoryStore, NewTask, Registry, Started, TaskConfig, TaskError,
    Tasks,
};
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

/// A queue of jobs: the ids of their tasks.
#[derive(Default)]
struct Farm {
    jobs: Mutex<Vec<String>>,
}

impl Farm {
    async fn render(
        &self,
        film: Film,
        context: Context,
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        if !context.may_be_task() {
            return Err("This client cannot follow tasks.".into());
        }
        let mut new = NewTask::default();
        new.message = Some(format!("{} is queued", film.title));
        let (id, task) = context.create_task(new).await?;
        self.jobs.lock().unwrap().push(id.as_str().to_owned());
        Err(Interrupt::Task(task).into())
    }
}

/// Called when a film is ready, in any process with the same store.
async fn finish(catalog: &Catalog, id: String) -> Result<(), TaskError> {
    let film = CallToolResult::text("The film is ready.");
    if !catalog.tasks().complete(&TaskId::from(id), &film).await? {
        eprintln!("nobody waits for the film: its task was cancelled, or its TTL is over");
    }
    Ok(())
}

fn farm(farm: &Arc<Farm>) -> Result<Registry, UsageError> {
    let mut registry = Registry::new(Implementation::new("farm", "1.0.0"));
    registry.with(farm.clone()).tool("render", "Renders a film", Farm::render)?;
    registry.tasks("render", Tasks::Manual)?;
    Ok(registry)
}

#[test]
fn a_job_elsewhere_completes_its_task() -> Result<(), Box<dyn Error>> {
    let film = json!({"title": "Rain", "minutes": 20});
    let jobs = Arc::<Farm>::default();
    let catalog = Catalog::from(farm(&jobs)?);
    let config = ClientConfig::new(Implementation::new("app", "1.0.0")).follow_tasks();
    let mut pair = Pair::new(catalog.clone()).client_config(config);
    let begun = pair.client().start_tool("render", &film);
    let Started::Task(task) = pair.run(begun)? else { return Err("it was not a task".into()) };
    let status = pair.run(task.status())?.task;
    assert_eq!(status.status_message.as_deref(), Some("Rain is queued"));
    let job = jobs.jobs.lock().unwrap().pop().ok_or("there is no job")?;
    pair.run(finish(&catalog, job))?;
    let result: Result<_, CallError> = pair.run(task.result());
    assert_eq!(result?.content[0].as_text(), Some("The film is ready."));

    let mut pair = Pair::new(farm(&jobs)?);
    let result = pair.client().call_tool("render", &film);
    assert!(pair.run(result)?.is_error);
    assert!(jobs.jobs.lock().unwrap().is_empty());
    Ok(())
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
