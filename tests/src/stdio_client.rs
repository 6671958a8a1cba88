//! A client on a byte stream that a test drives by hand.

use mcp_proto::client::Client;
use mcp_proto::stdio::Connection;
use mcp_proto::{Action, Machine};
use serde_json::Value;

/// The messages that a client sends.
///
/// # Panics
///
/// If one of them is not JSON.
#[expect(clippy::expect_used, reason = "a client that sends no JSON ends the test")]
pub fn sent(client: &mut Connection<Client>) -> Vec<Value> {
    let mut sent = Vec::new();
    while let Some(action) = client.poll_action() {
        if let Action::Transmit(bytes) = action {
            sent.push(serde_json::from_slice(&bytes).expect("a message"));
        }
    }
    sent
}
