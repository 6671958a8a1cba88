//! Conversation of each cell, and the comparison of its results with the expected ones.
//!
//! In: a client that is being connected. Out: the answers, to be compared.

use std::future::{Future, poll_fn};
use std::pin::pin;

use mcp_proto::client::{CallError, ConnectError};
use mcp_proto::types::{CallToolResult, ElicitResult};
use mcp_proto::{Era, ErrorCode, Json, ProtocolVersion};
use mcp_service::Client;
use serde_json::json;

use super::{Cell, Expected, Failure};
use crate::http_client::Connecting;

/// Results of a cell's conversation.
#[derive(Debug)]
pub struct Met {
    /// The sum that was asked for before anything was known.
    pub sum: Result<String, CallError>,
    /// The names of the tools.
    pub tools: Result<Vec<String>, CallError>,
    /// Text of a tool that has asked for a name.
    pub greeting: Result<String, CallError>,
    /// Version of the connection at the end.
    pub connected: Result<ProtocolVersion, ConnectError>,
    /// Version of the verdict to store at the end.
    pub stored: Option<ProtocolVersion>,
}

/// Has a client say its name when it is asked.
pub fn answer(client: &Client) {
    client.on_form(|_| async {
        let content = Json::encode(&json!({ "name": "Ada" })).unwrap_or(Json::EMPTY_OBJECT);
        ElicitResult::accept(content)
    });
}

/// Says everything. It begins at once: what is stored about the server is believed.
pub async fn meet(client: &Client) -> Met {
    let sum = client.call_tool("add", &json!({ "a": 1, "b": 2 })).await;
    let tools = client.list_tools().await;
    let greeting = client.call_tool("greet", &json!({})).await;
    Met {
        sum: sum.map(|sum| text(&sum)),
        tools: tools.map(|list| list.tools.into_iter().map(|tool| tool.name).collect()),
        greeting: greeting.map(|greeting| text(&greeting)),
        connected: client.connected().await.map(|server| server.version),
        stored: client.verdict().map(|verdict| verdict.version),
    }
}

/// Says everything while a client is being connected, and closes it: what is asked for meanwhile
/// waits, and what comes of it tells more than what comes of connecting.
pub async fn meet_meanwhile(mut connecting: Connecting, client: &Client) -> Met {
    let mut is_connecting = true;
    // The client may wait for its driver to close, so both are polled until then.
    let mut met = pin!(async {
        let met = meet(client).await;
        client.close().await;
        met
    });
    poll_fn(|context| {
        is_connecting = is_connecting && connecting.as_mut().poll(context).is_pending();
        met.as_mut().poll(context)
    })
    .await
}

fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).collect()
}

impl Cell {
    /// Compares; `told` is what the servers of the cell have told.
    pub fn check(self, met: &Met, told: &[String]) -> Result<(), String> {
        self.check_asked(met, told, true)
    }

    /// The same, with whether a legacy client may be asked: without a session it may not.
    pub(super) fn check_asked(
        self,
        met: &Met,
        told: &[String],
        asks_legacy: bool,
    ) -> Result<(), String> {
        let Expected { outcome, starts } = self.expected();
        let count = |what: &str| told.iter().filter(|line| *line == what).count();
        let added = usize::from(outcome.is_ok());
        let counts = (count("started"), count("added"));
        ensure(counts == (starts, added), || {
            format!("expected {starts} starts and {added} sums, not {counts:?}")
        })?;
        match outcome {
            Ok(version) => met.works(version, asks(version, asks_legacy)),
            Err(failure) => met.fails(failure),
        }
    }
}

impl Met {
    fn works(&self, version: ProtocolVersion, asks: bool) -> Result<(), String> {
        ensure(self.sum == Ok("3".into()), || format!("sum: {:?}", self.sum))?;
        let tools = Ok(vec!["add".into(), "greet".into()]);
        ensure(self.tools == tools, || format!("tools: {:?}", self.tools))?;
        let greeted = if asks {
            self.greeting == Ok("Hello, Ada!".into())
        } else {
            matches!(&self.greeting, Err(CallError::Error { error, .. }) if error.code == ErrorCode::INTERNAL_ERROR)
        };
        ensure(greeted, || format!("greeting: {:?}", self.greeting))?;
        ensure(self.connected == Ok(version), || {
            format!("expected {version}, connected with {:?}", self.connected)
        })?;
        ensure(self.stored == Some(version), || format!("to be stored: {:?}", self.stored))
    }

    fn fails(&self, failure: Failure) -> Result<(), String> {
        let Err(CallError::Connect(error)) = &self.sum else {
            return Err(format!("expected {failure:?}, the sum is {:?}", self.sum));
        };
        let is_it = match (failure, error) {
            (Failure::RefusedWithVersions, ConnectError::Refused(error)) => {
                let modern = ProtocolVersion::LATEST_MODERN.as_str();
                error.data.as_ref().is_some_and(|data| data.as_str().contains(modern))
            }
            (Failure::Refused, ConnectError::Refused(error)) => !error.message.is_empty(),
            (Failure::TimedOut, ConnectError::TimedOut)
            | (Failure::Closed, ConnectError::Closed) => true,
            (_, _) => false,
        };
        ensure(is_it, || format!("expected {failure:?}, not {error:?}"))?;
        // It is over: whoever asks for more hears why.
        let (tools, greeting) = (&self.tools, &self.greeting);
        let cause = CallError::Connect(error.clone());
        let over = |error: Option<&CallError>| error == Some(&cause);
        ensure(over(tools.as_ref().err()) && over(greeting.as_ref().err()), || {
            format!("after the end: {tools:?}, {greeting:?}")
        })?;
        ensure(self.connected.as_ref() == Err(error), || format!("{:?}", self.connected))?;
        ensure(self.stored.is_none(), || format!("to be stored: {:?}", self.stored))
    }
}

/// Returns whether the revision has elicitation, which came with 2025-06-18, and whether it can be
/// had.
fn asks(version: ProtocolVersion, asks_legacy: bool) -> bool {
    let legacy = [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25];
    version.era() == Era::Modern || asks_legacy && legacy.contains(&version)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
