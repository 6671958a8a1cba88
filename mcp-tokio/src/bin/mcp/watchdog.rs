//! End of the program at a signal that its runtime does not handle in time.
//!
//! In: SIGINT and SIGTERM, and the [`Listener`]s of the runtime. Out: the exit of the process,
//! after the servers that it has started are killed. A signal that was caught once no longer ends
//! the process by itself, and the only thread of the runtime is blocked while nobody reads the
//! output.
//!
//! | state | signal | after its time | listener has noticed |
//! |---|---|---|---|
//! | `Idle` | `Sent`; the end if nobody listens | | `Noticed` |
//! | `Sent`, for 2 s | the end | the end | `Noticed` |
//! | `Noticed`, for 10 s | `Sent`; the end if nobody listens | the end | `Noticed` |

use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mcp_tokio::mcp_service::ProcessGroup;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::failure::Exit;
use crate::interrupt::Signals;

/// The number of listeners.
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

/// True if a listener has noticed a signal since the watchdog looked.
static IS_NOTICED: AtomicBool = AtomicBool::new(false);

/// A future of the runtime that awaits a signal. The first one starts the watchdog.
pub(crate) struct Listener(());

impl Listener {
    pub(crate) fn new() -> Self {
        static STARTED: Once = Once::new();
        // Without a thread or descriptors there is no watchdog.
        STARTED.call_once(|| drop(thread::Builder::new().spawn(watch)));
        LISTENERS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Reports that the listener has noticed a signal.
    #[expect(clippy::unused_self, reason = "only a listener notices signals")]
    pub(crate) fn notice(&self) {
        IS_NOTICED.store(true, Ordering::SeqCst);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// State of the last signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SignalState {
    Idle,
    Sent,
    Noticed,
}

impl SignalState {
    /// The time that the runtime has.
    fn limit(self) -> Duration {
        match self {
            Self::Idle => Duration::MAX,
            Self::Sent => Duration::from_secs(2),
            // To close the connection takes 8 s at most.
            Self::Noticed => Duration::from_secs(10),
        }
    }

    /// The state after a signal, or after the time; `None` is the end.
    fn next(self, is_signal: bool) -> Option<Self> {
        if IS_NOTICED.swap(false, Ordering::SeqCst) {
            return Some(Self::Noticed);
        }
        let is_heard = self != Self::Sent && LISTENERS.load(Ordering::SeqCst) > 0;
        (is_signal && is_heard).then_some(Self::Sent)
    }
}

fn watch() {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Ok(mut signals) = Signals::new() else { return };
        let mut state = SignalState::Idle;
        loop {
            let is_signal = timeout(state.limit(), signals.next()).await.is_ok();
            state = state.next(is_signal).unwrap_or_else(|| {
                // An exit drops nothing, and the servers do not get the signals.
                ProcessGroup::kill_all();
                process::exit(i32::from(Exit::Interrupted as u8))
            });
        }
    });
}
