//! Links: a client of ours, what it does all the time, and what must hold.
//!
//! In: a server behind a proxy, or a program; the phase, which is a storm or a calm. Out: calls,
//! whose ends go into the report. In a calm `check` says within a minute whether everything works
//! again.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mcp_tokio::types::{ResourceContents, SubscriptionFilter};
use mcp_tokio::{Call, CallError, CallToolResult, Change, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::COUNTER;
use crate::connector::{Connector, Habit, Reach, is_closed};
use crate::report::Check;
use crate::server::Restart;
use crate::view::View;

/// Longest time for a response. A busy machine takes seconds for what else takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Longest time for a call, in any case.
const TOTAL: Duration = Duration::from_secs(30);

/// Tolerance for seeing its end: the machine may be busy.
const SLACK: Duration = Duration::from_secs(15);

/// Longest time for a subscription: its acknowledgement has 60 s.
const SUBSCRIBE: Duration = Duration::from_secs(70);

/// After the faults everything works again within this time, which is also the ceiling of the
/// back-off.
const RECOVERY: Duration = Duration::from_secs(60);

/// Number of callers on a link.
const CALLERS: u64 = 3;

/// Phase of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Faults happen.
    Storm,
    /// No faults happen, since then.
    Calm(Instant),
    /// The run is over.
    Over,
}

/// A client, and what it does.
pub struct Link {
    /// The client.
    pub connector: Connector,
    phase: watch::Receiver<Phase>,
    /// The keys that were used.
    keys: AtomicU64,
    view: View,
    /// True if everything works in this calm.
    is_steady: AtomicBool,
}

impl Link {
    /// A link that does nothing yet.
    pub fn new(connector: Connector, phase: watch::Receiver<Phase>) -> Arc<Self> {
        let mut checks = vec![Check::Deadline, Check::Once, Check::Recovers];
        if connector.habit == Habit::Stays {
            checks.push(Check::Changes);
            if matches!(connector.reach, Reach::Http(..)) {
                checks.push(Check::Survives);
            }
        }
        let Connector { report, name, .. } = &connector;
        checks.into_iter().for_each(|check| report.expect(name, check));
        Arc::new(Self {
            connector,
            phase,
            keys: AtomicU64::new(0),
            view: View::default(),
            is_steady: AtomicBool::new(false),
        })
    }

    /// Begins to call and to subscribe, until the run is over.
    pub fn begin(self: &Arc<Self>) {
        for _ in 0..CALLERS {
            let link = self.clone();
            tokio::spawn(async move { link.until_over(link.call_on()).await });
        }
        let link = self.clone();
        match self.connector.habit {
            Habit::Stays => {
                tokio::spawn(async move { link.until_over(link.listen_on()).await });
            }
            Habit::ComesBack => {
                tokio::spawn(async move { link.until_over(link.come_back()).await });
            }
        }
    }

    /// In a calm: waits until everything works, or reports what does not after a minute.
    pub async fn check(&self) {
        let Phase::Calm(since) = self.phase() else { return };
        let deadline = since + RECOVERY;
        while let Err(error) = self.try_all().await {
            if Instant::now() > deadline {
                return self.connector.fail(Check::Recovers, &error);
            }
            sleep(Duration::from_millis(250)).await;
        }
        self.connector.report.recovered(&self.connector.name, since.elapsed());
        self.connector.note(&format!("-- all works after {:?}", since.elapsed()));
        self.is_steady.store(true, Ordering::SeqCst);
        if self.connector.habit == Habit::Stays
            && self.connector.features().await.input
            && let Err(error) = self.check_changes(deadline).await
        {
            self.connector.fail(Check::Changes, &error);
        }
    }

    /// A storm begins.
    pub fn end_calm(&self) {
        self.is_steady.store(false, Ordering::SeqCst);
    }

    async fn until_over(&self, work: impl Future<Output = ()>) {
        let mut phase = self.phase.clone();
        tokio::select! {
            () = work => {}
            _ = phase.wait_for(|phase| *phase == Phase::Over) => {}
        }
    }

    // What it does all the time.

