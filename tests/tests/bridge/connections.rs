//! The connections of a bridge: whom each belongs to, how many there are, and when each ends.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_proto::client::Config;
use mcp_proto::http::Url;
use mcp_proto::types::{Implementation, LoggingLevel, SubscriptionFilter};
use mcp_proto::{Bytes, Duration, Era, EraPolicy, Instant, Limits};
use mcp_service::runtime::{BridgeTarget, ByteStream, Runtime, bridge};
use mcp_service::{Bridge, BridgeConfig, Client, Clock, HttpClientConfig, Reader, Sharing, Writer};
use mcp_tests::bridge::negotiation;
use mcp_tests::bridge::world::{VirtualRuntime as World, stream};
use serde_json::json;

use super::ERAS;
use super::cells::{SERVER, TRANSPORTS, Transport, attach, bounded, client, count_logs, pipe};

#[test]
fn each_legacy_client_has_a_connection_of_its_own() {
    let world = World::default();
    let limited = limited(&world, 1);
    let (one, other) = (client(Era::Legacy), client(Era::Legacy));
    attach(&world, &one, Transport::Stdio, &limited.catalog());
    assert!(world.run(one.list_tools()).unwrap().is_ok());
    attach(&world, &other, Transport::Stdio, &limited.catalog());
    let refused = world.run(other.connected()).unwrap();
    assert!(format!("{refused:?}").contains("BridgeConfig::max_upstreams = 1 "), "{refused:?}");
}

#[test]
fn server_that_cannot_be_reached_is_an_error_for_each_request() {
    for era in ERAS {
        let world = World::default();
        let url = Url::parse(&format!("http://127.0.0.1:{SERVER}/mcp")).unwrap();
        let target = BridgeTarget::Http(Box::new(HttpClientConfig::new(url)));
        let config = BridgeConfig::new(Implementation::new("bridge", "1"));
        let bridge = bridge(&world, target, config);
        let failures = failures(&bridge);
        let client = client(era);
        attach(&world, &client, Transport::Stdio, &bridge.catalog());
        let outcome = world.run(async { client.list_tools().await }).unwrap();
        assert!(format!("{outcome:?}").contains("no connection to the server"), "{outcome:?}");
        let failures = failures.lock().unwrap();
        assert!(failures[0].contains("connection refused"), "{failures:?}");
    }
}

#[test]
fn server_that_ends_is_a_failure_unless_it_was_known() {
    let world = World::default();
    let bridge = failing(&world, &Arc::default(), 1);
    let failures = failures(&bridge);
    let first = another(&world, &bridge);
    assert!(world.run(first.list_tools()).unwrap().is_err());
    let second = another(&world, &bridge);
    assert!(world.run(second.list_tools()).unwrap().is_ok());
    world.run(bridge.close()).unwrap();
    let expected = "the connection has ended before the server was known";
    assert_eq!(*failures.lock().unwrap(), [expected]);
}

#[test]
fn connection_of_modern_clients_closes_when_nobody_needs_it() {
    let world = World::default();
    let opened = Arc::new(Mutex::new(0));
    let bridge = counted(&world, &opened);
    let client = client(Era::Modern);
    attach(&world, &client, Transport::Stdio, &bridge.catalog());
    let twice = async {
        client.list_tools().await.unwrap();
        client.list_prompts().await.unwrap();
        assert_eq!(*opened.lock().unwrap(), 1);
        world.sleep(Duration::from_secs(11 * 60)).await;
        client.list_tools().await.unwrap();
        assert_eq!(*opened.lock().unwrap(), 2);
    };
    world.run(twice).unwrap();
}

#[test]
fn ended_connection_leaves_nothing_behind() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let bridge = counted(&world, &opened);
    let talk = async {
        let client = another(&world, &bridge);
        client.list_tools().await.unwrap();
        client.close().await;
        bridge.close().await;
        drop((client, bridge));
        // The servers have their time to end, and the idle connection has not expired.
        world.sleep(Duration::from_secs(5)).await;
    };
    world.run(talk).unwrap();
    assert_eq!(Arc::strong_count(&opened), 1, "the bridge is gone");
}

