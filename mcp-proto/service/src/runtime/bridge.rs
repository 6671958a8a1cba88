//! Bridges on a runtime, to a child process, over HTTP, or over a byte stream.

use alloc::boxed::Box;
#[cfg(feature = "auth")]
use alloc::format;
#[cfg(feature = "auth")]
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use std::io;
use std::process::ExitStatus;

use super::process::run_command_with;
use super::stream::sleep_until;
use super::{Runtime, random, run, run_http};
use crate::bridge::{Connect, Driving, Reports};
use crate::lock::Lock;
use crate::{
    Bridge, BridgeConfig, Client, Clock, Command, ConnectFailure, HttpClientConfig, Reader,
    Spawned, Writer,
};
use mcp_proto::Duration;
#[cfg(feature = "auth")]
use mcp_proto::auth::AuthState;
use mcp_proto::client::ConnectError;
#[cfg(feature = "auth")]
use mcp_proto::http::Url;

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
    let drive = move |client: Client, reports: Reports| {
        let (runtime, target) = (drives.clone(), target.clone());
        let driving: Driving = Box::pin(async move {
            match target {
                BridgeTarget::Command(command) => {
                    run_program(&runtime, &client, &command, &reports).await
                }
                BridgeTarget::Http(config) => {
                    let (url, of_loss) = (config.url.clone(), config.url.clone());
                    #[cfg(feature = "auth")]
                    report_unsaved(&client, &url, reports.clone());
                    client.on_disconnect(move |error| {
                        reports
                            .report_failure(&ConnectFailure::url(&of_loss, error.clone()).into());
                    });
                    let ended = run_http(&runtime, &client, *config).await;
                    ended.map_err(|error| match error.downcast::<ConnectError>() {
                        Ok(error) => ConnectFailure::url(&url, error).into(),
                        Err(error) => error,
                    })
                }
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

/// Reports credentials that are lost with the connection.
#[cfg(feature = "auth")]
fn report_unsaved(client: &Client, url: &Url, reports: Reports) {
    let url = String::from(url.as_str().split('?').next().unwrap_or_default());
    client.on_authorization(move |state| {
        if let AuthState::Ready { unsaved: Some(reason) } = state {
            let text = format!("{url}: the new credentials cannot be stored: {reason}");
            reports.report_failure(&io::Error::other(text));
        }
    });
}

/// Drives a client of a program until its conversation has ended; the error says why. A loss of the
/// program, if it is started again, is reported once its exit status is known.
async fn run_program<R: Runtime>(
    runtime: &R,
    client: &Client,
    command: &Command,
    reports: &Reports,
) -> io::Result<()> {
    let lost = Arc::<Lock<Option<ConnectError>>>::default();
    let reported = lost.clone();
    client.on_disconnect(move |error| *reported.lock() = Some(error.clone()));
    let on_end = |ended: Result<&ExitStatus, &io::Error>| {
        let error = lost.lock().take();
        match (error, ended) {
            (None, _) => {}
            (Some(error), Ok(exit)) => reports.report_failure(&failure(command, error, *exit)),
            (Some(_), Err(error)) => reports.report_failure(error),
        }
    };
    let exit = run_command_with(runtime, client, command, on_end).await?;
    // The client is closed, so this does not wait.
    let error = client.connected().await.err().unwrap_or(ConnectError::Closed);
    Err(failure(command, error, exit))
}

/// The error of a connection to a program, with the exit status if the exit is the reason.
fn failure(command: &Command, error: ConnectError, exit: ExitStatus) -> io::Error {
    let is_exit = matches!(error, ConnectError::Lost | ConnectError::Closed);
    let exit = Some(exit).filter(|_| is_exit);
    ConnectFailure::command(command, error, exit).into()
}
