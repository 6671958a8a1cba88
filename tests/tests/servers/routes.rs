//! Responses beside the endpoint, over a socket and behind another HTTP stack.

use std::sync::Arc;
use std::task::Waker;

use mcp_proto::frame::http1::Head;
use mcp_proto::http::{Authorization, Config, RouteResponse};
use mcp_proto::types::Implementation;
use mcp_proto::{Bytes, Instant};
use mcp_service::{Drive, HttpServer, Part, Registry};

#[test]
fn route_is_answered_for_any_host_and_without_a_token() {
    let head = "HTTP/1.1 200 OK\nContent-Type: text/plain; charset=utf-8\nX-Node: 7\n\
                Content-Length: 2\n\n";
    assert_eq!(said("GET", "/health"), format!("{head}ok"));
    assert_eq!(said("HEAD", "/health"), head);
    assert_eq!(said("GET", "/empty"), "HTTP/1.1 204 No Content\n\n");
    let busy = "HTTP/1.1 503 Service Unavailable\nContent-Type: application/json\n\
                Content-Length: 13\n\n{\"busy\":true}";
    assert_eq!(said("GET", "/busy"), busy);
    assert!(said("POST", "/health").starts_with("HTTP/1.1 404 "), "the function has no response");
    assert!(said("GET", "/mcp").starts_with("HTTP/1.1 403 "), "the host is not allowed");
}

#[test]
fn route_is_answered_behind_another_stack() {
    let mut head = Head::new("GET", "/health");
    head.push("Host", b"10.0.0.1");
    let mut answer = server().answer(Instant::ZERO, head, &Bytes::new());
    match answer.turn(Instant::ZERO, Waker::noop()) {
        Some(Part::Whole(head, body)) => {
            assert_eq!((head.status, &body[..]), (200, &b"ok"[..]));
        }
        part => panic!("{part:?}"),
    }
}

fn server() -> HttpServer {
    let registry = Registry::new(Implementation::new("health", "1"));
    let mut config = Config::default();
    config.authorize = Some(Arc::new(|_| Authorization::Unauthorized("Bearer".into())));
    config.route(|head| match (head.method(), head.path()) {
        ("GET" | "HEAD", "/health") => Some(RouteResponse::text("ok").field("X-Node", "7")),
        ("GET", "/empty") => Some(RouteResponse::new(204)),
        ("GET", "/busy") => {
            Some(RouteResponse::new(503).body("application/json", r#"{"busy":true}"#))
        }
        _ => None,
    });
    HttpServer::new(registry, config, || [7; 16], drop)
}

/// The answer to a request for a host that is not the server's.
fn said(method: &str, path: &str) -> String {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n");
    let mut service = server().connect(Instant::ZERO);
    service.handle_bytes(Instant::ZERO, Bytes::from(request));
    service.turn(Instant::ZERO, Waker::noop());
    str::from_utf8(service.output()).unwrap().replace("\r\n", "\n")
}
