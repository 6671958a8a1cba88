//! A law: whatever happens to a byte on its way, each call ends with one result, no tool is
//! executed twice, nothing waits for ever, and nothing is left behind. For each pair of programs, a
//! conversation is repeated with a fault at one of its bytes. `STRIDE=1` tries every byte.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use mcp_proto::client::Config;
use mcp_proto::server::Change;
use mcp_proto::types::{
    ElicitAction, ElicitRequestFormParams, ElicitResult, Implementation, RequestedSchema,
    ResourceContents, ResourceTemplate, StringSchema, SubscriptionFilter,
};
use mcp_proto::{Duration, Era, Instant, http, server};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, run, run_http, serve, serve_http};
use mcp_service::{
    Bridge, BridgeConfig, Catalog, Client, Clock, Context, Interrupt, Registry, Tasks,
};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::wire::{Fault, FaultKind, Wire};
use mcp_tests::bridge::world::VirtualRuntime as World;
use mcp_tests::http::Stop;
use serde_json::{Value, json};

use super::cells::{BRIDGE, SERVER, TRANSPORTS, Transport, at};
use super::{ERAS, negotiation, policy};

/// The faults after which the bytes that arrive are those that were sent.
const CLEAN: [FaultKind; 5] = [
    FaultKind::Cut,
    FaultKind::HalfCut,
    FaultKind::Silence,
    FaultKind::Delay(Duration::from_secs(20)),
    FaultKind::Delay(Duration::from_secs(200)),
];

const DIRTY: [FaultKind; 4] =
    [FaultKind::Garble, FaultKind::Break, FaultKind::Loss, FaultKind::Twice];

/// A pair of programs: the client, and what it is connected to.
#[derive(Clone, Copy, Debug)]
struct Programs {
    down: Transport,
    era: Era,
    /// The transport and the era of the server behind a bridge.
    behind: Option<(Transport, Era)>,
    /// True if the wire of the fault is that of the bridge's server.
    is_behind: bool,
}

fn all_programs() -> Vec<Programs> {
    let mut all = Vec::new();
    for down in TRANSPORTS {
        for era in ERAS {
            all.push(Programs { down, era, behind: None, is_behind: false });
            for up in TRANSPORTS {
                for behind in ERAS {
                    for is_behind in [false, true] {
                        all.push(Programs { down, era, behind: Some((up, behind)), is_behind });
                    }
                }
            }
        }
    }
    all
}

