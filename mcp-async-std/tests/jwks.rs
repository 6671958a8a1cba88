//! The keys of an issuer, fetched from a URL.

#![expect(clippy::unwrap_used, reason = "a failed test")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::thread;

use mcp_async_std::{KeySource, Url, jwks};

const KEYS: &str = r#"{"keys":[]}"#;

#[test]
fn keys_are_fetched_from_a_url() {
    smol::block_on(fetch());
}

async fn fetch() {
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
        let fetched = jwks(Url::parse(&url).unwrap()).fetch().await.ok();
        assert_eq!(fetched.as_deref(), expected.map(str::as_bytes));
        assert!(server.join().unwrap().starts_with("GET /keys HTTP/1.1\r\n"));
    }
    // Others could change what comes from elsewhere without TLS.
    let elsewhere = jwks(Url::parse("http://auth.example.com/keys").unwrap());
    assert_eq!(elsewhere.fetch().await.unwrap_err().kind(), ErrorKind::InvalidInput);
}
