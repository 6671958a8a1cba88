//! Consent in a browser on this machine, with a redirect to a port of a loopback address.
//!
//! In: a page. Out: the redirect. Threads accept the connections, so that any runtime can be used.
//!
//! [RFC 8252, section 7.3](https://www.rfc-editor.org/rfc/rfc8252#section-7.3)

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::{poll_fn, ready};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::task::Poll;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use std::{io, thread};

use mcp_proto::auth::{ConsentPage, HostKind, Secret};
use mcp_proto::http::{Scheme, Url};

use super::consent::{Consent, PendingConsent};
use super::open_page::open_page;
use super::redirect_page;
use super::vault::AuthFuture;
use crate::mailbox::Mailbox;
use crate::runtime::{spawn, unblock};

/// The most connections at a time; others are closed.
const MAX_CONNECTIONS: usize = 8;

/// The pause after a connection that could not be accepted: there may be too many open files.
const PAUSE: Duration = Duration::from_millis(50);

type Opener = dyn Fn(&Url) -> io::Result<()> + Send + Sync;

/// A browser on this machine. The redirect is received on 127.0.0.1 and `::1` only. If the redirect
/// URI has another address of 127.0.0.0/8, that address replaces 127.0.0.1.
///
/// The port is that of [`Config::redirect_uri`](mcp_proto::auth::Config::redirect_uri), or else
/// that of the last sign-in if it is free. Some authorization servers accept only the host
/// `localhost`, others only `127.0.0.1`, which is the default. For `localhost` the port must be
/// free at both addresses, since a browser may connect to either.
#[derive(Clone)]
pub struct Loopback(Arc<Opener>);

impl Loopback {
    /// Opens pages with [`open_page`], which fails on a machine without a browser. The sign-in then
    /// fails too: use [`Paste`](super::Paste) there.
    pub fn new() -> Self {
        Self::with(open_page)
    }

    /// Opens pages with `open`, which runs on a separate thread and may block. `open` fails if the
    /// page cannot be shown.
    pub fn with(open: impl Fn(&Url) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(open))
    }
}

impl Default for Loopback {
    fn default() -> Self {
        Self::new()
    }
}

impl Consent for Loopback {
    fn prepare(
        &self,
        redirect_uri: &str,
        port: Option<u16>,
    ) -> AuthFuture<io::Result<Box<dyn PendingConsent>>> {
        let pending = listen(redirect_uri, port, &self.0);
        Box::pin(ready(pending.map(|pending| Box::new(pending) as Box<dyn PendingConsent>)))
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loopback")
    }
}

/// Listeners that wait for a redirect. Dropping this closes them.
struct PendingLoopback {
    redirect_uri: String,
    addresses: Vec<SocketAddr>,
    shared: Arc<LoopbackShared>,
    open: Arc<Opener>,
}

/// State that the threads and the future share.
struct LoopbackShared {
    path: String,
    awaited: Mailbox<Awaited>,
    connections: AtomicUsize,
    is_over: AtomicBool,
}

#[derive(Default)]
struct Awaited {
    /// The `state` of the shown page; removed by its redirect.
    state: Option<Secret>,
    redirect: Option<String>,
}

fn listen(uri: &str, port: Option<u16>, open: &Arc<Opener>) -> io::Result<PendingLoopback> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    let url = Url::parse(uri).map_err(|error| invalid(format!("redirect URI {uri}: {error}")))?;
    if url.scheme() != Scheme::Http || HostKind::of(url.host()) != HostKind::Loopback {
        let text = "its host is no loopback host, so its redirect cannot be listened for";
        return Err(invalid(format!("redirect URI {uri}: {text}")));
    }
    // A port in the configuration is the registered one.
    let named = named_port(uri, &url);
    let (first, second) = match named {
        Some(port) => bind(url.host(), port).map_err(|error| {
            let text = format!("port {port} of the redirect URI cannot be used: {error}");
            io::Error::new(error.kind(), text)
        })?,
        None => port
            .and_then(|port| bind(url.host(), port).ok())
            .map_or_else(|| bind(url.host(), 0).or_else(|_| bind(url.host(), 0)), Ok)?,
    };
    let address = first.local_addr()?;
    let path = url.target().split('?').next().unwrap_or_default();
    let shared = Arc::new(LoopbackShared::new(path));
    let host = if url.authority().starts_with('[') { "[::1]" } else { url.host() };
    let redirect_uri = format!("http://{host}:{}{}", address.port(), url.target());
    let open = open.clone();
    // If the second thread cannot be started, the drop of this value ends the first one.
    let mut pending = PendingLoopback { redirect_uri, addresses: Vec::new(), shared, open };
    for listener in [Some(first), second].into_iter().flatten() {
        pending.addresses.push(listener.local_addr()?);
        let shared = pending.shared.clone();
        spawn(move || accept(listener.incoming(), &shared, pause))?;
    }
    Ok(pending)
}

