//! The law of the ends of sessions: a request that was executed is not answered with 404, upon
//! which a client would send the request again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{
    Declaration, Notification, Outcome, Progress, Registry, Reply, ServerEvent,
};
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Action, Bytes, Instant, Json, Machine};

use super::http::{INITIALIZE, SESSION, post};

const NOW: Instant = Instant::ZERO;
const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold"}}"#;

struct Site {
    declaration: Arc<Declaration>,
    config: Arc<Config>,
    endpoint: Endpoint<()>,
    owed: Vec<Reply>,
}

impl Site {
    /// A server with one session, whose id is 1.
    fn new() -> Self {
        let mut registry = Registry::new(Implementation::new("ending", "1.0.0"));
        let schema = Json::parse(r#"{"type":"object"}"#.to_owned()).unwrap();
        registry.add_tool(Tool::new("hold", schema), ()).unwrap();
        let mut config = Config::default();
        config.server.limits.max_sessions_per_holder = 1;
        let config = Arc::new(config);
        let declaration = registry.declaration();
        let mut count = 0_u128;
        let ids = move || {
            count += 1;
            count.to_be_bytes()
        };
        let endpoint = Endpoint::new(declaration.clone(), config.clone(), Box::new(ids));
        let mut site = Self { declaration, config, endpoint, owed: Vec::new() };
        site.ask(&post(INITIALIZE, ""));
        site.ask(&post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, SESSION));
        site
    }

    fn begin(&mut self, request: &str) -> Connection {
        let mut connection = Connection::new(NOW, self.declaration.clone(), self.config.clone());
        connection.set_peer(IpAddr::V4(Ipv4Addr::LOCALHOST));
        connection.handle_bytes(NOW, Bytes::from(request.to_owned()));
        assert_eq!(self.visit(&mut connection), "");
        connection
    }

    fn ask(&mut self, request: &str) -> String {
        let mut connection = Connection::new(NOW, self.declaration.clone(), self.config.clone());
        connection.set_peer(IpAddr::V4(Ipv4Addr::LOCALHOST));
        connection.handle_bytes(NOW, Bytes::from(request.to_owned()));
        self.visit(&mut connection)
    }

    /// Visits the endpoint, and returns what the connection sends.
    fn visit(&mut self, connection: &mut Connection) -> String {
        connection.visit(NOW, &mut self.endpoint, &());
        let mut sent = Vec::new();
        while let Some(action) = connection.poll_action() {
            if let Action::Transmit(bytes) = action {
                sent.extend_from_slice(&bytes);
            }
        }
        while let Some(action) = self.endpoint.poll_action() {
            if let EndpointAction::Event(ServerEvent::Request(request)) = action {
                self.owed.push(request.reply);
            }
        }
        String::from_utf8(sent).unwrap()
    }

    /// The handler answers, and the connection of the request has not visited since.
    fn respond(&mut self) {
        let reply = self.owed.pop().unwrap();
        self.endpoint.respond(NOW, reply, Outcome::Complete(Json::EMPTY_OBJECT));
    }

    fn cancel(&mut self) {
        let cancelled = r#""method":"notifications/cancelled","params":{"requestId":7}"#;
        self.ask(&post(&format!(r#"{{"jsonrpc":"2.0",{cancelled}}}"#), SESSION));
    }

    fn delete(&mut self) {
        let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{SESSION}\r\n");
        let answer = self.ask(&delete);
        assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    }
}

#[test]
fn answer_that_is_ready_outlives_its_session() {
    let mut site = Site::new();
    let mut reader = site.begin(&post(CALL, SESSION));
    site.respond();
    site.delete();
    let answer = site.visit(&mut reader);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""result":"#), "{answer}");
}

#[test]
fn answer_after_progress_outlives_its_session() {
    let mut site = Site::new();
    let call = CALL.replace(r#""hold""#, r#""hold","_meta":{"progressToken":1}"#);
    let mut reader = site.begin(&post(&call, SESSION));
    let about = site.owed[0].id();
    site.endpoint.notify(NOW, about, Notification::Progress(Progress::new(1))).unwrap();
    assert!(site.visit(&mut reader).contains("notifications/progress"));
    site.respond();
    site.delete();
    let answer = site.visit(&mut reader);
    assert!(answer.contains(r#""result":"#), "{answer}");
}

#[test]
fn batch_in_flight_is_cut_off_with_its_session() {
    let mut site = Site::new();
    let revision = INITIALIZE.replace("2025-11-25", "2025-03-26");
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    // The second session replaces the first one, and has the id 2.
    let answer = site.ask(&post(&revision, ""));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let session = SESSION.replace("1\r\n", "2\r\n");
    site.ask(&post(initialized, &session));
    let mut reader = site.begin(&post(&format!("[{CALL}]"), &session));
    let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{session}\r\n");
    assert!(site.ask(&delete).starts_with("HTTP/1.1 204 "));
    let answer = site.visit(&mut reader);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("-32603"), "{answer}");
}

#[test]
fn session_with_an_answer_that_is_not_taken_makes_no_room() {
    let mut site = Site::new();
    let mut reader = site.begin(&post(CALL, SESSION));
    site.respond();
    let refused = site.ask(&post(INITIALIZE, ""));
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    let answer = site.visit(&mut reader);
    assert!(answer.contains(r#""result":"#), "{answer}");
    // Once the answer is taken, the session ends for the next one.
    let opened = site.ask(&post(INITIALIZE, ""));
    assert!(opened.starts_with("HTTP/1.1 200 "), "{opened}");
}

#[test]
fn cancelled_request_of_an_ended_session_gets_an_empty_stream() {
    let mut site = Site::new();
    let mut reader = site.begin(&post(CALL, SESSION));
    site.cancel();
    site.delete();
    let answer = site.visit(&mut reader);
    let is_empty = answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n0\r\n\r\n");
    assert!(is_empty, "{answer}");
}

#[test]
fn request_of_an_ended_session_is_cut_off_at_a_shutdown() {
    let mut site = Site::new();
    let mut reader = site.begin(&post(CALL, SESSION));
    site.delete();
    site.endpoint.shutdown(NOW);
    let answer = site.visit(&mut reader);
    let is_cut_off = answer.contains(r#""id":7,"error":{"code":-32603,"message":"result: the "#);
    assert!(answer.starts_with("HTTP/1.1 200 ") && is_cut_off, "{answer}");
}

#[test]
fn cancelled_request_gets_an_empty_stream_at_a_shutdown() {
    let mut site = Site::new();
    let mut reader = site.begin(&post(CALL, SESSION));
    site.cancel();
    site.endpoint.shutdown(NOW);
    let answer = site.visit(&mut reader);
    let is_empty = answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n0\r\n\r\n");
    assert!(is_empty, "{answer}");
}

#[test]
fn request_without_an_answer_is_cut_off_at_the_end_of_a_shutdown() {
    let mut site = Site::new();
    let mut reader = site.begin(&post(CALL, SESSION));
    site.endpoint.shutdown(NOW);
    site.endpoint.handle_timeout(NOW + site.config.server.limits.drain);
    let answer = site.visit(&mut reader);
    assert!(answer.contains("-32603"), "{answer}");
}
