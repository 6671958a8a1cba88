//! Streams of changes end with the token of their client.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::http::{Authorization, Config, Head};
use mcp_proto::resource_server::{Claims, ProtectedResource, bearer};
use mcp_proto::server::{Change, Extensions, List, Notification, Outcome};
use mcp_proto::types::Implementation;
use mcp_service::{Catalog, Context, Drive, Handler, Registry};
use serde_json::{Value, json};

use super::site::{Site, Socket, call, fields, modern};
use crate::bench::registry;

const ISSUER: &str = "https://auth.example.com";
const MINUTE: Duration = Duration::from_secs(60);
/// The end of a body of unknown length.
const END: &str = "0\r\n\r\n";
const SECOND: Duration = Duration::from_secs(1);
const TEN_MINUTES: &[(&str, &str)] = &[("Authorization", "Bearer ten-minutes")];
const UNLIMITED: &[(&str, &str)] = &[("Authorization", "Bearer unlimited")];

#[test]
fn a_subscription_ends_with_its_token() {
    let (mut site, catalog) = protected();
    let mut socket = site.connect();
    subscribe(&mut socket, "ten-minutes");
    site.pass(9 * MINUTE);
    assert!(!turn(&mut socket).ends_with(END));

    site.pass(MINUTE);
    assert!(socket.service.poll_timeout().is_some_and(|at| at <= site.now()));
    change(&mut site, &catalog);
    let end = turn(&mut socket);
    // A last change is told; without a result the client opens the stream again.
    assert!(end.contains("notifications/tools/list_changed") && end.ends_with(END), "{end}");
    assert!(!end.contains("result"), "{end}");
    // The connection serves the next request.
    subscribe(&mut socket, "unlimited");
    site.pass(9 * MINUTE);
    change(&mut site, &catalog);
    assert!(socket.woken().contains("notifications/tools/list_changed"));
}

