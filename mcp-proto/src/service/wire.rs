//! The conversation in the transcript format, as it happens.

use alloc::boxed::Box;
use alloc::string::String;

use bytes::Bytes;

use crate::client::ClientEvent;
use crate::frame::{Line, LineReader};
use crate::json::Raw;
use crate::server::{CancelCause, ServerEvent};
use crate::time::{Duration, Instant};

/// Time that is not worth a line.
const A_MOMENT: Duration = Duration::from_millis(100);

/// Of a longer line the beginning is shown.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// A key with one of these in its letters and digits has a secret for a value.
const SECRETS: [&str; 9] = [
    "password",
    "passphrase",
    "secret",
    "apikey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "token",
];

/// The protocol's own keys that look like it and are none.
const PUBLIC: [&str; 1] = ["progresstoken"];

pub(super) struct Wire {
    sink: Box<dyn FnMut(&str) + Send>,
    /// What lines of the peer, and of our own, begin with.
    marks: [&'static str; 2],
    /// `None` after the end.
    peer: Option<LineReader>,
    own: LineReader,
    last: Instant,
}

/// A line of the client, and of the server.
const CLIENT: &str = "C>";
const SERVER: &str = "S>";

impl Wire {
    pub(super) fn of_server(now: Instant, sink: Box<dyn FnMut(&str) + Send>) -> Self {
        Self::new(now, sink, [CLIENT, SERVER])
    }

    pub(super) fn of_client(now: Instant, sink: Box<dyn FnMut(&str) + Send>) -> Self {
        Self::new(now, sink, [SERVER, CLIENT])
    }

    fn new(now: Instant, sink: Box<dyn FnMut(&str) + Send>, marks: [&'static str; 2]) -> Self {
        let reader = || LineReader::new(MAX_LINE_BYTES);
        Self { sink, marks, peer: Some(reader()), own: reader(), last: now }
    }

    pub(super) fn received(&mut self, now: Instant, data: Bytes) {
        let Some(mut peer) = self.peer.take() else { return };
        peer.push(data);
        let [mark, _] = self.marks;
        while let Some(line) = peer.next_line() {
            self.message(now, mark, line);
        }
        self.peer = Some(peer);
    }

    pub(super) fn sent(&mut self, now: Instant, data: Bytes) {
        self.own.push(data);
        let [_, mark] = self.marks;
        while let Some(line) = self.own.next_line() {
            self.message(now, mark, line);
        }
    }

    pub(super) fn ended(&mut self, now: Instant) {
        let Some(mut peer) = self.peer.take() else { return };
        let [mark, _] = self.marks;
        if let Some(line) = peer.finish() {
            self.message(now, mark, line);
        }
        self.print(now, "! eof");
    }

    pub(super) fn event(&mut self, now: Instant, event: &ServerEvent) {
        let text = match event {
            ServerEvent::Cancelled { cause, .. } => match cause {
                CancelCause::Client(Some(reason)) => alloc::format!("! cancelled {reason:?}"),
                CancelCause::Client(None) => "! cancelled".into(),
                CancelCause::TimedOut => "! timed-out".into(),
                CancelCause::Closed => "! cut-off".into(),
                CancelCause::Disconnected => "! disconnected".into(),
            },
            ServerEvent::MessagesLost { count } => alloc::format!("! messages-lost {count}"),
            ServerEvent::PeerFault(error) => alloc::format!("! peer-fault {error}"),
            ServerEvent::Closed => "! closed".into(),
            ServerEvent::Pong { answered: true, .. } => "! pong".into(),
            ServerEvent::Pong { answered: false, .. } => "! no-pong".into(),
            ServerEvent::Request(_) | ServerEvent::Notification { .. } => return,
        };
        self.print(now, &text);
    }

    /// The stream was opened, for the first time or anew.
    pub(super) fn opened(&mut self, now: Instant) {
        self.peer = Some(LineReader::new(MAX_LINE_BYTES));
        self.own = LineReader::new(MAX_LINE_BYTES);
        self.print(now, "! open");
    }

    pub(super) fn client_event(&mut self, now: Instant, event: &ClientEvent) {
        let text = match event {
            ClientEvent::Connected(server) => alloc::format!("! connected {}", server.version),
            ClientEvent::Reopen => "! reopen".into(),
            ClientEvent::PeerFault(error) => alloc::format!("! peer-fault {error}"),
            ClientEvent::Closed(None) => "! closed".into(),
            ClientEvent::Closed(Some(error)) => alloc::format!("! closed: {error}"),
            // The lines say it.
            ClientEvent::Response { .. }
            | ClientEvent::Progress { .. }
            | ClientEvent::Input(_)
            | ClientEvent::InputCancelled { .. }
            | ClientEvent::Log(_)
            | ClientEvent::Subscribed { .. }
            | ClientEvent::Changed { .. }
            | ClientEvent::SubscriptionEnded { .. }
            | ClientEvent::ElicitationComplete { .. }
            | ClientEvent::Notification { .. } => return,
        };
        self.print(now, &text);
    }

    fn message(&mut self, now: Instant, who: &str, line: Line) {
        let (Line::Complete(text) | Line::TooLong(text)) = line;
        let mut shown = alloc::format!("{who} ");
        mask(&String::from_utf8_lossy(&text), &mut shown);
        self.print(now, &shown);
    }

    fn print(&mut self, now: Instant, line: &str) {
        let passed = now.duration_since(self.last);
        if passed >= A_MOMENT {
            let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
            let passed = Instant::from_micros(millis.saturating_mul(1000));
            (self.sink)(&alloc::format!("@ {passed}"));
            self.last = now;
        }
        (self.sink)(line);
    }
}

/// Writes a message with its secrets masked: strings, also in an array, behind a key that looks
/// secret. It looks at strings and what is between them alone, so that what is no JSON is shown
/// as it is.
fn mask(mut rest: &str, out: &mut String) {
    let (mut secret, mut arrays) = (false, 0_u32);
    while let Some((between, string)) = rest.find('"').and_then(|at| rest.split_at_checked(at)) {
        for mark in between.chars() {
            match mark {
                '[' => arrays += 1,
                ']' => arrays = arrays.saturating_sub(1),
                ',' if arrays > 0 => {}
                ',' | '{' | '}' => (secret, arrays) = (false, 0),
                _ => {}
            }
        }
        out.push_str(between);
        let (string, after) = string.split_at_checked(length(string)).unwrap_or((string, ""));
        if after.trim_start().starts_with(':') {
            (secret, arrays) = (looks_secret(string), 0);
            out.push_str(string);
        } else {
            out.push_str(if secret { "\"***\"" } else { string });
        }
        rest = after;
    }
    out.push_str(rest);
}

/// The length of the string that `text` begins with, quotes included.
fn length(text: &str) -> usize {
    let mut escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

fn looks_secret(key: &str) -> bool {
    let key = Raw(key.as_bytes()).string().unwrap_or_default();
    let letters = key.chars().filter(|letter| letter.is_alphanumeric());
    let key: String = letters.flat_map(char::to_lowercase).collect();
    SECRETS.iter().any(|secret| key.contains(secret)) && !PUBLIC.contains(&key.as_str())
}
