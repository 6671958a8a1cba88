//! Bytes that a bridge keeps while its server cannot be started, and after its server has ended.

use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use mcp_proto::http::Config;
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, EraPolicy};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, serve};
use mcp_service::{BridgeConfig, Registry};
use mcp_tests::bridge::server_config;
use mcp_tests::bridge::site::VirtualSite as Site;
use mcp_tests::bridge::world::{Stream, VirtualRuntime as World, stream};

use super::{KIB, Nothing, alone, in_use};

const MIB: usize = KIB * KIB;

#[test]
fn requests_that_were_cancelled_before_their_server_could_start_are_dropped() {
    let _alone = alone();
    let world = World::default();
    let target = BridgeTarget::stream(|| Err::<Stream, _>(io::ErrorKind::NotFound.into()));
    let settings = BridgeConfig::new(Implementation::new("bridge", "1"));
    let bridge = bridge(&world, target, settings);
    let site = Site::new(&world, bridge.catalog(), Config::default());
    let arguments = format!("\"name\":\"x\",\"arguments\":{{\"a\":\"{}\"}}", "x".repeat(64 * KIB));
    let all = async {
        // The pause before the next attempt grows to 30 s.
        for _ in 0..12 {
            site.modern("tools/call", "\"name\":\"x\"", "").end(&site).await;
        }
        let before = in_use();
        for _ in 0..2_000 {
            let mut called = site.modern("tools/call", &arguments, "");
            called.read(&site);
            assert_eq!(called.text, "");
        }
        let kept = in_use() - before;
        println!("{kept} bytes are kept");
        assert!(kept < 2 * MIB, "{kept} bytes of cancelled requests are kept");
    };
    world.run(all).unwrap();
}

#[test]
fn connection_that_has_ended_keeps_little_for_its_session() {
    const SESSIONS: usize = 500;
    let _alone = alone();
    let world = World::default();
    let stops = Arc::<Mutex<Vec<Waker>>>::default();
    let ended = Arc::new(Mutex::new(false));
    let (runtime, stopping, flag) = (world.clone(), stops.clone(), ended.clone());
    let target = BridgeTarget::stream(move || {
        let (here, there) = stream();
        let (serving, stops, ended) = (runtime.clone(), stopping.clone(), flag.clone());
        runtime.spawn(async move {
            let mut registry = Registry::new(Implementation::new("server", "1"));
            registry.instructions("Be kind. ".repeat(4 * KIB));
            registry.tool("echo", "", |_: Nothing, _| async { "echo" }).unwrap();
            let stop = poll_fn(move |context| {
                if *ended.lock().unwrap() {
                    return Poll::Ready(());
                }
                stops.lock().unwrap().push(context.waker().clone());
                Poll::Pending
            });
            let config = server_config(EraPolicy::LegacyOnly);
            drop(serve(&serving, registry, config, there, stop).await);
        });
        Ok(here)
    });
    let mut settings = BridgeConfig::new(Implementation::new("bridge", "1"));
    settings.max_upstreams = SESSIONS;
    let bridge = bridge(&world, target, settings);
    let site = Site::new(&world, bridge.catalog(), Config::default());
    let all = async {
        // What all share is there before.
        site.open().await;
        let before = in_use();
        for _ in 1..SESSIONS {
            site.open().await;
        }
        let open = in_use() - before;
        *ended.lock().unwrap() = true;
        std::mem::take(&mut *stops.lock().unwrap()).into_iter().for_each(Waker::wake);
        world.sleep(Duration::from_secs(10)).await;
        let kept = (in_use() - before) / SESSIONS;
        println!("{} bytes for each session, {kept} after the end", open / SESSIONS);
        assert!(kept < 8 * KIB, "{kept} bytes are kept for each session");
    };
    world.run(all).unwrap();
}

#[test]
fn notifications_to_a_server_that_cannot_start_again_are_bounded() {
    let _alone = alone();
    let world = World::default();
    let has_started = Mutex::new(false);
    let runtime = world.clone();
    let target = BridgeTarget::stream(move || {
        if std::mem::replace(&mut *has_started.lock().unwrap(), true) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (here, there) = stream();
        let serving = runtime.clone();
        runtime.spawn(async move {
            let config = server_config(EraPolicy::LegacyOnly);
            let registry = Registry::new(Implementation::new("server", "1"));
            let stop = serving.sleep(Duration::from_secs(10));
            drop(serve(&serving, registry, config, there, stop).await);
        });
        Ok(here)
    });
    let mut settings = BridgeConfig::new(Implementation::new("bridge", "1"));
    settings.client.limits.max_unsent_bytes = MIB;
    let site = Site::new(&world, bridge(&world, target, settings).catalog(), Config::default());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let long = "x".repeat(64 * KIB);
    let notification = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{{\"x\":\"{long}\"}}}}"
    );
    let all = async {
        let session = site.open().await;
        world.sleep(Duration::from_secs(20)).await;
        // The pause before the next attempt grows to 30 s.
        for _ in 0..10 {
            site.ask(Some(&session), list).await;
        }
        let mut waiting = site.post(Some(&session), list);
        assert_eq!(waiting.read(&site), "");
        let before = in_use();
        for _ in 0..500 {
            site.ask(Some(&session), &notification).await;
        }
        let kept = in_use() - before;
        println!("{kept} bytes of notifications are kept");
        assert!(kept < 2 * MIB, "{kept} bytes of notifications are kept");
        assert_eq!(waiting.read(&site), "");
    };
    world.run(all).unwrap();
}
