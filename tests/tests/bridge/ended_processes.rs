//! Server processes that end: their legacy clients go on with the next process.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use mcp_proto::client::{Change, List};
use mcp_proto::types::{Implementation, LoggingLevel, SubscriptionFilter};
use mcp_proto::{Duration, Limits};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, serve};
use mcp_service::{Bridge, BridgeConfig, Client, Sharing, Subscription};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::world::{VirtualRuntime as World, stream};
use mcp_tests::everything;

use super::cells::{Transport, attach, client};
use super::missed_changes::{
    PROMPTS, RESOURCES, TOOLS, UPDATED, acknowledged, changes, changes_follow_acknowledgements,
};
use super::*;

pub(super) const WATCHED: &str = "test://watched-resource";

const OTHER: &str = "test://static-text";

#[test]
fn subscriptions_go_on_at_the_next_process() {
    for (up, sharing) in cases() {
        let world = World::default();
        let server = Processes::new(&world, up);
        let (bridge, wire) = server.bridge(sharing);
        let client = attached(&world, &bridge);
        let levels = || wire.lock().unwrap().iter().filter(|line| sets_level(line)).count();
        let talk = async {
            client.set_log_level(LoggingLevel::Debug).await.unwrap();
            let filter = SubscriptionFilter::new().tools_list_changed().resource(WATCHED);
            let mut subscription = client.subscribe(filter.clone()).await.unwrap();
            assert_eq!(*subscription.honoured(), filter);
            for _ in 0..2 {
                let before = levels();
                server.end();
                world.sleep(Duration::from_secs(1)).await;
                client.list_prompts().await.unwrap();
                changes_arrive(&client, &mut subscription).await;
                // A modern server gets the level in each request.
                assert_eq!(levels() - before, usize::from(up == Era::Legacy));
            }
        };
        world.run(talk).unwrap();
    }
}

/// A subscription to `WATCHED` and to the list of tools hears of the changes that a new process may
/// have made, and of later ones.
pub(super) async fn changes_arrive(client: &Client, subscription: &mut Subscription) {
    let updated = Change::ResourceUpdated(WATCHED.into());
    let tools = Change::ListChanged(List::Tools);
    let missed = [subscription.changed().await, subscription.changed().await];
    assert!(missed.contains(&Some(updated.clone())), "{missed:?}");
    assert!(missed.contains(&Some(tools.clone())), "{missed:?}");
    for (tool, change) in
        [("test_trigger_resource_update", &updated), ("test_trigger_tool_change", &tools)]
    {
        client.call_tool(tool, &()).await.unwrap();
        assert_eq!(subscription.changed().await.as_ref(), Some(change));
    }
}

#[test]
fn process_that_ends_by_itself_is_reported() {
    for (up, sharing) in cases() {
        let world = World::default();
        let server = Processes::new(&world, up);
        let (bridge, _) = server.bridge(sharing);
        let failures = Arc::<Mutex<Vec<String>>>::default();
        let reported = failures.clone();
        bridge.on_failure(move |error| reported.lock().unwrap().push(error.to_string()));
        let client = attached(&world, &bridge);
        let talk = async {
            client.list_tools().await.unwrap();
            server.end();
            world.sleep(Duration::from_secs(1)).await;
            client.list_tools().await.unwrap();
            bridge.close().await;
        };
        world.run(talk).unwrap();
        assert_eq!(*failures.lock().unwrap(), ["the connection to the server has ended"]);
    }
}

