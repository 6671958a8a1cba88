//! Clients over streams: one that breaks, and one whose server reads late.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_tokio::{Client, ClientConfig, Implementation, connect, run};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, ReadBuf, duplex, sink,
    split,
};
use tokio::time;

struct Broken;

impl AsyncRead for Broken {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "no certificate")))
    }
}

#[tokio::test]
async fn the_error_of_the_stream_is_that_of_the_connection() {
    let client = Client::new(ClientConfig::new(Implementation::new("c", "1")));
    let error = connect(&client, Broken, sink()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(error.to_string(), "no certificate");
}

/// The pipe takes what the client still has at once, so no other write makes the client look again.
#[tokio::test(start_paused = true)]
async fn a_call_that_waited_for_the_output_is_sent_after_it() {
    let (here, there) = duplex(4 << 20);
    let client = Client::new(ClientConfig::new(Implementation::new("c", "1")));
    let driven = client.clone();
    tokio::spawn(async move {
        let (reader, writer) = split(here);
        run(&driven, reader, writer).await
    });
    let (reader, mut writer) = split(there);
    let mut reader = BufReader::with_capacity(8 << 20, reader);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        let (id, info) = (&message["id"], json!({"name": "s", "version": "1"}));
        let answer = match message["method"].as_str().unwrap() {
            "notifications/initialized" => break,
            "initialize" => {
                json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}})
            }
            _ => json!({"error": {"code": -32601, "message": "no"}}),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    client.connected().await.unwrap();
    let long = "x".repeat(3_000_000);
    for _ in 0..2 {
        client.notify("notifications/x", &json!({"x": long})).unwrap();
    }
    time::sleep(Duration::from_millis(1)).await;
    let call = tokio::spawn(async move { client.call_tool("t", &json!({})).await });
    time::sleep(Duration::from_millis(1)).await;
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text[text.len().saturating_sub(200)..]).contains("tools/call") {
        let mut part = vec![0; 5 << 20];
        let read = time::timeout(Duration::from_secs(1), reader.read(&mut part)).await;
        text.extend_from_slice(&part[..read.expect("the call is not sent").unwrap()]);
    }
    call.abort();
}
