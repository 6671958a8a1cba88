//! Servers to call, and what they and the client's handlers note down.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::server::Registry;
use mcp_proto::service::{Call, Client, Context, Handler, IntoToolResult};
use mcp_proto::testing::Pair;
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use serde_json::{Value, json};

/// How the two eras are come to.
pub(crate) const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// What was noted down, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Notes `dropped` when it is.
    pub(crate) fn note_drop(&self) -> NoteDrop {
        NoteDrop(self.clone())
    }
}

pub(crate) struct NoteDrop(Log);

impl Drop for NoteDrop {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

/// A registry whose one tool, `t`, is `f`.
pub(crate) fn registry<F, Fut, R>(f: F) -> Registry<Handler>
where
    F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    let mut registry = Registry::new(Implementation::new("bench", "1"));
    let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
    registry.tool_with(Tool::new("t", schema), f).unwrap();
    registry
}

/// A pair whose server has one tool.
pub(crate) fn pair<F, Fut, R>(negotiation: Negotiation, f: F) -> Pair
where
    F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    Pair::new(registry(f)).negotiation(negotiation)
}

/// A handler that notes that it was called, that it was cancelled, and that it is gone.
pub(crate) fn thinking(log: &Log) -> Registry<Handler> {
    let log = log.clone();
    registry(move |_, context| {
        let log = log.clone();
        async move {
            let _gone = log.note_drop();
            log.note("thinks");
            context.cancelled().await;
            log.note("cancelled");
            std::future::pending::<String>().await
        }
    })
}

/// Calls the tool.
pub(crate) fn call(client: &Client) -> Call<CallToolResult> {
    client.call_tool("t", &json!({}))
}

/// What the tool said.
pub(crate) fn text(result: Result<CallToolResult, CallError>) -> String {
    result.unwrap().content[0].as_text().unwrap().to_owned()
}

/// How often the client has said something with this in it.
pub(crate) fn said(pair: &Pair, what: &str) -> usize {
    lines(pair, "C> ", what)
}

/// How often the server has.
pub(crate) fn served(pair: &Pair, what: &str) -> usize {
    lines(pair, "S> ", what)
}

fn lines(pair: &Pair, mark: &str, what: &str) -> usize {
    let wire = pair.wire();
    wire.lines().filter(|line| line.starts_with(mark) && line.contains(what)).count()
}

/// Panics without a word on stderr.
pub(crate) fn panic_quietly() {
    std::panic::resume_unwind(Box::new("quiet"));
}
