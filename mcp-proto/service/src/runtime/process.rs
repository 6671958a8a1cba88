//! Servers as child processes: started, driven, started again, and ended.
//!
//! In: a [`Command`]. Out: a process whose standard input and output are a stream, whose standard
//! error goes where [`Command::stderr`] says, and which ends in the steps of a [`ProcessGroup`].
//! No process is left running: dropping a [`Process`], or the future that ends the process, kills
//! the server and every process in its group.
//!
//! [Specification: stdio, shutdown](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown)

use core::future::{Future, pending, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};
use std::io;
use std::process::ExitStatus;

use bytes::Bytes;

use super::client::{Driver, client_service};
use super::event_count::{AdvanceOnDrop, EventCount, Reached};
#[cfg(unix)]
use super::server_output::ServerOutput;
use super::stream::{drive_until, sleep_until, unless};
use super::{Child, Runtime};
use crate::{
    BoxReader, BoxWriter, Client, ClientService, Clock, Command, ConnectFailure, Drive, Duplex,
    ProcessGroup, Reader, Writer,
};
use mcp_proto::Duration;
use mcp_proto::client::{ConnectError, ServerInfo};

/// Starts a server and drives `client` over its standard input and output until the conversation
/// has ended; then ends the server. First its input is closed. If the server does not exit within
/// [`Command::grace`] it gets SIGTERM, and after as long again it is killed.
///
/// Some legacy servers end at the first message: such a server is started again, once or twice. A
/// server that ends later is only started again if
/// [`Config::restart`](mcp_proto::client::Config::restart) says so. Dropping the future kills the
/// server.
///
/// Fails with the error of starting the server, of a read or of a write, and as
/// [`run`](super::run) does.
pub async fn run_command<R: Runtime>(
    runtime: &R,
    client: &Client,
    command: &Command,
) -> io::Result<ExitStatus> {
    run_command_with(runtime, client, command, |_| ()).await
}

/// Like [`run_command`]. Calls `on_end` with the exit status after each end of the server, and with
/// the error if the server cannot be started again now.
pub(super) async fn run_command_with<R: Runtime>(
    runtime: &R,
    client: &Client,
    command: &Command,
    on_end: impl Fn(Result<&ExitStatus, &io::Error>),
) -> io::Result<ExitStatus> {
    let clock = runtime.timer();
    let process = start_for(runtime, client, command)?;
    let service = client_service(client, &clock)?;
    run_process(runtime, service, clock, command, process, on_end).await
}

/// Like [`run_command`], but returns once the server is known, and continues in its own task.
///
/// Dropping the future before it has returned, as a timeout does, kills the server. Later,
/// dropping all handles of the client does not end the server; [`Client::close`] does. If the
/// server ends by itself later, its process group is ended too. It is started again if
/// [`Config::restart`](mcp_proto::client::Config::restart) says so: with the next call or at once,
/// at intervals that grow if it does not last. [`Client::closed`] reports its end otherwise. On
/// Linux, macOS and FreeBSD a server that has crashed counts as ended, after [`Command::grace`] at
/// least, even if another process keeps its pipes open.
///
/// Fails with a [`ConnectFailure`] inside of an error, which has the reason, the program and its
/// exit status if it has one. Fails also as [`run_command`] does when it starts the server.
pub async fn connect_command<R: Runtime>(
    runtime: &R,
    client: &Client,
    command: Command,
) -> io::Result<ServerInfo> {
    let clock = runtime.timer();
    let process = start_for(runtime, client, &command)?;
    let service = client_service(client, &clock)?;
    let started = command.clone();
    let here = runtime.clone();
    let mut driver =
        Driver::new(
            async move { run_process(&here, service, clock, &started, process, |_| ()).await },
        );
    let connected = driver.connect(client).await;
    // The driver knows how the server has exited, or that it could not be started again.
    let exit = if connected == Err(ConnectError::Closed) {
        Some(driver.join().await?)
    } else {
        driver.detach(runtime);
        None
    };
    connected.map_err(|error| ConnectFailure::command(&command, error, exit).into())
}

/// Starts the server of a client, unless the client was driven before.
fn start_for<R: Runtime>(
    runtime: &R,
    client: &Client,
    command: &Command,
) -> io::Result<Process<R>> {
    client.check_idle().map_err(io::Error::other)?;
    Process::start(runtime, command)
}

async fn run_process<R: Runtime>(
    runtime: &R,
    mut service: ClientService,
    mut clock: R::Timer,
    command: &Command,
    mut process: Process<R>,
    on_end: impl Fn(Result<&ExitStatus, &io::Error>),
) -> io::Result<ExitStatus> {
    loop {
        let driven =
            drive_until(&mut service, &mut process.stream, &mut clock, pending(), None).await;
        let exited = end(runtime, &mut service, &mut clock, process).await;
        if let Ok(status) = exited {
            service.handle_exited(status);
        }
        on_end(exited.as_ref());
        driven.inspect_err(|error| service.handle_error(error))?;
        let Some(started) = restart(runtime, &mut service, &mut clock, command, &on_end).await?
        else {
            return exited;
        };
        process = started;
        service.handle_opened(clock.now());
    }
}