/// The steps of a conversation, with their results.
type Steps = Vec<(&'static str, Result<String, String>)>;

/// The end of a conversation.
struct Talk {
    steps: Steps,
    time: Duration,
    /// The number of executions of each call of `echo`.
    executions: Vec<usize>,
    /// The tasks that are left a day after the conversation, and after the end of the servers.
    tasks: [usize; 2],
    /// The references to what handlers share that are left at the end.
    references: usize,
    has_panicked: bool,
}

/// What handlers share.
struct Seen([AtomicUsize; 4]);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    n: usize,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn registry(seen: &Arc<Seen>) -> Registry {
    let mut registry = Registry::new(Implementation::new("server", "1"));
    registry.subscribe();
    let read = |uri: String, _: Value, _| async { ResourceContents::text(uri, "") };
    registry.resource_template(ResourceTemplate::new("t:{x}", "t"), read).unwrap();
    let seen = seen.clone();
    registry
        .tool("echo", "", move |Number { n }: Number, _| {
            if let Some(count) = seen.0.get(n) {
                count.fetch_add(1, Ordering::Relaxed);
            }
            async move { format!("echo {n}") }
        })
        .unwrap();
    registry
        .tool("steps", "", |_: Nothing, context: Context| async move {
            for step in 1..3 {
                context.progress(step);
                context.sleep(Duration::from_secs(1)).await;
            }
            "steps"
        })
        .unwrap();
    registry
        .tool("ask", "", |_: Nothing, context: Context| async move {
            let schema = RequestedSchema::new().required("name", StringSchema::new());
            let form = ElicitRequestFormParams::new("Your name?", schema);
            let answer = context.elicit("name", form)?;
            Ok::<_, Interrupt>(format!("{:?}", answer.content))
        })
        .unwrap();
    registry
        .tool("touch", "", |_: Nothing, context: Context| async move {
            let changed = context.publish(&Change::ResourceUpdated("t:1".into()));
            changed.map(|()| "touched").map_err(|error| error.to_string())
        })
        .unwrap();
    registry.tool("hold", "", |_: Nothing, _| std::future::pending::<&str>()).unwrap();
    registry
        .tool("render", "", |_: Nothing, context: Context| async move {
            context.sleep(Duration::from_secs(2)).await;
            "rendered"
        })
        .unwrap();
    registry.tasks("render", Tasks::Always).unwrap();
    registry
}

/// Connects the programs.
fn start(world: &World, it: Programs, wire: &Wire, stop: &Stop, seen: &Arc<Seen>) -> Started {
    let config = Config::new(Implementation::new("client", "1")).negotiation(negotiation(it.era));
    let client = Client::new(config.follow_tasks());
    client.on_form(|_| async {
        let mut result = ElicitResult::new(ElicitAction::Accept);
        result.content = serde_json::from_str(r#"{"name":"Ada"}"#).unwrap();
        result
    });
    let (mut down, mut up) = (wire.clone(), Wire::default());
    if it.is_behind {
        (down, up) = (up, down);
    }
    let bridge = it.behind.map(|(transport, era)| {
        let target = target(world, (transport, era), &up, stop, seen);
        bridge(world, target, BridgeConfig::new(Implementation::new("bridge", "1")))
    });
    let catalog: Catalog = match &bridge {
        Some(bridge) => bridge.catalog(),
        None => registry(seen).into(),
    };
    let (runtime, own) = (world.clone(), client.clone());
    match it.down {
        Transport::Stdio => {
            let (here, there) = world.stream_over(&down);
            let (serving, stop) = (world.clone(), stop.clone());
            world.spawn(async move {
                drop(serve(&serving, catalog, server::Config::default(), there, stop).await);
            });
            world.spawn(async move { drop(run(&runtime, &own, here).await) });
        }
        Transport::Http => {
            listen(world, BRIDGE, catalog, http::Config::default(), stop);
            world.connect_over(BRIDGE, &down);
            world.spawn(async move { drop(run_http(&runtime, &own, at(BRIDGE)).await) });
        }
    }
    Started { client, bridge }
}

struct Started {
    client: Client,
    bridge: Option<Bridge>,
}

fn listen(world: &World, port: u16, catalog: Catalog, config: http::Config, stop: &Stop) {
    let (runtime, listener, stop) = (world.clone(), world.listen(port), stop.clone());
    world.spawn(async move { serve_http(&runtime, listener, catalog, config, stop).await });
}

fn target(
    world: &World,
    (transport, era): (Transport, Era),
    wire: &Wire,
    stop: &Stop,
    seen: &Arc<Seen>,
) -> BridgeTarget {
    if transport == Transport::Http {
        let mut config = http::Config::default();
        config.server.era_policy = policy(era);
        listen(world, SERVER, registry(seen).into(), config, stop);
        world.connect_over(SERVER, wire);
        return BridgeTarget::Http(Box::new(at(SERVER)));
    }
    let (world, wire, stop, seen) = (world.clone(), wire.clone(), stop.clone(), seen.clone());
    BridgeTarget::stream(move || {
        let (here, there) = world.stream_over(&wire);
        let (runtime, stop, registry) = (world.clone(), stop.clone(), registry(&seen));
        world.spawn(async move {
            let config = server_config(policy(era));
            drop(serve(&runtime, registry, config, there, stop).await);
        });
        Ok(here)
    })
}

/// Has the conversation over a wire.
fn talk(it: Programs, wire: &Wire) -> Talk {
    let (world, stop) = (World::default(), Stop::default());
    let seen = Arc::new(Seen(<[AtomicUsize; 4]>::default()));
    let has_panicked = Arc::new(AtomicBool::new(false));
    let panicked = has_panicked.clone();
    let all = async {
        let Started { client, bridge } = start(&world, it, wire, &stop, &seen);
        if let Some(bridge) = &bridge {
            bridge.on_failure(move |error| {
                panicked.fetch_or(error.to_string().contains("panicked"), Ordering::Relaxed);
            });
        }
        let steps = converse(&world, &client).await;
        let time = world.timer().now().duration_since(Instant::ZERO);
        client.close().await;
        drop(client);
        // A bridge keeps its connection while it knows of tasks: for a day, if a TTL is unreadable.
        world.sleep(Duration::from_secs(25 * 60 * 60)).await;
        let tasks = world.tasks();
        if let Some(bridge) = bridge {
            bridge.close().await;
        }
        stop.now();
        world.sleep(Duration::from_secs(60 * 60)).await;
        (steps, time, tasks)
    };
    let (steps, time, tasks) = world.run(all).unwrap();
    let executions = seen.0.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let (tasks, references) = ([tasks, world.tasks()], Arc::strong_count(&seen));
    let has_panicked = has_panicked.load(Ordering::Relaxed);
    Talk { steps, time, executions, tasks, references, has_panicked }
}

async fn converse(world: &World, client: &Client) -> Steps {
    let mut steps = Steps::new();
    let text = |error: &dyn std::fmt::Debug| format!("{error:?}");
    let connected = client.connected().await;
    steps.push(("connected", connected.map(|it| it.version.to_string()).map_err(|e| text(&e))));
    let listed = client.list_tools().await;
    steps.push(("list", listed.map(|it| it.tools.len().to_string()).map_err(|e| text(&e))));
    let filter = SubscriptionFilter::new().resource("t:1");
    let mut subscription = client.subscribe(filter).await.map_err(|error| text(&error));
    steps.push(("subscribe", subscription.as_ref().map(|_| String::new()).map_err(Clone::clone)));
    for (name, arguments) in [
        ("echo", json!({"n": 0})),
        ("steps", json!({})),
        ("ask", json!({})),
        ("touch", json!({})),
        ("render", json!({})),
        ("echo", json!({"n": 1})),
    ] {
        let call = client.call_tool(name, &arguments).on_progress(|_| ());
        let called = call.await.map(|it| text(&it.content)).map_err(|error| text(&error));
        steps.push((name, called));
        if let (Ok(subscription), "touch") = (&mut subscription, name) {
            let changed = within(world, 10, subscription.changed()).await;
            steps.push(("changed", Ok(format!("{changed:?}"))));
        }
    }
    let held = within(world, 1, client.call_tool("hold", &json!({}))).await;
    let held = held.map_or(Ok("held".into()), |held| held.map(|it| text(&it.content)));
    steps.push(("hold", held.map_err(|error| text(&error))));
    drop(subscription);
    let called = client.call_tool("echo", &json!({"n": 2})).await;
    steps.push(("last", called.map(|it| text(&it.content)).map_err(|error| text(&error))));
    steps
}

/// The output of a future that is ready within so many seconds.
async fn within<T>(world: &World, seconds: u64, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut time) = (pin!(future), pin!(world.sleep(Duration::from_secs(seconds))));
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        time.as_mut().poll(context).map(|()| None)
    })
    .await
}

