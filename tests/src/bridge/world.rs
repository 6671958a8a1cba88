//! A runtime in virtual time: tasks, streams and sockets in memory, and a clock that goes on when
//! nothing else does.
//!
//! In: futures. Out: their outcome. Nothing here waits for real, and all is in one thread.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, pending};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use mcp_proto::{Bytes, Duration, Instant, http, server};
use mcp_service::runtime::{Child, Runtime, serve, serve_http};
use mcp_service::{
    BoxReader, BoxWriter, Catalog, Clock, Command, Duplex, Reader, Socket, TaskHost, Writer,
};

use super::counting;
use super::wire::{FaultKind, Wire};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The runtime. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct VirtualRuntime(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<VirtualState>,
}

#[derive(Default)]
struct VirtualState {
    now: Instant,
    spawned: Vec<Task>,
    /// The tasks that run, with their wakes.
    running: Vec<(Task, Arc<Flag>)>,
    timers: Vec<(Instant, Waker)>,
    listeners: BTreeMap<u16, Arc<Mutex<Backlog>>>,
    /// The wires of ports.
    wires: BTreeMap<u16, Wire>,
    /// The number of tasks that run.
    tasks: usize,
}

impl std::fmt::Debug for VirtualState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VirtualState").field("now", &self.now).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Backlog {
    waiting: VecDeque<Stream>,
    waker: Option<Waker>,
}

/// A listening socket.
#[derive(Debug)]
pub struct VirtualListener(Arc<Mutex<Backlog>>);

/// One end of a stream.
#[derive(Debug)]
pub struct Stream {
    from: Arc<Mutex<Pipe>>,
    to: Arc<Mutex<Pipe>>,
    /// The wire, whether this end has connected, and the clock of a slow wire.
    wire: Option<(Wire, bool, VirtualRuntime)>,
}

#[derive(Debug, Default)]
struct Pipe {
    bytes: VecDeque<Bytes>,
    is_closed: bool,
    waker: Option<Waker>,
    /// True if nothing arrives any more.
    is_silent: bool,
    /// The time that everything takes from now on.
    delay: Option<Duration>,
}

