//! A client and its driver.
//!
//! In: a [`Target`]. Out: a [`Session`] with a detected server, or a failure. A started server does
//! not outlive the session: [`Session::close`] waits for its end.

use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fs, io};

use mcp_tokio::auth::AuthState;
use mcp_tokio::mcp_proto::ProtocolError;
use mcp_tokio::types::Root;
use mcp_tokio::{
    CallError, Client, ClientConfig, ConnectError, Implementation, Restart, ServerInfo,
    run_command, run_http,
};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::args::Common;
use crate::failure::{Exit, Failure};
use crate::faults::Faults;
use crate::interrupt::unless_interrupted;
use crate::outage::Outage;
use crate::print;
use crate::refusals;
use crate::target::Target;

/// The time limit for closing a connection. It exceeds the time to kill a server, and the time to
/// end a session over HTTP.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(8);

/// The time for dropped calls and subscriptions to reach the server.
const CANCEL_DELAY: Duration = Duration::from_millis(300);

/// A client of this server that is not connected yet.
///
/// Fails with a usage failure for an invalid root.
pub(crate) fn client(common: &Common, target: &Target) -> Result<Client, Failure> {
    watched(config(common), common, target)
}

/// A client for this number of calls at a time, that is not connected yet. Its refusals have no
/// details: they take time.
pub(crate) fn fast_client(common: &Common, in_flight: u32) -> Result<Client, Failure> {
    let mut config = config(common);
    let limit = &mut config.limits.max_in_flight;
    *limit = (*limit).max(in_flight as usize);
    with_config(config, common)
}

/// A client that waits for tasks of a server, and says when the server stops answering.
pub(crate) fn follower(common: &Common, target: &Target) -> Result<Client, Failure> {
    let outage = Mutex::new(Outage::default());
    watched_by(config(common).follow_tasks(), common, target, move |line| {
        let note = outage.lock().unwrap_or_else(PoisonError::into_inner).read(line);
        if let Some(note) = note {
            print::note(&note);
        }
    })
}

/// A client that starts a server again when it has ended, and says so.
pub(crate) fn watcher(common: &Common, target: &Target) -> Result<Client, Failure> {
    let client = watched(config(common).restart(Restart::OnCall), common, target)?;
    client.on_disconnect(|error| print::note(&format!("{error}; connecting again")));
    Ok(client)
}

fn config(common: &Common) -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("mcp", env!("CARGO_PKG_VERSION")));
    config.negotiation = common.era;
    config.probe_timeout = config.probe_timeout.min(common.timeout);
    config.initialize_timeout = common.timeout;
    config
}

/// A client whose refusals over HTTP have details.
fn watched(config: ClientConfig, common: &Common, target: &Target) -> Result<Client, Failure> {
    watched_by(config, common, target, |_| {})
}

/// The same; `f` reads the conversation over HTTP, too.
fn watched_by(
    config: ClientConfig,
    common: &Common,
    target: &Target,
    f: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Client, Failure> {
    let client = with_config(config, common)?;
    if matches!(target, Target::Http(_)) {
        client.on_wire(move |line| {
            refusals::read(line);
            f(line);
        });
    }
    Ok(client)
}

fn with_config(config: ClientConfig, common: &Common) -> Result<Client, Failure> {
    let client = Client::new(config);
    client.on_tool_rejected(|tool, error| {
        print::note(&format!("the tool {tool:?} is left out: {error}"));
    });
    client.on_entry_rejected(|list, index, reason| {
        print::note(&format!("entry {index} of {} is left out: {reason}", list.method()));
    });
    client.on_authorization(|state| {
        if let AuthState::Ready { unsaved: Some(reason) } = state {
            print::note(&format!("mcp: the new credentials cannot be stored: {reason}"));
            print::note("     the next command may need `mcp login`");
        }
    });
    if !common.root.is_empty() {
        let roots = common.root.iter().map(|root| self::root(root));
        let roots = roots.collect::<Result<_, _>>()?;
        client.set_roots(roots).map_err(Failure::usage)?;
    }
    Ok(client)
}

/// The root of a URI, or of a folder that exists.
fn root(text: &str) -> Result<Root, Failure> {
    if text.contains("://") {
        return Ok(Root::new(text));
    }
    let path = fs::canonicalize(text)
        .map_err(|error| Failure::usage(format!("--root: {text}: {error}")))?;
    let path = path.to_str().ok_or_else(|| Failure::usage("--root: the path is not UTF-8"))?;
    Ok(Root::new(file_uri(path, cfg!(windows))))
}

/// The URI of an absolute path. A path of Windows may have a drive or a network folder, and may
/// begin with `\\?\` ([RFC 8089, appendix E](https://www.rfc-editor.org/rfc/rfc8089#appendix-E)).
fn file_uri(path: &str, is_windows: bool) -> String {
    let path = if is_windows { path.replace('\\', "/") } else { path.to_owned() };
    let path = path.strip_prefix("//?/").filter(|_| is_windows).unwrap_or(&path);
    let (start, path) = match path.strip_prefix("UNC/") {
        Some(share) => ("file://", share),
        None if path.starts_with('/') => ("file://", path),
        None => ("file:///", path),
    };
    let mut uri = String::from(start);
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                uri.push(char::from(byte));
            }
            byte => uri.extend(["%".to_owned(), format!("{byte:02X}")]),
        }
    }
    uri
}

