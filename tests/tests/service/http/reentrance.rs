//! A law of the application's code that a server over HTTP calls or drops: it may use the catalog,
//! and the server as well, unless the documentation says that the sessions may be locked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mcp_proto::http::{Authorization, Config, RouteResponse};
use mcp_proto::resource_server::{Claims, ProtectedResource, VerifiedToken};
use mcp_proto::server::{Change, Extensions, List, ListEntry, Peer};
use mcp_service::{Catalog, Context, Handler, HandlerKind, HttpServer, Registry};
use serde_json::{Value, json};

use super::site::{Site, Socket, call, modern, request};
use crate::bench::registry;

/// A server, once there is one, and how often it was used.
#[derive(Clone, Default)]
struct Place(Arc<PlaceState>);

#[derive(Default)]
struct PlaceState {
    server: OnceLock<(Option<HttpServer>, Catalog)>,
    uses: AtomicUsize,
}

impl Place {
    /// Uses everything that locks something.
    fn visit(&self) {
        let Some((server, catalog)) = self.0.server.get() else { return };
        self.0.uses.fetch_add(1, Ordering::Relaxed);
        if let Some(server) = server {
            assert!(server.sessions() <= 2);
        }
        catalog.update(|_| Ok(())).unwrap();
        catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
        assert!(!format!("{server:?} {catalog:?}").is_empty());
    }
}

/// Visits the place when it is dropped.
struct VisitOnDrop(Place);

impl Drop for VisitOnDrop {
    fn drop(&mut self) {
        self.0.visit();
    }
}

/// The code that visits the place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Visitor {
    Authorize,
    Extension,
    Verifier,
    Route,
    Filter,
    Layer,
    Handler,
    HandlerDrop,
    RemovedHandler,
    Notification,
    Event,
    Spawn,
    Wire,
}

impl Visitor {
    /// The sessions may be locked while filters are called and values of requests are dropped.
    fn may_use_the_server(self) -> bool {
        !matches!(self, Self::Filter | Self::Extension)
    }
}

const VISITORS: [Visitor; 13] = [
    Visitor::Authorize,
    Visitor::Extension,
    Visitor::Verifier,
    Visitor::Route,
    Visitor::Filter,
    Visitor::Layer,
    Visitor::Handler,
    Visitor::HandlerDrop,
    Visitor::RemovedHandler,
    Visitor::Notification,
    Visitor::Event,
    Visitor::Spawn,
    Visitor::Wire,
];

fn offered(visitor: Visitor, place: &Place) -> Registry {
    let own = place.clone();
    let removed = (visitor == Visitor::RemovedHandler).then(|| VisitOnDrop(place.clone()));
    let mut registry = registry(move |_: Value, context: Context| {
        assert_eq!(removed.is_some(), visitor == Visitor::RemovedHandler);
        if visitor == Visitor::Handler {
            own.visit();
        }
        let dropped = (visitor == Visitor::HandlerDrop).then(|| VisitOnDrop(own.clone()));
        async move {
            let _dropped = dropped;
            // It is spawned in a session.
            context.sleep(std::time::Duration::ZERO).await;
            "done"
        }
    });
    registry.list_changed(List::Tools);
    let own = place.clone();
    if visitor == Visitor::Filter {
        let filter = move |_: &Peer| {
            own.visit();
            true
        };
        registry.only_for(ListEntry::tool("t"), filter).unwrap();
    } else if visitor == Visitor::Layer {
        registry.around(HandlerKind::Tool, move |request, next| {
            own.visit();
            next.run(request)
        });
    } else if visitor == Visitor::Notification {
        let handler = Handler::notification(move |_: Value| own.visit());
        registry.add_notification("notifications/other", handler).unwrap();
    }
    registry
}

fn config(visitor: Visitor, place: &Place) -> Config {
    let mut config = Config::default();
    let own = place.clone();
    if visitor == Visitor::Authorize {
        config.authorize = Some(Arc::new(move |_| {
            own.visit();
            Authorization::Allow(None)
        }));
    } else if visitor == Visitor::Extension {
        config.authorize = Some(Arc::new(move |_| {
            let value = VisitOnDrop(own.clone());
            Authorization::AllowWith(None, Extensions::default().with(value))
        }));
    } else if visitor == Visitor::Verifier {
        let resource = ProtectedResource::new("http://localhost/mcp", "https://auth.example.com");
        config.protect(resource.unwrap(), move |_: String| {
            own.visit();
            let own = own.clone();
            async move {
                own.visit();
                VerifiedToken::Ok(Claims::new("https://auth.example.com", "ada"))
            }
        });
    } else if visitor == Visitor::Route {
        config.route(move |_| {
            own.visit();
            None::<RouteResponse>
        });
    }
    config
}

fn visit(visitor: Visitor) {
    let place = Place::default();
    let catalog = Catalog::from(offered(visitor, &place));
    let own = place.clone();
    let mut site =
        Site::spawning(catalog.clone(), config(visitor, &place), move |handler, hands| {
            hands.take(handler);
            if visitor == Visitor::Spawn {
                own.visit();
            }
        });
    let server = Some(site.server.clone()).filter(|_| visitor.may_use_the_server());
    assert!(place.0.server.set((server, catalog.clone())).is_ok());
    if visitor == Visitor::Event {
        let own = place.clone();
        site.server.on_event(move |_| own.visit());
    }
    let mut socket = site.connect();
    if visitor == Visitor::Wire {
        let own = place.clone();
        socket.service.show_wire(site.now(), move |_| own.visit());
    }
    let mut ask = |socket: &mut Socket, message: &Value, fields: &[(&str, &str)]| {
        let fields: Vec<_> =
            fields.iter().copied().chain([("Authorization", "Bearer t")]).collect();
        socket.send("POST", &fields, &message.to_string());
        site.pass(std::time::Duration::from_millis(1));
        site.run();
        site.run();
        socket.turn();
        socket.out()
    };
    // In a session.
    let client = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let opened = ask(&mut socket, &request(0, "initialize", params), &[]);
    let (_, session) = opened.split_once("Mcp-Session-Id: ").unwrap();
    socket.session = session.split_once("\r\n").map(|(id, _)| id.to_owned());
    ask(&mut socket, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[]);
    ask(&mut socket, &json!({"jsonrpc": "2.0", "method": "notifications/other"}), &[]);
    let listed = ask(&mut socket, &request(1, "tools/list", json!({})), &[]);
    assert!(listed.contains(r#""name":"t""#), "{visitor:?}: {listed}");
    let called = ask(&mut socket, &call(2), &[]);
    assert!(called.contains("done"), "{visitor:?}: {called}");
    ask(&mut socket, &json!({"jsonrpc": "2.0", "id": 77, "result": {}}), &[]);
    // Without one.
    socket.session = None;
    for (method, name) in [("tools/list", None), ("tools/call", Some("t"))] {
        let params = name.map_or(json!({}), |name| json!({ "name": name }));
        let fields = super::site::fields(method, name);
        let answered = ask(&mut socket, &modern(3, method, params), &fields[3..]);
        assert!(answered.contains("HTTP/1.1 200 "), "{visitor:?}: {answered}");
    }
    catalog.update(|registry| Ok(registry.remove_tool("t").is_some())).unwrap();
    site.run_background();
    socket.turn();
    drop(socket);
    let uses = place.0.uses.load(Ordering::Relaxed);
    assert!(uses > 0, "{visitor:?}");
}

#[test]
fn code_of_the_application_may_use_the_server_that_calls_it() {
    for visitor in VISITORS {
        visit(visitor);
    }
}