/// The port that a redirect URI names. [`Url`] omits the default port.
fn named_port(uri: &str, url: &Url) -> Option<u16> {
    let authority = uri.split(['/', '?']).nth(2).unwrap_or_default();
    (url.port() != 80 || authority.ends_with(":80")).then(|| url.port())
}

/// Listens at a port of both loopback addresses; at `host` if it is another one of IPv4. Fails if
/// another program has the port at an address to which a redirect to `host` may lead. The machine
/// may not support IPv6.
fn bind(host: &str, port: u16) -> io::Result<(TcpListener, Option<TcpListener>)> {
    let first = TcpListener::bind((host.parse().unwrap_or(Ipv4Addr::LOCALHOST), port))?;
    let second = TcpListener::bind((Ipv6Addr::LOCALHOST, first.local_addr()?.port()));
    let may_lead_there = |error: &io::Error| match host.parse() {
        Ok(IpAddr::V4(_)) => false,
        Ok(IpAddr::V6(_)) => true,
        Err(_) => error.kind() == io::ErrorKind::AddrInUse,
    };
    match second {
        Err(error) if may_lead_there(&error) => Err(error),
        second => Ok((first, second.ok())),
    }
}

/// Waits for room for another connection.
#[expect(clippy::disallowed_methods, reason = "the thread only accepts connections")]
fn pause() {
    thread::sleep(PAUSE);
}

/// Accepts connections until the consent is dropped. Calls `pause` after an error.
fn accept(
    sockets: impl Iterator<Item = io::Result<TcpStream>>,
    shared: &Arc<LoopbackShared>,
    pause: impl Fn(),
) {
    for socket in sockets {
        if shared.is_over.load(Ordering::Acquire) {
            return;
        }
        let Ok(socket) = socket else {
            pause();
            continue;
        };
        let Some(connection) = CountedConnection::new(shared) else { continue };
        // Errors of a connection are ignored: there was no redirect.
        let _ = spawn(move || {
            let CountedConnection(shared) = &connection;
            let _ = redirect_page::serve(socket, &shared.path, |target| shared.take(target));
        });
    }
}

/// The place of a connection among [`MAX_CONNECTIONS`].
struct CountedConnection(Arc<LoopbackShared>);

impl CountedConnection {
    /// `None` if all places are taken.
    fn new(shared: &Arc<LoopbackShared>) -> Option<Self> {
        let connection = Self(shared.clone());
        let before = shared.connections.fetch_add(1, Ordering::AcqRel);
        (before < MAX_CONNECTIONS).then_some(connection)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

impl LoopbackShared {
    fn new(path: &str) -> Self {
        Self {
            path: path.to_string(),
            awaited: Mailbox::default(),
            connections: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Stores a redirect; false if it is not the awaited one.
    fn take(&self, target: &str) -> bool {
        let taken = self.awaited.put(|awaited| {
            let redirect = redirect_page::redirect(target, awaited.state.as_ref()?.expose())?;
            awaited.redirect = Some(redirect.into());
            awaited.state = None;
            Some(())
        });
        taken.is_some()
    }
}

impl PendingConsent for PendingLoopback {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask(&mut self, page: ConsentPage) -> AuthFuture<Result<String, String>> {
        let (shared, open) = (self.shared.clone(), self.open.clone());
        shared.awaited.with(|awaited| awaited.state = Some(page.state.clone()));
        Box::pin(async move {
            let opened = unblock(move || open(&page.url)).await;
            opened.map_err(|error| format!("the page could not be opened: {error}"))?;
            poll_fn(|context| match shared.awaited.poll(context.waker(), |it| it.redirect.take()) {
                Poll::Ready(redirect) => Poll::Ready(Ok(redirect)),
                Poll::Pending => Poll::Pending,
            })
            .await
        })
    }
}

impl Drop for PendingLoopback {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        for address in &self.addresses {
            // Wakes the thread that accepts.
            let _ = TcpStream::connect(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn port_counts_as_named_although_it_is_the_default_one() {
        for (uri, named) in [
            ("http://127.0.0.1/callback", None),
            ("http://127.0.0.1:/callback", None),
            ("http://127.0.0.1:80/callback", Some(80)),
            ("http://[::1]:80?app=1", Some(80)),
            ("http://localhost:3000/callback", Some(3000)),
            ("http://localhost/callback:80", None),
        ] {
            assert_eq!(named_port(uri, &Url::parse(uri).unwrap()), named, "{uri}");
        }
    }

    #[test]
    fn errors_of_accept_are_followed_by_a_pause() {
        let shared = Arc::new(LoopbackShared::new("/callback"));
        let pauses = Cell::new(0);
        // EMFILE, of which Rust knows no kind.
        let full = |_| Err(io::Error::from_raw_os_error(24));
        accept((0..3).map(full), &shared, || pauses.set(pauses.get() + 1));
        assert_eq!(pauses.get(), 3);
        shared.is_over.store(true, Ordering::Release);
        accept((0..3).map(full), &shared, || pauses.set(pauses.get() + 1));
        assert_eq!(pauses.get(), 3, "the consent is dropped");
    }
}