/// The handler passes the request to another server, which has acknowledged the subscription.
#[test]
fn a_forwarded_subscription_ends_with_its_token() {
    let running = Arc::new(());
    let pending = running.clone();
    let forward = move |_, _, context: Context| {
        let pending = pending.clone();
        async move {
            let method = "notifications/subscriptions/acknowledged".into();
            let params = Json::parse(r#"{"notifications":{"toolsListChanged":true}}"#).unwrap();
            context.notify(Notification::Forwarded { method, params });
            std::future::pending::<()>().await;
            drop(pending);
            Outcome::Complete(Json::EMPTY_OBJECT)
        }
    };
    let mut registry = Registry::new(Implementation::new("forwarder", "1"));
    registry.forward(Handler::forward(forward, |_, _, _| ()));
    let mut site = Site::with(Catalog::from(registry), protecting());
    let mut socket = site.connect();
    subscribe(&mut socket, "ten-minutes");
    site.pass(9 * MINUTE);
    assert!(!turn(&mut socket).ends_with(END));
    assert_eq!(Arc::strong_count(&running), 3);

    site.pass(MINUTE);
    assert!(socket.service.poll_timeout().is_some_and(|at| at <= site.now()));
    let end = turn(&mut socket);
    assert!(end.ends_with(END) && !end.contains("result"), "{end}");
    assert_eq!(Arc::strong_count(&running), 2, "the handler is cancelled");
    // The connection serves the next request.
    subscribe(&mut socket, "unlimited");
    site.pass(2 * 60 * MINUTE);
    assert!(!turn(&mut socket).ends_with(END));
}

#[test]
fn a_subscription_that_ends_with_its_token_leaves_its_room() {
    let mut config = protecting();
    config.server.limits.max_subscriptions_per_holder = 1;
    let mut site = Site::with(Catalog::from(listed()), config);
    let mut socket = site.connect();
    for _ in 0..3 {
        subscribe(&mut socket, "ten-minutes");
        site.pass(10 * MINUTE);
        assert!(turn(&mut socket).ends_with(END));
    }
}

#[test]
fn a_stream_of_a_session_ends_with_its_token_and_the_session_goes_on() {
    let (mut site, catalog) = protected();
    let mut socket = site.session();
    socket.send("GET", TEN_MINUTES, "");
    assert!(socket.out().starts_with("HTTP/1.1 200 "));
    site.pass(10 * MINUTE);
    let end = turn(&mut socket);
    assert!(end.ends_with(END), "{end}");
    // What changes before the client is back waits for it.
    change(&mut site, &catalog);
    socket.send("GET", UNLIMITED, "");
    let again = socket.out();
    assert!(again.contains("notifications/tools/list_changed"), "{again}");
}

#[test]
fn a_token_in_its_leeway_is_listened_to_for_a_minute() {
    for token in ["expired", "unlimited"] {
        let (mut site, _) = protected();
        let mut socket = site.connect();
        subscribe(&mut socket, token);
        site.pass(59 * SECOND);
        assert!(!turn(&mut socket).ends_with(END));
        site.pass(SECOND);
        assert_eq!(turn(&mut socket).ends_with(END), token == "expired");
    }
}

#[test]
fn a_call_outlives_its_token() {
    let (mut site, _) = protected();
    let (mut modern_call, mut legacy) = (site.connect(), site.session());
    modern_call.call_modern(1);
    legacy.post(&call(1));
    site.run();
    site.pass(29 * MINUTE);
    for socket in [&mut modern_call, &mut legacy] {
        assert!(!turn(socket).contains("passed"));
    }
    site.pass(MINUTE);
    site.run();
    for socket in [&mut modern_call, &mut legacy] {
        let answer = turn(socket);
        assert!(answer.contains("passed"), "{answer}");
    }
}

#[test]
fn behind_another_stack_too() {
    let (mut site, _) = protected();
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut head = Head::new("POST", "/mcp");
    for (name, value) in fields("subscriptions/listen", None) {
        head.push(name, value.as_bytes());
    }
    head.push("Authorization", b"Bearer ten-minutes");
    let body = modern(1, "subscriptions/listen", params).to_string();
    let mut asked = site.answer_to(head, body.into());
    assert!(asked.out().1.contains("acknowledged"));
    site.pass(10 * MINUTE);
    assert!(asked.out().2);
}

#[test]
fn the_time_left_follows_from_the_claims_of_a_verifier() {
    let mut config = Config::default();
    config.server.limits.connection_idle_timeout = Duration::MAX;
    let resource = ProtectedResource::new("https://example.com/mcp", ISSUER).unwrap();
    config.protect(resource, |token: String| {
        let mut claims = Claims::new(ISSUER, "alice");
        claims.expires_at = Some(if token == "expired" { MINUTE } else { Duration::MAX });
        ready(Ok(claims))
    });
    let mut site = Site::with(Catalog::from(listed()), config);
    let mut sockets = ["expired", "later"].map(|token| {
        let mut socket = site.connect();
        subscribe(&mut socket, token);
        socket
    });
    site.pass(MINUTE);
    let ends = sockets.each_mut().map(|socket| turn(socket).ends_with(END));
    assert_eq!(ends, [true, false]);
}

/// A server that knows how long a token is valid, and its catalog.
fn protected() -> (Site, Catalog) {
    let catalog = Catalog::from(listed());
    (Site::with(catalog.clone(), protecting()), catalog)
}

/// The settings of a server that knows how long a token is valid.
fn protecting() -> Config {
    let mut config = Config::default();
    config.server.limits.connection_idle_timeout = Duration::MAX;
    config.authorize = Some(Arc::new(|head: &Head| {
        let mut claims = Claims::new(ISSUER, "alice");
        match bearer(head) {
            Ok(Some("ten-minutes")) => claims.time_left = Some(10 * MINUTE),
            Ok(Some("unlimited")) => {}
            // Other requests have a token whose end has passed, within the leeway.
            Ok(_) => claims.time_left = Some(Duration::ZERO),
            Err(malformed) => return Authorization::Refuse(malformed),
        }
        let mut extensions = Extensions::default();
        let principal = claims.principal();
        extensions.insert(claims);
        Authorization::AllowWith(principal, extensions)
    }));
    config
}

/// A registry that declares changes of its list, with the tool `t`, which takes half an hour.
fn listed() -> Registry<Handler> {
    let mut registry = registry(|_: Value, context: Context| async move {
        context.sleep(30 * MINUTE).await;
        "passed"
    });
    registry.list_changed(List::Tools);
    registry
}

/// Opens a subscription to the list of tools.
fn subscribe(socket: &mut Socket, token: &str) {
    let params = json!({"notifications": {"toolsListChanged": true}});
    let body = modern(1, "subscriptions/listen", params).to_string();
    let token = format!("Bearer {token}");
    let fields = fields("subscriptions/listen", None);
    let fields: Vec<_> = fields[3..].iter().copied().chain([("Authorization", &*token)]).collect();
    socket.send("POST", &fields, &body);
    let begin = socket.out();
    assert!(begin.contains("notifications/subscriptions/acknowledged"), "{begin}");
}

fn change(site: &mut Site, catalog: &Catalog) {
    catalog.publish(&Change::ListChanged(List::Tools)).unwrap();
    site.run_background();
}

fn turn(socket: &mut Socket) -> String {
    socket.turn();
    socket.out()
}
