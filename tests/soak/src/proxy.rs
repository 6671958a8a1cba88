//! A proxy between a client and a server, which breaks what goes through it.
//!
//! In: connections of a client, and the weather of their link. Out: the same requests at the
//! server, and its answers, or whatever [`Fault`] the weather draws for a request. Requests are
//! taken apart, so that one can be answered here on a connection that goes on; answers are bytes.

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::fault::{Fault, Weather};
use crate::random::Random;
use crate::trace::Trace;

/// The gateway's own answers come after this time if the server has the request: so that it has
/// begun.
const AFTER: Duration = Duration::from_millis(80);

/// Present address of a server; `None` while it is down. Clones are the same place.
#[derive(Clone, Default)]
pub struct Upstream(Arc<Mutex<Option<SocketAddr>>>);

impl Upstream {
    /// Says where the server is from now on.
    pub fn set(&self, address: Option<SocketAddr>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    fn get(&self) -> Option<SocketAddr> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The proxy of one link. It serves until it is dropped.
pub struct Proxy {
    /// URL for clients.
    pub url: String,
    shared: Arc<Shared>,
    cutter: Cutter,
}

/// Cuts all connections of a proxy. Clones do the same.
#[derive(Clone)]
pub struct Cutter {
    shared: Arc<Shared>,
    cut: watch::Sender<()>,
}

struct Shared {
    upstream: Upstream,
    state: Mutex<State>,
    trace: Trace,
    connections: AtomicU64,
}

struct State {
    weather: Weather,
    random: Random,
    faults: BTreeMap<&'static str, u64>,
}

impl Proxy {
    /// Starts a proxy at a port that the system picks.
    pub async fn start(upstream: Upstream, random: Random, trace: Trace) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let state = State { weather: Weather::Clear, random, faults: BTreeMap::new() };
        let state = Mutex::new(state);
        let shared = Arc::new(Shared { upstream, state, trace, connections: AtomicU64::new(0) });
        let (cut, is_cut) = watch::channel(());
        let cutter = Cutter { shared: shared.clone(), cut };
        let accepting = shared.clone();
        tokio::spawn(async move {
            loop {
                if let Ok((client, _)) = listener.accept().await {
                    let number = accepting.connections.fetch_add(1, Ordering::Relaxed);
                    let connection = Connection {
                        shared: accepting.clone(),
                        number,
                        client,
                        server: None,
                        requests: Requests::default(),
                        plan: Plan::default(),
                    };
                    tokio::spawn(connection.run(is_cut.clone()));
                }
            }
        });
        Ok(Self { url, shared, cutter })
    }

    /// Sets what happens to requests from now on.
    pub fn set_weather(&self, weather: Weather) {
        self.shared.trace.note(&format!("-- weather: {weather:?}"));
        self.shared.state().weather = weather;
    }

    /// Handle that cuts all connections.
    pub fn cutter(&self) -> Cutter {
        self.cutter.clone()
    }

    /// Number of connections so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Number of faults, by kind.
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        self.shared.state().faults.clone()
    }
}

impl Cutter {
    /// Cuts all connections that there are.
    pub fn cut(&self) {
        self.shared.trace.note("-- all connections are cut");
        self.shared.count("all connections cut");
        self.cut.send_replace(());
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) -> Fault {
        let mut state = self.state();
        let State { weather, random, faults } = &mut *state;
        let fault = weather.draw(random);
        if fault != Fault::None {
            *faults.entry(fault.kind()).or_default() += 1;
        }
        fault
    }

    fn count(&self, kind: &'static str) {
        *self.state().faults.entry(kind).or_default() += 1;
    }
}

/// One connection of a client, and the one to the server behind it.
struct Connection {
    shared: Arc<Shared>,
    number: u64,
    client: TcpStream,
    server: Option<TcpStream>,
    requests: Requests,
    plan: Plan,
}

/// Faults that the answer will meet.
#[derive(Default)]
struct Plan {
    /// The bytes that may still pass, and whether a reset follows.
    bytes: Option<(usize, bool)>,
    /// Time at which the connection is cut.
    until: Option<Instant>,
}

/// End of a connection.
enum End {
    Close,
    Reset,
}

impl Connection {
    async fn run(mut self, mut is_cut: watch::Receiver<()>) {
        // Those before it was there are not its own.
        is_cut.mark_unchanged();
        let end = tokio::select! {
            end = self.converse() => end.unwrap_or(End::Reset),
            _ = is_cut.changed() => End::Reset,
        };
        if matches!(end, End::Reset) {
            // An RST in place of a FIN.
            let _ = self.client.set_zero_linger();
        }
    }

    async fn converse(&mut self) -> io::Result<End> {
        let (mut asked, mut answered) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        loop {
            tokio::select! {
                count = self.client.read(&mut asked) => {
                    let count = count?;
                    if count == 0 {
                        return Ok(End::Close);
                    }
                    self.requests.push(&asked[..count]);
                    while let Some(request) = self.requests.next() {
                        if let Some(end) = self.request(&request).await? {
                            return Ok(end);
                        }
                    }
                }
                count = read(&mut self.server, &mut answered) => {
                    let count = count?;
                    if count == 0 {
                        return Ok(End::Close);
                    }
                    if let Some(end) = self.answer(&answered[..count]).await? {
                        return Ok(end);
                    }
                }
                () = wait(self.plan.until) => return Ok(End::Reset),
            }
        }
    }

