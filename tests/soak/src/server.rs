//! Servers as child processes that are restarted, in another mode or the same.
//!
//! In: the modes that a server has. Out: where it is at the moment, as its proxies need it, and the
//! version of its counter, which goes on while the server is down.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};

use crate::proxy::Upstream;
use crate::random::Random;
use crate::trace::Trace;

/// Longest time for the start of a server. Some are interpreted, and the machine may be busy.
const START: Duration = Duration::from_secs(180);

/// Eras that a server serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Era {
    Dual,
    Legacy,
    Modern,
}

/// Way in which a server serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serving {
    Sessions,
    Stateless,
    /// Answers come in one piece.
    Json,
}

/// One way to be a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mode {
    pub era: Era,
    pub serving: Serving,
    /// Command that starts it.
    pub command: Vec<String>,
}

/// Way in which a server is restarted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// The process goes on and listens anew; a server of ours alone.
    Within,
    /// The process is killed, and another started. A server of ours is told the version.
    Ours,
    /// The process is killed, and another started.
    Others,
}

/// A server.
pub struct Server {
    /// Its name, for people.
    pub name: String,
    /// Way in which it is restarted.
    pub restart: Restart,
    /// Its present address.
    pub upstream: Upstream,
    modes: Vec<Mode>,
    /// Those of the modes in which its clients can work.
    calm: Vec<Mode>,
    echoes: PathBuf,
    version: AtomicU64,
    traces: SyncMutex<Vec<Trace>>,
    running: Mutex<Running>,
}

struct Running {
    random: Random,
    mode: Mode,
    process: Option<Process>,
    restarts: u64,
}

struct Process {
    child: Child,
    stdin: ChildStdin,
    /// Number of times that it has reported to be listening.
    listening: watch::Receiver<u64>,
}

impl Server {
    /// A server that is yet to be started. The first mode is the one that it begins with.
    pub fn new(
        name: &str,
        restart: Restart,
        modes: Vec<Mode>,
        calm: impl Fn(&Mode) -> bool,
        random: Random,
        echoes: PathBuf,
    ) -> Self {
        let calm = modes.iter().filter(|mode| calm(mode)).cloned().collect();
        let mode = modes[0].clone();
        Self {
            name: name.to_owned(),
            restart,
            upstream: Upstream::default(),
            modes,
            calm,
            echoes,
            version: AtomicU64::new(0),
            traces: SyncMutex::default(),
            running: Mutex::new(Running { random, mode, process: None, restarts: 0 }),
        }
    }

    /// Has what happens to the server noted in a trace.
    pub fn tell(&self, trace: Trace) {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
    }

    /// Starts it.
    pub async fn start(&self) -> io::Result<()> {
        let mut running = self.running.lock().await;
        self.run(&mut running).await
    }

    /// Restarts it in any of its modes, maybe after a while.
    pub async fn disturb(&self) -> io::Result<()> {
        let mut running = self.running.lock().await;
        let mode = running.random.pick(&self.modes).clone();
        // Half of the restarts change nothing but that sessions are lost.
        let mode = if running.random.chance(50) { running.mode.clone() } else { mode };
        let down = if running.random.chance(50) {
            Duration::ZERO
        } else {
            running.random.millis(100, 3000)
        };
        self.change(&mut running, mode, down).await
    }

    /// Sees to it that it serves in a mode in which its clients can work.
    pub async fn calm_down(&self) -> io::Result<Mode> {
        let mut running = self.running.lock().await;
        if !self.calm.contains(&running.mode) {
            let mode = running.random.pick(&self.calm).clone();
            self.change(&mut running, mode, Duration::ZERO).await?;
        }
        Ok(running.mode.clone())
    }

    /// Present mode.
    pub async fn mode(&self) -> Mode {
        self.running.lock().await.mode.clone()
    }

    /// Number of restarts.
    pub async fn restarts(&self) -> u64 {
        self.running.lock().await.restarts
    }

    /// The id of its process.
    pub async fn id(&self) -> Option<u32> {
        self.running.lock().await.process.as_ref().and_then(|process| process.child.id())
    }

    /// The version of its counter.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Changes the counter, whether it runs or not.
    pub async fn bump(&self) -> u64 {
        let mut running = self.running.lock().await;
        let version = self.version.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(process) = &mut running.process {
            let line = format!("version {version}\n");
            // If it has ended, the next one is told.
            drop(process.stdin.write_all(line.as_bytes()).await);
        }
        version
    }

    async fn change(&self, running: &mut Running, mode: Mode, down: Duration) -> io::Result<()> {
        let (era, serving) = (mode.era, mode.serving);
        self.note(&format!("-- server: restarts, {era:?} {serving:?}, down for {down:?}"));
        running.mode = mode;
        running.restarts += 1;
        if self.restart == Restart::Within
            && let Some(process) = &mut running.process
        {
            // The one before is closed: it is down if the proxy says so.
            self.upstream.set(None);
            sleep(down).await;
            process.listening.mark_unchanged();
            let line = format!("mode {era:?} {serving:?}\n").to_lowercase();
            process.stdin.write_all(line.as_bytes()).await?;
            return listens(process).await;
        }
        self.upstream.set(None);
        if let Some(mut process) = running.process.take() {
            process.child.kill().await?;
        }
        sleep(down).await;
        self.run(running).await
    }

    async fn run(&self, running: &mut Running) -> io::Result<()> {
        let mut words = running.mode.command.clone();
        if self.restart != Restart::Others {
            words.push(self.version().to_string());
        }
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env("PORT", "0")
            .env("ECHOES", &self.echoes)
            // As the official example does, and many that were copied from it.
            .env("SESSION_LOST", "400")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdin), Some(stderr)) = (child.stdin.take(), child.stderr.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (listens_now, listening) = watch::channel(0);
        let upstream = self.upstream.clone();
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let url = line.strip_prefix("listening on http://");
                let address = url.and_then(|url| url.split('/').next()?.parse().ok());
                if address.is_some() {
                    upstream.set(address);
                    listens_now.send_modify(|count| *count += 1);
                }
                traces.iter().for_each(|trace| trace.note(&format!("-- server: {line}")));
            }
        });
        let process = running.process.insert(Process { child, stdin, listening });
        listens(process).await
    }

    fn note(&self, event: &str) {
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.iter().for_each(|trace| trace.note(event));
    }
}

async fn listens(process: &mut Process) -> io::Result<()> {
    match timeout(START, process.listening.changed()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(io::Error::other("a server has ended before it listened")),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// The modes of a server of ours.
pub fn ours(program: &str, eras: &[Era]) -> Vec<Mode> {
    let mut modes = Vec::new();
    for &era in eras {
        for serving in [Serving::Sessions, Serving::Stateless] {
            let words = format!("serve {era:?} {serving:?}").to_lowercase();
            let words = words.split(' ').map(str::to_owned);
            let command = std::iter::once(program.to_owned()).chain(words).collect();
            modes.push(Mode { era, serving, command });
        }
    }
    modes
}

/// A mode as `tests/interop/servers/install --http` prints it: the name of the server, and the
/// mode.
pub fn installed(line: &str) -> Option<(&str, Mode)> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let era = match words.next()? {
        "dual" => Era::Dual,
        "legacy" => Era::Legacy,
        _ => return None,
    };
    let serving = match words.next()? {
        "sessions" => Serving::Sessions,
        "stateless" => Serving::Stateless,
        "json" => Serving::Json,
        _ => return None,
    };
    Some((name, Mode { era, serving, command: words.map(str::to_owned).collect() }))
}