#[test]
fn capabilities_that_a_connection_would_keep_are_bounded() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let bridge = counted(&world, &opened);
    let talk = async {
        for (length, is_served) in [(15 * 1024, true), (17 * 1024, false)] {
            let mut config = Config::new(Implementation::new("client", "1.0.0"))
                .negotiation(negotiation(Era::Modern));
            let capabilities = json!({"experimental": {"x": {"y": "y".repeat(length)}}});
            config.capabilities = serde_json::from_value(capabilities).unwrap();
            let client = Client::new(config);
            attach(&world, &client, Transport::Stdio, &bridge.catalog());
            let result = client.list_tools().await;
            assert_eq!(result.is_ok(), is_served, "{result:?}");
            assert!(is_served || format!("{result:?}").contains("max_client_bytes"));
        }
    };
    world.run(talk).unwrap();
    assert_eq!(*opened.lock().unwrap(), 1);
}

#[test]
fn connection_that_may_not_idle_stays_while_it_is_needed() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.idle_timeout = Duration::ZERO;
    let bridge = bridge(&world, pipe(&world, EraPolicy::Auto, opened.clone()), config);
    let client = another(&world, &bridge);
    let talk = async {
        let filter = SubscriptionFilter::new().resource("test://watched-resource");
        let subscription = client.subscribe(filter).await.unwrap();
        world.sleep(Duration::from_secs(10)).await;
        client.list_tools().await.unwrap();
        assert_eq!(*opened.lock().unwrap(), 1);
        drop(subscription);
        world.sleep(Duration::from_secs(3)).await;
        client.list_tools().await.unwrap();
        assert_eq!(*opened.lock().unwrap(), 2);
    };
    world.run(talk).unwrap();
}

#[test]
fn ended_session_ends_its_connection() {
    for down in TRANSPORTS {
        let world = World::default();
        let limited = limited(&world, 1);
        for number in 0..3 {
            let client = client(Era::Legacy);
            attach(&world, &client, down, &limited.catalog());
            let talk = async {
                client.list_tools().await.unwrap();
                client.close().await;
                // The server has its time to end.
                world.sleep(Duration::from_secs(5)).await;
            };
            assert!(world.run(talk).is_some(), "{down:?}, client {number}");
        }
    }
}

#[test]
fn ended_session_is_forgotten_by_a_shared_connection() {
    // A log message that names no request goes to the only client that there is. So a client that
    // is gone would keep it from all others.
    let world = World::default();
    let opened = Arc::new(Mutex::new(0));
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.sharing = Sharing::Shared;
    let bridge = bridge(&world, pipe(&world, EraPolicy::LegacyOnly, opened.clone()), config);
    for _ in 0..3 {
        let client = client(Era::Legacy);
        let logs = count_logs(&client);
        attach(&world, &client, Transport::Stdio, &bridge.catalog());
        let talk = async {
            client.set_log_level(LoggingLevel::Debug).await.unwrap();
            client.call_tool("test_tool_with_logging", &()).await.unwrap();
            client.close().await;
            world.sleep(Duration::from_secs(5)).await;
        };
        world.run(talk).unwrap();
        assert!(*logs.lock().unwrap() > 0);
    }
    assert_eq!(*opened.lock().unwrap(), 1);
}

#[test]
fn log_message_is_of_the_call_and_not_of_a_subscription() {
    for policy in [EraPolicy::LegacyOnly, EraPolicy::ModernOnly] {
        let world = World::default();
        let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
        let bridge = bridge(&world, pipe(&world, policy, Arc::default()), config);
        let client = client(Era::Modern);
        let logs = count_logs(&client);
        attach(&world, &client, Transport::Http, &bridge.catalog());
        let talk = async {
            client.set_log_level(LoggingLevel::Debug).await.unwrap();
            let filter = SubscriptionFilter::new().resource("test://watched-resource");
            let _subscription = client.subscribe(filter).await.unwrap();
            client.call_tool("test_tool_with_logging", &json!({})).await.unwrap();
        };
        world.run(talk).unwrap();
        assert_eq!(*logs.lock().unwrap(), 3, "{policy:?}");
    }
}

#[test]
fn subscriptions_of_all_clients_count_together() {
    let world = World::default();
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.sharing = Sharing::Shared;
    config.client.limits.max_subscriptions = 2;
    let server = pipe(&world, EraPolicy::LegacyOnly, Arc::new(Mutex::new(0)));
    let bridge = bridge(&world, server, config);
    let [legacy, modern] = ERAS.map(client);
    for client in [&legacy, &modern] {
        attach(&world, client, Transport::Stdio, &bridge.catalog());
    }
    let filter = |uri: &str| SubscriptionFilter::new().resource(uri);
    let subscribe = async {
        let one = legacy.subscribe(filter("test://watched-resource")).await.unwrap();
        let other = modern.subscribe(filter("test://watched-resource")).await.unwrap();
        // A legacy client has asked for each resource by itself.
        let refused = legacy.subscribe(filter("test://static-text")).await.unwrap();
        assert_eq!(*refused.honoured(), SubscriptionFilter::new());
        let refused = modern.subscribe(filter("test://static-text")).await;
        assert!(format!("{refused:?}").contains("max_subscriptions"), "{refused:?}");
        drop((one, other));
        world.sleep(Duration::from_secs(1)).await;
        let honoured = legacy.subscribe(filter("test://static-text")).await.unwrap();
        assert_eq!(*honoured.honoured(), filter("test://static-text"));
    };
    world.run(subscribe).unwrap();
}