impl Pipe {
    fn push(&mut self, bytes: Bytes) {
        self.bytes.push_back(bytes);
        self.wake();
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The clock of a runtime.
#[derive(Debug)]
pub struct Timer(VirtualRuntime);

/// No program is ever started here.
#[derive(Debug)]
pub struct NoChild;

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Two ends of a stream.
pub fn stream() -> (Stream, Stream) {
    let (one, other) = <(Arc<Mutex<Pipe>>, Arc<Mutex<Pipe>>)>::default();
    let here = Stream { from: one.clone(), to: other.clone(), wire: None };
    (here, Stream { from: other, to: one, wire: None })
}

impl VirtualRuntime {
    /// A socket that listens at this port.
    pub fn listen(&self, port: u16) -> VirtualListener {
        let backlog = Arc::<Mutex<Backlog>>::default();
        lock(&self.0.state).listeners.insert(port, backlog.clone());
        VirtualListener(backlog)
    }

    /// Serves a catalog on a stream; returns the end of the client.
    pub fn serve(&self, catalog: impl Into<Catalog>, config: server::Config) -> Stream {
        let (here, there) = stream();
        let (runtime, catalog) = (self.clone(), catalog.into());
        self.spawn(async move { drop(serve(&runtime, catalog, config, there, pending()).await) });
        here
    }

    /// Serves a catalog over HTTP, at this port.
    pub fn serve_http(&self, port: u16, catalog: impl Into<Catalog>, config: http::Config) {
        let (runtime, listener, catalog) = (self.clone(), self.listen(port), catalog.into());
        self.spawn(async move { serve_http(&runtime, listener, catalog, config, pending()).await });
    }

    /// Runs the tasks of a catalog on this runtime.
    pub fn host_tasks(&self, catalog: &Catalog) {
        let (timers, spawns, calendar) = (self.clone(), self.clone(), self.timer());
        let ids = Mutex::new(counting());
        let host = TaskHost::new(
            move || timers.timer(),
            move |task| spawns.spawn(task),
            move || (ids.lock().unwrap_or_else(PoisonError::into_inner))(),
        );
        catalog.tasks().host(host.time_from(move || calendar.now().duration_since(Instant::ZERO)));
    }

    /// Two ends of a stream over a wire: that of the program that connects, and the other one.
    pub fn stream_over(&self, wire: &Wire) -> (Stream, Stream) {
        let (mut here, mut there) = stream();
        here.wire = Some((wire.clone(), true, self.clone()));
        there.wire = Some((wire.clone(), false, self.clone()));
        (here, there)
    }

    /// All connections to this port go over a wire from now on.
    pub fn connect_over(&self, port: u16, wire: &Wire) {
        lock(&self.0.state).wires.insert(port, wire.clone());
    }

    /// The number of tasks that have not ended, except the future of [`VirtualRuntime::run`].
    pub fn tasks(&self) -> usize {
        let state = lock(&self.0.state);
        state.tasks + state.spawned.len()
    }

    /// Completes when `duration` has passed.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + use<> {
        let mut timer = self.timer();
        let until = timer.now() + duration;
        std::future::poll_fn(move |context| timer.poll_timer(context, until))
    }

    /// Runs a future to its end, and tasks meanwhile. `None` if it never will end.
    pub fn run<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        loop {
            let is_woken = woken.0.swap(false, Ordering::Relaxed);
            if is_woken
                && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Some(output);
            }
            if !self.turn() && !is_woken && !self.advance() {
                return None;
            }
        }
    }

    /// Polls each woken task once; false if there is none.
    pub fn turn(&self) -> bool {
        let mut tasks = {
            let mut state = lock(&self.0.state);
            let spawned = std::mem::take(&mut state.spawned).into_iter();
            let mut tasks = std::mem::take(&mut state.running);
            tasks.extend(spawned.map(|task| (task, Arc::new(Flag(AtomicBool::new(true))))));
            tasks
        };
        let mut has_polled = false;
        tasks.retain_mut(|(task, woken)| {
            if !woken.0.swap(false, Ordering::Relaxed) {
                return true;
            }
            has_polled = true;
            let waker = Waker::from(woken.clone());
            task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        });
        let mut state = lock(&self.0.state);
        state.tasks = tasks.len();
        state.running = tasks;
        has_polled
    }

    /// Time passes until the next timer; false if there is none.
    pub fn advance(&self) -> bool {
        let next = lock(&self.0.state).timers.iter().map(|(at, _)| *at).min();
        let Some(next) = next else { return false };
        self.wake_at(|now| now.max(next));
        true
    }

    /// Time jumps, as when all programs were suspended: what is due by then happens late.
    pub fn jump(&self, duration: Duration) {
        self.wake_at(|now| now + duration);
    }

    /// Sets the time, and wakes the tasks whose timers are due.
    fn wake_at(&self, time: impl FnOnce(Instant) -> Instant) {
        let woken = {
            let mut state = lock(&self.0.state);
            let now = time(state.now);
            state.now = now;
            let (due, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.timers).into_iter().partition(|(at, _)| *at <= now);
            state.timers = later;
            due
        };
        for (_, waker) in woken {
            waker.wake();
        }
    }
}

impl Clock for Timer {
    fn now(&self) -> Instant {
        lock(&self.0.0.state).now
    }

    fn poll_timer(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let mut state = lock(&self.0.0.state);
        if at <= state.now {
            return Poll::Ready(());
        }
        // A driver moves its timer all the time; one entry for each waker is enough.
        state.timers.retain(|(_, waker)| !waker.will_wake(context.waker()));
        state.timers.push((at, context.waker().clone()));
        Poll::Pending
    }
}

impl Runtime for VirtualRuntime {
    type Timer = Timer;
    type Socket = Stream;
    type Listener = VirtualListener;
    type Child = NoChild;

