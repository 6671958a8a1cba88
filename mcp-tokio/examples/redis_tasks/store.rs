//! A [`TaskStore`] on Redis 6.2 or newer: processes that share it are one server of tasks.
//!
//! | key | holds |
//! |---|---|
//! | `PREFIX:{tasks}:task:ID` | a hash: the record, its revision, the last write, the key of its owner |
//! | `PREFIX:{tasks}:owner:PRINCIPAL` | a sorted set: the tasks of a principal, by their expiry |
//!
//! Redis runs a script without anything in between, so compare-and-swap is a script. Each write has
//! a name of its own: a write that is repeated, since its answer was lost, is done once. Records
//! expire with their keys. The first write of a script is the one that needs memory, since Redis
//! refuses no later one.
//!
//! A server keeps its promises only as far as Redis does. Set `appendonly yes`, so that tasks
//! survive a crash of Redis, and `maxmemory-policy noeviction`, so that no task is evicted. A
//! replica that takes over may lack the last writes. The braces in the keys keep all of them in one
//! slot of a cluster.

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcp_tokio::mcp_proto::server::task::TaskId;
use mcp_tokio::{StoreError, StoreFuture, TaskStore};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, RedisError};
use tokio::sync::Mutex;

/// Timeout of a connection, and of an answer. An operation is tried twice, and the server gives a
/// store 10 s.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// Keys: the task, its owner. Arguments: the name of the write, the record, milliseconds, most
/// tasks.
const CREATE: &str = r"
    if redis.call('HGET', KEYS[1], 'write') == ARGV[1] then return 'kept' end
    if redis.call('EXISTS', KEYS[1]) == 1 then return 'exists' end
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    if redis.call('ZCOUNT', KEYS[2], now, '+inf') >= tonumber(ARGV[4]) then return 'full' end
    redis.call('HSET', KEYS[1], 'revision', 0, 'write', ARGV[1], 'record', ARGV[2], 'owner', KEYS[2])
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
    redis.call('ZADD', KEYS[2], now + ARGV[3], KEYS[1])
    if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[3]) then
        redis.call('PEXPIRE', KEYS[2], ARGV[3])
    end
    return 'kept'
";

