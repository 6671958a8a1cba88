//! Messages of an application to a legacy client outside of its requests.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll, Waker};
use std::time::Duration;

use mcp_proto::server::{Config, Notification};
use mcp_proto::types::{
    CreateMessageRequestParams, ElicitAction, ElicitRequestFormParams, ImageContent, InputRequest,
    ListRootsResult, LoggingLevel, RequestedSchema, Role, SamplingMessage,
    SamplingMessageContentBlock,
};
use mcp_proto::{Era, Json, UsageError};
use mcp_service::{Context, Drive, Handler, Registry, Session, SessionError};
use serde_json::{Value, json};

use crate::bench::{Wakes, registry};
use crate::client::Client;

const ROOTS_CHANGED: &str = "notifications/roots/list_changed";

#[test]
fn second_hour_16_roots_are_listed_once_initialized_and_after_they_changed() {
    let (mut client, kept) = introduced();
    let mut roots = Waiting::new(kept.take().list_roots());
    assert_eq!(asked(&mut client, &mut roots), ("roots/list".into(), json!(1)));
    client.respond(&json!(1), &json!({"roots": [{"uri": "file:///a"}]}));
    assert_eq!(roots.wakes(), 1);
    assert_eq!(roots.done().map(|list| list.roots[0].uri.clone()), Ok("file:///a".into()));
    client.notify(ROOTS_CHANGED, &json!({}));
    let mut roots = Waiting::new(kept.take().list_roots());
    assert_eq!(asked(&mut client, &mut roots).1, json!(2));
    client.respond(&json!(2), &json!({"roots": []}));
    assert_eq!(roots.done().map(|list| list.roots.len()), Ok(0));
    client.bench.assert_alive();
}

