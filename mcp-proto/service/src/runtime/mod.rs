//! The trait [`Runtime`], and the servers and clients that run on any implementation of it.
//!
//! In: an implementation of [`Runtime`]: a timer, tasks, connections, child processes. Out: servers
//! and clients over byte streams, child processes and HTTP. `mcp-tokio` and `mcp-async-std`
//! implement the trait and export these functions for their runtime. The example `thread_runtime`
//! of this crate implements it with threads of the standard library.
//!
//! | function | uses of the runtime |
//! |---|---|
//! | [`serve`] | timer, tasks for handlers |
//! | [`standard_stream`] | [`Runtime::pipe_reader`], [`Runtime::pipe_writer`], [`Runtime::unix_stream`] |
//! | [`serve_stdio`] | those of `serve` and `standard_stream` |
//! | [`serve_http`] | timer, tasks for connections, [`Runtime::accept`], [`Runtime::park_count`] |
//! | [`http_server`], [`serve_http_stream`] | timer, tasks for handlers of sessions |
//! | [`run`], [`connect`] | timer; `connect` one task |
//! | [`run_command`], [`connect_command`] | the same, [`Runtime::start`], [`Runtime::spawn_reader`] |
//! | [`bridge`()] | timer, tasks, and the uses of the function that connects |
//! | [`run_http`], [`connect_http`] | the same as `run` and `connect`, [`Runtime::resolve`], [`Runtime::connect`] |
//!
//! `run_*` drive a client in the caller's task until the conversation has ended. `connect_*` return
//! once the client is connected. Until then they drive the client in the caller's task, so that
//! dropping the future closes the client. After that a spawned task drives it.

mod blocking;
mod bridge;
mod client;
mod dial;
mod dialed;
mod epoch;
mod event_count;
mod eyeballs;
mod failure_kind;
#[cfg(feature = "jwt")]
mod get;
mod grouped_writes;
mod input;
#[cfg(any(unix, windows))]
mod keep_alive;
mod lateness;
mod listener;
mod process;
mod proxy;
mod race;
#[cfg(unix)]
mod server_output;
mod standard;
mod stream;
mod tls;

use alloc::borrow::ToOwned;
#[cfg(unix)]
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::Future;
use core::net::SocketAddr;
#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::net::Shutdown;
use std::net::ToSocketAddrs;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;

use crate::{BoxReader, BoxWriter, Clock, Command, Duplex, Socket};

#[doc(hidden)]
pub use crate::io::{SHORT_CHUNK, expects_long_chunk, read_long_chunk, short_chunk};
#[cfg(feature = "auth")]
pub(crate) use blocking::spawn;
pub use blocking::{BlockingReader, BlockingWriter, unblock};
pub use bridge::{BridgeTarget, ByteStream, OpenStream, bridge};
pub use client::{connect, run};
pub use dial::{Dialer, connect_http, connect_http_with, run_http, run_http_with};
pub use dialed::Dialed;
pub use epoch::epoch;
#[cfg(feature = "jwt")]
pub use get::{get, jwks};
#[doc(hidden)]
pub use grouped_writes::GroupedWrites;
pub use input::copy_input;
#[cfg(any(unix, windows))]
pub use keep_alive::keep_alive;
#[doc(hidden)]
pub use lateness::{ResumingTimer, SUSPENSION};
pub use listener::{http_server, serve_http, serve_http_stream};
pub use process::{Process, connect_command, run_command};
pub use standard::{serve_stdio, standard_stream};
#[cfg(feature = "jwt")]
pub(crate) use stream::report_alarm;
pub use stream::serve;
#[doc(hidden)]
pub use tls::{NOT_TLS, UNTRUSTED};

