//! Clients made with other SDKs, at a server of ours.
//!
//! In: the command of a client, which takes the same round of calls again and again, whatever
//! happens; `tests/interop/*/soak.*` are those. Out: its calls in the report. In a calm `check`
//! says within a minute whether it takes whole rounds again, in both eras.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::proxy::Proxy;
use crate::report::{Check, Report};
use crate::server::Server;
use crate::trace::Trace;

/// After the faults everything works again within this time, and that of a round that had begun.
const RECOVERY: Duration = Duration::from_secs(60 + 20);

/// A client, and the server that it reaches.
pub struct Other {
    /// Its name, for people.
    pub name: String,
    /// Proxy of its connections.
    pub proxy: Proxy,
    /// Server that it reaches.
    pub server: Arc<Server>,
    /// Trace of events.
    pub trace: Trace,
    report: Arc<Report>,
    rounds: Arc<Rounds>,
    /// It ends with this.
    _child: Child,
}

/// The rounds that were taken.
#[derive(Default)]
struct Rounds {
    legacy: AtomicU64,
    modern: AtomicU64,
}

impl Other {
    /// Starts a client.
    pub fn start(
        name: &str,
        command: &[String],
        (proxy, server): (Proxy, Arc<Server>),
        (report, trace): (Arc<Report>, Trace),
    ) -> std::io::Result<Self> {
        report.expect(name, Check::Once);
        report.expect(name, Check::Recovers);
        report.connected(name);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .args([&slug(name), "--", &proxy.url])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let rounds = Arc::new(Rounds::default());
        if let Some(stdout) = child.stdout.take() {
            let (report, rounds) = (report.clone(), rounds.clone());
            let (name, trace) = (name.to_owned(), trace.clone());
            tokio::spawn(async move {
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    trace.note(&line);
                    match &*line {
                        "called" => report.called(&name),
                        "completed" => report.completed(&name),
                        "round legacy" => drop(rounds.legacy.fetch_add(1, Ordering::SeqCst)),
                        "round modern" => drop(rounds.modern.fetch_add(1, Ordering::SeqCst)),
                        _ => report.failed(format!("{name}: {line}")),
                    }
                }
                trace.note("-- the client has ended");
            });
        }
        let name = name.to_owned();
        Ok(Self { name, proxy, server, trace, report, rounds, _child: child })
    }

    /// In a calm: waits for whole rounds, or reports that there are none.
    pub async fn check(&self) {
        let since = Instant::now();
        let (legacy, modern) = self.rounds.get();
        loop {
            let (taken_legacy, taken_modern) = self.rounds.get();
            // Those that were taken at the beginning may have begun before.
            if taken_legacy > legacy && taken_modern > modern {
                self.report.recovered(&self.name, since.elapsed());
                return;
            }
            if since.elapsed() > RECOVERY {
                let text = format!(
                    "{} rounds of the legacy era, {} of the modern one",
                    taken_legacy - legacy,
                    taken_modern - modern
                );
                return self.report.fail(&self.name, Check::Recovers, &text, &self.trace);
            }
            sleep(Duration::from_millis(250)).await;
        }
    }

    /// The name of the client in its keys.
    pub fn slug(&self) -> String {
        slug(&self.name)
    }
}

impl Rounds {
    fn get(&self) -> (u64, u64) {
        (self.legacy.load(Ordering::SeqCst), self.modern.load(Ordering::SeqCst))
    }
}

fn slug(name: &str) -> String {
    name.replace(' ', "-")
}
