//! The table of methods against the machine of the server: an era serves just the requests that
//! the table says it has, and only if their capability is declared.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends here, and says why")]

use mcp_proto::Json;
use mcp_proto::ext;
use mcp_proto::message::draw_methods;
use mcp_proto::server::{Config, Declaration, Registry};
use mcp_proto::stdio::Connection;
use mcp_proto::types::Implementation;
use mcp_proto::{Action, Bytes, Era, Instant, Machine};
use mcp_tests::fuzz;
use std::sync::Arc;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

#[test]
fn an_era_serves_the_methods_that_it_has() {
    let mut registry = fuzz::registry();
    registry.extension(ext::TASKS, Json::EMPTY_OBJECT).unwrap();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        registry.add_method(method, fuzz::Answers::AtOnce).unwrap();
    }
    let declaration = registry.declaration();
    for row in rows() {
        for era in [Era::Legacy, Era::Modern] {
            let served = row.is_served(era);
            // An opened pipe refuses `initialize` by another error.
            if row.method != "initialize" {
                assert_eq!(is_found(&declaration, era, row.method), served, "{era} {row:?}");
            }
        }
    }
}

#[test]
fn a_method_needs_its_capability() {
    let empty = Registry::<()>::new(Implementation::new("empty", "1.0.0")).declaration();
    for row in rows().filter(|row| row.method != "initialize") {
        for era in [Era::Legacy, Era::Modern] {
            let served = row.is_served(era) && row.capability.is_empty();
            assert_eq!(is_found(&empty, era, row.method), served, "{era} {row:?}");
        }
    }
}

#[derive(Debug)]
struct Row {
    method: &'static str,
    sender: &'static str,
    eras: &'static str,
    capability: &'static str,
}

impl Row {
    fn is_served(&self, era: Era) -> bool {
        self.sender != "Server" && ["Both", &format!("{era:?}")].contains(&self.eras)
    }
}

/// The requests of the table.
fn rows() -> impl Iterator<Item = Row> {
    draw_methods()
        .leak()
        .lines()
        .skip(2)
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, method, sender, eras, _, capability, ..] = cells[..] else { panic!("{line}") };
            Row { method: method.trim_matches('`'), sender, eras, capability }
        })
        .filter(|row| !row.method.starts_with("notifications/"))
}

/// Returns whether a request with this method, of a client of this era, gets another answer than
/// -32601.
fn is_found(declaration: &Arc<Declaration>, era: Era, method: &str) -> bool {
    let mut connection = Connection::server(declaration.clone(), Config::default());
    let params = match era {
        Era::Legacy => {
            say(&mut connection, INITIALIZE);
            ""
        }
        Era::Modern => META,
    };
    let request =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
    let said = say(&mut connection, &request);
    !said.contains("-32601")
}

/// Answer of a server; empty if its handler is to answer.
fn say(connection: &mut Connection<mcp_proto::server::Server>, message: &str) -> String {
    connection.handle_bytes(Instant::ZERO, Bytes::from(format!("{message}\n")));
    let mut said = String::new();
    while let Some(action) = connection.poll_action() {
        if let Action::Transmit(bytes) = action {
            said.push_str(core::str::from_utf8(&bytes).unwrap());
        }
    }
    said
}