#[test]
fn second_hour_16_a_user_and_a_model_are_asked_after_the_call() {
    let (mut client, kept) = called();
    let session = kept.take();
    let mut user = Waiting::new(session.elicit(form()));
    assert_eq!(asked(&mut client, &mut user).0, "elicitation/create");
    let picture = ImageContent::new("picture.png", "image/png");
    let block = SamplingMessageContentBlock::Image(picture);
    let messages = vec![SamplingMessage::new(Role::User, block)];
    let mut refused =
        Waiting::new(session.create_message(CreateMessageRequestParams::new(messages, 1)));
    assert!(refused.poll().is_pending());
    let params = CreateMessageRequestParams::new(Vec::new(), 1);
    let mut model = Waiting::new(session.create_message(params));
    assert_eq!(asked(&mut client, &mut model), ("sampling/createMessage".into(), json!(2)));
    let content = json!({"type": "text", "text": "hello"});
    client.respond(&json!(2), &json!({"role": "assistant", "model": "m", "content": content}));
    client.respond(&json!(1), &json!({"action": "decline"}));
    assert_eq!(user.done().map(|answer| answer.action), Ok(ElicitAction::Decline));
    assert_eq!(model.done().map(|answer| answer.model), Ok("m".into()));
    let name = "sampling/createMessage".into();
    assert_eq!(refused.done(), Err(SessionError::NotSent(UsageError::NotJson { name })));
    let mut raw = Waiting::new(session.request(InputRequest::list_roots()));
    asked(&mut client, &mut raw);
    client.respond(&json!(3), &json!({"roots": [], "x": 1}));
    assert_eq!(raw.done().unwrap().json().as_str(), r#"{"roots":[],"x":1}"#);
}

#[test]
fn second_hour_16_notifications_go_whether_or_not_they_are_awaited() {
    let (mut client, kept) = called();
    let session = kept.take();
    drop(session.log(LoggingLevel::Warning, Some("disk"), json!({"free": 0})));
    drop(session.elicitation_complete("e1"));
    let mut sent = Waiting::new(session.notify(custom("notifications/com.example/x")));
    let mut refused = Waiting::new(session.notify(custom("notifications/tools/list_changed")));
    let out = client.out();
    let params: Vec<&Value> = out.iter().map(|message| &message["params"]).collect();
    let log = json!({"level": "warning", "logger": "disk", "data": {"free": 0}});
    assert_eq!(params, [&log, &json!({"elicitationId": "e1"}), &json!({"a": 1})]);
    assert_eq!(sent.done(), Ok(()));
    let method = "notifications/tools/list_changed".into();
    assert_eq!(refused.done(), Err(SessionError::NotSent(UsageError::ReservedMethod { method })));
}

#[test]
fn second_hour_16_a_client_is_asked_for_what_it_declares_alone() {
    let (registry, kept) = keeping();
    let config = Config::default();
    let mut client = Client::that_can(Era::Legacy, json!({"roots": {}}), registry, config);
    let session = kept.take();
    let mut user = Waiting::new(session.elicit(form()));
    assert!(user.poll().is_pending());
    assert_eq!(client.out(), [Value::Null; 0]);
    let capability = "elicitation.form";
    let error = UsageError::UndeclaredByClient { capability };
    assert_eq!(user.done().map(|_| ()), Err(SessionError::NotSent(error)));
    let mut log = Waiting::new(session.log(LoggingLevel::Error, None, "x"));
    client.out();
    let error = UsageError::Undeclared { capability: "logging" };
    assert_eq!(log.done(), Err(SessionError::NotSent(error)));
}

#[test]
fn second_hour_16_a_modern_client_has_no_session() {
    let (registry, kept) = keeping();
    let mut client = Client::new(Era::Modern, registry);
    client.ask("tools/call", json!({"name": "t"}));
    assert!(kept.0.lock().unwrap().is_empty());
    // Nor has its notification.
    client.notify(ROOTS_CHANGED, &json!({}));
    let mut roots = Waiting::new(kept.take().list_roots());
    assert!(roots.poll().is_pending());
    assert_eq!(client.out(), [Value::Null; 0]);
    let error = SessionError::NotSent(UsageError::NoServerRequests);
    assert_eq!(roots.done().map(|_| ()), Err(error));
}

#[test]
fn second_hour_16_a_request_that_is_dropped_is_withdrawn() {
    let (mut client, kept) = called();
    let session = kept.take();
    let mut roots = Waiting::new(session.list_roots());
    asked(&mut client, &mut roots);
    drop(roots);
    let [cancelled]: [Value; 1] = client.out().try_into().unwrap();
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"], json!({"requestId": 1}));
    // One that the service has not seen leaves no trace.
    let mut roots = Waiting::new(session.list_roots());
    assert!(roots.poll().is_pending());
    drop(roots);
    assert_eq!(client.out(), [Value::Null; 0]);
    // Nor does one that was never awaited.
    drop(session.list_roots());
    // An answer that comes later than that concerns nobody.
    client.respond(&json!(1), &json!({"roots": []}));
    client.bench.assert_alive();
}

#[test]
fn second_hour_16_time_and_errors_end_a_request() {
    let (mut client, kept) = called();
    let session = kept.take();
    let mut brief = Waiting::new(session.list_roots().timeout(Duration::from_secs(5)));
    let mut long = Waiting::new(session.list_roots());
    let mut refused = Waiting::new(session.list_roots());
    let mut wrong = Waiting::new(session.list_roots());
    for roots in [&mut brief, &mut long, &mut refused, &mut wrong] {
        asked(&mut client, roots);
    }
    client.bench.line(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#);
    assert!(matches!(refused.done(), Err(SessionError::Refused(error)) if error.message == "no"));
    client.respond(&json!(4), &json!({"roots": 1}));
    assert!(
        matches!(wrong.done(), Err(SessionError::InvalidAnswer { method, .. }) if method == "roots/list")
    );
    client.bench.pass(Duration::from_secs(5));
    assert_eq!(brief.done().map(|_| ()), Err(SessionError::TimedOut));
    assert_eq!(client.out()[0]["params"], json!({"requestId": 1}));
    client.bench.pass(Config::default().limits.input_timeout);
    assert_eq!(long.done().map(|_| ()), Err(SessionError::TimedOut));
}

#[test]
fn second_hour_16_the_end_of_the_connection_ends_all_requests() {
    // The input ends, while one is out and another is not.
    let (mut client, kept) = called();
    let session = kept.take();
    let (mut out, mut queued) = two(&session);
    asked(&mut client, &mut out);
    assert!(queued.poll().is_pending());
    client.bench.eof();
    assert_eq!(out.wakes(), 1);
    assert!(client.bench.service.is_closed());
    drop(client);
    let mut late = Waiting::new(session.list_roots());
    for waiting in [&mut out, &mut queued, &mut late] {
        assert_eq!(waiting.done().map(|_| ()), Err(SessionError::Closed));
    }
    let mut late = Waiting::new(session.log(LoggingLevel::Error, None, "x"));
    assert_eq!(late.done(), Err(SessionError::Closed));
    // The service is dropped.
    let (mut client, kept) = called();
    let session = kept.take();
    let (mut out, mut queued) = two(&session);
    asked(&mut client, &mut out);
    assert!(queued.poll().is_pending());
    drop(client);
    assert_eq!((out.wakes(), queued.wakes()), (1, 1));
    for waiting in [&mut out, &mut queued] {
        assert_eq!(waiting.done().map(|_| ()), Err(SessionError::Closed));
    }
}

#[test]
fn second_hour_16_requests_are_bounded_and_the_bound_is_given_back() {
    let mut config = Config::default();
    config.limits.max_in_flight = 2;
    let (registry, kept) = keeping();
    let mut client = Client::that_can(Era::Legacy, json!({"roots": {}}), registry, config);
    let session = kept.take();
    let (mut first, mut second) = two(&session);
    asked(&mut client, &mut first);
    asked(&mut client, &mut second);
    let too_many = SessionError::NotSent(UsageError::TooManyCalls { max_in_flight: 2 });
    let refused = |client: &mut Client| {
        let mut third = Waiting::new(session.list_roots());
        assert!(third.poll().is_pending());
        client.out();
        third.done().map(|_| ())
    };
    assert_eq!(refused(&mut client), Err(too_many.clone()));
    drop(first);
    assert_eq!(client.out().len(), 1);
    let mut third = Waiting::new(session.list_roots());
    asked(&mut client, &mut third);
    assert_eq!(refused(&mut client), Err(too_many));
    client.respond(&json!(2), &json!({"roots": []}));
    assert!(second.done().is_ok());
    asked(&mut client, &mut Waiting::new(session.list_roots()));
}

#[test]
fn second_hour_16_what_waits_for_the_service_or_the_client_is_bounded() {
    let (mut client, kept) = called();
    let session = kept.take();
    let mut sent: Vec<_> =
        (0..1025).map(|step| Waiting::new(session.log(LoggingLevel::Error, None, step))).collect();
    assert_eq!(sent.pop().unwrap().done(), Err(SessionError::Full));
    assert_eq!(client.out().len(), 1024);
    assert!(sent.iter_mut().all(|sent| sent.done() == Ok(())));
    let much = "x".repeat(2 * 1024 * 1024);
    drop(session.log(LoggingLevel::Error, None, &much));
    client.bench.turn();
    let mut more = Waiting::new(session.log(LoggingLevel::Error, None, "more"));
    client.bench.turn();
    assert_eq!(more.done(), Err(SessionError::Full));
    assert_eq!(client.out().len(), 1, "it reads");
    let mut more = Waiting::new(session.log(LoggingLevel::Error, None, "more"));
    assert_eq!(client.out().len(), 1);
    assert_eq!(more.done(), Ok(()));
}

#[test]
fn second_hour_16_a_session_that_its_handlers_keep_keeps_no_server() {
    let (registry, kept) = keeping();
    let client = Client::new(Era::Legacy, registry);
    let weak = Arc::downgrade(&kept.0);
    drop(kept);
    drop(client);
    assert!(weak.upgrade().is_none(), "its handlers are kept");
}

/// Sessions that handlers have left.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<Session>>>);

impl Kept {
    /// The last one.
    pub(crate) fn take(&self) -> Session {
        self.0.lock().unwrap().pop().unwrap()
    }

    fn keep(&self, session: impl IntoIterator<Item = Session>) {
        self.0.lock().unwrap().extend(session);
    }
}

/// A server that keeps the session of each call, and of each change of roots.
pub(crate) fn keeping() -> (Registry<Handler>, Kept) {
    let kept = Kept::default();
    let (calls, notifications) = (kept.clone(), kept.clone());
    let mut registry = registry(move |_: Value, context: Context| {
        calls.keep(context.session());
        async { "done" }
    });
    for method in ["notifications/initialized", ROOTS_CHANGED] {
        let kept = notifications.clone();
        let keep = move |_: Value, session| kept.keep([session]);
        registry.session_notification(method, keep).unwrap();
    }
    (registry, kept)
}

/// A future that a test polls.
pub(crate) struct Waiting<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    wakes: Arc<Wakes>,
}

impl<T> Waiting<T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'static) -> Self {
        Self { future: Box::pin(future), wakes: Arc::default() }
    }

    pub(crate) fn poll(&mut self) -> Poll<T> {
        let waker = Waker::from(self.wakes.clone());
        self.future.as_mut().poll(&mut task::Context::from_waker(&waker))
    }

    pub(crate) fn done(&mut self) -> T {
        match self.poll() {
            Poll::Ready(result) => result,
            Poll::Pending => unreachable!("it is not done"),
        }
    }

    pub(crate) fn wakes(&self) -> usize {
        self.wakes.take()
    }
}

