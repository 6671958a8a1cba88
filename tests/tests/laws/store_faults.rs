//! A law: whatever a store of tasks does at one of its accesses, each call of a client that follows
//! tasks ends, no handler is left, no tool is executed twice, and no task is kept.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_proto::client::CallError;
use mcp_proto::server::task::TaskId;
use mcp_proto::types::CallToolResult;
use mcp_proto::{Bytes, Duration, Instant};
use mcp_service::runtime::Runtime;
use mcp_service::{Clock, MemoryStore, StoreError, StoreFuture, TaskStore};
use mcp_tests::bridge::world::VirtualRuntime;
use mcp_tests::pause::yield_now;
use serde_json::json;

use crate::site::{SECOND, Site, places};

/// What happens to an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreFault {
    /// It fails, and changes nothing.
    Fails,
    /// It is carried out, and its answer is lost.
    AnswerLost,
    Full,
    /// Another change came first.
    Raced,
    Never,
    /// It is carried out so much later.
    Late(Duration),
    /// It is answered so much later.
    AnsweredLate(Duration),
    /// Its future is polled once more before it is carried out, and once more before the answer.
    Slow,
    /// It panics, and changes nothing.
    Panics,
    /// It is carried out, and panics in a later poll.
    PanicsLate,
}

const FAULTS: [StoreFault; 8] = [
    StoreFault::Fails,
    StoreFault::Full,
    StoreFault::Raced,
    StoreFault::Never,
    StoreFault::Late(Duration::from_secs(30)),
    StoreFault::AnsweredLate(Duration::from_secs(30)),
    StoreFault::Panics,
    StoreFault::PanicsLate,
];

/// More accesses than the calls have.
const MAX_ACCESSES: usize = 1_000;

pub(crate) struct FaultyStore {
    pub(crate) tasks: MemoryStore,
    world: VirtualRuntime,
    fault: StoreFault,
    /// The number of the access that the fault begins at, and the number of such accesses.
    at: usize,
    times: usize,
    accesses: AtomicUsize,
}

impl FaultyStore {
    /// A store with this fault at so many accesses, from the one with the number `at`.
    pub(crate) fn new(world: &VirtualRuntime, fault: StoreFault, at: usize, times: usize) -> Self {
        let (tasks, accesses) = (MemoryStore::default(), AtomicUsize::new(0));
        Self { tasks, world: world.clone(), fault, at, times, accesses }
    }

    fn next(&self) -> Option<StoreFault> {
        let access = self.accesses.fetch_add(1, Ordering::Relaxed);
        (self.at..self.at.saturating_add(self.times)).contains(&access).then_some(self.fault)
    }

    fn access<'a, T: Send + 'a>(
        &'a self,
        begin: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
        raced: Option<T>,
    ) -> StoreFuture<'a, T> {
        let Some(fault) = self.next() else { return begin() };
        let unavailable = || StoreError::Unavailable("a fault".into());
        if fault == StoreFault::Panics {
            panic_quietly();
        }
        Box::pin(async move {
            match fault {
                StoreFault::Fails => Err(unavailable()),
                StoreFault::AnswerLost => {
                    drop(begin().await);
                    Err(unavailable())
                }
                StoreFault::Full => Err(StoreError::Full),
                StoreFault::Raced => match raced {
                    Some(raced) => Ok(raced),
                    None => begin().await,
                },
                StoreFault::Never => pending().await,
                StoreFault::Late(time) => {
                    self.world.sleep(time).await;
                    begin().await
                }
                StoreFault::AnsweredLate(time) => {
                    let answer = begin().await;
                    self.world.sleep(time).await;
                    answer
                }
                StoreFault::Slow => {
                    yield_now().await;
                    let answer = begin().await;
                    yield_now().await;
                    answer
                }
                StoreFault::Panics | StoreFault::PanicsLate => {
                    let answer = begin().await;
                    yield_now().await;
                    panic_quietly();
                    answer
                }
            }
        })
    }
}

/// Panics without a word on stderr.
fn panic_quietly() {
    std::panic::resume_unwind(Box::new("quiet"));
}

