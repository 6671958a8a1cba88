//! A server in a thread, whose handlers report and wait for the suite.

use std::collections::VecDeque;
use std::error::Error;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_proto::UsageError;
use mcp_proto::http::Config;
use mcp_proto::server::{List, Progress};
use mcp_proto::types::Implementation;
use mcp_service::{Catalog, Context, Handler, Registry};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Check, Client, Serve};

/// Nothing takes as long as this.
pub(super) const TOO_LONG: Duration = Duration::from_secs(20);

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Nothing {}

/// A server in a thread, and what its handlers report.
#[derive(Debug)]
pub struct Server {
    /// Address at which it listens.
    pub address: SocketAddr,
    /// Catalog that it offers.
    pub catalog: Catalog,
    /// Opens for the tool `wait`.
    pub gate: Stop,
    /// Completes when the tool `wait` was cancelled.
    pub cancelled: Stop,
    stop: Stop,
    reports: Receiver<&'static str>,
    thread: JoinHandle<io::Result<()>>,
}

impl Server {
    /// Starts a server on a port of its own.
    pub fn start(serve: Serve, config: Config) -> Result<Self, Box<dyn Error>> {
        Self::start_at(TcpListener::bind("127.0.0.1:0")?, serve, config)
    }

    /// Starts a server at a listener.
    pub fn start_at(
        listener: TcpListener,
        serve: Serve,
        config: Config,
    ) -> Result<Self, Box<dyn Error>> {
        let (gate, cancelled, (told, reports)) = (Stop::default(), Stop::default(), channel());
        let registry = registry(&gate, &cancelled, &told)?;
        Self::run(listener, registry, serve, config, (gate, cancelled, reports))
    }

    fn run(
        listener: TcpListener,
        registry: Registry<Handler>,
        serve: Serve,
        config: Config,
        (gate, cancelled, reports): (Stop, Stop, Receiver<&'static str>),
    ) -> Result<Self, Box<dyn Error>> {
        let (address, catalog) = (listener.local_addr()?, Catalog::from(registry));
        let (stop, offered) = (Stop::default(), catalog.clone());
        let stopped = stop.clone();
        let thread = thread::spawn(move || serve(listener, offered, config, stopped));
        Ok(Self { address, catalog, gate, cancelled, stop, reports, thread })
    }

    /// Starts a server of something else, on a port of its own.
    pub fn of(
        registry: Registry<Handler>,
        serve: Serve,
        config: Config,
    ) -> Result<Self, Box<dyn Error>> {
        let nothing = (Stop::default(), Stop::default(), channel().1);
        Self::run(TcpListener::bind("127.0.0.1:0")?, registry, serve, config, nothing)
    }

    /// A client on a connection of its own.
    pub fn connect(&self) -> io::Result<Client> {
        Client::connect(self.address)
    }

    /// The next thing that a handler reports.
    pub fn reported(&self, expected: &str) -> Check {
        let report = self.reports.recv_timeout(TOO_LONG)?;
        if report == expected { Ok(()) } else { Err(format!("not {expected}: {report}").into()) }
    }

    /// Tells it to stop.
    pub fn stop(&self) {
        self.stop.now();
    }

    /// Tells it to stop and waits until all is over.
    pub fn end(self) -> Check {
        self.stop();
        Ok(self.thread.join().map_err(|_| "the server panicked")??)
    }
}

/// The tools `echo`, and `wait`, which reports what becomes of it.
fn registry(
    gate: &Stop,
    cancelled: &Stop,
    told: &Sender<&'static str>,
) -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("suite", "1"));
    registry.list_changed(List::Tools);
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
    let (gate, was_cancelled) = (gate.clone(), cancelled.clone());
    let told = Arc::new(Mutex::new(told.clone()));
    registry.tool("wait", "Waits", move |_: Nothing, context: Context| {
        let (gate, was_cancelled, told) = (gate.clone(), was_cancelled.clone(), told.clone());
        let report = move |what| {
            // Whether anybody listens is of no interest to a handler.
            let _ = told.lock().unwrap_or_else(PoisonError::into_inner).send(what);
        };
        async move {
            report("started");
            context.progress(Progress::new(1.0));
            let (mut gate, mut cancelled) = (pin!(gate), pin!(context.cancelled()));
            std::future::poll_fn(|task| {
                if gate.as_mut().poll(task).is_ready() {
                    report("opened");
                    return Poll::Ready(());
                }
                let cancelled = cancelled.as_mut().poll(task);
                cancelled.map(|()| {
                    report("cancelled");
                    was_cancelled.now();
                })
            })
            .await;
            "waited"
        }
    })?;
    Ok(registry)
}

/// A future that completes when it is told to; so do all its clones.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Mutex<Stopping>>);

#[derive(Debug, Default)]
struct Stopping {
    stopped: bool,
    wakers: VecDeque<Waker>,
}

impl Stop {
    /// Completes.
    pub fn now(&self) {
        let wakers = {
            let mut stopping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            stopping.stopped = true;
            std::mem::take(&mut stopping.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Future for Stop {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Task<'_>) -> Poll<()> {
        let mut stopping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stopping.stopped {
            return Poll::Ready(());
        }
        if !stopping.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            stopping.wakers.push_back(context.waker().clone());
        }
        Poll::Pending
    }
}
