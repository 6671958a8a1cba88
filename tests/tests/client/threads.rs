//! Handles on many threads.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use mcp_proto::types::CallToolResult;
use mcp_service::testing::{Clock, Network};
use mcp_service::{Call, Client, ClientService, Subscription};
use serde_json::{Value, json};

use crate::bench::{ERAS, pair, text};

#[test]
fn handles_can_be_anywhere() {
    fn is<T: Send + Sync + 'static>() {}
    fn may_move<T: Send + 'static>() {}
    is::<Client>();
    is::<Clock>();
    may_move::<ClientService>();
    may_move::<Call<CallToolResult>>();
    may_move::<Subscription>();
}

#[test]
fn clones_on_many_threads_are_one_client() {
    const THREADS: usize = 8;
    const CALLS: usize = 50;
    for negotiation in ERAS {
        let mut pair = pair(negotiation, |given: Value, _| async move { given.to_string() })
            .network(Network::calm().max_chunk(64));
        let done = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (client, done) = (pair.client(), done.clone());
                thread::spawn(move || {
                    for number in 0..CALLS {
                        let given = json!([thread, number]);
                        let call = client.call_tool("t", &json!({ "given": given }));
                        assert_eq!(text(block_on(call)), json!({ "given": given }).to_string());
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            pair.pass(Duration::ZERO);
            thread::yield_now();
        }
        assert_eq!(done.load(Ordering::SeqCst), THREADS);
        assert_eq!(pair.starts(), 1);
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}