/// Key: the task. Arguments: the name of the write, the revision, the record, milliseconds.
const CHANGE: &str = r"
    local kept = redis.call('HMGET', KEYS[1], 'write', 'revision', 'owner')
    if kept[1] == ARGV[1] then return 1 end
    if kept[2] ~= ARGV[2] then return 0 end
    redis.call('HSET', KEYS[1], 'write', ARGV[1], 'record', ARGV[3])
    redis.call('HINCRBY', KEYS[1], 'revision', 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('ZADD', kept[3], now + ARGV[4], KEYS[1])
    if redis.call('PTTL', kept[3]) < tonumber(ARGV[4]) then
        redis.call('PEXPIRE', kept[3], ARGV[4])
    end
    return 1
";

/// A store of tasks on Redis.
pub(crate) struct RedisStore {
    client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
    prefix: String,
    max_tasks_per_principal: usize,
    /// The names of writes: random bits of this store, and a number.
    nonce: u64,
    writes: AtomicU64,
}

impl RedisStore {
    /// A store at a URL such as `redis://127.0.0.1:6379`. Processes of one server have the same
    /// prefix. Connects with the first operation. Fails if the URL is none of Redis.
    pub(crate) fn open(url: &str, prefix: &str) -> Result<Self, RedisError> {
        Ok(Self {
            client: Client::open(url)?,
            connection: Mutex::default(),
            prefix: format!("{prefix}:{{tasks}}"),
            max_tasks_per_principal: 1_000,
            nonce: RandomState::new().hash_one(0),
            writes: AtomicU64::new(0),
        })
    }

    /// Sets how many tasks a principal may have, ended ones included, and those without one
    /// together; default 1,000. The memory of Redis limits all of them: see its `maxmemory`.
    pub(crate) fn max_tasks_per_principal(mut self, tasks: usize) -> Self {
        self.max_tasks_per_principal = tasks;
        self
    }

    fn key(&self, id: &TaskId) -> String {
        format!("{}:task:{}", self.prefix, id.as_str())
    }

    fn next_write(&self) -> String {
        format!("{:x}-{}", self.nonce, self.writes.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs a command, and once more on another connection if this one fails.
    async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let first = self.attempt(command).await;
        match first {
            Err(error) if is_of_connection(&error) => self.attempt(command).await,
            done => done,
        }
        .map_err(store_error)
    }

    async fn attempt<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisError> {
        let mut connection = self.connection().await?;
        let done = command.query_async(&mut connection).await;
        if done.as_ref().is_err_and(is_of_connection) {
            *self.connection.lock().await = None;
        }
        done
    }

    /// The connection that all operations share.
    async fn connection(&self) -> Result<MultiplexedConnection, RedisError> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = &*kept {
            return Ok(connection.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ATTEMPT_TIMEOUT))
            .set_response_timeout(Some(ATTEMPT_TIMEOUT));
        let made = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(kept.insert(made).clone())
    }
}

impl TaskStore for RedisStore {
    fn create<'a>(
        &'a self,
        _: Duration,
        id: &'a TaskId,
        owner: Option<&'a str>,
        record: Bytes,
        expires: Duration,
    ) -> StoreFuture<'a, ()> {
        // A principal and nobody differ in the first character.
        let owner = owner.map_or("-".to_owned(), |owner| format!("={owner}"));
        let owner = format!("{}:owner:{owner}", self.prefix);
        let mut command = redis::cmd("EVAL");
        command.arg(CREATE).arg(2).arg(self.key(id)).arg(owner);
        command.arg(self.next_write()).arg(&record[..]).arg(millis(expires));
        command.arg(self.max_tasks_per_principal);
        Box::pin(async move {
            match self.run::<String>(&command).await?.as_str() {
                "kept" => Ok(()),
                "exists" => Err(StoreError::Exists),
                _ => Err(StoreError::Full),
            }
        })
    }

    fn get<'a>(&'a self, _: Duration, id: &'a TaskId) -> StoreFuture<'a, Option<(u64, Bytes)>> {
        let mut command = redis::cmd("HMGET");
        command.arg(self.key(id)).arg("revision").arg("record");
        Box::pin(async move {
            let (revision, record) = self.run::<(Option<u64>, Option<Vec<u8>>)>(&command).await?;
            Ok(revision.zip(record.map(Bytes::from)))
        })
    }

    fn change<'a>(
        &'a self,
        _: Duration,
        id: &'a TaskId,
        from: u64,
        record: Bytes,
        expires: Duration,
    ) -> StoreFuture<'a, bool> {
        let mut command = redis::cmd("EVAL");
        command.arg(CHANGE).arg(1).arg(self.key(id));
        command.arg(self.next_write()).arg(from).arg(&record[..]).arg(millis(expires));
        Box::pin(async move { self.run(&command).await })
    }
}

/// The time as Redis takes it: at least a millisecond, and at most a thousand years.
fn millis(time: Duration) -> u64 {
    const MAX_MILLIS: u64 = 1_000 * 365 * 24 * 3600 * 1_000;
    u64::try_from(time.as_micros().div_ceil(1_000))
        .map_or(MAX_MILLIS, |millis| millis.clamp(1, MAX_MILLIS))
}

/// Returns whether another connection may do better. A server that was the primary once answers
/// `READONLY`.
fn is_of_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_unrecoverable_error() || error.code() == Some("READONLY")
}

/// Redis answers `OOM` to writes for which `maxmemory` leaves no room.
fn store_error(error: RedisError) -> StoreError {
    if error.code() == Some("OOM") {
        return StoreError::Full;
    }
    let error: Box<dyn Error + Send + Sync> = Box::new(error);
    StoreError::Unavailable(error)
}
