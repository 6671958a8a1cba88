//! HTTP server for the redirect to a loopback address: one request, and a static page.
//!
//! | request | answer | the redirect |
//! |---|---|---|
//! | `GET` of the path, with the awaited `state` | 200; another page if there is an `error` | is accepted, once |
//! | `GET` of the path, with another `state`, or a second one | 400 | is ignored |
//! | another path | 404 | |
//! | another method | 405 | |
//! | no head within 5 s, or within 16 KiB | none | |

use alloc::vec;
use alloc::vec::Vec;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_proto::Limits;
use mcp_proto::frame::http1::{
    Head, HttpVersion, Incoming, RequestKind, RequestReader, ResponseHead,
};
use mcp_proto::internals::redirect_params;

/// The timeout of a connection.
const TIMEOUT: Duration = Duration::from_secs(5);

const MAX_HEAD_BYTES: usize = 16 * 1024;

const DONE: &str = "<!doctype html><meta charset=utf-8><title>Signed in</title>\
    <p>You can close this page and go back to the application.\n";
const REFUSED: &str = "<!doctype html><meta charset=utf-8><title>Not signed in</title>\
    <p>The sign-in was refused. Go back to the application, which has the reason.\n";
const OTHER: &str = "<!doctype html><meta charset=utf-8><title>Not expected</title>\
    <p>No application waits for this sign-in.\n";

/// Serves one connection. `take` gets the target of a `GET` of the path, and returns true if it is
/// the awaited redirect.
pub(super) fn serve(
    mut socket: TcpStream,
    path: &str,
    take: impl FnOnce(&str) -> bool,
) -> io::Result<()> {
    let Some(head) = read_head(&mut socket)? else { return Ok(()) };
    let (status, page) = if head.path() != path {
        (404, OTHER)
    } else if head.method() != "GET" {
        (405, OTHER)
    } else if take(head.target()) {
        (200, if has_error(head.target()) { REFUSED } else { DONE })
    } else {
        (400, OTHER)
    };
    socket.write_all(&answer(status, page))?;
    socket.flush()?;
    socket.shutdown(Shutdown::Write)
}

/// Reads the head of a request; `None` if there is no valid head.
#[expect(clippy::disallowed_methods, reason = "a thread of its own waits for the socket")]
fn read_head(socket: &mut TcpStream) -> io::Result<Option<Head>> {
    let deadline = Instant::now() + TIMEOUT;
    let mut limits = Limits::default();
    limits.max_head_bytes = MAX_HEAD_BYTES;
    let mut reader = RequestReader::new(&limits);
    let mut buffer = vec![0; 4096];
    loop {
        match reader.poll() {
            Some(Incoming::Head { head, .. }) => return Ok(Some(head)),
            Some(_) => return Ok(None),
            None => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut buffer)? {
            0 => reader.end(),
            count => {
                reader.push(Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default()));
            }
        }
    }
}

fn answer(status: u16, page: &'static str) -> Vec<u8> {
    let mut head = ResponseHead::new(status);
    head.length = u64::try_from(page.len()).ok();
    for (name, value) in [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Security-Policy", "default-src 'none'"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ] {
        head.push(name, value);
    }
    let mut text = Vec::new();
    let kind = RequestKind { is_head: false, version: HttpVersion::Http11, keep_alive: false };
    head.encode(kind, &mut text);
    text.extend_from_slice(page.as_bytes());
    text
}

/// The query of a target, with its question mark, if its first `state` is this one.
pub(super) fn redirect<'a>(target: &'a str, state: &str) -> Option<&'a str> {
    let query = target.find('?').and_then(|at| target.get(at..))?;
    // A place was checked, so that the query is enough.
    let params = redirect_params("", query)?;
    let first = params.into_iter().find(|(name, _)| name == "state")?;
    (first.1 == state).then_some(query)
}

/// Returns whether a redirect reports an error in place of a code.
fn has_error(target: &str) -> bool {
    target.split(['?', '&']).any(|pair| pair.starts_with("error="))
}

#[cfg(test)]
mod tests {
    use super::redirect;

    #[test]
    fn other_states_are_ignored() {
        for (target, is_taken) in [
            ("/callback?code=1&state=s1", true),
            ("/callback?state=s1&error=access_denied", true),
            ("/callback?code=1&state=%73%31", true),
            ("/callback?code=1&state=s2", false),
            ("/callback?code=1&state=s2&state=s1", false),
            ("/callback?code=1", false),
            ("/callback", false),
        ] {
            assert_eq!(redirect(target, "s1").is_some(), is_taken, "{target}");
        }
    }
}
