//! Sixteen cells: a client of each era on each transport, and behind the bridge the server `everything`
//! in each era on each transport. What the client gets is what it gets from the server directly.

use std::sync::{Arc, Mutex};

use mcp_proto::client::{CallOptions, Config, Negotiation};
use mcp_proto::http::Url;
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, CreateMessageResult, ElicitAction, ElicitResult,
    Implementation, LoggingLevel, Root, SamplingMessageContentBlock, SubscriptionFilter,
};
use mcp_proto::{Duration, Era, EraPolicy, Json, ProtocolVersion, http, server};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, run, run_http, serve, serve_http};
use mcp_service::{Bridge, BridgeConfig, Catalog, Client, HttpClientConfig, Socket};
use mcp_tests::bridge::world::{VirtualRuntime as World, stream};
use mcp_tests::everything;
use serde_json::{Value, json};

use super::{ERAS, pairs};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transport {
    Stdio,
    Http,
}

pub(super) const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

/// The ports of the server, and of the bridge.
pub(super) const SERVER: u16 = 1;
pub(super) const BRIDGE: u16 = 2;

#[test]
fn every_cell_gives_what_the_server_gives_directly() {
    for down in TRANSPORTS {
        for era in ERAS {
            let direct = script(&World::default(), down, era, None);
            for up in TRANSPORTS {
                for behind in ERAS {
                    let world = World::default();
                    let bridged = script(&world, down, era, Some((up, behind)));
                    assert_eq!(
                        differences(&direct, &bridged),
                        Vec::<String>::new(),
                        "client {down:?} {era:?}, server {up:?} {behind:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn answers_of_the_user_arrive_as_they_are() {
    for (era, behind) in pairs() {
        for (action, expected) in [
            (ElicitAction::Accept, "accept"),
            (ElicitAction::Decline, "decline"),
            (ElicitAction::Cancel, "cancel"),
        ] {
            let world = World::default();
            let client = client(era);
            client.on_form(move |_| async move { ElicitResult::new(action) });
            let _bridge =
                connect(&world, &client, Transport::Stdio, Some((Transport::Stdio, behind)));
            let called =
                async { client.call_tool("test_elicitation", &json!({"message": "Sure?"})).await };
            let result = world.run(called).unwrap().unwrap();
            let text = serde_json::to_string(&result.content).unwrap();
            assert!(text.contains(expected), "{era:?} {behind:?}: {text}");
        }
    }
}

/// A client of one era.
pub(super) fn client(era: Era) -> Client {
    let config = Config::new(Implementation::new("client", "1.0.0"));
    Client::new(config.negotiation(match era {
        Era::Legacy => Negotiation::Legacy,
        Era::Modern => Negotiation::Pinned(ProtocolVersion::LATEST_MODERN),
    }))
}

/// Connects a client to the server, directly or through a bridge.
fn connect(
    world: &World,
    client: &Client,
    down: Transport,
    behind: Option<(Transport, Era)>,
) -> Option<Bridge> {
    let bridge = behind.map(|(up, era)| bridged(world, up, era));
    let catalog = match &bridge {
        Some(bridge) => bridge.catalog(),
        None => everything::registry().unwrap().into(),
    };
    attach(world, client, down, &catalog);
    bridge
}

/// Serves a catalog to a client.
pub(super) fn attach(world: &World, client: &Client, down: Transport, catalog: &Catalog) {
    let (runtime, client, catalog) = (world.clone(), client.clone(), catalog.clone());
    match down {
        Transport::Stdio => {
            let (here, there) = stream();
            let server = world.clone();
            world.spawn(async move {
                let stop = std::future::pending();
                drop(serve(&server, catalog, server::Config::default(), there, stop).await);
            });
            world.spawn(async move { drop(run(&runtime, &client, here).await) });
        }
        Transport::Http => {
            listen(world, BRIDGE, catalog, http::Config::default());
            let config = at(BRIDGE);
            world.spawn(async move { drop(run_http(&runtime, &client, config).await) });
        }
    }
}

/// A bridge to the server `everything`, which serves one era.
fn bridged(world: &World, up: Transport, era: Era) -> Bridge {
    let policy = match era {
        Era::Legacy => EraPolicy::LegacyOnly,
        Era::Modern => EraPolicy::ModernOnly,
    };
    let target = match up {
        Transport::Http => {
            let mut config = http::Config::default();
            config.server.era_policy = policy;
            listen(world, SERVER, everything::registry().unwrap().into(), config);
            BridgeTarget::Http(Box::new(at(SERVER)))
        }
        Transport::Stdio => pipe(world, policy, Arc::default()),
    };
    bridge(world, target, BridgeConfig::new(Implementation::new("bridge", "1.0.0")))
}

/// A server for each stream that is opened.
pub(super) fn pipe(world: &World, policy: EraPolicy, opened: Arc<Mutex<usize>>) -> BridgeTarget {
    let world = world.clone();
    BridgeTarget::Stream(Arc::new(move || {
        *opened.lock().unwrap() += 1;
        let (here, there) = stream();
        let runtime = world.clone();
        world.spawn(async move {
            let mut config = server::Config::default();
            config.era_policy = policy;
            let registry = everything::registry().unwrap();
            drop(serve(&runtime, registry, config, there, std::future::pending()).await);
        });
        Ok(Box::new(here) as Box<dyn Socket>)
    }))
}

pub(super) fn listen(world: &World, port: u16, catalog: Catalog, config: http::Config) {
    let (runtime, listener) = (world.clone(), world.listen(port));
    world.spawn(async move {
        serve_http(&runtime, listener, catalog, config, std::future::pending()).await;
    });
}

pub(super) fn at(port: u16) -> HttpClientConfig {
    HttpClientConfig::new(Url::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap())
}

/// What a client gets, step by step.
fn script(
    world: &World,
    down: Transport,
    era: Era,
    behind: Option<(Transport, Era)>,
) -> Vec<(String, String)> {
    let client = client(era);
    let seen = Arc::new(Mutex::new(Vec::new()));
    equip(&client, &seen);
    let bridge = connect(world, &client, down, behind);
    let mut steps: Vec<(String, String)> = Vec::new();
    let all = async {
        let server = client.connected().await.unwrap();
        let known = json!([server.capabilities, server.implementation, server.instructions]);
        steps.push(("server".into(), known.to_string()));
        lists(&client, &mut steps).await;
        tools(&client, &seen, &mut steps).await;
        others(&client, &mut steps).await;
        changes(world, &client, &mut steps).await;
        cancellation(world, &client, &mut steps).await;
        client.close().await;
        if let Some(bridge) = &bridge {
            bridge.close().await;
        }
    };
    assert!(world.run(all).is_some(), "nothing goes on after {:?}", steps.last());
    assert!(steps.len() > 50, "{} steps", steps.len());
    steps
}

/// What the client gives, and where it puts what it is told.
fn equip(client: &Client, seen: &Arc<Mutex<Vec<String>>>) {
    client.on_form(|form| async move {
        let mut result = ElicitResult::new(ElicitAction::Accept);
        let text = serde_json::to_string(&form).unwrap();
        let content = if text.contains("\"name\"") { r#"{"name":"Ada"}"# } else { "{}" };
        result.content = serde_json::from_str(content).unwrap();
        result
    });
    client.on_create_message(|asked| async move {
        let text = format!("so many messages: {}", asked.messages.len());
        CreateMessageResult::new("model", SamplingMessageContentBlock::text(text))
    });
    client.set_roots(vec![Root::new("file:///home/a")]).unwrap();
    let logs = seen.clone();
    client.on_log(move |log| logs.lock().unwrap().push(serde_json::to_string(log).unwrap()));
}

async fn lists(client: &Client, steps: &mut Vec<(String, String)>) {
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let result = client.call::<Json>(method, &json!({})).await;
        steps.push((method.into(), plain(&result)));
    }
    let wrong = client.call::<Json>("tools/list", &json!({"cursor": "nonsense"})).await;
    steps.push(("wrong cursor".into(), plain(&wrong)));
}

/// Calls every tool.
async fn tools(client: &Client, seen: &Arc<Mutex<Vec<String>>>, steps: &mut Vec<(String, String)>) {
    client.set_log_level(LoggingLevel::Debug).await.unwrap();
    let tools = client.list_tools().await.unwrap().tools;
    assert!(tools.len() > 30);
    for name in tools.iter().map(|tool| &*tool.name).chain(["no_such_tool"]) {
        // These wait, or have random states.
        if ["wait", "test_reconnection"].contains(&name) {
            continue;
        }
        let big = "x".repeat(300_000);
        let arguments = match name {
            "echo" => json!({"message": big}),
            "test_sampling" => json!({"prompt": "Say so"}),
            "test_elicitation" => json!({"message": "Sure?"}),
            _ => json!({}),
        };
        let progress = seen.clone();
        let call = client.call_tool(name, &arguments).on_progress(move |told| {
            progress.lock().unwrap().push(format!("{told:?}"));
        });
        let result = call.await;
        let told = std::mem::take(&mut *seen.lock().unwrap());
        let result = plain(&result.map(|result| Json::encode(&result).unwrap()));
        steps.push((name.into(), format!("{result} {told:?}")));
    }
}

async fn others(client: &Client, steps: &mut Vec<(String, String)>) {
    let resources =
        ["test://static-text", "test://template/7/data", "test://nothing", "no uri at all"];
    for uri in resources {
        let result = client.call::<Json>("resources/read", &json!({"uri": uri})).await;
        steps.push((uri.into(), plain(&result)));
    }
    for prompt in ["test_simple_prompt", "test_input_required_result_prompt", "no such prompt"] {
        let result = client.get_prompt(prompt, &()).await;
        steps.push((prompt.into(), plain(&result.map(|it| Json::encode(&it).unwrap()))));
    }
    let params = CompleteRequestParams::new(
        CompletionReference::prompt("test_prompt_with_arguments"),
        "arg1",
        "t",
    );
    let completed = client.complete(&params).await;
    steps.push(("completion".into(), plain(&completed.map(|it| Json::encode(&it).unwrap()))));
    let unknown = client.call::<Json>("com.example/unknown", &json!({})).await;
    steps.push(("unknown method".into(), plain(&unknown)));
    steps.push(("ping".into(), format!("{:?}", client.ping().await.is_ok())));
}

async fn changes(world: &World, client: &Client, steps: &mut Vec<(String, String)>) {
    let filter = SubscriptionFilter::new().tools_list_changed().resource("test://watched-resource");
    let mut subscription = client.subscribe(filter).await.unwrap();
    steps.push(("honoured".into(), format!("{:?}", subscription.honoured())));
    // A legacy client over HTTP opens its stream.
    world.sleep(Duration::from_millis(10)).await;
    for tool in ["test_trigger_tool_change", "test_trigger_resource_update"] {
        client.call_tool(tool, &()).await.unwrap();
        let changed = subscription.changed().await;
        steps.push((tool.into(), format!("{changed:?}")));
    }
}

async fn cancellation(world: &World, client: &Client, steps: &mut Vec<(String, String)>) {
    let options = CallOptions::default().timeout(Duration::from_millis(5));
    let call = client.call_tool("wait", &json!({"seconds": 3600})).options(options);
    steps.push(("timeout".into(), format!("{:?}", call.await.map(|_| ()))));
    world.sleep(Duration::from_millis(5)).await;
    let after = client.call_tool("echo", &json!({"message": "after"})).await;
    steps.push(("after".into(), format!("{:?}", after.map(|result| result.content))));
}

/// A result without what an era adds to it; the code of an error.
fn plain(result: &Result<Json, mcp_proto::client::CallError>) -> String {
    match result {
        Err(mcp_proto::client::CallError::Error { error, .. }) => format!("error {}", error.code.0),
        Err(error) => format!("{error:?}"),
        Ok(result) => {
            let mut value: Value = result.decode().unwrap();
            if let Some(object) = value.as_object_mut() {
                for added in ["_meta", "resultType", "ttlMs", "cacheScope"] {
                    object.remove(added);
                }
            }
            value.to_string()
        }
    }
}

fn differences(one: &[(String, String)], other: &[(String, String)]) -> Vec<String> {
    let shown = |text: &str| text.chars().take(400).collect::<String>();
    let pairs = one.iter().zip(other).filter(|(one, other)| one != other);
    let mut found: Vec<String> = pairs
        .map(|(one, other)| {
            format!(
                "{}\n  direct  {}\n  bridged {}: {}\n",
                one.0,
                shown(&one.1),
                other.0,
                shown(&other.1)
            )
        })
        .collect();
    if one.len() != other.len() {
        found.push(format!("{} steps, and {}", one.len(), other.len()));
    }
    found
}
