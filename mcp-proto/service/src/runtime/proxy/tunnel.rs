//! A tunnel through a proxy, by `CONNECT`.
//!
//! In: a connection to a proxy, and the URL of a server. Out: the same connection, now to the
//! server, or an error with the reason of the proxy and the setting to change.
//!
//! [RFC 9110, section 9.3.6](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6)

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::future::poll_fn;
use std::io;

use super::Proxy;
use crate::Socket;
use crate::runtime::stream::write_all;
use mcp_proto::Limits;
use mcp_proto::frame::http1::{IncomingResponse, ResponseReader};
use mcp_proto::http::Url;

/// The longest head of an answer, in bytes.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// Has a proxy connect `socket` to the host and port of a URL.
///
/// Fails unless the proxy answers with 2xx, and if the head of its answer is longer than 8 KiB.
pub(in crate::runtime) async fn tunnel(
    proxy: &Proxy,
    url: &Url,
    socket: &mut impl Socket,
) -> io::Result<()> {
    let target = target(url);
    write_all(socket, &request(proxy, &target)).await.map_err(|error| failed(proxy, &error))?;
    let status = read_status(socket).await.map_err(|error| failed(proxy, &error))?;
    match status {
        200..=299 => Ok(()),
        _ => Err(io::Error::other(format!(
            "the proxy {} refuses a tunnel to {target} with status {status}: {}",
            proxy.name(),
            advice(status),
        ))),
    }
}

/// The host and port of a URL. The client "MUST send the port number", that of the scheme too.
fn target(url: &Url) -> String {
    let (host, port) = (url.host(), url.port());
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn request(proxy: &Proxy, target: &str) -> Vec<u8> {
    let mut text = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(value) = proxy.authorization() {
        for part in [b"Proxy-Authorization: ", value, b"\r\n"] {
            text.extend_from_slice(part);
        }
    }
    text.extend_from_slice(b"\r\n");
    text
}

/// Reads the head of the answer, and returns its status.
async fn read_status(socket: &mut impl Socket) -> io::Result<u16> {
    let mut limits = Limits::default();
    limits.max_head_bytes = MAX_HEAD_BYTES;
    let mut reader = ResponseReader::new(&limits);
    reader.expect("CONNECT").map_err(|error| io::Error::other(format!("{error}")))?;
    loop {
        match reader.poll() {
            // A client speaks first, in HTTP as in TLS: these bytes are not the server's.
            Some(IncomingResponse::Head { head, .. })
                if (200..=299).contains(&head.status()) && reader.buffered() > 0 =>
            {
                return Err(io::Error::other("it has sent more than an answer"));
            }
            Some(IncomingResponse::Head { head, .. }) => return Ok(head.status()),
            Some(IncomingResponse::Refused(refusal)) => {
                return Err(io::Error::other(format!("its answer cannot be read: {refusal}")));
            }
            Some(_) => return Err(io::Error::other("it has ended the connection")),
            None => match poll_fn(|context| socket.poll_read(context)).await? {
                data if data.is_empty() => reader.end(),
                data => reader.push(data),
            },
        }
    }
}

fn failed(proxy: &Proxy, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the proxy {} makes no tunnel: {error}", proxy.name()))
}

/// Advice about a status that refuses a tunnel.
fn advice(status: u16) -> &'static str {
    match status {
        407 => "put a valid USER:PASSWORD@ before the host in its URL",
        403 | 405 => {
            "allow CONNECT to this host and port in the proxy, or name the host in NO_PROXY"
        }
        502..=504 => "it cannot reach this host; if the client can, name the host in NO_PROXY",
        _ => "check that it is a proxy for HTTP",
    }
}