fn custom(method: &str) -> Notification {
    Notification::Other { method: method.into(), params: Json::parse(r#"{"a":1}"#).unwrap() }
}

pub(crate) fn form() -> ElicitRequestFormParams {
    ElicitRequestFormParams::new("Sure?", RequestedSchema::new())
}

type Roots = Waiting<Result<ListRootsResult, SessionError>>;

fn two(session: &Session) -> (Roots, Roots) {
    (Waiting::new(session.list_roots()), Waiting::new(session.list_roots()))
}

/// Has the client asked; returns the method and the id.
fn asked<T>(client: &mut Client, waiting: &mut Waiting<T>) -> (String, Value) {
    assert!(waiting.poll().is_pending());
    let [message]: [Value; 1] = client.out().try_into().unwrap();
    (message["method"].as_str().unwrap().to_owned(), message["id"].clone())
}

/// A client whose session was kept when it was initialized.
fn introduced() -> (Client, Kept) {
    let (registry, kept) = keeping();
    (Client::new(Era::Legacy, registry), kept)
}

/// A client whose session was kept by a call that is answered.
fn called() -> (Client, Kept) {
    let (mut registry, kept) = keeping();
    registry.logging();
    let mut client = Client::new(Era::Legacy, registry);
    kept.take();
    client.ask("tools/call", json!({"name": "t"}));
    (client, kept)
}