/// As many resources as a client may subscribe to, besides the lists.
#[test]
fn changes_of_all_subscribed_resources_are_reported() {
    for up in ERAS {
        let world = World::default();
        let server = Processes::new(&world, up);
        let (bridge, _) = server.bridge(Sharing::PerClient);
        let client = client(Era::Legacy);
        let changes = Arc::<Mutex<BTreeSet<String>>>::default();
        let seen = changes.clone();
        client.on_wire(move |line| {
            let is_change = [TOOLS, PROMPTS, RESOURCES, UPDATED].iter().any(|it| line.contains(it));
            if is_change {
                seen.lock().unwrap().insert(line.into());
            }
        });
        attach(&world, &client, Transport::Stdio, &bridge.catalog());
        let max = match up {
            Era::Legacy => Limits::default().max_subscriptions,
            // Each is a request, and a quarter of them is for calls.
            Era::Modern => Limits::default().max_in_flight * 3 / 4 - 1,
        };
        let talk = async {
            let mut subscriptions = Vec::new();
            for half in [0..max / 2, max / 2..max] {
                let mut filter = SubscriptionFilter::new();
                for number in half {
                    filter = filter.resource(format!("test://template/{number}/data"));
                }
                let subscription = client.subscribe(filter.clone()).await.unwrap();
                assert_eq!(*subscription.honoured(), filter);
                subscriptions.push(subscription);
            }
            server.end();
            world.sleep(Duration::from_secs(1)).await;
            client.list_prompts().await.unwrap();
            world.sleep(Duration::from_secs(10)).await;
            assert_eq!(changes.lock().unwrap().len(), max + 3, "{up:?}");
        };
        world.run(talk).unwrap();
    }
}

#[test]
fn ended_session_is_not_taken_over() {
    for up in ERAS {
        let world = World::default();
        let server = Processes::new(&world, up);
        let (bridge, wire) = server.bridge(Sharing::Shared);
        let [stays, leaves] = [attached(&world, &bridge), attached(&world, &bridge)];
        let talk = async {
            let filter = |uri: &str| SubscriptionFilter::new().resource(uri);
            let watched = stays.subscribe(filter(WATCHED)).await.unwrap();
            let _other = leaves.subscribe(filter(OTHER)).await.unwrap();
            server.end();
            world.sleep(Duration::from_secs(1)).await;
            wire.lock().unwrap().clear();
            leaves.close().await;
            world.sleep(Duration::from_secs(5)).await;
            stays.list_prompts().await.unwrap();
            world.sleep(Duration::from_secs(1)).await;
            drop(watched);
        };
        world.run(talk).unwrap();
        let wire = wire.lock().unwrap();
        assert!(wire.iter().any(|line| line.contains(WATCHED)), "{wire:?}");
        assert!(!wire.iter().any(|line| line.contains(OTHER)), "{wire:?}");
    }
}

#[test]
fn changes_that_another_process_may_have_made_are_reported() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let uri = json!({"uri": "a:1"});
    let listen = forwarded(&mut bridged, Era::Legacy, 9, "resources/subscribe", uri);
    bridged.server(&acknowledged(&listen["id"], json!({"resourceSubscriptions": ["a:1"]})));
    bridged.server_ends();
    bridged.replace_server(negotiation(Era::Modern));
    bridged.to_client();
    let asked = only(bridged.to_server());
    bridged.server(&result(&asked, &handshake(Era::Modern)));
    let listens = bridged.to_server();
    assert_eq!(listens.len(), 2, "{listens:?}");
    assert_eq!(changes(&mut bridged), Vec::<String>::new());
    changes_follow_acknowledgements(&mut bridged, &listens);
}

#[test]
fn lists_that_another_legacy_process_may_have_changed_are_reported() {
    let mut bridged = quiet(Era::Legacy, Era::Legacy);
    bridged.server_ends();
    bridged.replace_server(negotiation(Era::Legacy));
    let asked = only(bridged.to_server());
    bridged.server(&result(&asked, &handshake(Era::Legacy)));
    assert_eq!(changes(&mut bridged), [TOOLS, PROMPTS, RESOURCES]);
}

