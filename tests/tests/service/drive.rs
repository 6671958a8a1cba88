//! The loop of every adapter, on a stream that does what it is told.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{self, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_proto::Instant;
use mcp_proto::server::Config;
use mcp_service::{Clock, Context, Io, Reader, Registry, Service, Writer, drive};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::{INITIALIZE, answer, call, registry};

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

#[test]
fn an_answer_that_is_ready_is_written_and_flushed_once() {
    let mut driven = Driven::opened();
    driven.read(PING);
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines(), [PONG]);
    assert_eq!(driven.stream().flushes, 1);

    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().flushes, 1, "there was nothing to hand on");
}

#[test]
fn the_last_answer_is_written_in_pieces_before_the_end() {
    let mut driven = Driven::opened();
    driven.read(PING);
    driven.stream().input.push_back(Bytes::new());
    driven.stream().room = 0;
    for _ in 0..=PONG.len() {
        assert!(driven.poll().is_pending());
        driven.stream().room = 1;
    }
    assert!(driven.poll().is_ready());
    assert_eq!(driven.stream().take_lines(), [PONG]);
}

#[test]
fn t109_the_last_answer_is_flushed_before_the_end() {
    let mut driven = Driven::opened();
    driven.read(PING);
    driven.stream().input.push_back(Bytes::new());
    driven.stream().flushes_block = true;
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines(), [PONG]);
    driven.stream().flushes_block = false;
    assert!(driven.poll().is_ready());
}

/// It takes all bytes, and nobody knows where they are.
#[test]
fn a_stream_that_hands_nothing_on_has_its_time() {
    let mut driven = Driven::opened();
    driven.stream().flushes_block = true;
    driven.read(PING);
    driven.stream().input.push_back(Bytes::new());
    assert!(driven.poll().is_pending());
    driven.pass(1999);
    assert!(driven.poll().is_pending());
    driven.pass(2);
    assert!(driven.poll().is_ready());
}

#[test]
fn after_the_end_a_client_that_does_not_read_holds_nothing_back() {
    let mut driven = Driven::opened();
    driven.stream().room = 0;
    let text = "x".repeat(700_000);
    for id in 0..3 {
        driven.read(&call(id, &json!({"ms": 10, "text": text})));
    }
    driven.stream().input.push_back(Bytes::new());
    driven.settle();
    driven.pass(10);
    driven.settle();
    driven.pass(2001);
    assert!(driven.poll().is_ready(), "the end never comes");
}

#[test]
fn the_end_waits_for_handlers_and_their_deadlines() {
    let mut driven = Driven::opened();
    driven.read(&call(1, &json!({"ms": 100})));
    driven.read(&call(2, &json!({"ms": 5000})));
    driven.stream().input.push_back(Bytes::new());
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().timer, Some(Instant::from_micros(100_000)));

    driven.pass(100);
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines(), [answer(1, "slept")]);
    assert_eq!(driven.stream().timer, Some(Instant::from_micros(2_000_000)), "the drain");

    driven.pass(1900);
    assert!(driven.poll().is_ready());
    assert_eq!(driven.stream().take_lines(), [""; 0]);
}

#[test]
fn a_deadline_moves_both_ways() {
    let mut driven = Driven::opened();
    for (ms, expected) in [(500, 500), (100, 100), (300, 100)] {
        driven.read(&call(ms, &json!({"ms": ms})));
        assert!(driven.poll().is_pending());
        assert_eq!(driven.stream().timer, Some(Instant::from_micros(expected * 1000)));
    }
    driven.pass(100);
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().timer, Some(Instant::from_micros(300_000)));
}

#[test]
fn a_wish_to_stop_ends_the_conversation() {
    let mut driven = Driven::opened();
    driven.read(&call(1, &json!({"ms": 100})));
    assert!(driven.poll().is_pending());
    driven.stream().stop = true;
    assert!(driven.poll().is_pending());
    driven.pass(100);
    assert!(driven.poll().is_ready());
    assert_eq!(driven.stream().take_lines(), [answer(1, "slept")]);
}

#[test]
fn a_flood_of_input_leaves_room_for_others_and_for_a_wish_to_stop() {
    let mut driven = Driven::opened();
    for _ in 0..1000 {
        driven.read(PING);
    }
    assert!(driven.poll().is_pending());
    let answered = driven.stream().take_lines().len();
    assert!((1..100).contains(&answered), "{answered}");
    assert!(driven.is_woken());

    driven.stream().stop = true;
    while driven.poll().is_pending() {
        assert!(driven.is_woken());
    }
    let answered = driven.stream().take_lines().len();
    assert!((1..100).contains(&answered), "{answered}");
}

