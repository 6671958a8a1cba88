//! `interop-rmcp soak NAME -- URL`, for `tests/soak/run`, which says what the server offers. Takes
//! the same round again and again, in both eras, whatever happens, and tells on standard output of
//! each call and each whole round.

use std::{future::Future, time::Duration};

use rmcp::{
    model::{CallToolRequest, ClientRequest},
    service::PeerRequestOptions,
};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{
    Server,
    steps::{Client, Outcome, call, echo, expect_text, params},
    watch::Watch,
};

const COUNTER: &str = "test://counter";
const CALL: Duration = Duration::from_secs(5);
const ROUND: Duration = Duration::from_secs(20);

/// Does not return.
pub async fn run(name: &str, server: &Server) -> Outcome {
    let mut keys = 0;
    loop {
        for (era, mode) in [("modern", "discover"), ("legacy", "initialize")] {
            match timeout(ROUND, take(name, server, mode, &mut keys)).await {
                Ok(Ok(())) => println!("round {era}"),
                // What was wrong is told by the call.
                Ok(Err(_)) | Err(_) => sleep(Duration::from_millis(200)).await,
            }
        }
    }
}

async fn take(name: &str, server: &Server, mode: &str, keys: &mut u64) -> Outcome {
    let mut client = told(server.connect(mode)).await?;
    let taken = take_steps(&client, name, mode == "initialize", keys).await;
    // It may have ended.
    let _ = timeout(CALL, client.close()).await;
    taken
}

async fn take_steps(client: &Client, name: &str, is_legacy: bool, keys: &mut u64) -> Outcome {
    for _ in 0..5 {
        let message = format!("{name}.{keys}");
        *keys += 1;
        told(echo(client, &message)).await?;
    }
    client.service().seen().progress.clear();
    expect_text(&told(call(client, "progress", json!({}))).await?, "done")?;
    if client.service().seen().progress.is_empty() {
        return Err("no progress".into());
    }
    expect_text(&told(call(client, "ask", json!({}))).await?, "hello my name")?;
    let wait = ClientRequest::CallToolRequest(CallToolRequest::new(params("wait", json!({}))));
    let waiting = client.send_cancellable_request(wait, PeerRequestOptions::no_options()).await?;
    sleep(Duration::from_millis(100)).await;
    waiting.cancel(None).await?;
    let mut watch = told(Watch::start(client, is_legacy, COUNTER)).await?;
    told(call(client, "touch", json!({}))).await?;
    told(watch.expect_change(client, COUNTER)).await
}

/// Tells of a call and its end.
async fn told<T>(call: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    println!("called");
    let result = timeout(CALL, call).await.unwrap_or_else(|_| Err("no end".into()));
    match &result {
        Ok(_) => println!("completed"),
        Err(error) => {
            let text = error.to_string().replace('\n', " ");
            println!("failed {}", text.chars().take(60).collect::<String>());
        }
    }
    result
}
