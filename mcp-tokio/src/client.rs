//! Clients: over any stream, or of a server in a process of its own.

use std::io;
use std::process::ExitStatus;

use mcp_proto::client::{ConnectError, ServerInfo};
use mcp_service::{Client, ClientService, Command, Unreached};
use tokio::io::{AsyncRead, AsyncWrite, empty, sink};
use tokio::task::JoinSet;

use crate::driver::{Clock, shows_wire, to_stderr};
use crate::process::Process;

/// Drives `client` over a stream until the conversation has ended: the server has, or
/// [`Client::close`] was called. What is asked of the client before waits for this.
///
/// A server that ends at the first message, as some legacy ones do, would have to be started anew;
/// over a stream that cannot be done, and [`Client::connected`] says that it has closed. Set
/// [`Negotiation::Legacy`](mcp_proto::client::Negotiation::Legacy) for such a server.
///
/// Fails with what `reader` or `writer` failed with, and with
/// [`UsageError::AlreadyConnected`](mcp_proto::UsageError::AlreadyConnected) inside of an error if
/// the client was driven before.
pub async fn run(
    client: &Client,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let clock = Clock::start();
    let mut service = service(client, &clock)?;
    run_stream(&mut service, clock, reader, writer).await
}

/// Starts a server and drives `client` over its standard input and output until the conversation
/// has ended; then ends the server: its input is closed, and if it does not exit in its time it is
/// told to, by SIGTERM, and in the end killed. A server that ends at the first message, as some
/// legacy ones do, is started again, once or twice; one that ends later is, if
/// [`Config::restart`](mcp_proto::client::Config::restart) says so. Dropping this kills the server.
///
/// Fails with what starting the server, reading or writing failed with, and as [`run`] does.
pub async fn run_command(client: &Client, command: &Command) -> io::Result<ExitStatus> {
    let clock = Clock::start();
    let process = Process::start(command)?;
    let service = service(client, &clock)?;
    run_process(service, clock, command, process).await
}

/// [`run`] in a task of its own; returns once the server is known. Dropping this before it has
/// returned ends the task.
///
/// Fails with a [`ConnectError`] inside of an error, and as [`run`] does.
pub async fn connect(
    client: &Client,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<ServerInfo> {
    let clock = Clock::start();
    let mut service = service(client, &clock)?;
    // Aborted when this future is dropped.
    let mut driver = JoinSet::new();
    driver.spawn(async move { drop(run_stream(&mut service, clock, reader, writer).await) });
    let connected = client.connected().await;
    driver.detach_all();
    connected.map_err(io::Error::other)
}

/// [`run_command`] in a task of its own; returns once the server is known.
///
/// ```no_run
/// use mcp_tokio::{Client, Command, Implementation, connect_command};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(Implementation::new("app", "1.0.0"));
/// connect_command(&client, Command::new("weather-server").arg("stdio")).await?;
/// for tool in client.list_tools().await?.tools {
///     println!("{}", tool.name);
/// }
/// client.close().await;
/// # Ok(())
/// # }
/// ```
///
/// Dropping this before it has returned, as a timeout around it does, kills the server. Later,
/// dropping all handles of the client does not end the server; [`Client::close`] does. A server that
/// ends by itself later on is ended with its process group, and started again if
/// [`Config::restart`](mcp_proto::client::Config::restart) says so: with the next call or at once,
/// at intervals that grow if it does not last. [`Client::closed`] reports its end otherwise.
///
/// Fails with an [`Unreached`] inside of an error, which says why there is no connection, to which
/// program, and how that has ended if it has; and as [`run_command`] does when it starts the server.
pub async fn connect_command(client: &Client, command: Command) -> io::Result<ServerInfo> {
    let clock = Clock::start();
    let process = Process::start(&command)?;
    let service = service(client, &clock)?;
    let started = command.clone();
    // Aborted when this future is dropped, which kills the server.
    let mut driver = JoinSet::new();
    driver.spawn(async move { run_process(service, clock, &started, process).await });
    let connected = client.connected().await;
    // The driver knows how the server has ended, or that it could not be started once more.
    let exit = if connected == Err(ConnectError::Closed) {
        driver.join_next().await.and_then(Result::ok).transpose()?
    } else {
        None
    };
    driver.detach_all();
    connected.map_err(|error| Unreached::command(&command, error, exit).into())
}

fn service(client: &Client, clock: &Clock) -> io::Result<ClientService> {
    let mut service = ClientService::new(client).map_err(io::Error::other)?;
    if shows_wire() {
        service.show_wire(clock.now(), to_stderr);
    }
    service.handle_opened(clock.now());
    Ok(service)
}

async fn run_stream(
    service: &mut ClientService,
    clock: Clock,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    clock.drive(service, reader, writer).await.inspect_err(|error| service.handle_error(error))?;
    if service.wants_reopen() || service.is_disconnected() {
        // Whoever waits is notified when the service is dropped.
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

async fn run_process(
    mut service: ClientService,
    clock: Clock,
    command: &Command,
    mut process: Process,
) -> io::Result<ExitStatus> {
    loop {
        let (stdout, stdin) = process.streams();
        let driven = clock.drive(&mut service, stdout, stdin).await;
        let exited = process.end().await;
        if let Ok(status) = exited {
            service.handle_exited(status);
        }
        driven.inspect_err(|error| service.handle_error(error))?;
        let Some(started) = restart(&mut service, clock, command).await? else { return exited };
        process = started;
        service.handle_opened(clock.now());
    }
}

/// Waits until the server is to be started again, and starts it; `None` if the client is closed.
async fn restart(
    service: &mut ClientService,
    clock: Clock,
    command: &Command,
) -> io::Result<Option<Process>> {
    loop {
        while service.is_disconnected() {
            service.handle_idle();
            clock.drive(service, empty(), sink()).await?;
        }
        if !service.wants_reopen() {
            return Ok(None);
        }
        match Process::start(command) {
            Ok(process) => return Ok(Some(process)),
            Err(error) if service.handle_not_started(clock.now(), &error) => {}
            Err(error) => return Err(error),
        }
    }
}