#[test]
fn two_mebibytes_are_read_while_the_client_does_not_read() {
    let mut driven = Driven::opened();
    driven.stream().room = 0;
    let text = "x".repeat(100_000);
    for id in 0..100 {
        driven.read(&call(id, &json!({"text": text})));
    }
    driven.settle();
    // One is handled and waits in the output, one is read ahead.
    let unread = driven.stream().input.len();
    assert!((70..85).contains(&unread), "{unread}");

    driven.stream().room = usize::MAX;
    driven.settle();
    assert_eq!(driven.stream().take_lines().len(), 100);
}

#[test]
fn second_hour_28_the_end_is_noticed_while_the_client_does_not_read() {
    let mut driven = Driven::opened();
    driven.stream().room = 0;
    driven.read_much();
    driven.stream().input.push_back(Bytes::new());
    driven.settle();
    assert_eq!(driven.stream().timer, Some(Instant::from_micros(2_000_000)), "the drain");
    driven.pass(1999);
    driven.settle();
    driven.pass(1);
    assert!(driven.poll().is_ready(), "the end never comes");
}

#[test]
fn second_hour_28_a_client_that_reads_after_the_end_gets_every_answer() {
    let mut driven = Driven::opened();
    driven.stream().room = 0;
    let count = driven.read_much();
    driven.stream().input.push_back(Bytes::new());
    driven.settle();
    let mut passed = 0;
    loop {
        passed += 1999;
        driven.pass(1999);
        driven.stream().room = 100_000;
        if driven.poll().is_ready() {
            break;
        }
        while driven.is_woken() && driven.poll().is_pending() {}
    }
    assert_eq!(driven.stream().take_lines().len(), count);
    assert!(passed > 10_000, "it was given time whenever it had read something");
}

#[test]
fn a_wish_to_stop_does_not_wait_for_a_client_that_does_not_read() {
    let mut driven = Driven::opened();
    driven.stream().room = 0;
    driven.read(PING);
    assert!(driven.poll().is_pending());
    driven.stream().stop = true;
    assert!(driven.poll().is_pending());
    driven.pass(2000);
    assert!(driven.poll().is_ready());
}

#[test]
fn a_client_that_is_gone_is_no_error() {
    for kind in [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset] {
        let mut driven = Driven::opened();
        driven.stream().broken = Some(kind);
        driven.read(PING);
        assert!(matches!(driven.poll(), Poll::Ready(Ok(()))), "{kind}");
    }
}

#[test]
fn other_errors_are_told() {
    let mut driven = Driven::opened();
    driven.stream().broken = Some(io::ErrorKind::StorageFull);
    driven.read(PING);
    let Poll::Ready(Err(error)) = driven.poll() else { panic!("no error") };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_delayed_answer_is_written_when_the_task_is_polled_again() {
    let mut driven = Driven::opened();
    driven.stream().delays.push_back(true);
    driven.read(PING);
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines(), [""; 0]);
    assert!(driven.is_woken());
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines(), [PONG]);
    assert!(!driven.is_woken());
}

#[test]
fn a_handler_wakes_the_task_that_has_written_a_delayed_answer() {
    let of_handler = Arc::new(Mutex::new(None::<Waker>));
    let kept = of_handler.clone();
    let mut driven = Driven::serving(registry(move |_: Value, _| {
        let kept = kept.clone();
        std::future::poll_fn(move |context| {
            *kept.lock().unwrap() = Some(context.waker().clone());
            Poll::<String>::Pending
        })
    }));
    driven.stream().delays.push_back(true);
    driven.read(&call(1, &json!({})));
    driven.read(PING);
    assert!(driven.poll().is_pending());
    driven.woken = Arc::default();
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines(), [PONG]);
    of_handler.lock().unwrap().take().unwrap().wake();
    assert!(driven.is_woken(), "another task drives the service by now");
}

#[test]
fn a_sleep_that_begins_before_a_delayed_write_ends_in_time() {
    let of_handler = Arc::new(Mutex::new(None::<Context>));
    let kept = of_handler.clone();
    let mut driven = Driven::serving(registry(move |_: Value, context: Context| {
        *kept.lock().unwrap() = Some(context);
        std::future::pending::<String>()
    }));
    driven.stream().delays.push_back(true);
    driven.read(&call(1, &json!({})));
    driven.read(PING);
    assert!(driven.poll().is_pending());
    let context = of_handler.lock().unwrap().take().unwrap();
    let mut sleep = Box::pin(context.sleep(Duration::from_millis(10)));
    let mut other_task = task::Context::from_waker(Waker::noop());
    assert!(sleep.as_mut().poll(&mut other_task).is_pending());
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines(), [PONG]);
    assert_eq!(driven.stream().timer, Some(Instant::ZERO + Duration::from_millis(10)));
    driven.pass(10);
    assert!(driven.poll().is_pending());
    assert!(sleep.as_mut().poll(&mut other_task).is_ready());
}

