//! The server of a pair, and what its client gives it.

use std::collections::BTreeMap;
use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use mcp_proto::server::{Cacheable, List};
use mcp_proto::types::{
    CacheHint, ContentBlock, ElicitAction, ElicitRequestFormParams, ElicitResult, GetPromptResult,
    Implementation, LoggingLevel, Prompt, PromptArgument, PromptMessage, RequestedSchema, Resource,
    ResourceContents, ResourceTemplate, Role,
};
use mcp_proto::{Duration, ErrorCode, ErrorData, Instant, Json, UsageError};
use mcp_service::{Catalog, Client, Context, Drive, Handler, Interrupt, Registry, Service, Tasks};
use serde::Deserialize;

use super::outside::Sessions;
use super::script::PairScript;

/// Arguments of a tool.
#[derive(Deserialize, schemars::JsonSchema)]
pub(super) struct Given {
    pub(super) text: String,
    n: u8,
}

/// Number of times that tools were run with each text.
#[derive(Clone, Default)]
pub(super) struct Runs(Arc<Mutex<BTreeMap<String, u32>>>);

impl Runs {
    fn note(&self, text: &str) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *runs.entry(text.to_owned()).or_default() += 1;
    }

    /// A text that a tool was run with more often than once.
    pub(super) fn twice(&self) -> Option<String> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.iter().find(|(_, count)| **count > 1).map(|(text, _)| text.clone())
    }
}

/// A server with a tool of every temper.
pub(super) fn catalog(runs: &Runs, sessions: &Sessions, script: &PairScript) -> Catalog {
    let mut registry = Registry::<Handler>::new(Implementation::new("paired", "1.0.0"));
    registry.page_size(3).logging().subscribe();
    registry.list_changed(List::Tools).list_changed(List::Resources);
    let offered = offer(&mut registry, runs).and_then(|()| sessions.offer(&mut registry));
    debug_assert_eq!(offered, Ok(()));
    if script.caches() {
        for what in [Cacheable::Tools, Cacheable::Resources, Cacheable::Contents] {
            registry.cache(what, CacheHint::private(10_000));
        }
    }
    if script.has_tasks() {
        let made = has_tasks(&mut registry);
        debug_assert_eq!(made, Ok(()));
    }
    Catalog::from(registry)
}

/// Lets calls of some tools become tasks.
fn has_tasks(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    registry.tasks("wait", Tasks::After(Duration::from_millis(500)))?;
    registry.tasks("count", Tasks::Always)?.tasks("ask", Tasks::Always)?;
    Ok(())
}

fn offer(registry: &mut Registry<Handler>, runs: &Runs) -> Result<(), UsageError> {
    let [echoes, waits, counts] = [runs, runs, runs].map(Runs::clone);
    let echo = move |given: Given, _: Context| {
        echoes.note(&given.text);
        async move { given.text }
    };
    let wait = move |given: Given, context: Context| {
        waits.note(&given.text);
        async move {
            context.sleep(Duration::from_millis(20 * u64::from(given.n))).await;
            given.text
        }
    };
    let count = move |given: Given, context: Context| {
        counts.note(&given.text);
        async move {
            for n in 0..given.n % 8 {
                context.progress(f64::from(n));
                context.sleep(Duration::from_millis(u64::from(given.n))).await;
            }
            given.text
        }
    };
    let log = |given: Given, context: Context| async move {
        context.log(LoggingLevel::Error, &given.text);
        given.text
    };
    registry
        .tool("echo", "", echo)?
        .tool("wait", "", wait)?
        .tool("count", "", count)?
        .tool("log", "", log)?
        .tool("ask", "", |given, context| ready(ask(given, &context)))?
        .tool("roots", "", |given: Given, context| ready(roots(&given, &context)))?
        .tool("fail", "", |_: Given, _| ready(Err::<String, Interrupt>(failure().into())))?
        .tool("panic", "", |_: Given, _| async { unwind() })?
        .tool("hang", "", |_: Given, _| pending::<String>())?;
    let read = |uri: String, _: serde_json::Value, _: Context| {
        let text = uri.clone();
        ready(ResourceContents::text(uri, text))
    };
    let page = |uri: String, _: Context| ready(ResourceContents::text(uri, "page"));
    let prompt = |given: serde_json::Value, _: Context| {
        let text = given.get("n").and_then(serde_json::Value::as_str).unwrap_or_default();
        ready(GetPromptResult::new(vec![PromptMessage::new(Role::User, ContentBlock::text(text))]))
    };
    registry
        .resource(Resource::new("a:b", "b"), page)?
        .resource_template(ResourceTemplate::new("t:{x}", "t"), read)?
        .prompt(Prompt::new("p").argument(PromptArgument::required("n")), prompt)?
        .notification("notifications/x", |_: Json| {})?;
    Ok(())
}