/// Ends a server whose stream has ended. A server may take long to exit: meanwhile calls fail or
/// time out.
async fn end<R: Runtime>(
    runtime: &R,
    service: &mut ClientService,
    clock: &mut R::Timer,
    process: Process<R>,
) -> io::Result<ExitStatus> {
    service.handle_write_closed();
    // `drive_until` would return at once, since the conversation has ended.
    let mut timer = runtime.timer();
    let mut ending = pin!(process.end(&mut timer));
    poll_fn(|context| {
        if let Poll::Ready(exited) = ending.as_mut().poll(context) {
            return Poll::Ready(exited);
        }
        service.turn(clock.now(), context.waker());
        if service.poll_timeout().is_some_and(|at| clock.poll_timer(context, at).is_ready()) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await
}

/// Waits until the server is to be started again, and starts it; `None` if the client is closed.
async fn restart<R: Runtime>(
    runtime: &R,
    service: &mut ClientService,
    clock: &mut R::Timer,
    command: &Command,
    on_end: impl Fn(Result<&ExitStatus, &io::Error>),
) -> io::Result<Option<Process<R>>> {
    loop {
        while service.is_disconnected() {
            service.handle_idle();
            drive_until(service, &mut NoStream, clock, pending(), None).await?;
        }
        if !service.wants_reopen() {
            return Ok(None);
        }
        match Process::start(runtime, command) {
            Ok(process) => return Ok(Some(process)),
            Err(error) if service.handle_not_started(clock.now(), &error) => on_end(Err(&error)),
            Err(error) => return Err(error),
        }
    }
}

/// A server that runs, or has exited. Dropping this kills the server; its runtime reaps it.
pub struct Process<R: Runtime> {
    /// Dropped before the child, whose id is its own until it is reaped.
    group: ProcessGroup,
    child: R::Child,
    /// The standard output and the standard input of the server.
    pub stream: Duplex<BoxReader, BoxWriter>,
    /// Completes at the end of the pipe, which may outlive the server in a process that has left
    /// its group.
    stderr: Option<Reached>,
    grace: Duration,
}

impl<R: Runtime> Process<R> {
    /// Starts a server.
    ///
    /// Fails with the error of the start, which names the program.
    pub fn start(runtime: &R, command: &Command) -> io::Result<Self> {
        let mut child = runtime.start(command).map_err(|error| command.not_started(&error))?;
        let group = group_of(&child)?;
        let stream = child.take_stream().ok_or(io::ErrorKind::BrokenPipe)?;
        #[cfg(unix)]
        let stream = match group.leader() {
            Some(leader) => {
                let (timer, grace) = (runtime.timer(), command.grace);
                let reader = ServerOutput::new(stream.reader, leader, timer, grace);
                let reader: BoxReader = Box::new(reader);
                Duplex { reader, writer: stream.writer }
            }
            None => stream,
        };
        let stderr = match child.take_stderr().zip(command.stderr.sink()) {
            None => None,
            Some((pipe, sink)) => {
                let ends = EventCount::default();
                let ended = ends.reached(1);
                let ends = AdvanceOnDrop(ends);
                runtime.spawn_reader(async move {
                    read_to_end(pipe, sink).await;
                    drop(ends);
                })?;
                Some(ended)
            }
        };
        Ok(Self { group, child, stream, stderr, grace: command.grace })
    }

    /// Ends the server and its group: closes its input, sends SIGTERM after the grace, kills after
    /// another. Returns its exit status once its standard error has ended, or has not ended in that
    /// time.
    ///
    /// Fails if the server may not be killed, as one that has become another user's.
    pub async fn end(self, clock: &mut impl Clock) -> io::Result<ExitStatus> {
        let Self { mut child, group, stream: Duplex { reader, writer }, stderr, grace } = self;
        drop(writer);
        // A server that flushes the rest of its output must not wait for a reader.
        let discard = read_to_end(reader, |_| ());
        let status = group.end(child.wait(), discard, &mut *clock, grace).await?;
        if let Some(stderr) = stderr {
            let until = clock.now() + grace;
            unless(pin!(stderr), sleep_until(clock, until)).await;
        }
        Ok(status)
    }
}

/// The group of a child process that was started just now.
fn group_of(child: &impl Child) -> io::Result<ProcessGroup> {
    let leader = child.id().ok_or(io::ErrorKind::NotFound)?;
    #[cfg(windows)]
    if let Some(handle) = child.raw_handle() {
        return Ok(ProcessGroup::with_handle(leader, handle));
    }
    Ok(ProcessGroup::of(leader))
}

impl<R: Runtime> core::fmt::Debug for Process<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Process").field("group", &self.group).finish_non_exhaustive()
    }
}

/// Chunks that are read before other futures of the same task get their turn.
const ROUNDS: usize = 16;

/// Reads to the end, which is an empty chunk for `sink`; an error is an end like any other.
async fn read_to_end(mut pipe: impl Reader, mut sink: impl FnMut(&[u8])) {
    poll_fn(|context| {
        for _ in 0..ROUNDS {
            let chunk = core::task::ready!(pipe.poll_read(context)).unwrap_or_default();
            sink(&chunk);
            if chunk.is_empty() {
                return Poll::Ready(());
            }
        }
        // A pipe that is never empty would leave no time for anything else.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The stream of a client while its server is gone.
struct NoStream;

impl Reader for NoStream {
    fn poll_read(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        Poll::Ready(Ok(Bytes::new()))
    }
}

impl Writer for NoStream {
    fn poll_write(&mut self, _: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::task::Waker;

    struct Endless;

    impl Reader for Endless {
        fn poll_read(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
            Poll::Ready(Ok(Bytes::from_static(b"x")))
        }
    }

    #[test]
    fn an_endless_stream_leaves_time_for_others() {
        let mut reading = pin!(read_to_end(Endless, |_| ()));
        assert!(reading.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
}