#[test]
fn an_answer_that_actions_wait_for_is_not_delayed() {
    let mut driven = Driven::opened();
    driven.stream().delays.push_back(true);
    driven.read(&call(1, &json!({"text": "x".repeat(1_100_000)})));
    assert!(driven.poll().is_pending());
    assert_eq!(driven.stream().take_lines().len(), 1);
    assert!(!driven.is_woken());
}

/// An event of a stream.
#[derive(Clone, Debug)]
enum Happening {
    Ping,
    Call(u64),
    /// Another task, which has the context of the last call, begins to sleep.
    Sleep(u64),
    End,
    Pass(u64),
    Room(usize),
    FlushesBlock(bool),
    Break,
    Stop,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => Just(Happening::Ping),
        4 => (0..300_u64).prop_map(Happening::Call),
        2 => (0..300_u64).prop_map(Happening::Sleep),
        1 => Just(Happening::End),
        4 => (0..3000_u64).prop_map(Happening::Pass),
        2 => prop_oneof![0..100_usize, Just(usize::MAX)].prop_map(Happening::Room),
        1 => any::<bool>().prop_map(Happening::FlushesBlock),
        1 => Just(Happening::Break),
        1 => Just(Happening::Stop),
    ]
}

proptest! {
    /// Law: once no task is ready, it cannot be seen which answers were delayed.
    #[test]
    fn delays_change_nothing(
        happenings in vec(vec(happening(), 1..4), 1..20),
        delays in vec(any::<bool>(), 40),
    ) {
        let (mut plain, mut delayed) = (Driven::opened(), Driven::opened());
        delayed.stream().delays.extend(delays);
        for (id, happenings) in (0_u32..).zip(happenings) {
            for happening in happenings {
                plain.undergo(id, &happening);
                delayed.undergo(id, &happening);
            }
            let ends = [plain.settle(), delayed.settle()];
            prop_assert_eq!(ends[0], ends[1]);
            prop_assert_eq!(plain.stream().take_lines(), delayed.stream().take_lines());
            if ends[0] {
                break;
            }
            prop_assert_eq!(plain.slept, delayed.slept);
        }
    }
}

/// A future of `drive`, polled by hand.
struct Driven {
    future: Pin<Box<dyn Future<Output = io::Result<()>>>>,
    stream: Arc<Mutex<Stream>>,
    woken: Arc<Woken>,
    /// The context of the last call.
    context: Arc<Mutex<Option<Context>>>,
    /// Sleeps of other tasks, and how many have ended.
    sleeps: Vec<Pin<Box<dyn Future<Output = ()>>>>,
    slept: usize,
}

#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) now: Instant,
    /// Chunks to be read; an empty one is the end.
    pub(crate) input: VecDeque<Bytes>,
    pub(crate) output: Vec<u8>,
    /// Number of bytes that may be written.
    room: usize,
    broken: Option<io::ErrorKind>,
    flushes: usize,
    flushes_block: bool,
    /// Whether the next answers are delayed.
    delays: VecDeque<bool>,
    /// Time to which the timer was last set.
    timer: Option<Instant>,
    stop: bool,
}

#[derive(Default)]
struct Woken(Mutex<bool>);

impl task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
    }
}

async fn echo(arguments: Value, context: Context) -> String {
    if let Some(millis) = arguments["ms"].as_u64() {
        context.sleep(Duration::from_millis(millis)).await;
    }
    arguments["text"].as_str().unwrap_or("slept").to_owned()
}

impl Driven {
    /// A server in a legacy session, whose tool sleeps for `ms` and echoes `text`.
    fn opened() -> Self {
        let last_context = Arc::new(Mutex::new(None));
        let kept = last_context.clone();
        let registry = registry(move |arguments: Value, context: Context| {
            *kept.lock().unwrap() = Some(context.clone());
            echo(arguments, context)
        });
        Self { context: last_context, ..Self::serving(registry) }
    }

    /// A server in a legacy session.
    fn serving(registry: Registry) -> Self {
        let stream = Arc::new(Mutex::new(Stream::open()));
        let mut service = Service::new(registry, Config::default());
        let mut end = End(stream.clone());
        let future = Box::pin(async move { drive(&mut service, &mut end).await });
        let mut driven = Self {
            future,
            stream,
            woken: Arc::default(),
            context: Arc::default(),
            sleeps: Vec::new(),
            slept: 0,
        };
        driven.read(INITIALIZE);
        assert!(driven.poll().is_pending());
        assert_eq!(driven.stream().take_lines().len(), 1);
        driven.stream().flushes = 0;
        driven
    }

