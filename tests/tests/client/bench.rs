//! Servers to call, and what they and the client's handlers note down.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::types::{CallToolResult, Implementation, Tool};
use mcp_service::testing::Pair;
use mcp_service::{Call, Catalog, Client, Context, Handler, IntoToolResult, Registry};
use serde_json::{Value, json};

/// Strategies that lead to each of the two eras.
pub(crate) const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

/// The same, over whatever there is.
pub(crate) const WAYS: [Way; 4] = [
    Way { over: Over::Pipe, negotiation: Negotiation::Auto },
    Way { over: Over::Pipe, negotiation: Negotiation::Legacy },
    Way { over: Over::Http, negotiation: Negotiation::Auto },
    Way { over: Over::Http, negotiation: Negotiation::Legacy },
];

/// Transport and strategy of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) over: Over,
    pub(crate) negotiation: Negotiation,
}

/// Transport of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    Pipe,
    Http,
}

impl Way {
    /// A pair that comes together like this.
    pub(crate) fn pair(self, catalog: impl Into<Catalog>) -> Pair {
        let pair = match self.over {
            Over::Pipe => Pair::new(catalog),
            Over::Http => Pair::over_http(catalog),
        };
        pair.negotiation(self.negotiation)
    }

    pub(crate) fn is_legacy(self) -> bool {
        self.negotiation == Negotiation::Legacy
    }

    /// Returns whether a cancellation is the end of a connection, and nothing is said.
    pub(crate) fn cancels_by_closing(self) -> bool {
        self.over == Over::Http && !self.is_legacy()
    }
}

impl From<Negotiation> for Way {
    fn from(negotiation: Negotiation) -> Self {
        Self { over: Over::Pipe, negotiation }
    }
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Notes in order.
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
pub(crate) fn pair<F, Fut, R>(way: impl Into<Way>, f: F) -> Pair
where
    F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    way.into().pair(registry(f))
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

/// Text of the tool's result.
pub(crate) fn text(result: Result<CallToolResult, CallError>) -> String {
    result.unwrap().content[0].as_text().unwrap().to_owned()
}

/// Number of the client's messages that contain this.
pub(crate) fn said(pair: &Pair, what: &str) -> usize {
    messages(pair, |mark| mark != "S>" && mark.ends_with('>'), what)
}

/// Number of the server's messages that contain this.
pub(crate) fn served(pair: &Pair, what: &str) -> usize {
    messages(pair, |mark| mark == "S>" || mark.ends_with('<'), what)
}

/// Number of the messages with such a mark that contain this; heads of HTTP do not count.
fn messages(pair: &Pair, of: impl Fn(&str) -> bool, what: &str) -> usize {
    let wire = pair.wire();
    let lines = wire.lines().filter_map(|line| line.split_once(' '));
    let messages = lines.filter(|(mark, line)| of(mark) && line.contains("jsonrpc"));
    messages.filter(|(_, line)| line.contains(what)).count()
}

/// Panics without a word on stderr.
pub(crate) fn panic_quietly() {
    std::panic::resume_unwind(Box::new("quiet"));
}
