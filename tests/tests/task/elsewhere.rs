//! Jobs that run elsewhere: what they may do to their tasks.

use std::sync::{Arc, Mutex};

use mcp_proto::server::task::TaskId;
use mcp_proto::{ErrorCode, ErrorData};
use mcp_service::{Context, Interrupt, NewTask, Registry, Tasks};
use serde_json::json;

use super::registry;
use super::stores::at_once;
use super::world::Process;

#[test]
fn error_of_a_job_has_an_allowed_code() {
    let (mut process, jobs) = process();
    for (code, sent) in [
        (-32002, -32602),
        (-32000, -32603),
        (-32019, -32603),
        (-32023, -32603),
        (-32042, -32603),
        (-32602, -32602),
        (-31999, -31999),
    ] {
        let (id, job) = task(&mut process, &jobs);
        let error = ErrorData::new(ErrorCode(code), "it failed");
        assert!(at_once(process.catalog.tasks().fail(&job, &error)).unwrap());
        let task = process.get(&id);
        assert_eq!(task["error"]["code"], sent, "{code}");
        assert_eq!(
            (&task["status"], &task["statusMessage"]),
            (&json!("failed"), &json!("it failed"))
        );
    }
}

/// Ids of the jobs whose handler has created a task.
type Jobs = Arc<Mutex<Vec<TaskId>>>;

fn process() -> (Process, Jobs) {
    let jobs = Jobs::default();
    (Process::new(jobs_registry(&jobs)), jobs)
}

/// A server whose tool creates a task for a job.
fn jobs_registry(jobs: &Jobs) -> Registry {
    let jobs = jobs.clone();
    registry(Tasks::Manual, move |context: Context| {
        let jobs = jobs.clone();
        async move {
            let created = context.create_task(NewTask::default()).await;
            let (id, task) = created.map_err(|error| ErrorData::internal(error.to_string()))?;
            jobs.lock().unwrap().push(id);
            Err::<String, _>(Interrupt::Task(task))
        }
    })
}

fn task(process: &mut Process, jobs: &Jobs) -> (String, TaskId) {
    let id = process.task();
    let job = jobs.lock().unwrap().last().cloned().unwrap();
    (id, job)
}
