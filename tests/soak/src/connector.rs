//! The client of a link: made, connected, and made again once it has ended.
//!
//! In: what it reaches, and the client's habits. Out: a client that is connected, as soon as there
//! is one; a failure if one that was connected has ended, which is for an HTTP client only to do
//! before.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use mcp_tokio::types::{ElicitAction, ElicitResult};
use mcp_tokio::{
    Client, ClientConfig, Command, Era, ErrorData, HttpClientConfig, Implementation, Negotiation,
    Stderr, Verdict, connect_command, connect_http,
};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use crate::proxy::Proxy;
use crate::random::Random;
use crate::report::{Check, Report};
use crate::server::{Mode, Server, Serving};
use crate::trace::Trace;

/// Longest time for connecting, or for failing to: each step has 60 s.
const CONNECT: Duration = Duration::from_secs(70);

/// Longest time for closing a client: the adapter says 2 s, and a program may be slow to end.
const CLOSE: Duration = Duration::from_secs(30);

/// Server of a client.
pub enum Reach {
    /// A server over HTTP.
    Http(Proxy, Arc<Server>),
    /// A program that this one is, too. It crashes when it is told to.
    Stdio(String),
}

/// A client's habits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    /// Stays connected.
    Stays,
    /// Connects again and again, with the verdict of the time before, which may be wrong by then.
    ComesBack,
}

/// A client, and what it reaches.
pub struct Connector {
    /// The name of the link, for people.
    pub name: String,
    /// Server that the client reaches.
    pub reach: Reach,
    /// The client's habits.
    pub habit: Habit,
    /// Trace of events.
    pub trace: Trace,
    /// Counts and failures.
    pub report: Arc<Report>,
    negotiation: Negotiation,
    echoes: PathBuf,
    client: Mutex<Option<Client>>,
    verdict: SyncMutex<Option<Verdict>>,
    random: SyncMutex<Random>,
}

/// Features that can work at the moment.
pub struct Features {
    /// Progress.
    pub progress: bool,
    /// Questions and changes.
    pub input: bool,
}

impl Connector {
    /// A client that is yet to be connected.
    pub fn new(
        name: &str,
        reach: Reach,
        (negotiation, habit): (Negotiation, Habit),
        (report, trace): (Arc<Report>, Trace),
        (random, echoes): (Random, PathBuf),
    ) -> Self {
        Self {
            name: name.to_owned(),
            reach,
            habit,
            trace,
            report,
            negotiation,
            echoes,
            client: Mutex::default(),
            verdict: SyncMutex::default(),
            random: SyncMutex::new(random),
        }
    }

    /// The client, connected.
    pub async fn client(&self) -> Client {
        let mut client = self.client.lock().await;
        if let Some(known) = &*client {
            if !is_closed(known).await {
                return known.clone();
            }
            self.note("-- the client has ended");
            if self.habit == Habit::Stays && matches!(self.reach, Reach::Http(..)) {
                self.fail(Check::Survives, "a client that was connected has ended");
            }
        }
        loop {
            let made = self.make();
            self.report.connected(&self.name);
            match timeout(CONNECT, self.connect(&made)).await {
                Ok(Ok(())) => {
                    self.note("connected");
                    self.learn(&made);
                    return client.insert(made).clone();
                }
                Ok(Err(error)) => self.note(&format!("not connected: {error}")),
                Err(_) => self.fail(Check::Deadline, "connecting has not ended"),
            }
            sleep(Duration::from_millis(300)).await;
        }
    }

    fn make(&self) -> Client {
        let mut config = ClientConfig::new(Implementation::new("soak", "1.0.0"));
        config = config.negotiation(self.negotiation);
        if self.habit == Habit::ComesBack {
            let verdict = self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
            config = config.verdict(verdict.clone());
        }
        let client = Client::new(config);
        client.on_form(|form| async move {
            if form.message != "What is your name?" {
                return Ok(ElicitResult::new(ElicitAction::Decline));
            }
            form.accept(&json!({ "name": "Ada" })).map_err(ErrorData::from)
        });
        let trace = self.trace.clone();
        client.on_fault(move |fault| trace.note(&format!("fault: {fault}")));
        let trace = self.trace.clone();
        client.on_wire(move |line| {
            if tells(line) {
                trace.note(&format!("     {line}"));
            }
        });
        client
    }

    async fn connect(&self, client: &Client) -> io::Result<()> {
        match &self.reach {
            Reach::Http(proxy, _) => {
                let config = HttpClientConfig::parse(&proxy.url).map_err(io::Error::other)?;
                connect_http(client, config).await?;
            }
            Reach::Stdio(program) => {
                let eras = ["dual", "dual", "modern", "legacy"];
                let era: &str = self.random(|random| *random.pick(&eras));
                let trace = self.trace.clone();
                let command = Command::new(program)
                    .args(["stdio", era])
                    .env("ECHOES", &self.echoes)
                    .stderr(Stderr::lines(move |line| trace.note(&format!("-- server: {line}"))));
                self.note(&format!("-- started, {era}"));
                connect_command(client, command).await?;
            }
        }
        Ok(())
    }

    /// Features that can work with the present server.
    pub async fn features(&self) -> Features {
        let version = self.client().await.server().map(|server| server.version);
        let is_modern = version.is_some_and(|version| version.era() == Era::Modern);
        let Reach::Http(_, server) = &self.reach else {
            return Features { progress: true, input: true };
        };
        let Mode { serving, .. } = server.mode().await;
        Features {
            progress: serving == Serving::Sessions || is_modern && serving == Serving::Stateless,
            input: serving == Serving::Sessions || is_modern,
        }
    }

    /// Closes the client, if there is one; the next one knows what it has found out.
    pub async fn close(&self) {
        let Some(client) = self.client.lock().await.take() else { return };
        self.learn(&client);
        self.note("-- the client closes");
        if timeout(CLOSE, client.close()).await.is_err() {
            self.fail(Check::Deadline, "Client::close has not ended");
        }
    }

    /// Takes note of an event.
    pub fn note(&self, event: &str) {
        self.trace.note(event);
    }

    /// A check has failed.
    pub fn fail(&self, check: Check, text: &str) {
        self.report.fail(&self.name, check, text, &self.trace);
    }

    /// Draws from the numbers of the link.
    pub fn random<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn learn(&self, client: &Client) {
        if let Some(verdict) = client.verdict() {
            self.note(&format!("verdict: {verdict:?}"));
            *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
        }
    }
}

/// Returns whether a line of the wire says more than the fields of a head, which are mostly the
/// same.
fn tells(line: &str) -> bool {
    let said = line.split_once(' ').map_or(line, |(_, said)| said);
    let first = said.split(' ').next().unwrap_or_default();
    ["POST", "GET", "DELETE"].contains(&first)
        || ["HTTP/", "{", "data:", "id:"].iter().any(|begin| said.starts_with(begin))
}

/// Returns whether a client will never be connected again.
pub async fn is_closed(client: &Client) -> bool {
    matches!(timeout(Duration::ZERO, client.connected()).await, Ok(Err(_)))
}
