//! The driver on smol: no part of async-std runs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

use mcp_async_std::{Config, serve};
use mcp_tests::everything;
use serde_json::{Value, json};
use smol::Async;

/// Sends messages and returns as many answers as there are ids in them.
fn converse(messages: &[Value]) -> Vec<Value> {
    let (mut client, server) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let (reader, writer) = (Async::new(server.try_clone()?)?, Async::new(server)?);
        let registry = everything::registry().map_err(std::io::Error::other)?;
        smol::block_on(serve(registry, Config::default(), reader, writer))
    });
    for message in messages {
        writeln!(client, "{message}").unwrap();
    }
    let expected = messages.iter().filter(|message| message.get("id").is_some()).count();
    let lines = BufReader::new(client.try_clone().unwrap()).lines();
    let answers = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let answers = answers.filter(|message| message.get("id").is_some());
    let answers: Vec<Value> = answers.take(expected).collect();
    client.shutdown(Shutdown::Write).unwrap();
    server.join().unwrap().unwrap();
    answers
}

#[test]
fn serves_clients_of_both_eras() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "test_tool_with_progress", "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let [answer] = &converse(&[call])[..] else { panic!("one request has one answer") };
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["content"][0]["text"], "done");

    let client = json!({"name": "test", "version": "1"});
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client,
    });
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let params = json!({"uri": "test://static-text"});
    let read = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": params});
    let answers = converse(&[initialize, initialized, read]);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-11-25");
    let contents = &answers[1]["result"]["contents"][0];
    assert_eq!(contents["text"], "This is the content of the static text resource.");
}
