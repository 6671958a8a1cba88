//! The futures about tasks that an application of the server awaits, each dropped after 0, 1, 2, …
//! polls, with a store that takes its time before and after each access.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use mcp_proto::ErrorData;
use mcp_proto::server::InputRequired;
use mcp_proto::server::task::TaskId;
use mcp_proto::types::{CallToolResult, ContentBlock, InputRequest};
use mcp_service::{Context, Interrupt, NewTask, Started, TaskManager, Tasks};
use mcp_tests::pause::yield_now;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::site::{SECOND, Site, places};
use crate::store_faults::{FaultyStore, StoreFault};

#[derive(Deserialize, JsonSchema)]
struct Polls {
    polls: usize,
}

/// A site with a tool that creates a task of its own, and drops the future after some polls.
fn site() -> (Site, Arc<FaultyStore>) {
    let place = places().find(|place| place.is_modern()).unwrap();
    let site = Site::new(place);
    let store = Arc::new(FaultyStore::new(&site.world, StoreFault::Slow, 0, usize::MAX));
    let own = store.clone();
    let create = |Polls { polls }: Polls, context: Context| async move {
        let own = context.clone();
        let mut creating = Box::pin(async move { own.create_task(NewTask::default()).await });
        for _ in 0..polls {
            let poll = poll_fn(|task| Poll::Ready(creating.as_mut().poll(task)));
            if let Poll::Ready(created) = poll.await {
                return match created {
                    Ok((_, task)) => Err(Interrupt::Task(task)),
                    Err(error) => Err(ErrorData::internal(error.to_string()).into()),
                };
            }
            yield_now().await;
        }
        Ok("dropped")
    };
    let add = move |registry: &mut mcp_service::Registry| {
        registry.tool("create", "", create)?.tasks("create", Tasks::Manual)?.task_store(own);
        Ok(())
    };
    site.catalog.update(add).unwrap();
    site.world.host_tasks(&site.catalog);
    site.settle();
    (site, store)
}

fn create(site: &Site, polls: usize) -> Option<TaskId> {
    match site.run(site.client.start_tool("create", &json!({"polls": polls}))) {
        Ok(Started::Task(task)) => Some(TaskId::from(task.id().to_owned())),
        Ok(Started::Done(_)) => None,
        Err(error) => panic!("{error}\n{}", site.wire()),
    }
}

#[test]
fn creating_a_task_may_be_dropped_at_any_time() {
    for polls in 0.. {
        let (site, store) = site();
        let created = create(&site, polls);
        site.run(site.world.sleep(SECOND));
        // Expired records are removed by the next access.
        let nobody = site.run(site.catalog.tasks().has_ended(&TaskId::from("nobody".to_owned())));
        assert!(nobody.is_err());
        let kept = format!("{:?}", store.tasks);
        let expected = if created.is_some() { "tasks: 1," } else { "tasks: 0," };
        assert!(kept.contains(expected), "{polls} polls: {kept}");
        site.assert_works("echo");
        if created.is_some() {
            return;
        }
    }
}

/// A change of a task, or a look at it.
type Access = Pin<Box<dyn Future<Output = ()>>>;

const ACCESSES: [fn(TaskManager, TaskId) -> Access; 6] = [
    |tasks, id| Box::pin(async move { assert!(tasks.complete(&id, &result()).await.is_ok()) }),
    |tasks, id| {
        let error = ErrorData::internal("no");
        Box::pin(async move { assert!(tasks.fail(&id, &error).await.is_ok()) })
    },
    |tasks, id| Box::pin(async move { assert!(tasks.status(&id, "half").await.is_ok()) }),
    |tasks, id| {
        let required = InputRequired::new("roots", InputRequest::list_roots());
        Box::pin(async move { assert!(tasks.ask(&id, &required).await.is_ok()) })
    },
    |tasks, id| Box::pin(async move { assert!(tasks.input(&id).await.is_ok()) }),
    |tasks, id| Box::pin(async move { assert!(tasks.has_ended(&id).await.is_ok()) }),
];

fn result() -> CallToolResult {
    CallToolResult::new(vec![ContentBlock::text("done")])
}

/// Polls an access some times, and drops it; returns whether it was over. No time passes.
fn poll(site: &Site, mut access: Access, polls: usize) -> bool {
    let mut context = TaskContext::from_waker(Waker::noop());
    (0..polls).any(|_| {
        site.settle();
        access.as_mut().poll(&mut context).is_ready()
    })
}

#[test]
fn changes_of_a_task_may_be_dropped_at_any_time() {
    for (number, access) in ACCESSES.into_iter().enumerate() {
        for polls in 0.. {
            let (site, _) = site();
            let id = create(&site, usize::MAX).unwrap();
            let tasks = site.catalog.tasks();
            let is_over = poll(&site, access(tasks.clone(), id.clone()), polls);
            let has_ended = site.run(tasks.has_ended(&id)).unwrap();
            let may_end = number < 2;
            assert!(may_end || !has_ended, "access {number}, {polls} polls");
            let completes = site.run(tasks.complete(&id, &result())).unwrap();
            assert_eq!(completes, !has_ended, "access {number}, {polls} polls");
            assert!(site.run(tasks.has_ended(&id)).unwrap());
            site.assert_works("echo");
            if is_over {
                break;
            }
        }
    }
}
