//! A server on two runtimes, of which the one that began last ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::future::pending;
use std::time::Duration;

use mcp_tokio::mcp_service::{Started, TaskConfig, Tasks};
use mcp_tokio::{
    CallError, Catalog, Client, ClientConfig, Config, Context, Implementation, Registry, connect,
    serve,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{duplex, split};
use tokio::runtime::{Builder, Runtime};

#[derive(Deserialize, JsonSchema)]
struct Work {
    ends: bool,
}

async fn work(Work { ends }: Work, context: Context) -> &'static str {
    context.sleep(Duration::from_millis(10)).await;
    if !ends {
        pending::<()>().await;
    }
    "done"
}

fn catalog() -> Catalog {
    let mut registry = Registry::new(Implementation::new("s", "1"));
    registry.tool("work", "Works", work).unwrap().tasks("work", Tasks::Always).unwrap();
    let mut config = TaskConfig::default();
    config.poll_interval = Duration::from_millis(10);
    registry.task_config(config);
    registry.into()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Serves a client on a runtime.
async fn client(catalog: &Catalog) -> Client {
    let (here, there) = duplex(1 << 16);
    let catalog = catalog.clone();
    tokio::spawn(async move {
        let (reader, writer) = split(there);
        serve(catalog, Config::default(), reader, writer).await
    });
    let client = Client::new(ClientConfig::new(Implementation::new("c", "1")).follow_tasks());
    let (reader, writer) = split(here);
    connect(&client, reader, writer).await.unwrap();
    client
}

#[test]
fn call_becomes_a_task_on_the_runtime_that_is_left() {
    let catalog = catalog();
    let (first, second) = (runtime(), runtime());
    let client = first.block_on(async { client(&catalog).await });
    drop(second.block_on(self::client(&catalog)));
    drop(second);
    let called = first.block_on(client.call_tool("work", &json!({"ends": true})));
    assert_eq!(called.unwrap().content[0].as_text(), Some("done"));
}

#[test]
fn task_fails_with_its_runtime() {
    let catalog = catalog();
    let (first, second) = (runtime(), runtime());
    let client = first.block_on(async { client(&catalog).await });
    let _other = second.block_on(self::client(&catalog));
    let task = match first.block_on(client.start_tool("work", &json!({"ends": false}))).unwrap() {
        Started::Task(task) => task,
        Started::Done(result) => panic!("{result:?}"),
    };
    drop(second);
    let error = first.block_on(task.result()).unwrap_err();
    let CallError::Error { error, .. } = error else { panic!("{error}") };
    assert_eq!(error.message, "the runtime of the task has ended");
}
