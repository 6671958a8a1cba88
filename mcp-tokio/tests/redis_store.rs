//! The store of the example `redis_tasks` with a real Redis at `REDIS_URL`, as `tests/redis/run`
//! runs it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[path = "../examples/redis_tasks/store.rs"]
mod store;

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_tokio::{StoreError, TaskId, TaskStore};
use store::RedisStore;

const NOW: Duration = Duration::ZERO;
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_task_is_created_once_and_read_by_all() {
    let (one, other) = (store("create"), store("create"));
    let id = id("a");
    assert!(one.get(NOW, &id).await.unwrap().is_none());
    let record = Bytes::from_static(b"\0\xff{}\r\n");
    one.create(NOW, &id, Some("ada"), record.clone(), MINUTE).await.unwrap();
    assert_eq!(other.get(NOW, &id).await.unwrap(), Some((0, record.clone())));
    let again = other.create(NOW, &id, None, Bytes::new(), MINUTE).await;
    assert!(matches!(again, Err(StoreError::Exists)), "{again:?}");
    assert_eq!(one.get(NOW, &id).await.unwrap(), Some((0, record)));
    // Servers with another prefix are other servers.
    assert!(store("others").get(NOW, &id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_task_changes_from_its_revision_alone() {
    let store = store("change");
    let id = id("a");
    let change = |from, text| store.change(NOW, &id, from, text, MINUTE);
    assert!(!change(0, Bytes::from_static(b"none")).await.unwrap());
    store.create(NOW, &id, None, Bytes::from_static(b"first"), MINUTE).await.unwrap();
    for wrong in [1, 7, u64::MAX] {
        assert!(!change(wrong, Bytes::from_static(b"wrong")).await.unwrap());
    }
    assert!(change(0, Bytes::new()).await.unwrap());
    assert!(!change(0, Bytes::from_static(b"late")).await.unwrap());
    assert_eq!(store.get(NOW, &id).await.unwrap(), Some((1, Bytes::new())));
}

#[tokio::test]
async fn no_change_is_lost_among_many() {
    let id = id("counter");
    let first = store("race");
    first.create(NOW, &id, None, Bytes::from_static(b"0"), MINUTE).await.unwrap();
    let counts = (0..8).map(|_| {
        let id = id.clone();
        tokio::spawn(async move {
            let store = store("race");
            for _ in 0..25 {
                while !count(&store, &id).await.unwrap() {}
            }
        })
    });
    for counting in counts.collect::<Vec<_>>() {
        counting.await.unwrap();
    }
    assert_eq!(first.get(NOW, &id).await.unwrap(), Some((200, Bytes::from_static(b"200"))));
}

#[tokio::test]
async fn a_change_whose_answer_is_lost_is_done_once() {
    let (store, id) = (Arc::new(store("lost")), id("counter"));
    store.create(NOW, &id, None, Bytes::from_static(b"0"), MINUTE).await.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let kills = tokio::spawn(kill_connections(over.clone()));
    let (mut done, until) = (0_u64, Instant::now() + Duration::from_secs(3));
    while Instant::now() < until {
        // Both attempts may meet a kill: then nobody knows what was done, and it is looked up.
        match count(&store, &id).await {
            Ok(changed) => done += u64::from(changed),
            Err(StoreError::Unavailable(_)) => {
                let (revision, _) = read(&store, &id).await;
                assert!(revision == done || revision == done + 1, "{revision} {done}");
                done = revision;
            }
            Err(error) => panic!("{error}"),
        }
    }
    over.store(true, Ordering::Relaxed);
    assert!(kills.await.unwrap() > 50);
    assert_eq!(read(&store, &id).await, (done, done.to_string()));
    assert!(done > 100, "{done}");
}

#[tokio::test]
async fn a_record_is_kept_until_it_expires() {
    let (store, start) = (store("expiry"), Instant::now());
    let [short, changed, endless, ended] = ["short", "changed", "endless", "ended"].map(id);
    let second = Duration::from_secs(1);
    for (id, expires) in
        [(&short, second), (&changed, second), (&endless, Duration::MAX), (&ended, Duration::ZERO)]
    {
        store.create(NOW, id, None, Bytes::from_static(b"x"), expires).await.unwrap();
    }
    assert!(store.change(NOW, &changed, 0, Bytes::from_static(b"y"), MINUTE).await.unwrap());
    while store.get(NOW, &short).await.unwrap().is_some() {
        assert!(start.elapsed() < 5 * second);
        tokio::time::sleep(second / 50).await;
    }
    assert!(start.elapsed() >= second);
    assert!(store.get(NOW, &changed).await.unwrap().is_some());
    assert!(store.get(NOW, &endless).await.unwrap().is_some());
    assert!(store.get(NOW, &ended).await.unwrap().is_none());
    assert!(!store.change(NOW, &short, 0, Bytes::new(), MINUTE).await.unwrap());
    assert!(store.change(NOW, &endless, 0, Bytes::new(), Duration::MAX).await.unwrap());
}

#[tokio::test]
async fn a_principal_has_so_many_tasks_and_no_more() {
    let store = store("limit").max_tasks_per_principal(2);
    let second = Duration::from_secs(1);
    let create = |name: &'static str, owner: Option<&'static str>, expires| {
        let store = &store;
        async move { store.create(NOW, &id(name), owner, Bytes::new(), expires).await }
    };
    create("a1", Some("ada"), second).await.unwrap();
    create("a2", Some("ada"), second).await.unwrap();
    assert!(matches!(create("a3", Some("ada"), MINUTE).await, Err(StoreError::Full)));
    assert!(store.get(NOW, &id("a3")).await.unwrap().is_none());
    // Others are not concerned, and nobody is somebody else than the principal of any name.
    for (name, owner) in [("b1", Some("bob")), ("n1", None), ("n2", None), ("d1", Some("-"))] {
        create(name, owner, MINUTE).await.unwrap();
    }
    assert!(matches!(create("n3", None, MINUTE).await, Err(StoreError::Full)));
    // One of the tasks stays, the other one expires.
    assert!(store.change(NOW, &id("a1"), 0, Bytes::new(), MINUTE).await.unwrap());
    tokio::time::sleep(second + second / 2).await;
    create("a4", Some("ada"), MINUTE).await.unwrap();
    assert!(matches!(create("a5", Some("ada"), MINUTE).await, Err(StoreError::Full)));
}

#[tokio::test]
async fn a_redis_without_memory_is_full() {
    let (store, id) = (store("memory"), id("a"));
    store.create(NOW, &id, None, Bytes::new(), MINUTE).await.unwrap();
    command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let created = store.create(NOW, &self::id("b"), None, Bytes::new(), MINUTE).await;
    let changed = store.change(NOW, &id, 0, Bytes::from_static(b"more"), MINUTE).await;
    command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert!(matches!(created, Err(StoreError::Full)), "{created:?}");
    assert!(matches!(changed, Err(StoreError::Full)), "{changed:?}");
    assert_eq!(store.get(NOW, &id).await.unwrap(), Some((0, Bytes::new())));
}

#[tokio::test]
async fn a_redis_that_is_not_there_does_not_answer() {
    assert!(RedisStore::open("http://127.0.0.1", "x").is_err());
    let store = RedisStore::open("redis+unix:///nowhere/socket", "x").unwrap();
    let found = store.get(NOW, &id("a")).await;
    assert!(matches!(found, Err(StoreError::Unavailable(_))), "{found:?}");
}

/// A store of servers with this prefix.
fn store(prefix: &str) -> RedisStore {
    RedisStore::open(&env::var("REDIS_URL").unwrap(), prefix).unwrap()
}

fn id(text: &str) -> TaskId {
    TaskId::from(text.to_owned())
}

/// Adds one to the number in a record, unless another one has changed it meanwhile.
async fn count(store: &RedisStore, id: &TaskId) -> Result<bool, StoreError> {
    let (revision, record) = store.get(NOW, id).await?.unwrap();
    let number: u64 = str::from_utf8(&record).unwrap().parse().unwrap();
    store.change(NOW, id, revision, (number + 1).to_string().into(), MINUTE).await
}

/// The revision and the text of a record, once Redis can be reached.
async fn read(store: &RedisStore, id: &TaskId) -> (u64, String) {
    loop {
        if let Ok(found) = store.get(NOW, id).await {
            let (revision, record) = found.unwrap();
            return (revision, String::from_utf8(record.to_vec()).unwrap());
        }
    }
}

/// Breaks all connections again and again; the number of times.
async fn kill_connections(over: Arc<AtomicBool>) -> u32 {
    let mut kills = 0;
    while !over.load(Ordering::Relaxed) {
        command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
        kills += 1;
        tokio::time::sleep(Duration::from_millis(u64::from(kills % 7) * 5)).await;
    }
    kills
}

/// A command on a connection of its own.
async fn command(words: &[&str]) {
    let client = redis::Client::open(env::var("REDIS_URL").unwrap()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let (name, arguments) = words.split_first().unwrap();
    redis::cmd(name).arg(arguments).exec_async(&mut connection).await.unwrap();
}
