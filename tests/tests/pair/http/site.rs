//! A server with something of everything, and how it is met.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::client::{CallError, Change, List, Negotiation};
use mcp_proto::http::{Config, Sessions};
use mcp_proto::types::{
    CallToolResult, ElicitAction, ElicitRequestFormParams, ElicitResult, Implementation,
    LoggingLevel, RequestedSchema, Resource, ResourceContents, SubscriptionFilter,
};
use mcp_proto::{Era, EraPolicy, Json};
use mcp_service::testing::Pair;
use mcp_service::{Call, Catalog, Client, Context, Handler, Interrupt, Registry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::recorder::Notes;

/// Strategies that lead to each of the two eras.
pub(super) const ERAS: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    steps: u32,
    millis: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Offers `echo`, which notes what it was given; `walk`, which tells of each step; `ask`; `think`,
/// which never ends and notes what becomes of it; a resource and a tool that change.
pub(super) fn registry(notes: &Notes) -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("site", "1"));
    registry.logging().subscribe().list_changed(List::Tools);
    let log = notes.clone();
    let echo = move |Text { text }: Text, _| {
        log.lock().unwrap().push(text.clone());
        async move { text }
    };
    registry.tool("echo", "Echoes", echo).unwrap();
    let walk = |Steps { steps, millis }: Steps, context: Context| async move {
        for step in 1..=steps {
            context.progress(f64::from(step));
            context.sleep(Duration::from_millis(millis)).await;
        }
        context.log(LoggingLevel::Info, "there");
        format!("{steps} steps")
    };
    registry.tool("walk", "Walks", walk).unwrap();
    let ask = |_: Nothing, context: Context| async move {
        let form = ElicitRequestFormParams::new("sure?", RequestedSchema::new());
        let answer = context.elicit("sure", form)?;
        Ok::<_, Interrupt>(format!("{:?}", answer.action))
    };
    registry.tool("ask", "Asks", ask).unwrap();
    let log = notes.clone();
    let think = move |_: Nothing, context: Context| {
        let notes = log.clone();
        async move {
            notes.lock().unwrap().push("thinks".to_owned());
            context.cancelled().await;
            notes.lock().unwrap().push("cancelled".to_owned());
            std::future::pending::<String>().await
        }
    };
    registry.tool("think", "Thinks", think).unwrap();
    let text = |uri: String, _| async move { ResourceContents::text(uri, "text") };
    registry.resource(Resource::new("test:a", "a"), text).unwrap();
    registry
}

/// A pair, what its handlers note, and what it offers.
pub(super) fn pair(negotiation: Negotiation) -> (Pair, Notes, Catalog) {
    let notes = Notes::default();
    let catalog = Catalog::from(registry(&notes));
    (Pair::over_http(catalog.clone()).negotiation(negotiation), notes, catalog)
}

pub(super) fn config(sessions: Sessions, era_policy: EraPolicy) -> Config {
    let mut config = Config::default();
    config.sessions = sessions;
    config.server.era_policy = era_policy;
    config
}

pub(super) fn era(negotiation: Negotiation) -> Era {
    if negotiation == Negotiation::Legacy { Era::Legacy } else { Era::Modern }
}

pub(super) fn echoing(client: &Client, what: &str) -> Call<CallToolResult> {
    client.call_tool("echo", &json!({ "text": what }))
}

pub(super) fn walking(client: &Client, steps: u32, millis: u64) -> Call<CallToolResult> {
    client.call_tool("walk", &json!({ "steps": steps, "millis": millis }))
}

pub(super) fn echo(pair: &mut Pair, what: &str) -> String {
    let call = echoing(&pair.client(), what);
    text(pair.run(call))
}

pub(super) fn text(result: Result<CallToolResult, CallError>) -> String {
    result.unwrap().content[0].as_text().unwrap().to_owned()
}

/// A user who says no.
pub(super) fn decline(client: &Client) {
    client.on_form(|_| async { ElicitResult::new(ElicitAction::Decline) });
}

/// Notes what is told of changes, logs and faults.
pub(super) fn hear(client: &Client) -> Notes {
    let notes = Notes::default();
    let log = notes.clone();
    client.on_change(move |change| log.lock().unwrap().push(format!("{change:?}")));
    let log = notes.clone();
    client.on_log(move |said| log.lock().unwrap().push(said.data.as_str().to_owned()));
    let log = notes.clone();
    client.on_fault(move |fault| log.lock().unwrap().push(fault.to_string()));
    notes
}

pub(super) fn take(notes: &Notes) -> Vec<String> {
    std::mem::take(&mut *notes.lock().unwrap())
}

pub(super) fn updated() -> Change {
    Change::ResourceUpdated("test:a".to_owned())
}

pub(super) fn filter() -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = true;
    filter.resource_subscriptions = vec!["test:a".to_owned()];
    filter
}

/// The numbers that progress has come to, in order.
pub(super) fn steps(call: Call<CallToolResult>) -> (Call<CallToolResult>, Arc<Mutex<Vec<f64>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    (call.on_progress(move |progress| log.lock().unwrap().push(progress.progress)), seen)
}

/// Number of request lines, or of fields, that contain this.
pub(super) fn sent(pair: &Pair, what: &str) -> usize {
    let wire = pair.wire();
    let lines = wire.lines().filter_map(|line| line.split_once("> "));
    lines.filter(|(_, line)| line.starts_with(what)).count()
}

pub(super) fn said(pair: &Pair, method: &str) -> usize {
    let method = Json::encode(method).unwrap();
    let wire = pair.wire();
    let lines = wire.lines().filter_map(|line| line.split_once("> "));
    lines.filter(|(_, line)| line.contains(&format!("\"method\":{}", method.as_str()))).count()
}
