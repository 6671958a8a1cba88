//! The least that a server with the tool `echo` can be: pipes, lines, and serde around the JSON.
//! It knows nothing of the protocol and believes whatever it reads.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    message: Cow<'a, str>,
}

#[derive(Serialize)]
struct Response<'a, R> {
    jsonrpc: &'a str,
    id: &'a RawValue,
    result: R,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: [Content<'a>; 1],
    is_error: bool,
}

#[derive(Serialize)]
struct Content<'a> {
    r#type: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Empty {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut input = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    let mut output = pipe::Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)?;
    let (mut read, mut replies) = (Vec::with_capacity(64 * 1024), Vec::new());
    loop {
        let searched = read.len();
        read.reserve(16 * 1024);
        if input.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
        let Some(end) = memchr::memrchr(b'\n', &read[searched..]) else { continue };
        let end = searched + end + 1;

        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', &read[..end]) {
            answer(&read[start..newline], &mut replies)?;
            start = newline + 1;
        }
        read.drain(..end);
        output.write_all(&replies).await?;
        replies.clear();
    }
}

fn answer(line: &[u8], replies: &mut Vec<u8>) -> serde_json::Result<()> {
    let request: Request = serde_json::from_slice(line)?;
    let Some(id) = request.id else { return Ok(()) };
    let params = request.params.map_or("{}", RawValue::get);
    if request.method == "tools/call" {
        let call: Call = serde_json::from_str(params)?;
        let content = [Content { r#type: "text", text: &call.arguments.message }];
        let result = CallResult { content, is_error: false };
        serde_json::to_writer(&mut *replies, &Response { jsonrpc: "2.0", id, result })?;
    } else {
        serde_json::to_writer(&mut *replies, &Response { jsonrpc: "2.0", id, result: Empty {} })?;
    }
    replies.push(b'\n');
    Ok(())
}