    fn read(&mut self, line: &str) {
        self.stream().input.push_back(format!("{line}\n").into());
    }

    /// Calls with answers of more than 1 MiB in all, and how many.
    fn read_much(&mut self) -> usize {
        let text = "x".repeat(100_000);
        for id in 0..15 {
            self.read(&call(id, &json!({"text": text})));
        }
        15
    }

    fn undergo(&mut self, id: u32, happening: &Happening) {
        match happening {
            Happening::Ping => self.read(PING),
            Happening::Call(millis) => self.read(&call(id, &json!({"ms": millis}))),
            Happening::Sleep(millis) => self.sleep_elsewhere(*millis),
            Happening::End => self.stream().input.push_back(Bytes::new()),
            Happening::Pass(millis) => self.pass(*millis),
            Happening::Room(room) => self.stream().room = *room,
            Happening::FlushesBlock(block) => self.stream().flushes_block = *block,
            Happening::Break => self.stream().broken = Some(io::ErrorKind::BrokenPipe),
            Happening::Stop => self.stream().stop = true,
        }
    }

    /// Polls until the task is not woken; returns whether it has ended.
    fn settle(&mut self) -> bool {
        loop {
            if self.poll().is_ready() {
                return true;
            }
            self.poll_sleeps();
            if !self.is_woken() {
                return false;
            }
        }
    }

    /// The sleep begins after the next poll.
    fn sleep_elsewhere(&mut self, millis: u64) {
        if let Some(context) = self.context.lock().unwrap().clone() {
            let duration = Duration::from_millis(millis);
            self.sleeps.push(Box::pin(async move { context.sleep(duration).await }));
        }
    }

    fn poll_sleeps(&mut self) {
        let mut context = task::Context::from_waker(Waker::noop());
        let before = self.sleeps.len();
        self.sleeps.retain_mut(|sleep| sleep.as_mut().poll(&mut context).is_pending());
        self.slept += before - self.sleeps.len();
    }

    fn pass(&mut self, millis: u64) {
        let mut stream = self.stream();
        stream.now = stream.now + Duration::from_millis(millis);
    }

    fn poll(&mut self) -> Poll<io::Result<()>> {
        let waker = Waker::from(self.woken.clone());
        self.future.as_mut().poll(&mut task::Context::from_waker(&waker))
    }

    /// Returns whether it wants to be polled again.
    fn is_woken(&self) -> bool {
        std::mem::take(&mut *self.woken.0.lock().unwrap())
    }

    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap()
    }
}

impl Stream {
    /// A stream that takes all bytes.
    pub(crate) fn open() -> Self {
        Self { room: usize::MAX, ..Self::default() }
    }

    fn take_lines(&mut self) -> Vec<String> {
        let output = std::mem::take(&mut self.output);
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    }
}

/// The service's end of the stream.
pub(crate) struct End(pub(crate) Arc<Mutex<Stream>>);

impl End {
    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.0.lock().unwrap()
    }
}

impl Reader for End {
    fn poll_read(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<Bytes>> {
        self.stream().input.pop_front().map_or(Poll::Pending, |chunk| Poll::Ready(Ok(chunk)))
    }
}

impl Writer for End {
    fn poll_write(&mut self, _: &mut task::Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut stream = self.stream();
        if let Some(kind) = stream.broken {
            return Poll::Ready(Err(kind.into()));
        }
        let count = data.len().min(stream.room);
        stream.room -= count;
        stream.output.extend_from_slice(&data[..count]);
        if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
    }

    fn poll_flush(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        let mut stream = self.stream();
        stream.flushes += 1;
        if stream.flushes_block { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

impl Clock for End {
    fn now(&self) -> Instant {
        self.stream().now
    }

    fn poll_timer(&mut self, _: &mut task::Context<'_>, at: Instant) -> Poll<()> {
        let mut stream = self.stream();
        stream.timer = Some(at);
        if at <= stream.now { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Io for End {
    fn poll_delay(&mut self, _: Instant, context: &mut task::Context<'_>) -> Poll<()> {
        if !self.stream().delays.pop_front().unwrap_or_default() {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_stop(&mut self, _: &mut task::Context<'_>) -> Poll<()> {
        if std::mem::take(&mut self.stream().stop) { Poll::Ready(()) } else { Poll::Pending }
    }
}
