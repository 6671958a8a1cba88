//! Messages of a server to our client outside of its requests, on real pipes and sockets. They are
//! roots and a log message when it is initialized, and a form that is open when the client closes.

use std::error::Error;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};

use mcp_proto::types::{
    ElicitRequestFormParams, ElicitResult, Implementation, LoggingLevel, RequestedSchema, Root,
};
use mcp_proto::{Json, UsageError};
use mcp_service::{Client, Handler, Registry, Session, SessionError};
use serde_json::Value;

use crate::http::Check;

/// A thread that talks to a client.
type Talking = JoinHandle<Result<(), SessionError>>;

/// A server that talks to each client once it is initialized, on a thread of its own, and what came
/// of that.
#[derive(Default)]
pub(crate) struct Outside {
    talking: Arc<Mutex<Vec<Talking>>>,
}

impl Outside {
    pub(crate) fn registry(&self) -> Result<Registry<Handler>, UsageError> {
        let talking = self.talking.clone();
        let mut registry = Registry::new(Implementation::new("outside", "1"));
        registry.logging();
        registry.session_notification("notifications/initialized", move |_: Value, session| {
            let thread = thread::spawn(|| block_on(talk(session)));
            talking.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        })?;
        Ok(registry)
    }

    /// Has the client note what it hears.
    pub(crate) fn prepare(client: &Client) -> Result<Heard, UsageError> {
        let heard = Heard::default();
        let (logs, forms) = (heard.log.clone(), heard.form.clone());
        client.set_roots(vec![Root::new("file:///home")])?;
        client.on_log(move |message| logs.put(message.data.clone()));
        client.on_form(move |_| {
            forms.put(());
            pending::<ElicitResult>()
        });
        Ok(heard)
    }

    /// The client has closed: the server knows.
    pub(crate) fn ended(self) -> Check {
        let talking = std::mem::take(&mut *self.talking.lock().map_err(|_| "a panic")?);
        assert_eq!(talking.len(), 1, "not one client was initialized");
        for thread in talking {
            let came = thread.join().map_err(|_| "the thread panicked")?;
            assert_eq!(came, Err(SessionError::Closed));
        }
        Ok(())
    }
}

/// Ends with the session.
async fn talk(session: Session) -> Result<(), SessionError> {
    let roots = session.list_roots().await?.roots;
    let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
    session.log(LoggingLevel::Warning, None, uris.join(" ")).await?;
    session.elicit(ElicitRequestFormParams::new("Sure?", RequestedSchema::new())).await?;
    Ok(())
}

/// Messages that a client receives outside of its calls.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    log: Arc<Cell<Json>>,
    form: Arc<Cell<()>>,
}

impl Heard {
    /// Ready once all was heard.
    pub(crate) async fn all(self) -> Result<(), Box<dyn Error>> {
        assert_eq!(self.log.taken().await.as_str(), r#""file:///home""#);
        self.form.taken().await;
        Ok(())
    }
}

/// A place for one thing.
struct Cell<T>(Mutex<(Option<T>, Option<Waker>)>);

impl<T> Default for Cell<T> {
    fn default() -> Self {
        Self(Mutex::new((None, None)))
    }
}

impl<T> Cell<T> {
    fn put(&self, it: T) {
        let mut cell = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cell.0 = Some(it);
        let waker = cell.1.take();
        drop(cell);
        waker.into_iter().for_each(Waker::wake);
    }

    async fn taken(&self) -> T {
        poll_fn(|context| {
            let mut cell = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            cell.1 = Some(context.waker().clone());
            cell.0.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Runs a future to its end on this thread, which has no runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        thread::park();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