    /// Forwards a request, or does with it what the weather draws.
    async fn request(&mut self, request: &[u8]) -> io::Result<Option<End>> {
        let fault = self.shared.draw();
        self.shared.trace.note(&format!("   proxy {}: {}: {fault:?}", self.number, about(request)));
        self.plan = Plan::default();
        match fault {
            Fault::None => {}
            Fault::Delay(delay) => sleep(delay).await,
            Fault::Status(status) => return self.refuse(status).await.map(|()| None),
            Fault::Refuse => return Ok(Some(End::Reset)),
            Fault::StatusAfter(_) | Fault::Lose => {}
            Fault::Cut { bytes, resets } => self.plan.bytes = Some((bytes, resets)),
            Fault::Expire(time) => self.plan.until = Some(Instant::now() + time),
        }
        if !self.forward(request).await {
            self.shared.trace.note(&format!("   proxy {}: the server is down", self.number));
            self.shared.count("server down");
            // Half of the gateways say so.
            return if self.number.is_multiple_of(2) {
                self.refuse(502).await.map(|()| Some(End::Close))
            } else {
                Ok(Some(End::Reset))
            };
        }
        match fault {
            Fault::StatusAfter(status) => {
                sleep(AFTER).await;
                self.refuse(status).await.map(|()| Some(End::Close))
            }
            Fault::Lose => {
                sleep(AFTER).await;
                Ok(Some(End::Reset))
            }
            _ => Ok(None),
        }
    }

    /// Returns false if the server cannot be reached. What fails later shows when it is read.
    async fn forward(&mut self, request: &[u8]) -> bool {
        if self.server.is_none() {
            let Some(address) = self.shared.upstream.get() else { return false };
            let Ok(server) = TcpStream::connect(address).await else { return false };
            // Without it a request may wait for the acknowledgement of the one before.
            let _ = server.set_nodelay(true);
            let _ = self.client.set_nodelay(true);
            self.server = Some(server);
        }
        match &mut self.server {
            Some(server) => server.write_all(request).await.is_ok(),
            None => false,
        }
    }

    async fn answer(&mut self, bytes: &[u8]) -> io::Result<Option<End>> {
        let Some((left, resets)) = &mut self.plan.bytes else {
            self.client.write_all(bytes).await?;
            return Ok(None);
        };
        if bytes.len() < *left {
            *left -= bytes.len();
            self.client.write_all(bytes).await?;
            return Ok(None);
        }
        let end = if *resets { End::Reset } else { End::Close };
        self.client.write_all(&bytes[..*left]).await?;
        Ok(Some(end))
    }

    /// Answers as a gateway does.
    async fn refuse(&mut self, status: u16) -> io::Result<()> {
        let page = format!("<html><h1>{status}</h1></html>");
        let head = format!(
            "HTTP/1.1 {status} Gateway\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            page.len()
        );
        self.client.write_all((head + &page).as_bytes()).await
    }
}

async fn read(stream: &mut Option<TcpStream>, bytes: &mut [u8]) -> io::Result<usize> {
    match stream {
        Some(stream) => stream.read(bytes).await,
        None => pending().await,
    }
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => pending().await,
    }
}

/// The method of a request, and what its body is about.
fn about(request: &[u8]) -> String {
    let text = String::from_utf8_lossy(request);
    let verb = text.split(' ').next().unwrap_or_default();
    let member = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        rest.split('"').next().map(str::to_owned)
    };
    let mut about = verb.to_owned();
    for name in ["\"method\":\"", "\"message\":\"", "\"name\":\""] {
        if let Some(value) = member(name) {
            about = format!("{about} {value}");
        }
    }
    about
}

/// The requests of a connection, out of its bytes.
#[derive(Default)]
struct Requests {
    bytes: Vec<u8>,
    /// True if its bytes are not understood, and pass as they are.
    is_raw: bool,
}

impl Requests {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next request, once all of it is there.
    fn next(&mut self) -> Option<Vec<u8>> {
        if self.is_raw {
            return (!self.bytes.is_empty()).then(|| std::mem::take(&mut self.bytes));
        }
        let head = self.bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let fields = String::from_utf8_lossy(&self.bytes[..head]).to_ascii_lowercase();
        let field =
            |name: &str| fields.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if field("transfer-encoding:").is_some() {
            self.is_raw = true;
            return self.next();
        }
        let length = field("content-length:").and_then(|length| length.parse().ok());
        let end = head + length.unwrap_or(0_usize);
        if self.bytes.len() < end {
            return None;
        }
        let rest = self.bytes.split_off(end);
        Some(std::mem::replace(&mut self.bytes, rest))
    }
}
