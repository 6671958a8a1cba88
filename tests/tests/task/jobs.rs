//! Jobs that are not handlers: what they may do to their tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::server::InputRequired;
use mcp_proto::server::task::TaskId;
use mcp_proto::types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestURLParams, InputRequest,
    RequestedSchema,
};
use mcp_proto::{ErrorCode, ErrorData};
use mcp_service::testing::Pair;
use mcp_service::{Context, Interrupt, NewTask, Registry, TaskError, Tasks};
use serde_json::{Value, json};

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

#[test]
fn job_asks_only_for_input_that_its_client_declares() {
    let url = || ElicitRequestURLParams::new("Sign in.", "https://example.com/");
    let sampling = || CreateMessageRequestParams::new(vec![], 10);
    let form = || ElicitRequestFormParams::new("Go on?", RequestedSchema::default());
    let (mut process, jobs) = process();
    let (id, job) = task(&mut process, &jobs);
    let manager = process.catalog.tasks();
    let refused = [
        (InputRequired::new("a", url()), json!({"elicitation": {"url": {}}})),
        (InputRequired::new("a", sampling()), json!({"sampling": {}})),
        // None of it is sent if some of it may not be.
        (InputRequired::new("a", form()).and("b", sampling()), json!({"sampling": {}})),
    ];
    for (required, lacking) in refused {
        let Err(TaskError::InputNotAllowed(error)) = at_once(manager.ask(&job, &required)) else {
            panic!("{required:?} is sent")
        };
        assert_eq!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY);
        let data: Value = error.data.unwrap().decode().unwrap();
        assert_eq!(data["requiredCapabilities"], lacking);
        assert_eq!(process.get(&id)["status"], "working");
    }
    assert!(at_once(manager.ask(&job, &InputRequired::new("a", form()))).unwrap());
    assert_eq!(process.get(&id)["inputRequests"]["a"]["method"], "elicitation/create");
    // A task that has ended needs no input.
    process.cancel(&id);
    assert!(!at_once(manager.ask(&job, &InputRequired::new("a", url()))).unwrap());
}

#[test]
fn task_of_a_handler_is_asked_only_for_input_that_its_client_declares() {
    let mut process = Process::new(registry(Tasks::Always, async |context: Context| {
        context.sleep(Duration::from_secs(1)).await;
        "done"
    }));
    let id = process.task();
    let (manager, job) = (process.catalog.tasks(), TaskId::from(id.clone()));
    let sampling = CreateMessageRequestParams::new(vec![], 10);
    let refused = at_once(manager.ask(&job, &InputRequired::new("a", sampling)));
    assert!(matches!(refused, Err(TaskError::InputNotAllowed(_))), "{refused:?}");
    let roots = InputRequired::new("a", InputRequest::list_roots());
    assert!(at_once(manager.ask(&job, &roots)).unwrap());
    assert_eq!(process.get(&id)["inputRequests"]["a"]["method"], "roots/list");
}

/// `false` is the end of the task, so that a job stops.
#[test]
fn status_that_is_repeated_does_not_look_like_the_end_of_the_task() {
    let (mut process, jobs) = process();
    let (id, job) = task(&mut process, &jobs);
    let tasks = process.catalog.tasks();
    for _ in 0..2 {
        assert!(at_once(tasks.status(&job, "rendering")).unwrap());
    }
    assert_eq!(process.get(&id)["statusMessage"], "rendering");
    process.cancel(&id);
    assert!(!at_once(tasks.status(&job, "rendering")).unwrap());
}

#[test]
fn request_that_cannot_be_a_task_creates_none() {
    let registry = registry(Tasks::Manual, async |context: Context| {
        let created = context.create_task(NewTask::default()).await;
        assert!(matches!(created, Err(TaskError::TaskNotAllowed)), "{created:?}");
        "done"
    });
    let mut pair = Pair::new(registry);
    let call = pair.client().call_tool("t", &json!({}));
    assert_eq!(pair.run(call).unwrap().content[0].as_text(), Some("done"));
}

#[test]
fn handler_in_a_task_that_creates_another_task_fails_and_ends_both() {
    let jobs = Jobs::default();
    let created = jobs.clone();
    let mut process = Process::new(registry(Tasks::Always, move |context: Context| {
        let created = created.clone();
        async move {
            context.sleep(Duration::from_secs(1)).await;
            let (id, task) = context.create_task(NewTask::default()).await.unwrap();
            created.lock().unwrap().push(id);
            Err::<String, _>(Interrupt::Task(task))
        }
    }));
    let id = process.task();
    process.pass(Duration::from_secs(1));
    let task = process.get(&id);
    assert_eq!(task["status"], "failed", "{task}");
    assert_eq!(task["error"]["message"], "a task cannot become another task");
    let job = jobs.lock().unwrap().pop().unwrap();
    assert!(at_once(process.catalog.tasks().has_ended(&job)).unwrap());
}

/// Ids of the jobs whose handler has created a task.
pub(super) type Jobs = Arc<Mutex<Vec<TaskId>>>;

fn process() -> (Process, Jobs) {
    let jobs = Jobs::default();
    (Process::new(jobs_registry(&jobs)), jobs)
}

/// A server whose tool creates a task for a job.
pub(super) fn jobs_registry(jobs: &Jobs) -> Registry {
    let jobs = jobs.clone();
    registry(Tasks::Manual, move |context: Context| {
        let jobs = jobs.clone();
        async move {
            assert!(context.may_be_task());
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
