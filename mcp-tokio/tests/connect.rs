//! `connect` over a stream that breaks.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_tokio::ClientConfig;
use mcp_tokio::{Client, Implementation, connect};
use tokio::io::{AsyncRead, ReadBuf, sink};

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
