//! `serve` on a stream of the `futures-io` traits, on async-std's executor and on none.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use async_io::Async;
use futures_lite::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use futures_lite::{StreamExt, future};
use mcp_async_std::{Config, serve};
use mcp_tests::everything;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

#[test]
fn a_conversation_on_async_std() -> io::Result<()> {
    async_std::task::block_on(async {
        let (ours, theirs) = Async::<UnixStream>::pair()?;
        let served = async_std::task::spawn(serve_everything(theirs));
        assert_eq!(hold(&ours).await?, expected());
        served.await
    })
}

#[test]
fn a_conversation_without_an_executor() -> io::Result<()> {
    let (ours, theirs) = Async::<UnixStream>::pair()?;
    let (held, served) = future::block_on(future::zip(hold(&ours), serve_everything(theirs)));
    assert_eq!(held?, expected());
    served
}

#[test]
fn a_deadline_moves_both_ways() -> io::Result<()> {
    let (ours, theirs) = Async::<UnixStream>::pair()?;
    let client = async {
        let mut writer = &ours;
        let mut lines = BufReader::new(&ours).lines();
        let start = Instant::now();
        let short = |id| call(id, "test_tool_with_progress", "{}");
        let input = [
            INITIALIZE,
            &call(1, "wait", r#"{"seconds":1}"#),
            &short(2),
            &call(3, "wait", r#"{"seconds":100}"#),
        ];
        writer.write_all(format!("{}\n", input.join("\n")).as_bytes()).await?;
        lines.next().await.unwrap()?;
        assert_eq!(lines.next().await.unwrap()?, text(2, "done"));
        assert!((150..1000).contains(&start.elapsed().as_millis()));
        assert_eq!(lines.next().await.unwrap()?, text(1, "waited"));
        assert!((1000..3000).contains(&start.elapsed().as_millis()));
        ours.get_ref().shutdown(Shutdown::Write)?;
        assert!(lines.next().await.is_none());
        io::Result::Ok(())
    };
    let (held, served) = future::block_on(future::zip(client, serve_everything(theirs)));
    held?;
    served
}

#[test]
fn a_client_that_is_gone_is_no_error() -> io::Result<()> {
    let (ours, theirs) = Async::<UnixStream>::pair()?;
    future::block_on(async {
        (&ours).write_all(format!("{PING}\n").as_bytes()).await?;
        drop(ours);
        serve_everything(theirs).await
    })
}

async fn serve_everything(stream: Async<UnixStream>) -> io::Result<()> {
    let registry = everything::registry().map_err(io::Error::other)?;
    serve(registry, Config::default(), &stream, &stream).await
}

/// Says something, and returns the answers to all of it but the first.
async fn hold(mut stream: &Async<UnixStream>) -> io::Result<Vec<String>> {
    let call = call(1, "test_tool_with_progress", "{}");
    stream.write_all(format!("{INITIALIZE}\n{PING}\n{call}").as_bytes()).await?;
    stream.get_ref().shutdown(Shutdown::Write)?;
    let mut lines = BufReader::new(stream).lines();
    let mut answers = Vec::new();
    while let Some(line) = lines.next().await {
        answers.push(line?);
    }
    answers.remove(0);
    Ok(answers)
}

fn expected() -> [String; 2] {
    [PONG.to_owned(), text(1, "done")]
}

fn call(id: u32, tool: &str, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
}

fn text(id: u32, text: &str) -> String {
    let content = format!(r#"{{"type":"text","text":"{text}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{content}]}}}}"#)
}
