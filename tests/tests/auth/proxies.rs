//! Limits for each address behind proxies: which addresses count.

use std::net::IpAddr;
use std::task::Waker;
use std::time::Duration;

use mcp_proto::http::Config;
use mcp_proto::types::Implementation;
use mcp_proto::{Bytes, Instant};
use mcp_service::{Drive, HttpServer, Registry};
use serde_json::json;

#[test]
fn only_trusted_proxies_name_addresses() {
    for (peer, forwarded, statuses) in [
        // Behind the proxy each client has its share.
        ("10.0.0.1", ["203.0.113.1", "203.0.113.2", "203.0.113.1"], [200, 200, 503]),
        // A client does not get another share by what it writes before its address.
        (
            "10.0.0.1",
            ["1.1.1.1, 203.0.113.1", "2.2.2.2, 203.0.113.1", "203.0.113.2"],
            [200, 503, 200],
        ),
        // The field of others is ignored.
        ("198.51.100.7", ["203.0.113.1", "203.0.113.2", "203.0.113.3"], [200, 503, 503]),
    ] {
        let mut config = Config::default();
        config.trusted_proxies.push("10.0.0.0/8".parse().unwrap());
        assert_eq!(opened(config, peer, forwarded), statuses, "{peer} {forwarded:?}");
    }
    // By default nobody is a proxy.
    let forwarded = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
    assert_eq!(opened(Config::default(), "10.0.0.1", forwarded), [200, 503, 503]);
}

#[test]
fn addresses_behind_more_than_32_proxies_are_not_read() {
    let behind = |hops| {
        let proxies = ", 10.0.0.9".repeat(hops);
        let forwarded = ["1", "2", "1"].map(|end| format!("203.0.113.{end}{proxies}"));
        let mut config = Config::default();
        config.trusted_proxies.push("10.0.0.0/8".parse().unwrap());
        opened(config, "10.0.0.1", forwarded.each_ref().map(String::as_str))
    };
    assert_eq!(behind(31), [200, 200, 503]);
    // The last address that is read is that of a proxy, and has no limit of its own.
    assert_eq!(behind(32), [200, 200, 200]);
}

/// The statuses of `initialize` that come from one address, which may be sent once.
fn opened(mut config: Config, peer: &str, forwarded: [&str; 3]) -> [u16; 3] {
    config.server.limits.max_initialize_burst = 1;
    config.server.limits.initialize_interval = Duration::from_secs(60);
    let registry: Registry = Registry::new(Implementation::new("proxied", "1"));
    let mut ids = 0;
    let random = move || {
        ids += 1;
        [ids; 16]
    };
    let server = HttpServer::new(registry, config, random, |_| {});
    let peer: IpAddr = peer.parse().unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
    .to_string();
    forwarded.map(|forwarded| {
        let mut service = server.connect_from(Instant::ZERO, peer);
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nX-Forwarded-For: {forwarded}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        service.handle_bytes(Instant::ZERO, Bytes::from(request));
        service.turn(Instant::ZERO, Waker::noop());
        let head = String::from_utf8_lossy(service.output()).into_owned();
        head.split(' ').nth(1).unwrap().parse().unwrap()
    })
}