    async fn call_on(&self) {
        loop {
            let (what, pause, is_stormy) = self
                .connector
                .random(|random| (random.below(100), random.millis(20, 250), random.chance(25)));
            // This waits for a client: a storm may begin or end meanwhile.
            let features = self.connector.features().await;
            let is_steady = self.is_steady.load(Ordering::SeqCst);
            let phase = self.phase();
            let outcome = match what {
                0..55 => self.echo(is_stormy && phase == Phase::Storm).await,
                55..70 => self.progress(features.progress && is_steady).await,
                70..80 if features.input => self.ask().await,
                70..90 => self.cancel().await,
                _ => self.list().await,
            };
            // What began and ended in a calm, after everything worked, must have worked.
            if let Err(error) = outcome
                && is_steady
                && self.phase() == phase
            {
                self.connector.fail(Check::Recovers, &format!("after everything worked: {error}"));
            }
            sleep(pause).await;
        }
    }

    async fn come_back(&self) {
        loop {
            sleep(self.connector.random(|random| random.millis(1500, 5000))).await;
            if self.phase() != Phase::Storm {
                continue;
            }
            self.connector.close().await;
        }
    }

    async fn listen_on(&self) {
        loop {
            let client = self.connector.client().await;
            let filter = SubscriptionFilter::new().resource(COUNTER).tools_list_changed();
            self.connector.note("subscribe");
            match timeout(SUBSCRIBE, client.subscribe(filter)).await {
                Err(_) => {
                    self.connector.fail(Check::Deadline, "a subscription is not acknowledged")
                }
                Ok(Err(error)) => self.connector.note(&format!("subscribe: {error}")),
                Ok(Ok(mut subscription)) => {
                    let honoured = subscription.honoured().resource_subscriptions.len();
                    self.connector.note(&format!("subscribed to {honoured} of 1"));
                    self.read(&client).await;
                    // With nothing to come of it, it is worth to ask again.
                    while honoured > 0
                        && let Some(change) = subscription.changed().await
                    {
                        self.connector.note(&format!("changed: {change:?}"));
                        if matches!(change, Change::ResourceUpdated(_)) {
                            self.view.told();
                            self.read(&client).await;
                        }
                    }
                    self.connector.note(&format!("subscription: {:?}", subscription.ended()));
                }
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// Reads the counter, as often as it takes.
    async fn read(&self, client: &Client) {
        loop {
            match self.counter(client).await {
                Ok(version) => {
                    self.connector.note(&format!("view: {version}"));
                    self.view.read(version);
                    return;
                }
                Err(_) if is_closed(client).await => return,
                Err(_) => sleep(Duration::from_millis(200)).await,
            }
        }
    }

    // What must work.

    async fn try_all(&self) -> Result<(), String> {
        self.echo(false).await?;
        let features = self.connector.features().await;
        self.progress(features.progress).await?;
        if features.input {
            self.ask().await?;
        }
        Ok(())
    }

    /// Each change is told.
    async fn check_changes(&self, deadline: Instant) -> Result<(), String> {
        let client = self.connector.client().await;
        for round in 0..4 {
            // The first one shows that the subscription is there again.
            let until = if round == 0 { deadline } else { Instant::now() + RECOVERY };
            match &self.connector.reach {
                Reach::Http(_, server) if server.restart != Restart::Others => {
                    let version = if round == 0 { server.version() } else { server.bump().await };
                    self.connector.note(&format!("-- version {version}"));
                    if !self.view.wait(until, |view| view.version() >= version).await {
                        let known = self.view.version();
                        return Err(format!("knows version {known}, and it is {version}"));
                    }
                }
                _ => self.touch(&client, until, round == 0).await?,
            }
        }
        Ok(())
    }

    async fn touch(&self, client: &Client, until: Instant, repeats: bool) -> Result<(), String> {
        let before = self.view.changes();
        loop {
            let call = client.call_tool("touch", &json!({}));
            self.finish("touch", call.timeout(TIMEOUT).max_total(TOTAL)).await?;
            let wait = if repeats { Instant::now() + Duration::from_secs(2) } else { until };
            if self.view.wait(wait, |view| view.changes() > before).await {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err("a touch was not told".into());
            }
        }
    }

    // Calls.

    async fn echo(&self, is_stormy: bool) -> Result<(), String> {
        let client = self.connector.client().await;
        let key = format!("{}.{}", self.slug(), self.keys.fetch_add(1, Ordering::SeqCst));
        let mut arguments = json!({ "message": key });
        match &self.connector.reach {
            Reach::Http(_, server) if server.restart != Restart::Others && is_stormy => {
                arguments["delay"] = self.connector.random(|random| random.below(400)).into();
            }
            Reach::Stdio(_) if is_stormy => {
                // Half of the times the process ends, half of those after the execution.
                match self.connector.random(|random| random.below(4)) {
                    0 => arguments["crash"] = "before".into(),
                    1 => arguments["crash"] = "after".into(),
                    _ => {}
                }
            }
            _ => {}
        }
        let call = client.call_tool("echo", &arguments);
        let what = format!("echo {arguments}");
        let result = self.finish(&what, call.timeout(TIMEOUT).max_total(TOTAL)).await?;
        expect(&result, &key)
    }

    async fn progress(&self, is_expected: bool) -> Result<(), String> {
        let client = self.connector.client().await;
        let seen = Arc::new(AtomicU64::new(0));
        let count = seen.clone();
        let call = client.call_tool("progress", &json!({})).on_progress(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let result = self.finish("progress", call.timeout(TIMEOUT).max_total(TOTAL)).await?;
        expect(&result, "done")?;
        if is_expected && seen.load(Ordering::SeqCst) == 0 {
            return Err("there was no progress".into());
        }
        Ok(())
    }

    async fn ask(&self) -> Result<(), String> {
        let client = self.connector.client().await;
        let call = client.call_tool("ask", &json!({}));
        let result = self.finish("ask", call.timeout(TIMEOUT).max_total(TOTAL)).await?;
        expect(&result, "hello Ada")
    }

    async fn list(&self) -> Result<(), String> {
        let client = self.connector.client().await;
        let call = client.list_tools().timeout(TIMEOUT).max_total(TOTAL);
        let tools = self.finish("list", call).await?.tools;
        if tools.iter().any(|tool| tool.name == "echo") { Ok(()) } else { Err("no tools".into()) }
    }

    /// A call that is dropped before it has ended.
    async fn cancel(&self) -> Result<(), String> {
        let client = self.connector.client().await;
        let call = client.call_tool("wait", &json!({})).timeout(TIMEOUT).max_total(TOTAL);
        let patience = self.connector.random(|random| random.millis(5, 400));
        self.connector.report.called(&self.connector.name);
        match timeout(patience, call).await {
            Err(_) => {
                self.connector.report.failed("cancelled here".into());
                Ok(())
            }
            Ok(Ok(_)) => Err("the tool has not waited".into()),
            Ok(Err(error)) => {
                self.connector.report.failed(kind(&error));
                Err(format!("wait: {error}"))
            }
        }
    }

    async fn counter(&self, client: &Client) -> Result<u64, String> {
        let call = client.read_resource(COUNTER).timeout(TIMEOUT).max_total(TOTAL);
        let result = self.finish("read", call).await?;
        match result.contents.first() {
            Some(ResourceContents::Text(text)) => {
                text.text.parse().map_err(|_| format!("no number: {}", text.text))
            }
            other => Err(format!("no text: {other:?}")),
        }
    }

    /// Awaits a call, and checks that it ends.
    async fn finish<R>(&self, what: &str, call: Call<R>) -> Result<R, String> {
        self.connector.report.called(&self.connector.name);
        self.connector.note(what);
        let start = Instant::now();
        match timeout(TOTAL + SLACK, call).await {
            Ok(Ok(result)) => {
                self.connector.report.completed(&self.connector.name);
                Ok(result)
            }
            Ok(Err(error)) => {
                self.connector.note(&format!("{what}: {error} (after {:?})", start.elapsed()));
                self.connector.report.failed(kind(&error));
                Err(format!("{what}: {error}"))
            }
            Err(_) => {
                let text = format!("{what}: no end after {:?}", start.elapsed());
                self.connector.report.failed("no end".into());
                self.connector.fail(Check::Deadline, &text);
                Err(text)
            }
        }
    }

    /// The name of the link in its keys.
    pub fn slug(&self) -> String {
        self.connector.name.replace([' ', ','], "-")
    }

    fn phase(&self) -> Phase {
        *self.phase.borrow()
    }
}

fn expect(result: &CallToolResult, text: &str) -> Result<(), String> {
    match result.content.first().and_then(|block| block.as_text()) {
        Some(is) if is == text && !result.is_error => Ok(()),
        other => Err(format!("the result is {other:?}, should be {text:?}")),
    }
}

/// The kind of an error, for the table: without what differs from call to call.
fn kind(error: &CallError) -> String {
    match error {
        CallError::Error { error, status } => {
            let status = status.map_or(String::new(), |status| format!(", status {status}"));
            format!("error {}{status}: {}", error.code.0, error.message)
        }
        CallError::Http { status } => format!("status {status}"),
        CallError::Connection(_) => "connection".into(),
        CallError::Protocol(_) => "protocol".into(),
        other => format!("{other}"),
    }
}
