//! The steps that the client takes over HTTP alone. The words about cuts and expiry are
//! for `../../http/observe.mjs`, which stands between client and server.

use std::time::Duration;

use rmcp::{
    model::{CallToolRequest, ClientRequest},
    service::PeerRequestOptions,
};
use serde_json::json;
use tokio::{time, try_join};

use crate::{
    Server,
    steps::{
        Client, Outcome, WATCHED, call, call_with_progress, echo, expect, expect_text, ok, params,
    },
    watch::Watch,
};

pub async fn take(mode: &str, server: &Server) -> Outcome {
    if matches!(mode, "initialize" | "fallback") {
        be_sent_away(server.connect(mode).await?).await?;
        ok("stream closed by the server, and resumed");
        be_cut(server.connect(mode).await?).await?;
        ok("stream cut, and resumed");
        miss_update(server.connect(mode).await?).await?;
        ok("stream of updates cut, and resumed");
        expire(server.connect(mode).await?).await?;
        ok("session expired, and begun again");
    } else {
        lose_call(server.connect(mode).await?).await?;
        ok("stream cut");
    }
    // The other modes keep to their era: the server may know no other.
    let other = if mode == "initialize" { "discover" } else { mode };
    try_join!(
        converse(server, mode),
        converse(server, other),
        converse(server, mode),
        converse(server, other),
    )?;
    ok("many at once");
    close_busy(server.connect(mode).await?).await?;
    ok("close while busy");
    let mut client = server.connect(mode).await?;
    echo(&client, "still here").await?;
    client.close().await?;
    ok("connect after all");
    Ok(())
}

async fn be_sent_away(mut client: Client) -> Outcome {
    let answer = call(&client, "test_reconnection", json!({})).await?;
    expect_text(&answer, "Reconnection test completed")?;
    client.close().await?;
    Ok(())
}

async fn be_cut(mut client: Client) -> Outcome {
    call_with_progress(&client, json!({ "note": "cut me" })).await?;
    client.close().await?;
    Ok(())
}

async fn miss_update(mut client: Client) -> Outcome {
    let mut watch = Watch::start(&client, true, WATCHED).await?;
    call(&client, "test_trigger_resource_update", json!({})).await?;
    watch.expect_change(&client, WATCHED).await?;
    echo(&client, "cut the other stream").await?;
    call(&client, "test_trigger_resource_update", json!({})).await?;
    watch.expect_change(&client, WATCHED).await?;
    watch.stop(&client).await?;
    client.close().await?;
    Ok(())
}

/// In the modern era what is cut is lost, and nothing else is.
async fn lose_call(mut client: Client) -> Outcome {
    let lost = call_with_progress(&client, json!({ "note": "cut me" })).await;
    expect(lost.is_err(), true)?;
    echo(&client, "still here").await?;
    client.close().await?;
    Ok(())
}

/// This SDK begins another session without a word.
async fn expire(mut client: Client) -> Outcome {
    echo(&client, "expire me").await?;
    echo(&client, "still here").await?;
    client.close().await?;
    Ok(())
}

/// All who do this at once give their requests the same ids, and none gets what is another's.
async fn converse(server: &Server, mode: &str) -> Outcome {
    let mut client = server.connect(mode).await?;
    let words = [0, 1, 2, 3].map(|count| format!("{count} of {:p}", client.service()));
    try_join!(
        echo(&client, &words[0]),
        echo(&client, &words[1]),
        echo(&client, &words[2]),
        echo(&client, &words[3]),
        call_with_progress(&client, json!({})),
        be_asked(&client),
    )?;
    client.close().await?;
    Ok(())
}

async fn be_asked(client: &Client) -> Outcome {
    let answer = call(client, "test_input_required_result_elicitation", json!({})).await?;
    expect_text(&answer, "Hello, my name!")?;
    expect(client.service().take_asked(), vec!["elicitation/create"])
}

async fn close_busy(mut client: Client) -> Outcome {
    let wait = CallToolRequest::new(params("wait", json!({ "seconds": 20 })));
    let wait = ClientRequest::CallToolRequest(wait);
    let waiting = client.send_cancellable_request(wait, PeerRequestOptions::no_options()).await?;
    time::sleep(Duration::from_millis(200)).await;
    client.close().await?;
    expect(waiting.await_response().await.is_err(), true)
}
