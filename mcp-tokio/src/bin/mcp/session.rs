//! A client and what drives it.
//!
//! In: a [`Target`]. Out: a [`Session`] with a server that is known, or why there is none. A server
//! that was started is not left behind: [`Session::close`] waits for its end.

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use mcp_tokio::mcp_proto::client::Decision;
use mcp_tokio::{
    Client, ClientConfig, ConnectError, Implementation, ServerInfo, run_command, run_http,
};
use tokio::task::JoinHandle;

use crate::args::Common;
use crate::failure::{Exit, Failure};
use crate::target::Target;

/// A client that is yet to be connected.
pub(crate) fn client(common: &Common) -> Client {
    let mut config = ClientConfig::new(Implementation::new("mcp", env!("CARGO_PKG_VERSION")));
    config.negotiation = common.era;
    config.probe_timeout = config.probe_timeout.min(common.timeout);
    config.initialize_timeout = common.timeout;
    Client::new(config)
}

/// A connection, as far as it has come.
pub(crate) struct Session {
    client: Client,
    /// Comes to what is to be told of the end.
    driver: Driver,
}

enum Driver {
    Running(JoinHandle<io::Result<String>>),
    Ended(io::Result<String>),
}

impl Session {
    pub(crate) fn open(client: &Client, target: Target) -> Self {
        let handle = client.clone();
        let driver = tokio::spawn(async move {
            match target {
                Target::Http(config) => {
                    run_http(&handle, *config).await.map(|()| "it was closed".into())
                }
                Target::Command(command) => {
                    let status = run_command(&handle, &command).await?;
                    Ok(format!("the server has exited: {status}"))
                }
            }
        });
        Self { client: client.clone(), driver: Driver::Running(driver) }
    }

    /// Waits until it is known what the server is.
    pub(crate) async fn connected(&mut self) -> Result<ServerInfo, Failure> {
        let mut connected = pin!(self.client.connected());
        // What cannot be started at all ends before it has said anything to the client.
        let found = poll_fn(|context| match connected.as_mut().poll(context) {
            Poll::Ready(found) => Poll::Ready(found),
            Poll::Pending => self.driver.poll(context).map(|()| Err(ConnectError::Closed)),
        });
        let error = match found.await {
            Ok(server) => return Ok(server),
            Err(error) => error,
        };
        if error != ConnectError::Closed {
            return Err(error.into());
        }
        // Whoever drove it knows better: a program that is not there, or how it has exited.
        poll_fn(|context| self.driver.poll(context)).await;
        Err(match &self.driver {
            Driver::Ended(Ok(end)) => Failure::new(Exit::Connection, format!("{error}; {end}"))
                .advice("is this how the server is started? It has to stay, and to serve stdio"),
            Driver::Ended(Err(reason)) if !of_negotiation(reason) => {
                Failure::new(Exit::Connection, reason)
            }
            Driver::Ended(Err(_)) | Driver::Running(_) => error.into(),
        })
    }

    /// How it was found out what the server is, as far as it has come.
    pub(crate) fn decisions(&self) -> Vec<Decision> {
        self.client.decisions()
    }

    /// Ends the connection, and the server if it was started here.
    pub(crate) async fn close(mut self) {
        self.client.close().await;
        poll_fn(|context| self.driver.poll(context)).await;
    }
}

impl Driver {
    /// Ready once it has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Self::Running(task) = self {
            let ended = ready!(Pin::new(task).poll(context));
            *self = Self::Ended(ended.map_err(io::Error::other).flatten());
        }
        Poll::Ready(())
    }
}

fn of_negotiation(error: &io::Error) -> bool {
    let inner: Option<&(dyn Error + 'static)> = error.get_ref().map(|inner| inner as _);
    inner.and_then(|inner| inner.downcast_ref::<ConnectError>()).is_some()
}

/// Connects, does something, and ends the connection whatever came of it.
pub(crate) async fn with<T>(
    client: &Client,
    target: Target,
    f: impl AsyncFnOnce(ServerInfo) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut session = Session::open(client, target);
    let done = match session.connected().await {
        Ok(server) => f(server).await,
        Err(failure) => Err(failure),
    };
    session.close().await;
    done
}