/// A runtime: the services of an executor and its reactor that servers and clients need.
///
/// Each value has an epoch, from which its timers count. Clones share the epoch. Values whose
/// servers share a registry must have the same epoch, such as [`epoch`]: middleware such as
/// [`limit_rate`](crate::limit_rate) compares the times of all requests.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// A clock with one timer.
    type Timer: Clock + Send + 'static;
    /// A TCP connection.
    type Socket: Socket + Unpin + 'static;
    /// A listening TCP socket. Dropping it closes it.
    type Listener: Send + Sync;
    /// A child process.
    type Child: Child;

    /// Returns a timer whose clock counts from the epoch of this value.
    fn timer(&self) -> Self::Timer;

    /// Runs a future to its end in another task. A runtime without room for another task may drop
    /// the future, or panic: the request, the task or the connection of the future then fails.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static);

    /// Returns whether [`serve`] spawns handlers that are pending after their first poll. If not,
    /// they run in the task that serves.
    fn spawns_handlers(&self) -> bool {
        true
    }

    /// The number of times that the thread of this runtime has parked because no task was ready.
    /// [`serve_http`] writes the answers between two parks together. `None`, the default, if the
    /// number is unknown or tasks run on several threads: then each answer is written at once.
    fn park_count(&self) -> Option<u64> {
        None
    }

    /// Runs a future that reads the standard error of a server and calls a function of the
    /// application with each line. Other tasks may wait for the server meanwhile, so the future
    /// must run independently of them.
    ///
    /// Fails if the future cannot be run.
    fn spawn_reader(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        self.spawn(future);
        Ok(())
    }

    /// Resolves a host name to addresses, in the system's order of preference; by default on a
    /// separate thread. Dropping the future should cancel the lookup. The system's cannot be
    /// cancelled: by default its thread stays until it ends.
    fn resolve(
        &self,
        name: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send {
        let name = (name.to_owned(), port);
        unblock(move || Ok(name.to_socket_addrs()?.collect()))
    }

    /// Connects to an address. Set `TCP_NODELAY`: otherwise the end of a request might wait for the
    /// acknowledgement of its beginning. Dropping the future cancels the attempt. Clients run
    /// several attempts concurrently, for the addresses of one host (RFC 8305).
    fn connect(&self, address: SocketAddr)
    -> impl Future<Output = io::Result<Self::Socket>> + Send;

    /// Accepts a connection, with `TCP_NODELAY`. Dropping the future must not lose a connection.
    fn accept(
        &self,
        listener: &Self::Listener,
    ) -> impl Future<Output = io::Result<(Self::Socket, SocketAddr)>> + Send;

    /// Starts the process of [`Command::to_std`], with pipes as its standard input and output and
    /// [`Stderr::stdio`](crate::Stderr::stdio) as its standard error.
    fn start(&self, command: &Command) -> io::Result<Self::Child>;

    /// Reads a pipe, which may be made non-blocking; by default on a separate thread.
    #[cfg(unix)]
    fn pipe_reader(&self, pipe: File) -> io::Result<BoxReader> {
        Ok(Box::new(BlockingReader::new(pipe)))
    }

    /// Writes to a pipe, which may be made non-blocking; by default on a separate thread.
    #[cfg(unix)]
    fn pipe_writer(&self, pipe: File) -> io::Result<BoxWriter> {
        Ok(Box::new(BlockingWriter::new(pipe)))
    }

    /// Reads from and writes to a socket, which may be made non-blocking; by default on threads.
    #[cfg(unix)]
    fn unix_stream(&self, socket: UnixStream) -> io::Result<Box<dyn Socket>> {
        let reader = BlockingReader::new(socket.try_clone()?);
        let shut = |socket: UnixStream| drop(socket.shutdown(Shutdown::Both));
        Ok(Box::new(Duplex { reader, writer: BlockingWriter::with_end(socket, shut) }))
    }
}

/// A child process. After a drop the process must be reaped once it has exited; [`Process`] kills
/// it before.
pub trait Child: Send + 'static {
    /// The process id, as long as the process is not reaped.
    fn id(&self) -> Option<u32>;

    /// The handle of the process, as long as the process is not reaped. Without one, processes that
    /// outlive the server are not found.
    #[cfg(windows)]
    fn raw_handle(&self) -> Option<std::os::windows::io::RawHandle> {
        None
    }

    /// Takes its standard output, to read, and its standard input, to write.
    fn take_stream(&mut self) -> Option<Duplex<BoxReader, BoxWriter>>;

    /// Takes its standard error, if it is a pipe.
    fn take_stderr(&mut self) -> Option<BoxReader>;

    /// Waits for the exit of the process and reaps it.
    fn wait(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + Send;
}

/// Returns 128 random bits, for session ids and the spread of retries.
fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    #[expect(clippy::expect_used, reason = "nothing is safe on a system without randomness")]
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes
}
