//! A client and a server, with all that is between an application's `await` and a handler, played
//! twice over a pipe, or over HTTP, that may be bad.
//!
//! Whatever happens: no panic but those on purpose, every call ends, what was not broken is right,
//! both sides close, and the second time goes as the first. No tool is executed twice for one call.
//! Over HTTP no more connections are open than what is under way needs, and no session is left in
//! the end.

mod offers;
mod outside;
mod script;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use mcp_proto::client::{CallError, Change, List};
use mcp_proto::http::Url;
use mcp_proto::types::{
    CallToolResult, ContentBlock, GetPromptResult, ListPromptsResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, ReadResourceResult, ResourceContents, Root, SubscriptionFilter,
};
use mcp_proto::{Duration, ErrorCode, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{
    Call, Catalog, Client, Handler, HttpClientConfig, Registry, Service, Subscription,
};
use serde_json::json;

use offers::{Given, Runs, Servers, Waiting, Watched};
use outside::Outside;
use script::{Over, PairOp, PairScript};

/// Any bytes as what two sides do to each other.
///
/// # Panics
///
/// If one of them does what it must not.
pub fn pair(data: &[u8]) {
    play_twice(&PairScript::decode(data));
}

/// The same over HTTP.
///
/// # Panics
///
/// If one of them does what it must not.
pub fn pair_http(data: &[u8]) {
    play_twice(&PairScript::decode_http(data));
}

fn play_twice(script: &PairScript) {
    let [wire, again] = [0, 1].map(|_| Play::new(script).play(script));
    // Each server of the process gives its tasks ids of its own.
    let is_same =
        wire == again || script.has_tasks() && without_task_ids(&wire) == without_task_ids(&again);
    assert!(is_same, "the same seed, another conversation:\n{wire}\n{again}");
}

/// A conversation whose ids of tasks, of which it shows eight characters, are left out.
fn without_task_ids(wire: &str) -> String {
    let known = |part: &str| part.chars().count().saturating_sub(8);
    let parts = wire.split('…').map(|part| part.chars().take(known(part)).collect::<String>());
    parts.collect()
}

/// Result of setting the log level.
const LEVEL: &str = "level";

/// Result of a call, as a text or an error.
type Came = Result<String, CallError>;

struct Running {
    future: Waiting<Came>,
    /// Result that is required if nothing gets in between.
    wanted: Wanted,
}

#[derive(Clone, PartialEq, Debug)]
enum Wanted {
    Text(String),
    Error(ErrorCode),
    /// It ends.
    Anything,
}

struct Open {
    subscription: Subscription,
    /// True if a notification is due on it.
    untold: bool,
}

struct Play {
    pair: Pair,
    client: Client,
    catalog: Catalog,
    servers: Arc<Servers>,
    runs: Runs,
    script: PairScript,
    running: Vec<Running>,
    subscribing: Vec<Waiting<Result<Subscription, CallError>>>,
    open: Vec<Open>,
    outside: Outside,
    /// True if nothing was broken or closed so far.
    whole: bool,
    fits: bool,
    tools: usize,
    /// Number of tools that were called.
    calls: usize,
}

impl Play {
    fn new(script: &PairScript) -> Self {
        let runs = Runs::default();
        let sessions = outside::Sessions::default();
        let catalog = offers::catalog(&runs, &sessions, script);
        let servers = Arc::new(Servers::default());
        let pair = match script.over {
            Over::Pipe => pair_with_pipe(&catalog, &servers).era_policy(script.era_policy),
            Over::Http { sessions, listens } => {
                let mut client = HttpClientConfig::new(url());
                client.listens = listens;
                Pair::over_http(catalog.clone())
                    .http_config(script::http_config(sessions, script.era_policy))
                    .http_client_config(client)
            }
        };
        let pair = pair
            .client_config(script.config.clone())
            .network(script.network.clone())
            .seed(script.seed);
        let client = pair.client();
        offers::answers(&client, script.gives);
        Self {
            client,
            pair,
            catalog,
            servers,
            runs,
            script: script.clone(),
            running: Vec::new(),
            subscribing: Vec::new(),
            open: Vec::new(),
            outside: Outside::new(sessions),
            whole: script.network.cuts == 0 && script.network.refusals == 0,
            fits: script.fits(),
            tools: 9,
            calls: 0,
        }
    }

    fn play(mut self, script: &PairScript) -> String {
        for op in &script.ops {
            self.step(*op);
            self.poll();
        }
        // No call takes longer than an hour, once it has begun.
        self.pass(Duration::from_secs(2 * 60 * 60));
        assert!(self.running.is_empty(), "calls without an end:\n{}", self.pair.wire());
        assert!(self.outside.is_idle(), "the server waits for ever:\n{}", self.pair.wire());
        assert!(
            self.subscribing.is_empty(),
            "a subscription neither begins nor ends:\n{}",
            self.pair.wire()
        );
        self.hear();
        let connections = self.pair.connections();
        // A stream for each subscription, or one for all.
        let needed = self.open.len().max(1);
        assert!(connections <= needed, "{connections} connections:\n{}", self.pair.wire());
        self.whole = false;
        let closed = self.client.close();
        self.pair.run(closed);
        let late = self.client.call_tool("echo", &json!({ "text": "", "n": 0 }));
        assert!(self.pair.run(late).is_err(), "a call after the end");
        self.pass(Duration::from_secs(60));
        let open = self.servers.open.load(Ordering::Relaxed) + self.pair.connections();
        assert_eq!(open, 0, "the server does not close:\n{}", self.pair.wire());
        let twice = self.runs.twice();
        assert_eq!(twice, None, "a tool was executed twice:\n{}", self.pair.wire());
        if self.script.over != Over::Pipe {
            // What nobody ended has its time, and what its handlers take.
            self.pass(Duration::from_secs(2 * 60 * 60));
            assert_eq!(self.pair.sessions(), 0, "sessions are left:\n{}", self.pair.wire());
        }
        self.pair.wire()
    }

    fn pass(&mut self, duration: Duration) {
        self.pair.pass(duration);
        self.poll();
    }

    fn step(&mut self, op: PairOp) {
        match op {
            PairOp::Echo(n) => self.tool("echo", n, |text| Wanted::Text(text.to_owned())),
            PairOp::Wait(n) => self.tool("wait", n, |text| Wanted::Text(text.to_owned())),
            PairOp::Count(n) => self.count(n),
            PairOp::Ask(n) => self.ask(n),
            PairOp::Roots => self.tool("roots", 0, |_| Wanted::Anything),
            PairOp::Fail => self.tool("fail", 0, |_| Wanted::Error(offers::failure().code)),
            PairOp::Panic => {
                self.tool("panic", 0, |_| Wanted::Error(ErrorCode::INTERNAL_ERROR));
            }
            PairOp::Log => self.tool("log", 0, |text| Wanted::Text(text.to_owned())),
            PairOp::Hang(n) => {
                let timeout = Duration::from_millis(20 * u64::from(n));
                let call = self.client.call_tool("hang", &json!({ "text": "", "n": n }));
                self.start(call.timeout(timeout), text, Wanted::Anything);
            }
            PairOp::List(n) => self.list(n),
            PairOp::Ping => {
                let call = self.client.ping();
                self.start(call, |&()| String::new(), Wanted::Text(String::new()));
            }
            PairOp::Read(n) => {
                let uri = if n < 128 { format!("t:{n}") } else { "a:b".to_owned() };
                let wanted = if n < 128 { uri.clone() } else { "page".to_owned() };
                let call = self.client.read_resource(&uri);
                let text = |result: &ReadResourceResult| match result.contents.first() {
                    Some(ResourceContents::Text(text)) => text.text.clone(),
                    other => format!("{other:?}"),
                };
                self.start(call, text, Wanted::Text(wanted));
            }
            PairOp::Prompt(n) => {
                let n = n.to_string();
                let call = self.client.get_prompt("p", &json!({ "n": n }));
                let text = |result: &GetPromptResult| {
                    let first = result.messages.first();
                    first.and_then(|first| first.content.as_text()).unwrap_or_default().to_owned()
                };
                self.start(call, text, Wanted::Text(n));
            }
            PairOp::LogLevel(n) => {
                let level = if n < 128 { LoggingLevel::Debug } else { LoggingLevel::Emergency };
                let call = self.client.set_log_level(level);
                self.start(call, |_| LEVEL.to_owned(), Wanted::Text(LEVEL.to_owned()));
            }
            PairOp::Subscribe(n) => self.subscribe(n),
            PairOp::Unsubscribe(n) => {
                if !self.open.is_empty() {
                    self.open.swap_remove(usize::from(n) % self.open.len());
                }
            }
            PairOp::Publish(n) => self.publish(n),
            PairOp::Update => {
                let name = format!("more-{}", self.tools);
                let echo = |given: Given, _| async move { given.text };
                let updated = self.catalog.update(|registry: &mut Registry<Handler>| {
                    registry.tool(&name, "", echo).map(|_| ())
                });
                assert_eq!(updated, Ok(()));
                self.tools += 1;
                self.told(|filter| filter.tools_list_changed);
            }
            PairOp::Cancel(n) => {
                if !self.running.is_empty() {
                    self.running.swap_remove(usize::from(n) % self.running.len());
                }
            }
            PairOp::SetRoots(n) => {
                let roots = (0..n % 3).map(|n| Root::new(format!("file:///{n}"))).collect();
                assert!(self.client.set_roots(roots).is_ok());
            }
            PairOp::Notify => {
                let told = self.client.notify("notifications/x", &json!({}));
                assert!(told.is_ok());
            }
            PairOp::Outside(n) => self.outside.step(n),
            PairOp::Pass(n) => self.pass(Duration::from_millis(20 * u64::from(n))),
            PairOp::PassLong(n) => self.pass_long(n),
            PairOp::Cut => self.broken().cut(),
            PairOp::EndOfClient => self.broken().end_of_client(),
            PairOp::EndOfServer => self.broken().end_of_server(),
            PairOp::CutRequest(n) => self.broken().cut_request(8 * usize::from(n)),
            PairOp::CutResponse(n) => self.broken().cut_response(8 * usize::from(n)),
            PairOp::Refuse(n) => self.broken().refuse(Duration::from_millis(100 * u64::from(n))),
            PairOp::Restart => self.broken().restart(),
            PairOp::RestartAs(n) => {
                // What did not fit may fit, if nobody has been met yet.
                self.fits = true;
                let config = script::http_config(script::mode(n), script::policy(n / 3));
                self.broken().restart_as(config);
            }
            PairOp::Close => {
                self.whole = false;
                drop(self.client.close());
            }
        }
    }

    fn pass_long(&mut self, n: u8) {
        // Over HTTP streams are kept alive meanwhile.
        let minutes = if self.script.over == Over::Pipe { n } else { n % 40 };
        self.pass(Duration::from_secs(60 * u64::from(minutes)));
    }

    /// The pair, from which nothing right is to be expected any more.
    fn broken(&mut self) -> &mut Pair {
        self.whole = false;
        &mut self.pair
    }

    /// Calls a tool with a text of its own.
    fn tool(&mut self, name: &str, n: u8, wanted: fn(&str) -> Wanted) {
        self.calls += 1;
        let given = format!("{name} \"{n}\"\n{}", self.calls);
        let call = self.client.call_tool(name, &json!({ "text": given, "n": n }));
        self.start(call, text, wanted(&given));
    }

    fn count(&mut self, n: u8) {
        self.calls += 1;
        let counted = format!("counted {}", self.calls);
        let call = self.client.call_tool("count", &json!({ "text": counted, "n": n }));
        let mut last = None;
        let call = call.on_progress(move |progress| {
            assert!(last < Some(progress.progress), "{last:?}, then {progress:?}");
            last = Some(progress.progress);
        });
        self.start(call, text, Wanted::Text(counted));
    }

    fn ask(&mut self, n: u8) {
        let more = |with: &str| format!("a{}", with.repeat(usize::from(n % 2) + 1));
        let wanted = match self.script.gives % 8 {
            _ if !self.script.elicits() => Wanted::Anything,
            0 | 1 => Wanted::Text(more("+")),
            2 => Wanted::Text(more("-")),
            _ => Wanted::Anything,
        };
        let call = self.client.call_tool("ask", &json!({ "text": "a", "n": n }));
        self.start(call, text, wanted);
    }

    fn list(&mut self, n: u8) {
        let tools = if self.script.caches() { 9 } else { self.tools };
        match n % 3 {
            0 => {
                let call = self.client.list_tools();
                // It may change while it is fetched.
                let names = move |list: &ListToolsResult| {
                    let first = list.tools.first().map(|tool| tool.name.clone());
                    assert!(list.tools.len() >= tools, "{} of {tools}", list.tools.len());
                    first.unwrap_or_default()
                };
                self.start(call, names, Wanted::Text("echo".to_owned()));
            }
            1 => {
                let call = self.client.list_resources();
                let uris = |list: &ListResourcesResult| {
                    list.resources.iter().map(|resource| resource.uri.as_str()).collect()
                };
                self.start(call, uris, Wanted::Text("a:b".to_owned()));
            }
            _ => {
                let call = self.client.list_prompts();
                let names = |list: &ListPromptsResult| {
                    list.prompts.iter().map(|prompt| prompt.name.as_str()).collect()
                };
                self.start(call, names, Wanted::Text("p".to_owned()));
            }
        }
    }

    fn start<R: 'static>(
        &mut self,
        call: Call<R>,
        show: impl FnOnce(&R) -> String + 'static,
        wanted: Wanted,
    ) {
        let future = Box::pin(async move { call.await.map(|result| show(&result)) });
        self.running.push(Running { future, wanted });
    }

    fn subscribe(&mut self, n: u8) {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = n & 1 != 0;
        filter.resources_list_changed = n & 2 != 0;
        let uris = [(4, "t:1"), (8, "a:b")].into_iter().filter(|(bit, _)| n & bit != 0);
        filter.resource_subscriptions = uris.map(|(_, uri)| uri.to_owned()).collect();
        self.subscribing.push(Box::pin(self.client.subscribe(filter)));
    }

    fn publish(&mut self, n: u8) {
        let (change, wants): (_, fn(&SubscriptionFilter) -> bool) = match n % 3 {
            0 => (Change::ListChanged(List::Tools), |filter| filter.tools_list_changed),
            1 => (Change::ListChanged(List::Resources), |filter| filter.resources_list_changed),
            _ => (Change::ResourceUpdated("t:1".into()), |filter| {
                filter.resource_subscriptions.iter().any(|uri| uri == "t:1")
            }),
        };
        assert_eq!(self.catalog.publish(&change), Ok(()));
        self.told(wants);
    }

    /// Something has changed; those that want to hear of it must.
    fn told(&mut self, wants: impl Fn(&SubscriptionFilter) -> bool) {
        for open in self.open.iter_mut().filter(|open| wants(open.subscription.honoured())) {
            open.untold = true;
        }
    }

    /// Looks what has come of everything.
    fn poll(&mut self) {
        self.outside.poll();
        let mut context = Context::from_waker(Waker::noop());
        let mut running = Vec::new();
        for mut call in std::mem::take(&mut self.running) {
            match call.future.as_mut().poll(&mut context) {
                Poll::Pending => running.push(call),
                Poll::Ready(came) => self.came(&came, call.wanted),
            }
        }
        self.running.extend(running);
        let mut subscribing = Vec::new();
        for mut future in std::mem::take(&mut self.subscribing) {
            match future.as_mut().poll(&mut context) {
                Poll::Pending => subscribing.push(future),
                Poll::Ready(Ok(subscription)) => {
                    self.open.push(Open { subscription, untold: false });
                }
                Poll::Ready(Err(error)) => {
                    // Without sessions there is no stream that could tell of changes.
                    let excused = !self.whole || !self.fits || self.script.is_stateless();
                    let is_full =
                        matches!(error, CallError::Usage(UsageError::TooManyStreams { .. }));
                    let excused = excused || is_full;
                    assert!(excused, "no subscription: {error}\n{}", self.pair.wire());
                }
            }
        }
        self.subscribing = subscribing;
    }

    fn came(&self, came: &Came, wanted: Wanted) {
        let right = match (came, wanted) {
            (Ok(text), Wanted::Text(wanted)) => *text == wanted,
            (Err(CallError::Error { error, .. }), Wanted::Error(code)) => error.code == code,
            (_, wanted) => wanted == Wanted::Anything,
        };
        // A session that nobody uses ends; only the call that finds that out is sent again.
        let has_expired = matches!(came, Err(CallError::SessionExpired));
        let excused = !(self.whole && self.fits) && came.is_err() || has_expired;
        // Where a round trip takes up to a quarter of a call's time, answers and requests wait for
        // a connection until it has passed.
        let is_late = matches!(came, Err(CallError::TimedOut)) && self.script.is_slow;
        let excused = excused || is_late;
        // A client that believes that its server is modern need not tell it.
        let excused = excused || !self.fits && came.as_ref().is_ok_and(|text| text == LEVEL);
        assert!(right && self.fits || excused, "{came:?}\n{}", self.pair.wire());
    }

    /// Each open subscription has been told of what it must have been.
    fn hear(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        let hears = self.whole && self.script.hears();
        for open in self.open.iter_mut().filter(|open| open.untold && hears) {
            let changed = std::pin::pin!(open.subscription.changed()).poll(&mut context);
            let told = matches!(changed, Poll::Ready(Some(_)));
            assert!(told, "nobody was told: {changed:?}\n{}", self.pair.wire());
        }
    }
}

/// A pair whose servers are watched.
fn pair_with_pipe(catalog: &Catalog, servers: &Arc<Servers>) -> Pair {
    let (offered, started) = (catalog.clone(), servers.clone());
    Pair::with_server(move |config| {
        Box::new(Watched::new(Service::new(offered.clone(), config), &started))
    })
}

#[expect(clippy::expect_used, reason = "it is a URL")]
fn url() -> Url {
    Url::parse("http://localhost/mcp").expect("a URL")
}

/// Text of a tool's result.
fn text(result: &CallToolResult) -> String {
    let first = result.content.first();
    first.and_then(ContentBlock::as_text).unwrap_or_default().to_owned()
}
