//! The least that a server with the tool `echo` can be: pipes, lines, and `envelope`.

use std::error::Error;
use std::io;
use std::os::fd::AsFd;

use mcp_bench::envelope::answer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

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
            let answered = replies.len();
            answer(&read[start..newline], &mut replies)?;
            if replies.len() > answered {
                replies.push(b'\n');
            }
            start = newline + 1;
        }
        read.drain(..end);
        output.write_all(&replies).await?;
        replies.clear();
    }
}
