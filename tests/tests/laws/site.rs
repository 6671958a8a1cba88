//! A client and a server on a runtime in virtual time, whose tasks a test runs turn by turn.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

use mcp_proto::client::{self, Negotiation};
use mcp_proto::http::{self, Url};
use mcp_proto::server::{self, Change};
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, ContentBlock, CreateMessageResult, ElicitAction,
    ElicitRequestFormParams, ElicitResult, Implementation, Prompt, PromptMessage, RequestedSchema,
    Resource, ResourceContents, ResourceTemplate, Role, SamplingMessageContentBlock,
};
use mcp_proto::{Duration, Era, EraPolicy, Limits};
use mcp_service::runtime::{BridgeTarget, Runtime, bridge, run, run_http};
use mcp_service::{
    BridgeConfig, Catalog, Client, Context, HttpClientConfig, Interrupt, Registry, Tasks,
};
use mcp_tests::bridge::world::{Stream, VirtualRuntime};
use mcp_tests::bridge::{negotiation, policy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The time that a handler takes.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// The resource that the server reports changes of.
pub(crate) const RESOURCE: &str = "t:resource";

/// Most turns that anything takes.
const MAX_TURNS: usize = 10_000;

/// How the client reaches the server, and the eras of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) is_http: bool,
    negotiation: Negotiation,
    policy: EraPolicy,
    /// The eras of a server behind a bridge that the client reaches.
    behind: Option<EraPolicy>,
}

impl Place {
    pub(crate) fn is_modern(self) -> bool {
        self.negotiation != Negotiation::Legacy && self.policy != EraPolicy::LegacyOnly
    }

    /// Returns whether the client knows the era of the server.
    pub(crate) fn is_decided(self) -> bool {
        self.negotiation != Negotiation::Auto
    }

    /// The same, with a client that does not know the era of the server.
    pub(crate) fn undecided(self) -> Self {
        let era = if self.is_modern() { Era::Modern } else { Era::Legacy };
        Self { negotiation: Negotiation::Auto, policy: policy(era), ..self }
    }

    /// The same, with a bridge in front of a server of this era.
    pub(crate) fn behind(self, policy: EraPolicy) -> Self {
        Self { behind: Some(policy), ..self }
    }

    /// Returns whether there is a bridge.
    pub(crate) fn is_behind(self) -> bool {
        self.behind.is_some()
    }

    /// The tasks of a server without connections: a server over HTTP has its listener and its
    /// background work.
    pub(crate) fn server_tasks(self) -> usize {
        if self.is_http { 2 } else { 0 }
    }

    fn server_config(self) -> server::Config {
        let mut config = server_config();
        config.era_policy = self.policy;
        config
    }
}

/// Both transports in both eras.
pub(crate) fn places() -> impl Iterator<Item = Place> {
    let place = |is_http, era| Place {
        is_http,
        negotiation: negotiation(era),
        policy: EraPolicy::Auto,
        behind: None,
    };
    [false, true]
        .into_iter()
        .flat_map(move |is_http| [Era::Legacy, Era::Modern].map(|era| place(is_http, era)))
}

/// The work of the handlers of one side.
#[derive(Debug, Default)]
pub(crate) struct Work {
    running: AtomicUsize,
    executed: Mutex<Vec<String>>,
    has_repeated: AtomicBool,
}

/// A handler that runs. Dropping it ends the handler.
#[derive(Debug)]
pub(crate) struct Running(Arc<Work>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Work {
    pub(crate) fn begin(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self.clone())
    }

    /// The number of handlers that run.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Records the execution of a call with this text.
    fn execute(&self, text: &str) {
        let mut executed = self.executed.lock().unwrap();
        if executed.iter().any(|it| it == text) {
            // The service turns a panic of a handler into an error.
            self.has_repeated.store(true, Ordering::Relaxed);
            panic!("{text} was executed twice");
        }
        executed.push(text.to_owned());
    }

    /// Returns true if a call was executed twice.
    fn has_repeated(&self) -> bool {
        self.has_repeated.load(Ordering::Relaxed)
    }
}

/// A client that is driven, and its server.
pub(crate) struct Site {
    pub(crate) place: Place,
    pub(crate) world: VirtualRuntime,
    pub(crate) client: Client,
    /// The catalog with the handlers.
    pub(crate) catalog: Catalog,
    /// The catalog that the client reaches.
    front: Catalog,
    pub(crate) client_work: Arc<Work>,
    pub(crate) server_work: Arc<Work>,
    pub(crate) wire: Arc<Mutex<String>>,
}

