//! Live trace of a conversation in the transcript format.

mod http;
mod mask;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::panics::{CaughtDrop, call_back};
#[cfg(feature = "auth")]
use mcp_proto::auth::{AuthAction, AuthState, Fetch};
use mcp_proto::client::{ClientEvent, Undelivered};
use mcp_proto::frame::{Line, LineReader};
use mcp_proto::server::{CancelCause, ServerEvent};
use mcp_proto::{Duration, Instant};

/// The shortest elapsed time that is shown.
const A_MOMENT: Duration = Duration::from_millis(100);

/// The longest line, in bytes; of a longer one only the beginning is shown.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct Wire {
    sink: CaughtDrop<Box<WireSink>>,
    /// Prefixes of the peer's lines and of our own.
    marks: [String; 2],
    /// Number of the connection that events are shown for.
    connection: Option<u64>,
    /// `None` after the end.
    peer: Option<Lines>,
    own: Lines,
    last_shown: LastShown,
}

/// The function that shows a line.
type WireSink = dyn FnMut(&str) + Send;

/// Time of the last shown line, in microseconds; connections of one server share it.
pub(super) type LastShown = Arc<AtomicU64>;

/// Splitter of bytes into lines.
enum Lines {
    Messages(LineReader),
    Http(http::HttpLines),
}

impl Wire {
    pub(super) fn of_server(now: Instant, sink: Box<dyn FnMut(&str) + Send>) -> Self {
        Self::new(now, sink, ["C>", "S>"])
    }

    pub(super) fn of_client(now: Instant, sink: Box<dyn FnMut(&str) + Send>) -> Self {
        Self::new(now, sink, ["S>", "C>"])
    }

    /// The trace of a connection of an HTTP server.
    pub(super) fn of_connection(
        number: u64,
        last_shown: LastShown,
        sink: Box<dyn FnMut(&str) + Send>,
    ) -> Self {
        Self {
            sink: CaughtDrop::new(sink),
            marks: [alloc::format!("{number}>"), alloc::format!("{number}<")],
            connection: Some(number),
            peer: Some(Lines::Http(http::HttpLines::default())),
            own: Lines::Http(http::HttpLines::default()),
            last_shown,
        }
    }

    /// The trace of a connection of an HTTP client; the client's lines have the same mark as at the
    /// server.
    pub(super) fn to_server(
        number: u64,
        last_shown: LastShown,
        sink: Box<dyn FnMut(&str) + Send>,
    ) -> Self {
        let mut wire = Self::of_connection(number, last_shown, sink);
        wire.marks.reverse();
        wire
    }

    /// Time of the last shown line, to be shared.
    pub(super) fn last_shown(&self) -> LastShown {
        self.last_shown.clone()
    }

    fn new(now: Instant, sink: Box<dyn FnMut(&str) + Send>, marks: [&str; 2]) -> Self {
        Self {
            sink: CaughtDrop::new(sink),
            marks: marks.map(String::from),
            connection: None,
            peer: Some(Lines::messages()),
            own: Lines::messages(),
            last_shown: Arc::new(AtomicU64::new(now.as_micros())),
        }
    }

    pub(super) fn received(&mut self, now: Instant, data: Bytes) {
        let Some(mut peer) = self.peer.take() else { return };
        peer.push(data);
        while let Some(line) = peer.next() {
            self.message(now, 0, &line);
        }
        self.peer = Some(peer);
    }

    pub(super) fn sent(&mut self, now: Instant, data: Bytes) {
        self.show_incomplete(now);
        self.own.push(data);
        while let Some(line) = self.own.next() {
            self.message(now, 1, &line);
        }
    }

    /// Shows the beginning of an incomplete HTTP message of the peer, before the response to it.
    fn show_incomplete(&mut self, now: Instant) {
        if let Some(Lines::Http(peer)) = &mut self.peer
            && let Some(line) = peer.beginning()
        {
            self.message(now, 0, &line);
        }
    }

    pub(super) fn ended(&mut self, now: Instant) {
        let Some(peer) = self.peer.take() else { return };
        if let Some(line) = peer.finish() {
            self.message(now, 0, &line);
        }
        self.print_event(now, "! eof");
    }

    pub(super) fn event(&mut self, now: Instant, event: &ServerEvent) {
        let text = match event {
            ServerEvent::Cancelled { cause, .. } => match cause {
                CancelCause::Client(Some(reason)) => alloc::format!("! cancelled {reason:?}"),
                CancelCause::Client(None) => "! cancelled".into(),
                CancelCause::TimedOut => "! timed-out".into(),
                CancelCause::Closed => "! cut-off".into(),
                _ => "! disconnected".into(),
            },
            ServerEvent::MessagesLost { count } => alloc::format!("! messages-lost {count}"),
            ServerEvent::LimitReached { limit, .. } => alloc::format!("! limit-reached {limit}"),
            ServerEvent::AcceptFailed { .. } => "! accept-failed".into(),
            ServerEvent::PeerFault(error) => alloc::format!("! peer-fault {error}"),
            ServerEvent::Closed => "! closed".into(),
            ServerEvent::Pong { answered: true, .. } => "! pong".into(),
            ServerEvent::Pong { answered: false, .. } => "! no-pong".into(),
            ServerEvent::InputAnswered { answer: Ok(_), .. } => "! input".into(),
            ServerEvent::InputAnswered { answer: Err(_), .. } => "! no-input".into(),
            // Lines show requests and notifications.
            _ => return,
        };
        self.print_event(now, &text);
    }