#[test]
fn server_that_ends_at_once_is_started_at_growing_intervals() {
    const ENDS: usize = 5;
    let world = World::default();
    let times = Arc::new(Mutex::new(Vec::new()));
    let bridge = failing(&world, &times, ENDS);
    let asks = async {
        for number in 0..=ENDS {
            let outcome = another(&world, &bridge).list_tools().await;
            assert_eq!(outcome.is_ok(), number == ENDS, "{outcome:?}");
        }
    };
    world.run(asks).unwrap();
    let times = times.lock().unwrap();
    assert_eq!(times.len(), ENDS + 1);
    let pauses: Vec<Duration> =
        times.windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
    let mut least = Duration::from_millis(250);
    for pause in &pauses {
        assert!(*pause >= least && *pause < least * 2, "{pauses:?}");
        least *= 2;
    }
}

#[test]
fn bridge_closes_while_a_start_waits() {
    let world = World::default();
    let times = Arc::new(Mutex::new(Vec::new()));
    let bridge = failing(&world, &times, usize::MAX);
    let asks = async {
        for _ in 0..5 {
            another(&world, &bridge).list_tools().await.unwrap_err();
        }
        let before = now(&world);
        let outcome = Arc::new(Mutex::new(None));
        let (asking, ends) = (another(&world, &bridge), outcome.clone());
        world.spawn(async move { *ends.lock().unwrap() = Some(asking.list_tools().await) });
        world.sleep(Duration::from_millis(10)).await;
        assert!(outcome.lock().unwrap().is_none());
        bridge.close().await;
        world.sleep(Duration::from_millis(10)).await;
        outcome.lock().unwrap().take().unwrap().unwrap_err();
        assert!(now(&world).duration_since(before) < Duration::from_secs(1));
    };
    world.run(asks).unwrap();
}

#[test]
fn bridge_closes_all_connections_at_once() {
    let world = World::default();
    let BridgeTarget::Stream(works) = pipe(&world, EraPolicy::Auto, Arc::default()) else {
        unreachable!("it is a stream");
    };
    let is_stuck = Arc::new(AtomicBool::new(false));
    let stuck = is_stuck.clone();
    let target =
        BridgeTarget::stream(move || Ok(Stoppable { stream: works()?, is_stuck: stuck.clone() }));
    let bridge = bridge(&world, target, BridgeConfig::new(Implementation::new("bridge", "1.0.0")));
    let clients = ["one", "two", "three"].map(|name| declaring(name, &world, &bridge));
    let close = async {
        for client in &clients {
            client.list_tools().await.unwrap();
        }
        is_stuck.store(true, Ordering::Relaxed);
        for client in clients {
            world.spawn(async move { drop(client.list_prompts().await) });
        }
        world.sleep(Duration::from_secs(1)).await;
        let before = now(&world);
        bridge.close().await;
        now(&world).duration_since(before)
    };
    // No server reads its request, for which it has so long.
    assert_eq!(world.run(close), Some(Limits::default().drain));
}

#[test]
fn bridge_has_a_connection_at_least() {
    let world = World::default();
    let bridge = limited(&world, 0);
    assert!(world.run(another(&world, &bridge).list_tools()).unwrap().is_ok());
}

#[test]
fn panic_of_the_function_that_opens_a_stream_ends_the_connection() {
    let world = World::default();
    let BridgeTarget::Stream(works) = pipe(&world, EraPolicy::Auto, Arc::default()) else {
        unreachable!("it is a stream");
    };
    let panics = AtomicBool::new(true);
    let target = BridgeTarget::Stream(Arc::new(move || {
        assert!(!panics.swap(false, Ordering::Relaxed), "cannot open the stream");
        works()
    }));
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.max_upstreams = 1;
    let bridge = bridge(&world, target, config);
    let failures = failures(&bridge);
    let outcome = world.run(another(&world, &bridge).list_tools()).unwrap();
    assert!(format!("{outcome:?}").contains("the connection to the server has ended"));
    assert!(
        format!("{outcome:?}").contains("before the server was known; whoever runs the bridge")
    );
    let expected = "the code that drives the connection to the server has panicked";
    assert_eq!(*failures.lock().unwrap(), [expected]);
    assert!(world.run(another(&world, &bridge).list_tools()).unwrap().is_ok());
}