/// A connection, which may still be opening.
pub(crate) struct Session {
    client: Client,
    /// The task that drives the client; its result describes the end.
    driver: Driver,
    /// The advice if the URL looks like one of HTTP+SSE.
    url_advice: Option<String>,
    has_url: bool,
}

enum Driver {
    Running(JoinHandle<io::Result<String>>),
    Ended(io::Result<String>),
}

impl Session {
    pub(crate) fn open(client: &Client, target: Target) -> Self {
        let url_advice = target.url_advice();
        let has_url = matches!(target, Target::Http(_));
        // Over HTTP an error belongs to a call, whose error shows it.
        if !has_url {
            let faults = Faults::new("the server's output".into());
            client.on_fault(move |error| faults.show(error));
        }
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
        Self { client: client.clone(), driver: Driver::Running(driver), url_advice, has_url }
    }

    /// Waits until the server is detected.
    pub(crate) async fn connected(&mut self) -> Result<ServerInfo, Failure> {
        let found = self.found().await;
        found.map_err(|failure| match self.url_advice.take() {
            Some(advice) if failure.suspects_url() => failure.advice(advice),
            _ if self.has_url => failure,
            _ => failure.without_url(),
        })
    }

    async fn found(&mut self) -> Result<ServerInfo, Failure> {
        let mut connected = pin!(self.client.connected());
        // If the server cannot be started, the driver ends before the client has a result.
        let found = poll_fn(|context| match connected.as_mut().poll(context) {
            Poll::Ready(found) => Poll::Ready(found),
            Poll::Pending => self.driver.poll(context).map(|()| Err(ConnectError::Closed)),
        });
        let error = match found.await {
            Ok(server) => return Ok(server),
            Err(error) => error,
        };
        if error != ConnectError::Closed {
            return Err(self.content_coding().unwrap_or_else(|| error.into()));
        }
        // The driver knows the cause: the program is missing, or has exited.
        poll_fn(|context| self.driver.poll(context)).await;
        Err(match &self.driver {
            Driver::Ended(Ok(end)) => Failure::new(Exit::Connection, format!("{error}; {end}"))
                .advice("is this how the server is started? It has to stay, and to serve stdio"),
            Driver::Ended(Err(reason)) if !is_connect_error(reason) => {
                Failure::new(Exit::Connection, reason)
            }
            Driver::Ended(Err(_)) | Driver::Running(_) => error.into(),
        })
    }

    /// The failure of a server whose answers have a content coding, in spite of the request.
    fn content_coding(&self) -> Option<Failure> {
        let error = self.client.decision_errors().pop()??;
        let CallError::Protocol(error @ ProtocolError::ContentEncoding { .. }) = error else {
            return None;
        };
        Some(Failure::new(Exit::Protocol, error))
    }

    /// Ends the connection, and a started server. Past the time limit or an interrupt, they end
    /// with the program.
    pub(crate) async fn close(self) {
        self.close_after(Duration::ZERO).await;
    }

    async fn close_after(mut self, delay: Duration) {
        let closed = async {
            sleep(delay).await;
            self.client.close().await;
            poll_fn(|context| self.driver.poll(context)).await;
        };
        let _ = unless_interrupted(async { Ok(timeout(CLOSE_TIMEOUT, closed).await) }).await;
    }
}

impl Driver {
    /// Ready once the driver has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Self::Running(task) = self {
            let ended = ready!(Pin::new(task).poll(context));
            *self = Self::Ended(ended.map_err(io::Error::other).flatten());
        }
        Poll::Ready(())
    }
}

fn is_connect_error(error: &io::Error) -> bool {
    let inner: Option<&(dyn Error + 'static)> = error.get_ref().map(|inner| inner as _);
    inner.and_then(|inner| inner.downcast_ref::<ConnectError>()).is_some()
}

/// Connects, runs `f` unless interrupted, and then always ends the connection.
pub(crate) async fn with<T>(
    client: &Client,
    target: Target,
    f: impl AsyncFnOnce(ServerInfo) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut session = Session::open(client, target);
    let done = unless_interrupted(async {
        let server = session.connected().await?;
        f(server).await
    });
    let done = done.await;
    // Over HTTP a call is cancelled by another request, which must precede the end.
    let is_cancelled = done.as_ref().is_err_and(|failure| failure.exit == Exit::Interrupted);
    session.close_after(if is_cancelled { CANCEL_DELAY } else { Duration::ZERO }).await;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_windows_has_the_uri_of_its_drive_or_its_share() {
        for (path, is_windows, uri) in [
            (r"\\?\C:\work\a b", true, "file:///C:/work/a%20b"),
            (r"\\?\UNC\server\share\a", true, "file://server/share/a"),
            (r"C:\work", true, "file:///C:/work"),
            (r"/a b\c?", false, "file:///a%20b%5Cc%3F"),
            ("//?/UNC/a", false, "file:////%3F/UNC/a"),
        ] {
            assert_eq!(file_uri(path, is_windows), uri, "{path}");
            assert_eq!(Root::check_all(&[Root::new(uri)]), Ok(()));
        }
    }
}
