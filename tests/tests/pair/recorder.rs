//! A server that writes down what it hears, and when; and one to talk to.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_proto::server::Config;
use mcp_proto::types::Implementation;
use mcp_service::testing::Pair;
use mcp_service::{Context, Drive, Handler, Registry, Service};
use schemars::JsonSchema;
use serde::Deserialize;

/// Bytes that arrived together, and the time of arrival.
pub(crate) type Heard = Arc<Mutex<Vec<(Instant, Bytes)>>>;

/// Notes of a server's handlers.
pub(crate) type Notes = Arc<Mutex<Vec<String>>>;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Text {
    text: String,
}

/// Offers `echo`; `think`, which never ends; and notes what becomes of the latter.
pub(crate) fn registry(notes: &Notes) -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("recorder", "1"));
    registry.tool("echo", "Echoes", |Text { text }: Text, _| async { text }).unwrap();
    let notes = notes.clone();
    let think = move |_: Nothing, context: Context| {
        let notes = notes.clone();
        async move {
            notes.lock().unwrap().push("thinks".to_owned());
            context.cancelled().await;
            notes.lock().unwrap().push("cancelled".to_owned());
            std::future::pending::<String>().await
        }
    };
    registry.tool("think", "Thinks", think).unwrap();
    registry
}

/// A pair with a server that is recorded.
pub(crate) fn recorded(heard: &Heard, notes: &Notes) -> Pair {
    let (heard, notes) = (heard.clone(), notes.clone());
    Pair::with_server(move |config| Box::new(Recorder::new(&heard, &notes, config)))
}

struct Recorder {
    service: Service,
    heard: Heard,
}

impl Recorder {
    fn new(heard: &Heard, notes: &Notes, config: Config) -> Self {
        Self { service: Service::new(registry(notes), config), heard: heard.clone() }
    }
}

impl Drive for Recorder {
    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        self.heard.lock().unwrap().push((now, data.clone()));
        self.service.handle_bytes(now, data);
    }

    fn handle_eof(&mut self, now: Instant) {
        self.heard.lock().unwrap().push((now, Bytes::new()));
        self.service.handle_eof(now);
    }

    mcp_tests::pass_to_service! {
        handle_stop turn output handle_written handle_write_closed poll_timeout wants_read
        is_write_blocked is_closed flush_deadline is_aborted
    }
}
