//! No confusion of callers: answers, notifications and questions go to the client whose request
//! they are about, and to nobody else.
//!
//! Clients of several principals and capabilities call at once a tool that says the caller's secret
//! in every way that there is: in a log message, in progress, in a question and in its result. None
//! of them may see the secret of another one.

use std::sync::{Arc, Mutex};

use mcp_proto::client::{CallError, Config};
use mcp_proto::http::{self, Authorization};
use mcp_proto::server::{Notification, Progress};
use mcp_proto::types::{
    ElicitAction, ElicitRequestFormParams, ElicitResult, Implementation, LoggingLevel,
    RequestedSchema, StringSchema,
};
use mcp_proto::{Duration, Era, Json};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, run_http};
use mcp_service::{Bridge, BridgeConfig, Client, Context, Handler, Interrupt, Registry, Sharing};
use mcp_tests::bridge::world::VirtualRuntime as World;
use mcp_tests::bridge::{negotiation, server_config};
use serde_json::{Value, json};

use super::cells::{BRIDGE, at, client};
use super::{ERAS, policy};

/// Caller: its principal, its era, and true if it can be asked for input.
#[derive(Clone, Copy, Debug)]
struct Caller {
    principal: &'static str,
    era: Era,
    can_be_asked: bool,
}

const CALLS: usize = 6;

#[test]
fn no_caller_sees_what_is_of_another_one() {
    for server in ERAS {
        for sharing in [Sharing::PerClient, Sharing::Shared] {
            for seed in 0..8 {
                whispers(server, sharing, seed);
            }
        }
    }
}

#[test]
fn connection_belongs_to_one_principal_and_one_set_of_capabilities() {
    for server in ERAS {
        let world = World::default();
        let (bridge, started) = bridged(&world, server, Sharing::PerClient);
        let numbers = Arc::new(Mutex::new(Vec::new()));
        let all = callers();
        let clients: Vec<Client> = all.iter().map(|caller| connect(&world, *caller)).collect();
        let asks = async {
            for client in &clients {
                let result = client.call_tool("connection", &json!({})).await.unwrap();
                numbers.lock().unwrap().push(result.content[0].as_text().unwrap().to_owned());
            }
        };
        world.run(asks).unwrap();
        let numbers = numbers.lock().unwrap();
        for (one, caller) in all.iter().enumerate() {
            for (other, called) in all.iter().enumerate().skip(one + 1) {
                let share = (caller.era, called.era) == (Era::Modern, Era::Modern)
                    && caller.principal == called.principal
                    && caller.can_be_asked == called.can_be_asked;
                let is_same = numbers[one] == numbers[other];
                assert_eq!(is_same, share, "{server:?}: {caller:?}, {called:?}");
            }
        }
        assert_eq!(*started.lock().unwrap(), 3 + 4);
        drop(bridge);
    }
}

