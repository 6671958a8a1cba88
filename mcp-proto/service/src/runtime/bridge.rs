//! Bridges on a runtime, to a child process, over HTTP, or over a byte stream.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use std::io;

use super::stream::sleep_until;
use super::{Runtime, random, run, run_command, run_http};
use crate::bridge::{Connect, Driving};
use crate::{
    Bridge, BridgeConfig, Client, Clock, Command, ConnectFailure, HttpClientConfig, Reader,
    Spawned, Writer,
};
use mcp_proto::Duration;
use mcp_proto::client::ConnectError;

/// A server behind a bridge.
#[derive(Clone)]
#[non_exhaustive]
pub enum BridgeTarget {
    /// A program that is started for each connection.
    Command(Command),
    /// A server over HTTP.
    Http(Box<HttpClientConfig>),
    /// A server on a byte stream, which a function opens for each connection. If the function
    /// fails, pending requests are answered with -32603, and [`Bridge::on_failure`] is called.
    Stream(Arc<OpenStream>),
}

/// A bidirectional byte stream.
pub trait ByteStream: Reader + Writer + Send {}

impl<T: Reader + Writer + Send> ByteStream for T {}

/// Opens a stream to a server.
pub type OpenStream = dyn Fn() -> io::Result<Box<dyn ByteStream>> + Send + Sync;

impl BridgeTarget {
    /// A server on a byte stream, which `open` opens for each connection.
    pub fn stream<S: ByteStream + 'static>(
        open: impl Fn() -> io::Result<S> + Send + Sync + 'static,
    ) -> Self {
        Self::Stream(Arc::new(move || Ok(Box::new(open()?))))
    }
}

impl fmt::Debug for BridgeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => f.debug_tuple("Command").field(command).finish(),
            Self::Http(config) => f.debug_tuple("Http").field(config).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Returns a bridge to a server; serve its [`Bridge::catalog`]. The server is started, or connected
/// to, when a client needs it.
pub fn bridge<R: Runtime>(runtime: &R, target: BridgeTarget, config: BridgeConfig) -> Bridge {
    let (drives, spawns, sleeps) = (runtime.clone(), runtime.clone(), runtime.clone());
    let drive = move |client: Client| {
        let (runtime, target) = (drives.clone(), target.clone());
        let driving: Driving = Box::pin(async move {
            match target {
                BridgeTarget::Command(command) => {
                    let exit = Some(run_command(&runtime, &client, &command).await?);
                    Err(ConnectFailure::command(&command, ConnectError::Closed, exit).into())
                }
                BridgeTarget::Http(config) => run_http(&runtime, &client, *config).await,
                BridgeTarget::Stream(open) => {
                    run(&runtime, &client, open()?).await?;
                    Err(io::Error::other(ConnectError::Closed))
                }
            }
        });
        driving
    };
    let sleep = move |duration: Duration| {
        let mut clock = sleeps.timer();
        let sleeping: Spawned = Box::pin(async move {
            let until = clock.now() + duration;
            sleep_until(&mut clock, until).await;
        });
        sleeping
    };
    let connect = Connect {
        drive: Box::new(drive),
        spawn: Arc::new(move |future| spawns.spawn(future)),
        sleep: Box::new(sleep),
        random,
    };
    Bridge::new(config, connect)
}
