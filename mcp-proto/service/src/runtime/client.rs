//! Clients over byte streams, and a client's driver, which moves into a task once connected.

use alloc::boxed::Box;
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use std::io;

use super::Runtime;
use super::stream::{drive_until, shows_wire, to_stderr};
use crate::{Client, ClientService, Clock, Reader, Writer};
use mcp_proto::client::{ConnectError, ServerInfo};

/// Drives `client` over a stream until the server ends the stream or [`Client::close`] is called.
/// Requests of the client are queued until this function is called.
///
/// Some legacy servers end at a first message that they do not know, and would have to be started
/// again. A stream cannot be restarted, so [`Client::connected`] fails with
/// [`ConnectError::Closed`]. Set
/// [`Negotiation::Legacy`](mcp_proto::client::Negotiation::Legacy) for such a server.
///
/// Fails with the error of a read or a write, and with
/// [`UsageError::AlreadyConnected`](mcp_proto::UsageError::AlreadyConnected) inside of an error if
/// the client was driven before.
pub async fn run<R: Runtime>(
    runtime: &R,
    client: &Client,
    stream: impl Reader + Writer,
) -> io::Result<()> {
    let clock = runtime.timer();
    run_stream(client_service(client, &clock)?, clock, stream).await
}

/// Like [`run`], but returns once the server is known, and continues in its own task. Dropping the
/// future before it has returned ends the conversation.
///
/// Fails with a [`ConnectError`] inside of an error, and as [`run`] does.
pub async fn connect<R: Runtime>(
    runtime: &R,
    client: &Client,
    stream: impl Reader + Writer + Send + 'static,
) -> io::Result<ServerInfo> {
    let clock = runtime.timer();
    let service = client_service(client, &clock)?;
    let mut driver = Driver::new(run_stream(service, clock, stream));
    let connected = driver.connect(client).await;
    if connected == Err(ConnectError::Closed) {
        // The driver knows the error of the stream.
        driver.join().await?;
    } else {
        driver.detach(runtime);
    }
    connected.map_err(io::Error::other)
}

async fn run_stream(
    mut service: ClientService,
    mut clock: impl Clock,
    mut stream: impl Reader + Writer,
) -> io::Result<()> {
    let stop = core::future::pending();
    let driven = drive_until(&mut service, &mut stream, &mut clock, stop, None).await;
    driven.inspect_err(|error| service.handle_error(error))?;
    if service.wants_reopen() || service.is_disconnected() {
        // Futures that wait are notified when the service is dropped.
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// The service of a client whose stream is open.
pub(super) fn client_service(client: &Client, clock: &impl Clock) -> io::Result<ClientService> {
    let mut service = ClientService::new(client).map_err(io::Error::other)?;
    if shows_wire() {
        service.show_wire(clock.now(), to_stderr);
    }
    service.handle_opened(clock.now());
    Ok(service)
}

/// The future that drives a client. Dropping it ends the conversation at once.
pub(super) struct Driver<F: Future> {
    state: DriveState<F>,
}

enum DriveState<F: Future> {
    /// Boxed, since it moves into another task after its first poll.
    Running(Pin<Box<F>>),
    Ended(F::Output),
}

impl<F: Future> Driver<F> {
    pub(super) fn new(future: F) -> Self {
        Self { state: DriveState::Running(Box::pin(future)) }
    }

    /// Drives the client until its server is known.
    pub(super) async fn connect(&mut self, client: &Client) -> Result<ServerInfo, ConnectError> {
        let mut connected = pin!(client.connected());
        poll_fn(|context| {
            if let DriveState::Running(future) = &mut self.state
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                self.state = DriveState::Ended(output);
            }
            connected.as_mut().poll(context)
        })
        .await
    }

    /// Drives the client to the end of the conversation.
    pub(super) async fn join(self) -> F::Output {
        match self.state {
            DriveState::Running(future) => future.await,
            DriveState::Ended(output) => output,
        }
    }

    /// Drives the client to the end of the conversation in a task of its own.
    pub(super) fn detach<R: Runtime>(self, runtime: &R)
    where
        F: Send + 'static,
    {
        if let DriveState::Running(future) = self.state {
            runtime.spawn(async move { drop(future.await) });
        }
    }
}
