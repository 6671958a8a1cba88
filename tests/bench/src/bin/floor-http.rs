//! The least that a server with the tool `echo` can be over HTTP: sockets, httparse, and
//! `envelope`. It looks at no header but `Content-Length`, and answers notifications with nothing.

use std::error::Error;
use std::io::{self, Write};

use mcp_bench::{envelope, listening::listen};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let listener = listen().await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(serve(socket));
    }
}

async fn serve(mut socket: TcpStream) -> Outcome {
    let mut read = Vec::with_capacity(16 * 1024);
    let (mut answer, mut response) = (Vec::new(), Vec::new());
    while socket.read_buf(&mut read).await? > 0 {
        while let Some((head, end)) = request(&read)? {
            answer.clear();
            envelope::answer(&read[head..end], &mut answer)?;
            write!(
                response,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                answer.len(),
            )?;
            response.extend_from_slice(&answer);
            read.drain(..end);
        }
        socket.write_all(&response).await?;
        response.clear();
    }
    Ok(())
}

/// Ends of the head and of the body, once all of it has come.
fn request(read: &[u8]) -> Result<Option<(usize, usize)>, Box<dyn Error + Send + Sync>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(read)? else { return Ok(None) };
    let length = request
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .ok_or("no Content-Length")?;
    let end = head + str::from_utf8(length.value)?.parse::<usize>()?;
    Ok((end <= read.len()).then_some((head, end)))
}