#[test]
fn schemas_that_the_client_has_listed_are_known_at_another_process() {
    let mut bridged = quiet(Era::Legacy, Era::Modern);
    let asked = forwarded(&mut bridged, Era::Legacy, 1, "tools/list", json!({}));
    let schema = json!({"anyOf": [{"type": "object"}, {"type": "null"}]});
    let tool = json!({"name": "x", "inputSchema": {"type": "object"}, "outputSchema": schema});
    answered(&mut bridged, &asked, &json!({"resultType": "complete", "tools": [tool]}));
    bridged.server_ends();
    bridged.replace_server(negotiation(Era::Modern));
    let asked = only(bridged.to_server());
    bridged.server(&result(&asked, &handshake(Era::Modern)));
    only(bridged.to_server());
    let asked = forwarded(&mut bridged, Era::Legacy, 2, "tools/call", json!({"name": "x"}));
    let content = json!({"a": 1});
    let result = json!({"resultType": "complete", "content": [], "structuredContent": content});
    let answer = answered(&mut bridged, &asked, &result);
    assert_eq!(answer["result"]["structuredContent"], json!({"result": content}));
}

/// A server, whose process is started for each connection.
pub(super) struct Processes {
    world: World,
    up: Arc<Mutex<Era>>,
    ended: Arc<Mutex<Ended>>,
}

/// The number of times that all processes were ended, and the wakers of those that run.
#[derive(Default)]
struct Ended {
    count: usize,
    wakers: Vec<Waker>,
}

impl Processes {
    pub(super) fn new(world: &World, up: Era) -> Self {
        Self { world: world.clone(), up: Arc::new(Mutex::new(up)), ended: Arc::default() }
    }

    /// The processes from now on are of this era.
    pub(super) fn becomes(&self, up: Era) {
        *self.up.lock().unwrap() = up;
    }

    /// A bridge to the server, and the lines of their conversations.
    pub(super) fn bridge(&self, sharing: Sharing) -> (Bridge, Arc<Mutex<Vec<String>>>) {
        let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
        config.sharing = sharing;
        let bridge = bridge(&self.world, self.target(), config);
        let wire = Arc::<Mutex<Vec<String>>>::default();
        let lines = wire.clone();
        bridge.on_wire(move |line| lines.lock().unwrap().push(line.into()));
        (bridge, wire)
    }

    fn target(&self) -> BridgeTarget {
        let (world, up, ended) = (self.world.clone(), self.up.clone(), self.ended.clone());
        BridgeTarget::stream(move || {
            let era = *up.lock().unwrap();
            let (here, there) = stream();
            let (runtime, ended) = (world.clone(), ended.clone());
            world.spawn(async move {
                let config = server_config(policy(era));
                let registry = everything::registry().unwrap();
                let pending = std::future::pending();
                let mut served = pin!(serve(&runtime, registry, config, there, pending));
                let before = ended.lock().unwrap().count;
                // The stream is dropped, as by a process that is killed.
                poll_fn(|context| {
                    {
                        let mut ended = ended.lock().unwrap();
                        if ended.count > before {
                            return Poll::Ready(());
                        }
                        ended.wakers.push(context.waker().clone());
                    }
                    served.as_mut().poll(context).map(drop)
                })
                .await;
            });
            Ok(here)
        })
    }

    /// Ends the processes that run.
    pub(super) fn end(&self) {
        let mut ended = self.ended.lock().unwrap();
        ended.count += 1;
        ended.wakers.drain(..).for_each(Waker::wake);
    }
}

/// The eras of the server, each with its own connections and with a shared one.
fn cases() -> impl Iterator<Item = (Era, Sharing)> {
    ERAS.into_iter().flat_map(|up| [(up, Sharing::PerClient), (up, Sharing::Shared)])
}

/// A legacy client of the bridge.
fn attached(world: &World, bridge: &Bridge) -> Client {
    let client = client(Era::Legacy);
    attach(world, &client, Transport::Stdio, &bridge.catalog());
    client
}

fn sets_level(line: &str) -> bool {
    line.contains("logging/setLevel")
}