#[test]
fn idle_connection_that_was_used_least_recently_is_replaced_at_the_limit() {
    let (world, opened) = (World::default(), Arc::new(Mutex::new(0)));
    let bridge = bounded(&world, 2, &opened);
    let filter = || SubscriptionFilter::new().resource("test://watched-resource");
    let talk = async {
        let one = declaring("one", &world, &bridge);
        one.call_tool("test_simple_text", &()).await.unwrap();
        let two = declaring("two", &world, &bridge);
        for client in [&two, &one] {
            client.call_tool("test_simple_text", &()).await.unwrap();
        }
        let three = declaring("three", &world, &bridge);
        for client in [&three, &one] {
            client.call_tool("test_simple_text", &()).await.unwrap();
        }
        // The third client got the place of the second.
        assert_eq!(*opened.lock().unwrap(), 3);
        let listens = [one.subscribe(filter()).await.unwrap()];
        let last = three.subscribe(filter()).await.unwrap();
        world.sleep(Duration::from_secs(10)).await;
        let refused = two.call_tool("test_simple_text", &()).await;
        assert!(format!("{refused:?}").contains("BridgeConfig::max_upstreams = 2 "), "{refused:?}");
        drop(last);
        world.sleep(Duration::from_secs(1)).await;
        for client in [&two, &one] {
            client.call_tool("test_simple_text", &()).await.unwrap();
        }
        assert_eq!(*opened.lock().unwrap(), 4);
        drop(listens);
    };
    world.run(talk).unwrap();
}

/// A bridge with so many connections at most.
fn limited(world: &World, max_upstreams: usize) -> Bridge {
    bounded(world, max_upstreams, &Arc::default())
}

/// A bridge whose connections are counted.
fn counted(world: &World, opened: &Arc<Mutex<usize>>) -> Bridge {
    let config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    bridge(world, pipe(world, EraPolicy::Auto, opened.clone()), config)
}

/// A bridge to a server that ends as soon as it is started, so many times; and the times of its
/// starts.
fn failing(world: &World, times: &Arc<Mutex<Vec<Instant>>>, ends: usize) -> Bridge {
    let BridgeTarget::Stream(works) = pipe(world, EraPolicy::Auto, Arc::default()) else {
        unreachable!("it is a stream");
    };
    let (here, times) = (world.clone(), times.clone());
    let target = BridgeTarget::Stream(Arc::new(move || {
        let mut times = times.lock().unwrap();
        times.push(now(&here));
        if times.len() > ends { works() } else { Ok(Box::new(stream().0) as Box<dyn ByteStream>) }
    }));
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    config.client.negotiation = negotiation(Era::Modern);
    bridge(world, target, config)
}

/// A stream to a server that stops reading.
struct Stoppable {
    stream: Box<dyn ByteStream>,
    is_stuck: Arc<AtomicBool>,
}

impl Reader for Stoppable {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        self.stream.poll_read(context)
    }
}

impl Writer for Stoppable {
    fn poll_write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_stuck.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        self.stream.poll_write(context, data)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_flush(context)
    }
}

/// The failures that a bridge reports from now on.
fn failures(bridge: &Bridge) -> Arc<Mutex<Vec<String>>> {
    let failures = Arc::<Mutex<Vec<String>>>::default();
    let reported = failures.clone();
    bridge.on_failure(move |error| reported.lock().unwrap().push(error.to_string()));
    failures
}

/// A client of the bridge that has asked for nothing yet: one that was refused asks no more.
fn another(world: &World, bridge: &Bridge) -> Client {
    let client = client(Era::Modern);
    attach(world, &client, Transport::Stdio, &bridge.catalog());
    client
}

/// A modern client of the bridge that declares a capability with this name.
fn declaring(name: &str, world: &World, bridge: &Bridge) -> Client {
    let mut config =
        Config::new(Implementation::new("client", "1.0.0")).negotiation(negotiation(Era::Modern));
    let capabilities = json!({"experimental": {name: {}}});
    config.capabilities = serde_json::from_value(capabilities).unwrap();
    let client = Client::new(config);
    attach(world, &client, Transport::Stdio, &bridge.catalog());
    client
}

fn now(world: &World) -> Instant {
    world.timer().now()
}
