//! The script of a server over HTTP.
//!
//! In: answers, events of streams, connections that break. Out: the requests of the bridge.

use mcp_proto::client;
use mcp_proto::frame::http1::StatusHead;
use mcp_proto::http::client::{Config, ExchangeId};
use mcp_proto::http::{self, Url};
use mcp_proto::{Bytes, EraPolicy};
use serde_json::Value;

use super::up::Up;
use super::{Bridged, forwarding};

/// A request to a server over HTTP.
#[derive(Debug)]
pub struct HttpRequest {
    /// The name of the request and of its answer.
    pub exchange: ExchangeId,
    /// `POST`, `GET` or `DELETE`.
    pub method: &'static str,
    /// The message; null in a request without a body.
    pub message: Value,
}

impl Bridged {
    /// A bridge to a server at this URL.
    pub fn over_http(serves: EraPolicy, negotiation: client::Negotiation, url: Url) -> Self {
        Self::with_upstream(serves, Up::http(Config::new(url, forwarding(negotiation))))
    }

    /// The requests that the server has got since the last look.
    pub fn http_requests(&mut self) -> Vec<HttpRequest> {
        let Up::Http { open, .. } = &mut self.up else { return Vec::new() };
        let read = |(exchange, request): (_, std::sync::Arc<http::client::Request>)| {
            let message = serde_json::from_slice(&request.body).unwrap_or_default();
            HttpRequest { exchange, method: request.method, message }
        };
        open.drain(..).map(read).collect()
    }

    /// The server answers a request, with a message if there is one.
    pub fn http_answer(
        &mut self,
        exchange: ExchangeId,
        status: u16,
        fields: &[(&str, &str)],
        message: Option<&Value>,
    ) {
        let kind = message.map(|_| ("Content-Type", "application/json"));
        let fields: Vec<_> = fields.iter().copied().chain(kind).collect();
        self.begin_answer(exchange, status, &fields);
        let now = self.now;
        if let Up::Http { client, .. } = &mut self.up {
            if let Some(message) = message {
                client.handle_body(now, exchange, message.to_string().into());
            }
            client.handle_end(now, exchange);
        }
        self.run();
    }

    /// The server answers a request with a stream of events.
    pub fn http_stream(&mut self, exchange: ExchangeId) {
        self.begin_answer(exchange, 200, &[("Content-Type", "text/event-stream")]);
    }

    /// The server sends a message in a stream.
    pub fn http_event(&mut self, exchange: ExchangeId, message: &Value) {
        if let Up::Http { client, .. } = &mut self.up {
            let event = format!("data: {message}\n\n");
            client.handle_body(self.now, exchange, Bytes::from(event));
        }
        self.run();
    }

    /// The connection of an exchange breaks.
    pub fn http_breaks(&mut self, exchange: ExchangeId) {
        if let Up::Http { client, .. } = &mut self.up {
            client.handle_failure(self.now, exchange, "the connection broke");
        }
        self.run();
    }

    fn begin_answer(&mut self, exchange: ExchangeId, status: u16, fields: &[(&str, &str)]) {
        let mut head = StatusHead::new(status);
        for (name, value) in fields {
            head.push(name, value.as_bytes());
        }
        if let Up::Http { client, .. } = &mut self.up {
            client.handle_head(self.now, exchange, &head);
        }
        self.run();
    }
}
