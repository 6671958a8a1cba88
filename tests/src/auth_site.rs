//! The authorization server of `testing` on a socket, and a browser with a person who consents.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use mcp_proto::Limits;
use mcp_proto::frame::http1::{
    Head, HttpVersion, Incoming, RequestKind, RequestReader, ResponseHead,
};
use mcp_proto::http::Url;
use mcp_service::testing::AuthServer;

/// Serves an authorization server on threads that end with the process.
pub fn serve(listener: TcpListener, server: AuthServer) {
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let server = server.clone();
            // A connection that breaks is the test's to notice.
            thread::spawn(move || answer(socket, &server));
        }
    });
}

/// Answers one request, and closes the connection.
fn answer(mut socket: TcpStream, server: &AuthServer) -> io::Result<()> {
    let mut reader = RequestReader::new(&Limits::default());
    let (mut request, mut body) = (Head::new("GET", "/"), Vec::new());
    let mut buffer = [0; 4096];
    loop {
        match reader.poll() {
            Some(Incoming::Head { head, .. }) => request = head,
            Some(Incoming::Body(data)) => body.extend_from_slice(&data),
            Some(Incoming::End) => break,
            Some(_) => return Ok(()),
            None => {
                let count = socket.read(&mut buffer)?;
                if count == 0 {
                    return Ok(());
                }
                reader.push(buffer.iter().take(count).copied().collect::<Vec<_>>().into());
            }
        }
    }
    let url = Url::parse(&format!("http://{}{}", socket.local_addr()?, request.target()));
    let url = url.map_err(io::Error::other)?;
    let answer = server.answer_to(&request, &url, &String::from_utf8_lossy(&body));
    let mut head = ResponseHead::new(answer.status);
    head.length = u64::try_from(answer.body.len()).ok();
    if let Some(location) = answer.location {
        head.push("Location", location);
    }
    if let Some(nonce) = answer.nonce {
        head.push("DPoP-Nonce", nonce);
    }
    let kind = RequestKind { is_head: false, version: HttpVersion::Http11, keep_alive: false };
    let mut text = Vec::new();
    head.encode(kind, &mut text);
    text.extend_from_slice(answer.body.as_bytes());
    socket.write_all(&text)
}

/// Goes to a page, and to where it redirects.
///
/// Fails if it does not redirect, or if nobody is there.
pub fn browse(page: &str) -> io::Result<()> {
    let location = location(&get(page)?).ok_or_else(|| io::Error::other("no redirect"))?;
    get(&location).map(drop)
}

fn get(url: &str) -> io::Result<String> {
    let url = Url::parse(url).map_err(io::Error::other)?;
    let mut socket = TcpStream::connect((url.host(), url.port()))?;
    let (target, host) = (url.target(), url.authority());
    write!(socket, "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The `Location` of an answer.
pub fn location(answer: &str) -> Option<String> {
    let mut fields = answer.lines().filter_map(|line| line.split_once(": "));
    let location = fields.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    location.map(|(_, url)| url.into())
}