impl Site {
    /// A site with a connected client.
    pub(crate) fn new(place: Place) -> Self {
        let site = Self::connecting(place);
        site.world.run(site.client.connected()).unwrap().unwrap();
        site.settle();
        site
    }

    /// A site whose client begins to connect.
    pub(crate) fn connecting(place: Place) -> Self {
        let site = Self::unconnected(place);
        site.serve();
        let (runtime, client) = (site.world.clone(), site.client.clone());
        if place.is_http {
            site.world.spawn(async move { drop(run_http(&runtime, &client, at_port()).await) });
        } else {
            let here = site.serve_stream();
            site.world.spawn(async move { drop(run(&runtime, &client, here).await) });
        }
        site
    }

    /// A site whose client is not connected.
    pub(crate) fn unconnected(place: Place) -> Self {
        let (client_work, server_work) = <(Arc<Work>, Arc<Work>)>::default();
        let world = VirtualRuntime::default();
        let config = client::Config::new(Implementation::new("client", "1")).follow_tasks();
        let mut config = config.negotiation(place.negotiation);
        config.limits = limits();
        let client = Client::new(config);
        let (own, clock) = (client_work.clone(), world.clone());
        client.on_form(move |_| {
            let (running, sleep) = (own.begin(), clock.sleep(SECOND));
            async move {
                sleep.await;
                drop(running);
                ElicitResult::new(ElicitAction::Decline)
            }
        });
        let (own, clock) = (client_work.clone(), world.clone());
        client.on_create_message(move |_| {
            let (running, sleep) = (own.begin(), clock.sleep(SECOND));
            async move {
                sleep.await;
                drop(running);
                CreateMessageResult::new("model", SamplingMessageContentBlock::text("text"))
            }
        });
        client.set_roots(Vec::new()).unwrap();
        let wire = Arc::<Mutex<String>>::default();
        let lines = wire.clone();
        client.on_wire(move |line| {
            let mut lines = lines.lock().unwrap();
            lines.push_str(line);
            lines.push('\n');
        });
        let catalog = Catalog::from(registry(&server_work));
        let front = match place.behind {
            Some(policy) => bridge_to(&world, &catalog, policy),
            None => catalog.clone(),
        };
        Self { place, world, client, catalog, front, client_work, server_work, wire }
    }

    /// Serves on a stream; returns the end of the client.
    pub(crate) fn serve_stream(&self) -> Stream {
        self.world.serve(self.front.clone(), self.place.server_config())
    }

    /// Serves over HTTP, if the place does.
    pub(crate) fn serve(&self) {
        if !self.place.is_http {
            return;
        }
        let mut config = http::Config::default();
        config.server = self.place.server_config().into();
        self.world.serve_http(1, self.front.clone(), config);
    }

    /// Runs all tasks at this instant, until none of them is woken.
    pub(crate) fn settle(&self) {
        for _ in 0..MAX_TURNS {
            if !self.world.turn() {
                return;
            }
        }
        panic!("woken for ever:\n{}", self.wire());
    }

    /// Polls a future, and runs the tasks in between, a turn after each poll. `None` if the future
    /// is dropped after `polls` polls.
    pub(crate) fn poll<F: Future + Unpin>(&self, mut future: F, polls: usize) -> Option<F::Output> {
        assert!(polls < MAX_TURNS, "it never ends:\n{}", self.wire());
        let mut context = TaskContext::from_waker(Waker::noop());
        for _ in 0..polls {
            if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut context) {
                return Some(output);
            }
            if !self.world.turn() {
                self.world.advance();
            }
        }
        None
    }

    /// Runs a future to its end.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        let Some(output) = self.world.run(future) else {
            panic!("nothing happens any more:\n{}", self.wire())
        };
        output
    }

    /// The number of handlers that run, of both sides.
    pub(crate) fn running(&self) -> usize {
        self.client_work.running() + self.server_work.running()
    }

    pub(crate) fn wire(&self) -> String {
        self.wire.lock().unwrap().clone()
    }

    /// Checks that the client works, and closes it; nothing of it may be left.
    pub(crate) fn assert_works(&self, tag: &str) {
        let arguments = serde_json::json!({ "text": tag });
        let echo = self.run(self.client.call_tool("echo", &arguments));
        assert!(echo.is_ok(), "{echo:?}\n{}", self.wire());
        self.run(self.client.close());
        self.settle();
        assert_eq!(self.running(), 0, "handlers of a client that is gone:\n{}", self.wire());
        assert!(!self.server_work.has_repeated(), "a call was executed twice:\n{}", self.wire());
        if !self.place.is_behind() {
            let tasks = self.place.server_tasks();
            assert_eq!(
                self.world.tasks(),
                tasks,
                "tasks of a client that is gone:\n{}",
                self.wire()
            );
        }
    }

    /// Reports a change that nobody has subscribed to any more: nothing is sent.
    pub(crate) fn assert_unsubscribed(&self) {
        self.wire.lock().unwrap().clear();
        self.catalog.publish(&Change::ResourceUpdated(RESOURCE.into())).unwrap();
        self.settle();
        let wire = self.wire();
        assert!(!wire.contains("resources/updated"), "still subscribed:\n{wire}");
    }
}

