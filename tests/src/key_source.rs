//! The keys of an issuer, fetched from a URL by an adapter.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on ends, and says why"
)]

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::thread;

use mcp_proto::http::Url;

const KEYS: &str = r#"{"keys":[]}"#;

/// Has `fetch` get the keys of servers that answer in all ways.
pub async fn keys_are_fetched_from_a_url<Fut>(fetch: impl Fn(Url) -> Fut)
where
    Fut: Future<Output = io::Result<Vec<u8>>>,
{
    for (response, expected) in [
        (format!("200 OK\r\nContent-Length: {}\r\n\r\n{KEYS}", KEYS.len()), Some(KEYS)),
        ("200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n".into(), Some("{}")),
        ("404 Not Found\r\nContent-Length: 2\r\n\r\n{}".into(), None),
        ("302 Found\r\nLocation: /keys\r\nContent-Length: 0\r\n\r\n".into(), None),
        ("200 OK\r\nContent-Length: 9\r\n\r\n{}".into(), None),
        (format!("200 OK\r\nContent-Length: 300000\r\n\r\n{}", " ".repeat(300_000)), None),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let count = socket.read(&mut request).unwrap();
            // Whoever has read enough may be gone.
            let _ = socket.write_all(format!("HTTP/1.1 {response}").as_bytes());
            String::from_utf8_lossy(request.get(..count).unwrap_or_default()).into_owned()
        });
        let fetched = fetch(Url::parse(&format!("{url}?key=secret")).unwrap()).await;
        if let Err(error) = &fetched {
            assert!(error.to_string().starts_with(&format!("{url}: ")), "{error}");
        }
        assert_eq!(fetched.ok().as_deref(), expected.map(str::as_bytes));
        assert!(server.join().unwrap().starts_with("GET /keys?key=secret HTTP/1.1\r\n"));
    }
    // Others could change what comes from elsewhere without TLS.
    let elsewhere = fetch(Url::parse("http://auth.example.com/keys").unwrap());
    assert_eq!(elsewhere.await.unwrap_err().kind(), ErrorKind::InvalidInput);
}
