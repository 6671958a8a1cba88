//! Several processes whose tasks are in Redis, so that each process knows the tasks of all.
//!
//! `cargo build -p mcp-tokio --example redis_tasks` builds it into `target/debug/examples`.
//!
//! ```text
//! redis-server --appendonly yes --maxmemory-policy noeviction
//! redis_tasks --listen 127.0.0.1:8001 --redis redis://127.0.0.1:6379
//! redis_tasks --listen 127.0.0.1:8002 --redis redis://127.0.0.1:6379
//! mcp call http://127.0.0.1:8001/mcp print title=Moby-Dick pages=20
//! ```
//!
//! A call of `print` becomes a task, which asks the user before it prints. Any process can receive
//! the answer, and then prints. If that process is killed, its lease expires, and the task fails
//! when the next process reads it: nothing is printed twice.

mod store;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mcp_tokio::types::{ElicitAction, ElicitRequestFormParams, RequestedSchema};
use mcp_tokio::{
    Context, Handler, HttpConfig, Implementation, Progress, Registry, TaskConfig, Tasks,
    UsageError, serve_http,
};
use redis::RedisError;
use store::RedisStore;
use tokio::net::TcpListener;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (listen, url, lease) = match arguments[..] {
        ["--listen", listen, "--redis", url] => (listen, url, "60"),
        ["--listen", listen, "--redis", url, "--lease", seconds] => (listen, url, seconds),
        _ => return Err("usage: redis_tasks --listen ADDRESS --redis URL [--lease SECONDS]".into()),
    };
    let store = RedisStore::open(url, "press")?.max_tasks_per_principal(10_000);
    let mut registry = registry(redis::Client::open(url)?)?;
    let mut config = TaskConfig::default();
    config.ttl = Duration::from_secs(600);
    config.poll_interval = Duration::from_millis(200);
    config.lease = Duration::from_secs(lease.parse()?);
    registry.task_config(config).task_store(Arc::new(store));

    let listener = TcpListener::bind(listen).await?;
    let config = HttpConfig::default();
    eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);
    Ok(serve_http(listener, registry, config).await?)
}

/// A book to print.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Book {
    /// Its title.
    title: String,
    /// Its pages, each of which takes 50 ms.
    pages: u32,
}

fn registry(redis: redis::Client) -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("press", env!("CARGO_PKG_VERSION")));
    registry.tool("print", "Prints a book", move |book: Book, context| {
        print(book, context, redis.clone())
    })?;
    registry.tasks("print", Tasks::Always)?;
    Ok(registry)
}

/// Prints a book after the user has agreed. Two lists in Redis say what was done: `agreed` and
/// `printed`.
async fn print(book: Book, context: Context, redis: redis::Client) -> Result<String, Failure> {
    // Here the call becomes a task, which clients poll: what follows is asked within it.
    context.sleep(Duration::from_millis(20)).await;
    let question = format!("Print {} pages of {}?", book.pages, book.title);
    let form = ElicitRequestFormParams::new(question, RequestedSchema::new());
    if context.elicit("agreed", form)?.action != ElicitAction::Accept {
        return Ok("nothing was printed".to_owned());
    }
    append(&redis, "agreed", &book.title).await?;
    for page in 1..=book.pages {
        context.sleep(Duration::from_millis(50)).await;
        context.progress(Progress::new(page).total(book.pages).message("printing"));
    }
    append(&redis, "printed", &book.title).await?;
    Ok(format!("{} is printed", book.title))
}

/// Appends to a list, by a connection of its own: an earlier one may not have outlived Redis.
async fn append(redis: &redis::Client, list: &str, title: &str) -> Result<(), RedisError> {
    let mut connection = redis.get_multiplexed_async_connection().await?;
    redis::cmd("RPUSH").arg(list).arg(title).exec_async(&mut connection).await
}