    /// Shows that the stream was opened or reopened.
    pub(super) fn opened(&mut self, now: Instant) {
        self.peer = Some(Lines::messages());
        self.own = Lines::messages();
        self.print(now, "! open");
    }

    pub(super) fn client_event(&mut self, now: Instant, event: &ClientEvent) {
        let text = match event {
            ClientEvent::Connected(server) => alloc::format!("! connected {}", server.version),
            ClientEvent::Disconnected(error) => alloc::format!("! disconnected: {error}"),
            ClientEvent::Reopen => "! reopen".into(),
            ClientEvent::PeerFault(error) => alloc::format!("! peer-fault {error}"),
            ClientEvent::ToolRejected { tool, reason } => {
                alloc::format!("! tool-rejected {tool}: {reason}")
            }
            ClientEvent::Undelivered { message: Undelivered::Notification { method }, error } => {
                alloc::format!("! undelivered {method}: {error}")
            }
            ClientEvent::Undelivered { message: Undelivered::Answer { .. }, error } => {
                alloc::format!("! undelivered: {error}")
            }
            ClientEvent::Unauthorized { unauthorized, .. } => {
                alloc::format!("! unauthorized: {unauthorized}")
            }
            ClientEvent::NoStream { error } => alloc::format!("! no-stream: {error}"),
            ClientEvent::Closed(None) => "! closed".into(),
            ClientEvent::Closed(Some(error)) => alloc::format!("! closed: {error}"),
            // Lines show the others.
            _ => return,
        };
        self.print(now, &text);
    }

    /// Shows that a request had no answer, for this reason.
    pub(super) fn failed(&mut self, now: Instant, reason: &str) {
        self.print(now, &alloc::format!("! failed: {reason}"));
    }

    /// Shows a request of the authorizer.
    #[cfg(feature = "auth")]
    pub(super) fn fetch(&mut self, now: Instant, fetch: &Fetch) {
        let url = fetch.url.as_str();
        let url = url.split_once('?').map_or(url, |(before, _)| before);
        self.print(now, &alloc::format!("! fetch {} {url}", fetch.method));
    }

    /// Shows another action of the authorizer.
    #[cfg(feature = "auth")]
    pub(super) fn authorize(&mut self, now: Instant, action: &AuthAction) {
        let text = match action {
            AuthAction::Consent(page) => {
                let url = page.url.as_str();
                let url = url.split_once('?').map_or(url, |(before, _)| before);
                alloc::format!("! consent {url}")
            }
            AuthAction::Changed(AuthState::Ready { unsaved: None }) => "! authorized".into(),
            AuthAction::Changed(AuthState::Ready { unsaved: Some(reason) }) => {
                alloc::format!("! authorized, not stored: {reason}")
            }
            AuthAction::Changed(AuthState::Failed(error)) => {
                alloc::format!("! not authorized: {error}")
            }
            // Accesses to the vault are not shown.
            _ => return,
        };
        self.print(now, &text);
    }

    fn message(&mut self, now: Instant, side: usize, line: &[u8]) {
        let mut shown = self.marks.get(side).cloned().unwrap_or_default();
        shown.push(' ');
        let text = String::from_utf8_lossy(line);
        match self.own {
            Lines::Messages(_) => mask::message(&text, &mut shown),
            Lines::Http(_) => mask::field(&text, &mut shown),
        }
        self.print(now, &shown);
    }

    /// Shows an event, with the number of its connection if there are several.
    fn print_event(&mut self, now: Instant, text: &str) {
        match self.connection {
            None => self.print(now, text),
            Some(number) => self.print(now, &alloc::format!("{text} {number}")),
        }
    }

    fn print(&mut self, now: Instant, line: &str) {
        let last = Instant::from_micros(self.last_shown.load(Ordering::Relaxed));
        let passed = now.duration_since(last);
        if passed >= A_MOMENT {
            let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
            let passed = Instant::from_micros(millis.saturating_mul(1000));
            self.show(&alloc::format!("@ {passed}"));
            self.last_shown.store(now.as_micros(), Ordering::Relaxed);
        }
        self.show(&escaped(line));
    }

    fn show(&mut self, line: &str) {
        call_back(self.sink.get_mut(), |sink| sink(line));
    }
}

/// The line without characters that control a terminal. In JSON they may be between tokens, where
/// each is a line end or a tab, or in strings, where the escape has the same value.
fn escaped(line: &str) -> Cow<'_, str> {
    let is_safe = |c: char| !c.is_control() || c == '\t';
    if line.chars().all(is_safe) {
        return line.into();
    }
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\r' | '\n' => out.push(' '),
            c if is_safe(c) => out.push(c),
            c => out.extend([alloc::format!("\\u{:04x}", u32::from(c))]),
        }
    }
    out.into()
}

impl Lines {
    fn messages() -> Self {
        Self::Messages(LineReader::new(MAX_LINE_BYTES))
    }

    fn push(&mut self, data: Bytes) {
        match self {
            Self::Messages(reader) => {
                reader.release_memory();
                reader.push(data);
            }
            Self::Http(lines) => lines.push(&data),
        }
    }

    fn next(&mut self) -> Option<Bytes> {
        match self {
            Self::Messages(reader) => reader.next_line().map(text),
            Self::Http(lines) => lines.next(),
        }
    }

    fn finish(self) -> Option<Bytes> {
        match self {
            Self::Messages(mut reader) => reader.finish().map(text),
            Self::Http(mut lines) => lines.remaining(),
        }
    }
}

fn text(line: Line) -> Bytes {
    let (Line::Complete(text) | Line::TooLong(text)) = line;
    text
}
