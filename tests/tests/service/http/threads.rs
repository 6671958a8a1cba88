//! Handlers and connections on several threads.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{self, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use mcp_proto::Instant;
use mcp_proto::types::LoggingLevel;
use mcp_service::{Clock, Context, HttpServer};
use serde_json::{Value, json};

use super::site::{Site, call, request};
use crate::bench::registry;

#[test]
fn what_is_told_right_before_an_answer_is_not_lost() {
    let mut offered = registry(|_: Value, context: Context| async move {
        context.log(LoggingLevel::Error, "so far");
        "done"
    });
    offered.logging();
    let site = Site::new(offered);
    let server = site.server.clone();
    let mut socket = site.session();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let tending = scope.spawn(|| run_background(&server, &over));
        let lost = (1..=5000).filter(|id| {
            let mut answer = socket.ask(&call(*id));
            // The other thread may have the wake in its hands.
            while !answer.contains("done") {
                thread::yield_now();
                socket.turn();
                answer.push_str(&socket.out());
            }
            !answer.contains("so far")
        });
        let lost = lost.count();
        over.store(true, Ordering::SeqCst);
        tending.thread().unpark();
        assert_eq!(lost, 0);
    });
}

/// The handler even occupies its thread until other sessions have been served.
#[test]
fn t026_a_handler_that_never_answers_does_not_block_other_sessions() {
    let (enter, entered) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let site = Site::new(registry(move |arguments: Value, _| {
        let enter = enter.clone();
        let released = released.clone();
        poll_fn(move |_| {
            if arguments["answers"] == true {
                return Poll::Ready("done");
            }
            enter.send(()).unwrap();
            // A panic would be answered.
            let () = released.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            Poll::Pending
        })
    }));
    let call = |answers: bool| {
        request(1, "tools/call", json!({"name": "t", "arguments": {"answers": answers}}))
    };
    let mut stuck = site.session();
    let mut same_session = stuck.again(&site);
    let mut other = thread::scope(|scope| {
        scope.spawn(|| stuck.post(&call(false)));
        entered.recv().unwrap();
        let mut other = site.session();
        assert!(other.ask(&call(true)).contains("done"));
        assert!(same_session.ask(&request(2, "ping", json!({}))).contains("\"result\":{}"));
        release.send(()).unwrap();
        other
    });
    assert_eq!((stuck.out(), site.hands.count()), (String::new(), 1));
    assert!(other.ask(&call(true)).contains("done"));
}

/// Far more than another session needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tends a server on a thread of its own.
fn run_background(server: &HttpServer, over: &AtomicBool) {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut clock, mut context) = (Still, task::Context::from_waker(&waker));
    let mut tending = pin!(server.run_background(&mut clock));
    while !over.load(Ordering::SeqCst) {
        assert!(tending.as_mut().poll(&mut context).is_pending());
        thread::park_timeout(Duration::from_millis(100));
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// No time passes.
struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::ZERO
    }

    fn poll_timer(&mut self, _: &mut task::Context<'_>, _: Instant) -> Poll<()> {
        Poll::Pending
    }
}
