//! Messages of an application to the client of a session outside of its requests: on its GET
//! stream.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_proto::UsageError;
use mcp_proto::http::{Config, Sessions};
use mcp_proto::types::{ElicitAction, LoggingLevel};
use mcp_service::{Context, Drive, SessionError};
use serde_json::{Value, json};

use super::site::{Site, Socket, call};
use crate::bench::registry;
use crate::outside::{Kept, Waiting, form, keeping};

#[test]
fn second_hour_16_roots_are_listed_on_the_get_stream() {
    let (mut site, kept) = site();
    let mut socket = site.session();
    let mut stream = socket.again(&site);
    stream.listen();
    stream.wakes();
    let mut roots = Waiting::new(kept.take().list_roots());
    assert!(roots.poll().is_pending());
    assert!(site.tender_wakes() > 0);
    site.run_background();
    let out = stream.woken();
    assert!(out.contains(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#), "{out}");
    respond(&mut socket, &json!({"roots": []}));
    assert_eq!(roots.wakes(), 1);
    assert_eq!(roots.done().map(|list| list.roots.len()), Ok(0));
}

#[test]
fn second_hour_16_what_is_sent_waits_for_the_get_stream() {
    let (mut site, kept) = site();
    let mut socket = site.session();
    let session = kept.take();
    let mut sent = Waiting::new(session.log(LoggingLevel::Error, None, "early"));
    let mut user = Waiting::new(session.elicit(form()));
    assert!(user.poll().is_pending());
    site.run_background();
    assert_eq!(sent.done(), Ok(()));
    let mut stream = socket.again(&site);
    stream.send("GET", &[], "");
    let out = stream.out();
    let order = ["early", "elicitation/create"].map(|text| out.find(text));
    assert!(order.is_sorted() && order[0].is_some(), "{out}");
    respond(&mut socket, &json!({"action": "cancel"}));
    assert_eq!(user.done().map(|answer| answer.action), Ok(ElicitAction::Cancel));
    // Withdrawn on the same stream.
    let mut roots = Waiting::new(session.list_roots());
    assert!(roots.poll().is_pending());
    site.run_background();
    stream.wakes();
    stream.turn();
    stream.out();
    drop(roots);
    site.run_background();
    let out = stream.woken();
    assert!(
        out.contains(r#""method":"notifications/cancelled","params":{"requestId":2}"#),
        "{out}"
    );
}

#[test]
fn second_hour_16_the_end_of_a_session_ends_its_requests_alone() {
    let (mut site, kept) = site();
    let (mut first, mut second) = (site.session(), site.session());
    let (theirs, ours) = (kept.take(), kept.take());
    assert_ne!(theirs.id(), ours.id());
    let mut out = Waiting::new(ours.list_roots());
    let mut other = Waiting::new(theirs.list_roots());
    assert!(out.poll().is_pending() && other.poll().is_pending());
    site.run_background();
    let mut queued = Waiting::new(ours.list_roots());
    assert!(queued.poll().is_pending());
    first.send("DELETE", &[], "");
    assert!(first.out().starts_with("HTTP/1.1 204 "));
    assert_eq!((out.wakes(), other.wakes()), (1, 0));
    site.run_background();
    for waiting in [&mut out, &mut queued] {
        assert_eq!(waiting.done().map(|_| ()), Err(SessionError::Closed));
    }
    respond(&mut second, &json!({"roots": []}));
    assert!(other.done().is_ok());
    // Nothing of it is left.
    second.send("DELETE", &[], "");
    assert_eq!(site.server.sessions(), 0);
    let mut late = Waiting::new(theirs.log(LoggingLevel::Error, None, "late"));
    site.run_background();
    assert_eq!(late.done(), Err(SessionError::Closed));
}

#[test]
fn second_hour_16_a_session_that_is_left_ends_its_requests() {
    let (mut site, kept) = site();
    let socket = site.session();
    let mut roots = Waiting::new(kept.take().list_roots().timeout(Duration::MAX));
    assert!(roots.poll().is_pending());
    site.run_background();
    drop(socket);
    site.pass(Config::default().server.limits.session_idle_timeout);
    assert_eq!(site.server.sessions(), 0);
    assert_eq!(roots.done().map(|_| ()), Err(SessionError::Closed));
}

#[test]
fn second_hour_16_the_end_of_the_server_ends_all_requests() {
    let (mut site, kept) = site();
    let socket = site.session();
    let session = kept.take();
    let mut out = Waiting::new(session.list_roots());
    assert!(out.poll().is_pending());
    site.run_background();
    let mut queued = Waiting::new(session.list_roots());
    assert!(queued.poll().is_pending());
    drop(site);
    drop(socket);
    for waiting in [&mut out, &mut queued] {
        assert_eq!(waiting.wakes(), 1);
        assert_eq!(waiting.done().map(|_| ()), Err(SessionError::Closed));
    }
}

#[test]
fn a_question_about_the_request_of_another_client_is_not_sent() {
    let kept = Arc::new(Mutex::new(None));
    let store = kept.clone();
    let mut site = Site::new(registry(move |_: Value, context: Context| {
        let store = store.clone();
        async move {
            let session = store.lock().unwrap().take();
            let Some(session) = session else {
                *store.lock().unwrap() = context.session();
                return "kept".to_owned();
            };
            let answer = session.elicit(form()).about(&context).await;
            format!("{:?}", answer.map(|_| ()))
        }
    }));
    let (mut first, mut second) = (site.session(), site.session());
    assert!(first.ask(&call(1)).contains("kept"));
    second.post(&call(2));
    site.run_background();
    site.run();
    let out = second.woken();
    assert!(
        out.contains("NotSent(the request is not in flight)")
            && !out.contains("elicitation/create"),
        "{out}"
    );
    assert_eq!(first.out(), "");
}

#[test]
fn a_question_is_withdrawn_on_the_stream_that_it_was_asked_on() {
    const LONG: Duration = Duration::from_secs(1);
    let mut site = Site::new(registry(|_: Value, context: Context| async move {
        let session = context.session().unwrap();
        let answer = session.elicit(form()).about(&context).timeout(LONG).await;
        format!("{:?}", answer.map(|_| ()))
    }));
    let mut socket = site.session();
    socket.post(&call(1));
    site.run_background();
    site.run();
    let out = socket.woken();
    assert!(out.contains("elicitation/create"), "{out}");
    site.pass(LONG);
    site.run();
    let out = socket.woken();
    let cancelled = r#""method":"notifications/cancelled","params":{"requestId":1}"#;
    let order = [cancelled, "TimedOut"].map(|text| out.find(text));
    assert!(order.is_sorted() && order[0].is_some(), "{out}");
}

#[test]
fn second_hour_16_a_client_without_a_session_is_sent_nothing() {
    let mut config = Config::default();
    config.sessions = Sessions::Stateless;
    let (registry, kept) = keeping();
    let mut site = Site::with(registry, config);
    let mut socket = site.connect();
    socket.post(&call(1));
    let mut roots = Waiting::new(kept.take().list_roots());
    assert!(roots.poll().is_pending());
    site.run();
    socket.turn();
    let error = SessionError::NotSent(UsageError::NoServerRequests);
    assert_eq!(roots.done().map(|_| ()), Err(error));
    assert!(!socket.service.is_closed());
}

fn site() -> (Site, Kept) {
    let (mut registry, kept) = keeping();
    registry.logging();
    (Site::new(registry), kept)
}

/// Answers the first request of the server's.
fn respond(socket: &mut Socket, result: &Value) {
    let accepted = socket.ask(&json!({"jsonrpc": "2.0", "id": 1, "result": result}));
    assert!(accepted.starts_with("HTTP/1.1 202 "), "{accepted}");
}
