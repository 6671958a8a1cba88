//! Handlers that execute a call and answer with the words of a server that has not: what is known
//! of the server may be wrong, and the call is executed once all the same.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::client::{CallError, Config, Restart, Verdict};
use mcp_proto::http::{self, Sessions};
use mcp_proto::types::{CallToolResult, Implementation};
use mcp_proto::{EraPolicy, ErrorCode, ErrorData, ProtocolVersion};
use mcp_service::testing::{Network, Pair};
use mcp_service::{Catalog, Context, Handler, Registry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const POLICIES: [EraPolicy; 3] = [EraPolicy::Auto, EraPolicy::LegacyOnly, EraPolicy::ModernOnly];

/// Errors that a handler may have passed on, and that look like refusals of a server.
const ERRORS: [(i64, &str); 10] = [
    (-32000, "Bad Request: No valid session ID provided"),
    (-32000, "Bad Request: Server not initialized"),
    (-32001, "Session not found"),
    (-32002, "Server not initialized"),
    (-32020, "header mismatch"),
    (-32021, "missing capability"),
    (-32022, "Unsupported protocol version"),
    (-32600, "Bad Request: Missing session ID"),
    (-32601, "Method not found"),
    (-32602, "Missing required `_meta`"),
];

#[derive(Deserialize, JsonSchema)]
struct Given {
    text: String,
    error: Option<usize>,
    millis: u64,
}

type Runs = Arc<Mutex<Vec<String>>>;

/// Offers `work`, which notes its text, takes its time, and fails if it is told to.
fn catalog(runs: &Runs) -> Catalog {
    let runs = runs.clone();
    let mut registry = Registry::<Handler>::new(Implementation::new("site", "1"));
    let work = move |given: Given, context: Context| {
        runs.lock().unwrap().push(given.text.clone());
        async move {
            context.sleep(Duration::from_millis(given.millis)).await;
            match given.error.and_then(|error| ERRORS.get(error)) {
                Some((code, text)) => Err(ErrorData::new(ErrorCode(*code), *text)),
                None => Ok(given.text),
            }
        }
    };
    registry.tool("work", "Works", work).unwrap();
    Catalog::from(registry)
}

fn verdicts() -> Vec<Option<Verdict>> {
    let versions = [ProtocolVersion::LATEST_MODERN, ProtocolVersion::LATEST_LEGACY];
    let known = versions.into_iter().map(|version| Some(Verdict::new(version)));
    known.chain([None]).collect()
}

fn config(verdict: Option<Verdict>, restart: Restart) -> Config {
    Config::new(Implementation::new("app", "1")).verdict(verdict).restart(restart)
}

/// Each call is executed at most once; returns how many were.
fn executions(runs: &Runs) -> usize {
    let mut texts = runs.lock().unwrap().clone();
    let all = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all, "{texts:?}");
    all
}

#[test]
fn second_hour_01_an_error_of_a_handler_is_delivered_and_nothing_is_executed_again() {
    let over_http = [Sessions::Stateful, Sessions::Stateless].map(Some);
    for sessions in over_http.into_iter().chain([None]) {
        for policy in POLICIES {
            for verdict in verdicts() {
                let runs = Runs::default();
                let mut pair =
                    site(&runs, sessions, policy, config(verdict.clone(), Restart::Never));
                let client = pair.client();
                for error in 0..ERRORS.len() {
                    let text = format!("{error}");
                    let arguments = json!({ "text": text, "error": error, "millis": 0 });
                    let failed = pair.run(client.call_tool("work", &arguments));
                    let is_delivered = matches!(failed, Err(CallError::Error { .. }));
                    assert!(is_delivered, "{failed:?}\n{}", pair.wire());
                    pair.pass(Duration::from_secs(40));
                }
                assert_eq!(executions(&runs), ERRORS.len(), "{sessions:?} {policy:?} {verdict:?}");
            }
        }
    }
}

#[test]
fn second_hour_01_a_slow_server_executes_each_call_once_whatever_the_verdict_says() {
    for sessions in [None, Some(Sessions::Stateful), Some(Sessions::Stateless)] {
        for policy in POLICIES {
            for verdict in verdicts() {
                for latency in [10, 3000, 6000] {
                    let runs = Runs::default();
                    let latency = Duration::from_millis(latency);
                    let network = Network::calm().latency(latency, latency);
                    let pair =
                        site(&runs, sessions, policy, config(verdict.clone(), Restart::Never));
                    let mut pair = pair.network(network);
                    let client = pair.client();
                    for n in 0..3 {
                        let arguments = json!({ "text": format!("{n}"), "millis": 7000 });
                        let done = pair.run(client.call_tool("work", &arguments));
                        assert_eq!(said(&done.unwrap()), format!("{n}"));
                    }
                    pair.pass(Duration::from_secs(100));
                    assert_eq!(
                        executions(&runs),
                        3,
                        "{sessions:?} {policy:?} {verdict:?} {latency:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn second_hour_01_a_server_that_ends_in_a_call_is_not_called_again() {
    for restart in [Restart::Never, Restart::OnCall, Restart::Always] {
        for policy in POLICIES {
            for verdict in verdicts() {
                let runs = Runs::default();
                let mut pair = site(&runs, None, policy, config(verdict, restart));
                let client = pair.client();
                let mut call = client.call_tool("work", &json!({ "text": "a", "millis": 2000 }));
                assert!(pair.poll(&mut call).is_pending());
                pair.pass(Duration::from_secs(1));
                pair.cut();
                let lost = pair.run(call);
                let error = lost.unwrap_err();
                assert!(error.may_have_been_executed(), "{error}");
                pair.pass(Duration::from_secs(60));
                assert_eq!(executions(&runs), 1, "{restart:?} {policy:?}");
                let arguments = json!({ "text": "b", "millis": 0 });
                let next = pair.run(client.call_tool("work", &arguments));
                // The next call finds a server again, if one may be started.
                assert_eq!(next.is_ok(), restart != Restart::Never, "{next:?}\n{}", pair.wire());
                assert_eq!(executions(&runs), if next.is_ok() { 2 } else { 1 });
            }
        }
    }
}

fn site(runs: &Runs, sessions: Option<Sessions>, policy: EraPolicy, client: Config) -> Pair {
    let Some(sessions) = sessions else {
        return Pair::new(catalog(runs)).era_policy(policy).client_config(client);
    };
    let mut config = http::Config::default();
    config.sessions = sessions;
    config.server.era_policy = policy;
    Pair::over_http(catalog(runs)).http_config(config).client_config(client)
}

fn said(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().to_owned()
}