/// A bridge to a server with this catalog, which is started for each client. A legacy server keeps
/// a call whose input a modern client may still bring, so its limits are the usual ones.
fn bridge_to(world: &VirtualRuntime, catalog: &Catalog, policy: EraPolicy) -> Catalog {
    let (runtime, catalog) = (world.clone(), catalog.clone());
    let target = BridgeTarget::stream(move || {
        Ok(runtime.serve(catalog.clone(), mcp_tests::bridge::server_config(policy)))
    });
    bridge(world, target, BridgeConfig::new(Implementation::new("bridge", "1"))).catalog()
}

pub(crate) fn at_port() -> HttpClientConfig {
    HttpClientConfig::new(Url::parse("http://127.0.0.1:1/mcp").unwrap())
}

/// Limits that one request too many exceeds.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_in_flight = 3;
    limits.max_subscriptions = 3;
    limits
}

pub(crate) fn server_config() -> server::Config {
    let mut config = server::Config::default();
    config.limits = limits();
    config
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// Offers one of everything. Each handler takes a second.
fn registry(work: &Arc<Work>) -> Registry {
    let mut registry = Registry::new(Implementation::new("server", "1"));
    registry.subscribe().logging().page_size(1);
    tools(&mut registry, work);
    for uri in [RESOURCE, "t:other"] {
        let work = work.clone();
        let read = move |uri: String, context: Context| {
            let running = work.begin();
            async move {
                context.sleep(SECOND).await;
                drop(running);
                ResourceContents::text(uri, "text")
            }
        };
        registry.resource(Resource::new(uri, uri), read).unwrap();
    }
    let read = |uri: String, _: Value, _| async { ResourceContents::text(uri, "") };
    for template in ["u:{x}", "v:{x}"] {
        registry.resource_template(ResourceTemplate::new(template, "t"), read).unwrap();
    }
    for name in ["prompt", "other"] {
        let work = work.clone();
        let get = move |text: Text, context: Context| {
            let running = work.begin();
            async move {
                context.sleep(SECOND).await;
                drop(running);
                vec![PromptMessage::new(Role::User, ContentBlock::text(text.text))]
            }
        };
        registry.prompt(Prompt::of::<Text>(name).unwrap(), get).unwrap();
    }
    let own = work.clone();
    let complete = move |_: CompleteRequestParams, context: Context| {
        let running = own.begin();
        async move {
            context.sleep(SECOND).await;
            drop(running);
            vec!["value".to_owned()]
        }
    };
    registry.completion(CompletionReference::prompt("prompt"), complete).unwrap();
    let own = work.clone();
    let method = move |_: Value, context: Context| {
        let running = own.begin();
        async move {
            context.sleep(SECOND).await;
            drop(running);
            mcp_proto::Json::EMPTY_OBJECT
        }
    };
    registry.method("com.example/wait", method).unwrap();
    registry
}

fn tools(registry: &mut Registry, work: &Arc<Work>) {
    registry.tool("echo", "", |text: Text, _| async { text.text }).unwrap();
    for name in ["steps", "render"] {
        let work = work.clone();
        let steps = move |text: Text, context: Context| {
            let running = work.begin();
            work.execute(&text.text);
            async move {
                for step in 1..3 {
                    context.progress(step);
                    context.log(mcp_proto::types::LoggingLevel::Error, step);
                    context.sleep(SECOND).await;
                }
                drop(running);
                text.text
            }
        };
        registry.tool(name, "", steps).unwrap();
    }
    registry.tasks("render", Tasks::Always).unwrap();
    for name in ["ask", "survey"] {
        let work = work.clone();
        let ask = move |text: Text, context: Context| {
            let work = work.clone();
            async move {
                let running = work.begin();
                context.sleep(SECOND).await;
                let form = ElicitRequestFormParams::new("?", RequestedSchema::new());
                context.elicit("key", form)?;
                work.execute(&text.text);
                context.sleep(SECOND).await;
                drop(running);
                Ok::<_, Interrupt>(text.text)
            }
        };
        registry.tool(name, "", ask).unwrap();
    }
    registry.tasks("survey", Tasks::Always).unwrap();
}