#[test]
fn reference_to_a_waiting_call_is_of_no_use_to_another_principal() {
    let world = World::default();
    let (_bridge, _) = bridged(&world, Era::Legacy, Sharing::Shared);
    let caller = |principal| Caller { principal, era: Era::Modern, can_be_asked: true };
    let (owner, thief) = (raw(&world, caller("ada")), raw(&world, caller("bob")));
    let stolen = async {
        let call = json!({"name": "whisper", "arguments": {"secret": "of ada", "pause": 1}});
        let first = owner.call::<Json>("tools/call", &call).await.unwrap();
        let first: Value = first.decode().unwrap();
        assert_eq!(first["resultType"], "input_required");
        let mut retry = call.clone();
        retry["requestState"] = first["requestState"].clone();
        let key = first["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        retry["inputResponses"] = json!({ key: {"action": "accept", "content": {"word": "x"}} });
        let refused = thief.call::<Json>("tools/call", &retry).await;
        let Err(CallError::Error { error, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(error.code.0 == -32602 && !format!("{error:?}").contains("ada"), "{error:?}");
        let answered: Value =
            owner.call::<Json>("tools/call", &retry).await.unwrap().decode().unwrap();
        assert_eq!(answered["content"][0]["text"], "of ada: {\"word\":\"x\"}");
    };
    world.run(stolen).unwrap();
}

#[test]
fn question_that_may_be_of_several_clients_is_refused() {
    let world = World::default();
    let (bridge, _) = bridged(&world, Era::Legacy, Sharing::PerClient);
    let advice = Arc::new(Mutex::new(0));
    let given = advice.clone();
    bridge.on_wire(move |line| {
        *given.lock().unwrap() += usize::from(line.contains("send one call at a time"));
    });
    let caller = Caller { principal: "ada", era: Era::Modern, can_be_asked: true };
    let clients = [raw(&world, caller), raw(&world, caller)];
    let results = Arc::new(Mutex::new(Vec::new()));
    for (client, pause) in clients.iter().zip([5, 10]) {
        let (client, results) = (client.clone(), results.clone());
        world.spawn(async move {
            let call = json!({"name": "whisper", "arguments": {"secret": "s", "pause": pause}});
            let result = client.call::<Json>("tools/call", &call).await;
            results.lock().unwrap().push(result);
        });
    }
    let all_finish = async {
        while results.lock().unwrap().len() < 2 {
            world.sleep(Duration::from_secs(1)).await;
        }
    };
    world.run(all_finish).unwrap();
    // The server asks about one call while both are in flight, and then about the other one.
    let results = results.lock().unwrap();
    let Err(CallError::Error { error, .. }) = &results[0] else {
        panic!("{results:?}");
    };
    assert_eq!((error.code.0, *advice.lock().unwrap()), (-32603, 1));
    let asked: Value = results[1].as_ref().unwrap().decode().unwrap();
    assert_eq!(asked["resultType"], "input_required");
}

#[test]
fn calls_of_all_connections_that_wait_for_input_share_one_bound() {
    let world = World::default();
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.client.limits.max_endpoint_bytes = 32 * 1024;
    let (_bridge, started) = bridged_by(&world, Era::Legacy, config);
    let callers = ["ada", "bob"]
        .map(|principal| raw(&world, Caller { principal, era: Era::Modern, can_be_asked: true }));
    let results = Arc::new(Mutex::new(Vec::new()));
    let asks = async {
        for client in &callers {
            let secret = "s".repeat(16 * 1024);
            let call = json!({"name": "whisper", "arguments": {"secret": secret, "pause": 1}});
            let result = client.call::<Json>("tools/call", &call).await;
            results.lock().unwrap().push(result);
        }
    };
    world.run(asks).unwrap();
    let results = results.lock().unwrap();
    assert_eq!(*started.lock().unwrap(), 2, "each has its connection");
    let asked: Value = results[0].as_ref().unwrap().decode().unwrap();
    assert_eq!(asked["resultType"], "input_required");
    let Err(CallError::Error { error, .. }) = &results[1] else {
        panic!("{results:?}");
    };
    assert_eq!(error.message, "the input `word` was refused (-32603)");
}

/// Clients of two principals, in both eras, some of which can be asked; two of each kind of the
/// modern era, which share a connection.
fn callers() -> Vec<Caller> {
    let mut all = Vec::new();
    for (principal, era, can_be_asked) in [
        ("ada", Era::Modern, true),
        ("ada", Era::Modern, true),
        ("ada", Era::Modern, false),
        ("bob", Era::Modern, true),
        ("ada", Era::Legacy, true),
        ("ada", Era::Legacy, true),
        ("bob", Era::Legacy, true),
        ("bob", Era::Legacy, false),
    ] {
        all.push(Caller { principal, era, can_be_asked });
    }
    all
}

/// All clients call at once, again and again; each sees only what is its own.
fn whispers(server: Era, sharing: Sharing, seed: u64) {
    let world = World::default();
    let (_bridge, _) = bridged(&world, server, sharing);
    let finished = Arc::new(Mutex::new(0));
    let all = callers();
    for (number, caller) in all.iter().enumerate() {
        let client = connect(&world, *caller);
        let told = watch(&client, *caller, number);
        let (here, finished) = (world.clone(), finished.clone());
        world.spawn(async move {
            client.connected().await.unwrap();
            client.set_log_level(LoggingLevel::Debug).await.unwrap();
            for call in 0..CALLS {
                let pause = (seed * 7 + number as u64 * 3 + call as u64 * 5) % 11;
                here.sleep(Duration::from_millis(pause)).await;
                let arguments = json!({"secret": secret(number), "pause": pause});
                let progress = told.clone();
                let called = client.call_tool("whisper", &arguments).on_progress(move |it| {
                    progress.lock().unwrap().push(format!("{it:?}"));
                });
                let outcome = called.await;
                told.lock().unwrap().push(format!("{outcome:?}"));
            }
            for text in told.lock().unwrap().iter() {
                let others = (0..8).filter(|it| *it != number).map(secret);
                for other in others {
                    assert!(!text.contains(&other), "{number} sees {other}: {text}");
                }
            }
            let said =
                told.lock().unwrap().iter().filter(|it| it.contains(&secret(number))).count();
            assert!(said >= CALLS || sharing == Sharing::Shared, "{number}: {told:?}");
            *finished.lock().unwrap() += 1;
        });
    }
    let all_finish = async {
        while *finished.lock().unwrap() < all.len() {
            world.sleep(Duration::from_secs(1)).await;
        }
    };
    world.run(all_finish).unwrap();
}

fn secret(number: usize) -> String {
    format!("secret-{number}-")
}

/// Records the notifications and requests of a client from here on.
fn watch(client: &Client, caller: Caller, number: usize) -> Arc<Mutex<Vec<String>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let logs = seen.clone();
    client.on_log(move |log| logs.lock().unwrap().push(serde_json::to_string(log).unwrap()));
    if caller.can_be_asked {
        let questions = seen.clone();
        client.on_form(move |form| {
            questions.lock().unwrap().push(form.message.clone());
            let mut result = ElicitResult::new(ElicitAction::Accept);
            result.content = serde_json::from_value(json!({"word": secret(number)})).unwrap();
            async move { result }
        });
    }
    seen
}

/// A bridge over HTTP, whose clients name their principals; and the number of connections so far.
fn bridged(world: &World, era: Era, sharing: Sharing) -> (Bridge, Arc<Mutex<usize>>) {
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.sharing = sharing;
    bridged_by(world, era, config)
}

/// The same with these settings; the connections declare `elicitation`.
fn bridged_by(world: &World, era: Era, mut config: BridgeConfig) -> (Bridge, Arc<Mutex<usize>>) {
    let started = Arc::new(Mutex::new(0));
    let (runtime, count) = (world.clone(), started.clone());
    let target = BridgeTarget::stream(move || {
        let number = {
            let mut count = count.lock().unwrap();
            *count += 1;
            *count
        };
        Ok(runtime.serve(registry(number), server_config(policy(era))))
    });
    config.client.capabilities = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let bridge = bridge(world, target, config);
    let mut config = http::Config::default();
    config.authorize = Some(Arc::new(|head| {
        let principal = head.field("x-principal").unwrap_or_default();
        Authorization::Allow(Some(String::from_utf8_lossy(principal).into()))
    }));
    world.serve_http(BRIDGE, bridge.catalog(), config);
    (bridge, started)
}

fn connect(world: &World, caller: Caller) -> Client {
    let client = client(caller.era);
    if caller.can_be_asked {
        client.on_form(|_| async { ElicitResult::new(ElicitAction::Decline) });
    }
    drive(world, &client, caller);
    client
}

/// A client that sees results as they come.
fn raw(world: &World, caller: Caller) -> Client {
    let mut config = Config::new(Implementation::new("client", "1.0.0"))
        .negotiation(negotiation(Era::Modern))
        .forwarding();
    config.capabilities = serde_json::from_value(json!({"elicitation": {}})).unwrap();
    let client = Client::new(config);
    drive(world, &client, caller);
    client
}

fn drive(world: &World, client: &Client, caller: Caller) {
    let config = at(BRIDGE).field("X-Principal", caller.principal).unwrap();
    let (runtime, client) = (world.clone(), client.clone());
    world.spawn(async move { drop(run_http(&runtime, &client, config).await) });
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Whisper {
    secret: String,
    pause: u64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// The server of one connection.
fn registry(number: usize) -> Registry<Handler> {
    let mut registry = Registry::new(Implementation::new("server", "1.0.0"));
    registry
        .logging()
        .tool("whisper", "Says a secret in every way", whisper)
        .unwrap()
        .tool("connection", "Tells the connection", move |_: Nothing, _| async move {
            number.to_string()
        })
        .unwrap();
    registry
}

async fn whisper(whisper: Whisper, context: Context) -> Result<String, Interrupt> {
    let Whisper { secret, pause } = whisper;
    context.log(LoggingLevel::Info, format!("log of {secret}"));
    context.progress(Progress::new(1).message(format!("progress of {secret}")));
    context.sleep(Duration::from_millis(pause)).await;
    let unknown = Json::encode(&json!({"secret": secret})).unwrap_or(Json::EMPTY_OBJECT);
    context.notify(Notification::Other { method: "notifications/x".into(), params: unknown });
    let schema = RequestedSchema::new().required("word", StringSchema::new());
    let form = ElicitRequestFormParams::new(format!("question of {secret}"), schema);
    let answer = context.elicit("word", form)?;
    let word = serde_json::to_string(&answer.content).unwrap_or_default();
    Ok(format!("{secret}: {word}"))
}