impl TaskStore for FaultyStore {
    fn create<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        owner: Option<&'a str>,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, ()> {
        self.access(move || self.tasks.create(now, id, owner, record, time_to_live), None)
    }

    fn get<'a>(&'a self, now: Duration, id: &'a TaskId) -> StoreFuture<'a, Option<(u64, Bytes)>> {
        self.access(move || self.tasks.get(now, id), None)
    }

    fn change<'a>(
        &'a self,
        now: Duration,
        id: &'a TaskId,
        from: u64,
        record: Bytes,
        time_to_live: Duration,
    ) -> StoreFuture<'a, bool> {
        self.access(move || self.tasks.change(now, id, from, record, time_to_live), Some(false))
    }
}

/// The results of calls, with the texts of the calls.
type Outcomes = Vec<(&'static str, Result<CallToolResult, CallError>)>;

/// Makes calls at a server with a store; returns their results, and the time that they took.
fn talk(store: &Arc<FaultyStore>, site: &Site) -> (Outcomes, Duration) {
    let own = store.clone();
    let add = move |registry: &mut mcp_service::Registry| {
        registry.task_store(own);
        Ok(())
    };
    site.catalog.update(add).unwrap();
    site.world.host_tasks(&site.catalog);
    let mut outcomes = Outcomes::default();
    let begun = site.world.timer().now();
    for (tool, text) in [("render", "a"), ("survey", "b")] {
        let called = site.run(site.client.call_tool(tool, &json!({"text": text})));
        outcomes.push((text, called));
    }
    // A call that is cancelled.
    let called = site.client.call_tool("render", &json!({"text": "c"}));
    outcomes.extend(site.poll(Box::pin(called), 12).map(|called| ("c", called)));
    let time = site.world.timer().now().duration_since(begun);
    (outcomes, time)
}

/// Checks what the calls return and leave. Returns true if they made at most `at` accesses, so the
/// fault did not occur.
fn check(fault: StoreFault, at: usize, times: usize) -> bool {
    let place = places().find(|place| place.is_modern()).unwrap();
    let site = Site::new(place);
    let store = Arc::new(FaultyStore::new(&site.world, fault, at, times));
    let (outcomes, time) = talk(&store, &site);
    let is_over = store.accesses.load(Ordering::Relaxed) <= at;
    let when = format!("{fault:?}, {times} from access {at}");
    for (text, outcome) in &outcomes {
        match outcome {
            Ok(result) => {
                let content = result.content.first().and_then(|content| content.as_text());
                assert_eq!(content, Some(*text), "{when}");
            }
            // A task for whose result there is no room fails.
            Err(error) => assert!(fault == StoreFault::Full || times > 1, "{when}: {error}"),
        }
    }
    assert!(time < 70 * 60 * SECOND, "{when}: {time:?}");
    site.run(site.world.sleep(2 * 3600 * SECOND));
    site.settle();
    assert_eq!(site.running(), 0, "{when}: handlers run");
    // Expired records are removed by the next access.
    let now = site.world.timer().now().duration_since(Instant::ZERO);
    let nobody = TaskId::from("nobody".to_owned());
    assert!(site.run(store.tasks.get(now, &nobody)).unwrap().is_none());
    let kept = format!("{:?}", store.tasks);
    assert!(kept.contains("tasks: 0,"), "{when}: {kept}");
    site.assert_works("echo");
    is_over
}

#[test]
fn each_call_ends_with_its_result_if_an_answer_of_a_store_is_lost() {
    let accesses =
        (0..MAX_ACCESSES).take_while(|at| !check(StoreFault::AnswerLost, *at, 1)).count();
    assert!(accesses > 20, "{accesses}");
}

/// Each fault occurs at one access in three, because all would take 0.3 s. Each access has two.
#[test]
fn each_call_ends_with_its_result_whatever_happens_to_an_access_of_a_store() {
    for (number, fault) in FAULTS.into_iter().enumerate() {
        let at = (number % 3..MAX_ACCESSES).step_by(3);
        let accesses = at.take_while(|at| !check(fault, *at, 1)).count();
        assert!(accesses > 6, "{fault:?}: {accesses}");
    }
}

#[test]
fn each_call_ends_if_a_store_stops_working() {
    for fault in [StoreFault::Fails, StoreFault::Never, StoreFault::Panics] {
        let accesses =
            (0..MAX_ACCESSES).step_by(3).take_while(|at| !check(fault, *at, usize::MAX)).count();
        assert!(accesses > 6, "{fault:?}: {accesses}");
    }
}