pub(super) fn failure() -> ErrorData {
    ErrorData::new(ErrorCode(7), "no \"luck\"")
}

/// A panic that no hook hears of: a fuzzer takes any other for the end.
fn unwind() -> String {
    std::panic::resume_unwind(Box::new("on purpose"))
}

/// Tool that asks for input, and appends the answers to its text.
fn ask(given: Given, context: &Context) -> Result<String, Interrupt> {
    let form = || ElicitRequestFormParams::new("who?", RequestedSchema::new());
    let mut text = given.text;
    for key in ["a", "b"].into_iter().take(usize::from(given.n % 2) + 1) {
        let answer = context.elicit(key, form())?;
        text += if answer.action == ElicitAction::Accept { "+" } else { "-" };
    }
    Ok(text)
}

fn roots(given: &Given, context: &Context) -> Result<String, Interrupt> {
    let roots = context.list_roots("r")?.roots.len();
    Ok(format!("{}{roots}", given.text))
}

/// Sets the application's answers to a form. It accepts, declines, refuses, panics at once or
/// later, is silent, or is slow and takes several polls.
pub(super) fn answers(client: &Client, gives: u8) {
    let accepts = |accepts: bool| {
        let action = if accepts { ElicitAction::Accept } else { ElicitAction::Decline };
        ElicitResult::new(action)
    };
    match gives % 8 {
        0 | 1 => client.on_form(move |_| ready(accepts(true))),
        2 => client.on_form(move |_| ready(accepts(false))),
        3 => client.on_form(|_| ready(Err::<ElicitResult, _>(failure()))),
        4 => client.on_form(|_| async {
            unwind();
            ElicitResult::new(ElicitAction::Cancel)
        }),
        5 => client.on_form(|_| {
            unwind();
            ready(ElicitResult::new(ElicitAction::Cancel))
        }),
        6 => client.on_form(|_| pending::<ElicitResult>()),
        // It supports no forms.
        _ => {}
    }
}

/// Number of servers that were started, and of those that have not closed.
#[derive(Default)]
pub(super) struct Servers {
    pub(super) open: AtomicUsize,
}

/// A service that says when it has closed.
pub(super) struct Watched {
    service: Service,
    servers: Arc<Servers>,
    counted: bool,
}

impl Watched {
    pub(super) fn new(service: Service, servers: &Arc<Servers>) -> Self {
        servers.open.fetch_add(1, Ordering::Relaxed);
        Self { service, servers: servers.clone(), counted: true }
    }

    fn look(&mut self) {
        if self.service.is_closed() && std::mem::take(&mut self.counted) {
            self.servers.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Watched {
    /// The pair starts another one in its place.
    fn drop(&mut self) {
        if std::mem::take(&mut self.counted) {
            self.servers.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drive for Watched {
    fn turn(&mut self, now: Instant, waker: &Waker) {
        self.service.turn(now, waker);
        self.look();
    }

    fn handle_written(&mut self, count: usize) {
        self.service.handle_written(count);
        self.look();
    }

    crate::pass_to_service! {
        handle_bytes handle_eof handle_stop output handle_write_closed poll_timeout wants_read
        is_write_blocked is_closed flush_deadline is_aborted
    }
}

/// A future of an application's.
pub(super) type Waiting<T> = Pin<Box<dyn Future<Output = T>>>;
