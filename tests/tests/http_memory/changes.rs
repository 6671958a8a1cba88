//! Changes of a catalog that nobody takes.

use std::task::Waker;

use mcp_proto::server::{Change, Config};
use mcp_proto::types::{Implementation, Tool};
use mcp_proto::{Instant, Json, Limits, http};
use mcp_service::{Catalog, Drive, Handler, HttpServer, Registry, Service};
use mcp_tests::fuzz::{self, Answers};

use super::site::{INITIALIZED, Site, initialize, of_session, post, session_id};
use super::{MIB, Meter};

#[test]
fn second_hour_21_pending_changes_are_bounded() {
    let meter = Meter::start();
    let mut registry = Registry::<Handler>::new(Implementation::new("changes", "1.0.0"));
    registry.subscribe();
    let catalog = Catalog::from(registry);
    let server = HttpServer::new(catalog.clone(), http::Config::default(), || [0; 16], |_| {});
    let mut sockets: Vec<_> = (0..3000).map(|_| server.connect(Instant::ZERO)).collect();
    let stream = |_| Service::new(catalog.clone(), Config::default());
    let mut streams: Vec<_> = (0..100).map(stream).collect();
    for socket in &mut sockets {
        socket.turn(Instant::ZERO, Waker::noop());
    }
    for stream in &mut streams {
        stream.turn(Instant::ZERO, Waker::noop());
    }
    let before = meter.used();
    for n in 0..2000 {
        let uri = format!("test:///a/resource/with/a/name/of/some/length/{n}");
        catalog.publish(&Change::ResourceUpdated(uri)).expect("it is declared");
    }
    let grown = meter.used() - before;
    println!("pending changes: {grown} bytes");
    assert!(grown < MIB, "{grown} bytes");
    // Those that are told take little while they last, too.
    meter.assert_peak("connections and their changes", 32 * MIB);
}

#[test]
fn another_declaration_costs_each_session_the_same_with_many_tools() {
    let _meter = Meter::start();
    let time = |tools: usize| {
        let mut site = Site::new(Limits::default());
        let number = site.connect();
        for _ in 0..2000 {
            let answer = site.ask(number, &post("", &initialize("2025-11-25", "client")));
            site.ask(number, &of_session(&session_id(&answer), INITIALIZED));
        }
        let declarations = [(); 2].map(|()| {
            let mut registry = fuzz::registry();
            for tool in 0..tools {
                let schema = Json::parse(r#"{"type":"object"}"#).expect("JSON");
                let tool = Tool::new(format!("tool{tool}"), schema).description("x".repeat(200));
                registry.add_tool(tool, Answers::AtOnce).expect("a tool");
            }
            registry.declaration()
        });
        site.declare(&declarations[0]);
        let start = std::time::Instant::now();
        for at in [1, 0, 1, 0] {
            site.declare(&declarations[at]);
        }
        start.elapsed()
    };
    time(1);
    let (few, many) = (time(1), time(2000));
    println!("{few:?} with few tools, {many:?} with many");
    assert!(many < few * 10, "{few:?} with few tools, {many:?} with many");
}