    fn timer(&self) -> Timer {
        Timer(self.clone())
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        lock(&self.0.state).spawned.push(Box::pin(future));
    }

    async fn resolve(&self, _name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![(Ipv4Addr::LOCALHOST, port).into()])
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Stream> {
        let backlog = lock(&self.0.state).listeners.get(&address.port()).cloned();
        let backlog = backlog.ok_or(io::ErrorKind::ConnectionRefused)?;
        let wire = lock(&self.0.state).wires.get(&address.port()).cloned();
        let (here, there) = wire.map_or_else(stream, |wire| self.stream_over(&wire));
        let mut backlog = lock(&backlog);
        backlog.waiting.push_back(there);
        if let Some(waker) = backlog.waker.take() {
            waker.wake();
        }
        Ok(here)
    }

    async fn accept(&self, listener: &VirtualListener) -> io::Result<(Stream, SocketAddr)> {
        let socket = std::future::poll_fn(|context| {
            let mut backlog = lock(&listener.0);
            backlog.waker = Some(context.waker().clone());
            backlog.waiting.pop_front().map_or(Poll::Pending, Poll::Ready)
        });
        Ok((socket.await, (Ipv4Addr::LOCALHOST, 1).into()))
    }

    fn start(&self, _command: &Command) -> io::Result<NoChild> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Child for NoChild {
    fn id(&self) -> Option<u32> {
        None
    }

    fn take_stream(&mut self) -> Option<Duplex<BoxReader, BoxWriter>> {
        None
    }

    fn take_stderr(&mut self) -> Option<BoxReader> {
        None
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Reader for Stream {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let mut pipe = lock(&self.from);
        match pipe.bytes.pop_front() {
            Some(bytes) => Poll::Ready(Ok(bytes)),
            None if pipe.is_closed => Poll::Ready(Ok(Bytes::new())),
            None => {
                pipe.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Writer for Stream {
    fn poll_write(&mut self, _: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if lock(&self.to).is_closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let fault =
            self.wire.as_ref().and_then(|(wire, of_client, _)| wire.count(*of_client, data.len()));
        match fault {
            None => self.send(data),
            Some((kind, at)) => self.send_with_fault(data, kind, at),
        }
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Socket for Stream {}

impl Stream {
    fn send(&self, data: &[u8]) {
        let mut pipe = lock(&self.to);
        let data = Bytes::copy_from_slice(data);
        match (pipe.delay, &self.wire) {
            _ if pipe.is_silent || data.is_empty() => {}
            (Some(delay), Some((.., runtime))) => {
                let (to, sleep) = (self.to.clone(), runtime.sleep(delay));
                runtime.spawn(async move {
                    sleep.await;
                    lock(&to).push(data);
                });
            }
            _ => pipe.push(data),
        }
    }

    fn send_with_fault(&self, data: &[u8], kind: FaultKind, at: usize) {
        let (before, after) = data.split_at(at.min(data.len()));
        let (byte, rest) = after.split_at(after.len().min(1));
        match kind {
            FaultKind::Twice => self.send(&data.repeat(2)),
            FaultKind::Garble => {
                let other: Vec<u8> = byte.iter().map(|byte| byte ^ 1).collect();
                self.send(&[before, &*other, rest].concat());
            }
            FaultKind::Break => self.send(&[before, b"\n", rest].concat()),
            FaultKind::Loss => self.send(&[before, rest].concat()),
            FaultKind::Cut | FaultKind::HalfCut => {
                self.send(before);
                lock(&self.to).close();
                if kind == FaultKind::Cut {
                    lock(&self.from).close();
                }
            }
            FaultKind::Silence | FaultKind::Delay(_) => {
                self.send(before);
                if let FaultKind::Delay(delay) = kind {
                    lock(&self.to).delay = Some(delay);
                } else {
                    lock(&self.to).is_silent = true;
                }
                self.send(after);
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        for pipe in [&self.from, &self.to] {
            lock(pipe).close();
        }
    }
}