#[test]
fn each_call_ends_once_whatever_happens_to_a_byte() {
    let stride = std::env::var("STRIDE").ok().and_then(|stride| stride.parse().ok());
    let stride: usize = stride.unwrap_or(1_499);
    let mut number = 0;
    let mut wrong = Vec::new();
    for it in all_programs() {
        let wire = Wire::default();
        let sound = talk(it, &wire);
        assert_eq!(sound.errors(&sound, CLEAN[0]), Vec::<String>::new(), "{it:?}");
        assert_eq!(sound.executions, [1, 1, 1, 0], "{it:?}");
        for of_client in [true, false] {
            for kind in CLEAN.into_iter().chain(DIRTY) {
                number += 1;
                let bytes = wire.sent(of_client);
                // Each kind of fault begins at another byte.
                for at in (number * 211 % stride.min(bytes)..bytes).step_by(stride) {
                    let fault = Fault { kind, of_client, at };
                    let errors = talk(it, &Wire::with_fault(fault)).errors(&sound, kind);
                    if !errors.is_empty() {
                        wrong.push(format!("{it:?} {fault:?}: {errors:?}"));
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} faults, such as {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
}

impl Talk {
    /// The laws that a conversation with a fault breaks, compared with one without.
    fn errors(&self, sound: &Self, kind: FaultKind) -> Vec<String> {
        let mut errors = Vec::new();
        let mut check = |is_right: bool, what: &dyn std::fmt::Debug| {
            if !is_right {
                errors.push(format!("{what:?}"));
            }
        };
        check(!self.has_panicked, &"panicked");
        check(self.tasks == [sound.tasks[0], 0], &("tasks", self.tasks));
        check(self.references == 1, &("references", self.references));
        // Each step has a deadline: a minute, or an hour to follow a task.
        check(self.time < Duration::from_secs(75 * 60), &self.time);
        if !CLEAN.contains(&kind) {
            return errors;
        }
        check(self.executions.iter().all(|count| *count <= 1), &self.executions);
        for (name, result) in &self.steps {
            // Changes may be missed, and an error says why there is no result.
            let is_known = sound.steps.iter().any(|known| known == &(*name, result.clone()));
            check(result.is_err() || *name == "changed" || is_known, &(name, result));
        }
        errors
    }
}
