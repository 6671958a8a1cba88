//! The law of wakers: what happens at the endpoint wakes the handle of a connection's last visit,
//! and none of an earlier visit.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::sync::Arc;

use mcp_proto::http::{Config, Connection, Endpoint, EndpointAction};
use mcp_proto::server::{Change, Declaration, List, Outcome, Registry, Reply, ServerEvent};
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Action, Bytes, Instant, Json, Machine};

use super::http::{INITIALIZE, SESSION, modern, post};

const NOW: Instant = Instant::ZERO;

struct Site {
    declaration: Arc<Declaration>,
    config: Arc<Config>,
    endpoint: Endpoint<&'static str>,
    owed: Vec<Reply>,
}

impl Site {
    /// A server with one session.
    fn new() -> Self {
        let mut registry = Registry::new(Implementation::new("waking", "1.0.0"));
        registry.list_changed(List::Tools);
        let schema = Json::parse(r#"{"type":"object"}"#.to_owned()).unwrap();
        registry.add_tool(Tool::new("hold", schema), ()).unwrap();
        let config = Arc::new(Config::default());
        let declaration = registry.declaration();
        let endpoint =
            Endpoint::new(declaration.clone(), config.clone(), Box::new(|| 1_u128.to_be_bytes()));
        let mut site = Self { declaration, config, endpoint, owed: Vec::new() };
        site.ask(&post(INITIALIZE, ""));
        site.ask(&post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, SESSION));
        site
    }

    /// Sends a request, visits once, and returns the connection.
    fn ask(&mut self, request: &str) -> Connection {
        let mut connection = Connection::new(NOW, self.declaration.clone(), self.config.clone());
        connection.handle_bytes(NOW, Bytes::from(request.to_owned()));
        self.visit(&mut connection, "first");
        connection
    }

    fn visit(&mut self, connection: &mut Connection, visitor: &'static str) -> String {
        connection.visit(NOW, &mut self.endpoint, &visitor);
        let mut sent = Vec::new();
        while let Some(action) = connection.poll_action() {
            if let Action::Transmit(bytes) = action {
                sent.extend_from_slice(&bytes);
            }
        }
        // A visitor may wake itself, for what it has then taken.
        assert!(self.woken().iter().all(|woken| *woken == visitor));
        String::from_utf8(sent).unwrap()
    }

    fn woken(&mut self) -> Vec<&'static str> {
        let mut woken = Vec::new();
        while let Some(action) = self.endpoint.poll_action() {
            match action {
                EndpointAction::Wake(visitor) => woken.push(visitor),
                EndpointAction::Event(ServerEvent::Request(request)) => {
                    self.owed.push(request.reply);
                }
                EndpointAction::Event(_) | _ => {}
            }
        }
        woken
    }

    /// Visits twice more; the change must wake the last visitor, which then sends `expected`.
    fn check(&mut self, request: &str, expected: &str, change: impl FnOnce(&mut Self)) {
        let mut connection = self.ask(request);
        assert!(!self.visit(&mut connection, "second").contains(expected));
        assert!(!self.visit(&mut connection, "last").contains(expected));
        change(self);
        assert_eq!(self.woken(), ["last"]);
        let sent = self.visit(&mut connection, "last");
        assert!(sent.contains(expected), "{sent}");
    }
}

#[test]
fn an_answer_of_a_session_wakes_the_last_visitor() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold"}}"#;
    Site::new().check(&post(call, SESSION), r#""result":"#, |site| {
        let reply = site.owed.pop().unwrap();
        site.endpoint.respond(NOW, reply, Outcome::Complete(Json::EMPTY_OBJECT));
    });
}

#[test]
fn a_change_wakes_the_last_visitor_of_a_get_stream() {
    let get = format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{SESSION}\r\n");
    Site::new().check(&get, "list_changed", |site| {
        site.endpoint.publish(NOW, &Change::ListChanged(List::Tools)).unwrap();
    });
}

#[test]
fn a_change_wakes_the_last_visitor_that_listens() {
    let listen =
        modern("subscriptions/listen", "", r#""notifications":{"toolsListChanged":true},"#);
    Site::new().check(&listen, "list_changed", |site| {
        site.endpoint.publish(NOW, &Change::ListChanged(List::Tools)).unwrap();
    });
}
