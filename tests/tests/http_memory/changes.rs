//! Changes of a catalog that nobody takes.

use std::task::Waker;

use mcp_proto::server::{Change, Config};
use mcp_proto::types::Implementation;
use mcp_proto::{Instant, http};
use mcp_service::{Catalog, Drive, Handler, HttpServer, Registry, Service};

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
