//! The conversation in the transcript format, as it happens.

use alloc::boxed::Box;
use alloc::string::String;

use bytes::Bytes;

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
    /// `None` after the end.
    client: Option<LineReader>,
    server: LineReader,
    last: Instant,
}

impl Wire {
    pub(super) fn new(now: Instant, sink: Box<dyn FnMut(&str) + Send>) -> Self {
        let reader = || LineReader::new(MAX_LINE_BYTES);
        Self { sink, client: Some(reader()), server: reader(), last: now }
    }

    pub(super) fn received(&mut self, now: Instant, data: Bytes) {
        let Some(mut client) = self.client.take() else { return };
        client.push(data);
        while let Some(line) = client.next_line() {
            self.message(now, "C>", line);
        }
        self.client = Some(client);
    }

    pub(super) fn sent(&mut self, now: Instant, data: Bytes) {
        self.server.push(data);
        while let Some(line) = self.server.next_line() {
            self.message(now, "S>", line);
        }
    }

    pub(super) fn ended(&mut self, now: Instant) {
        let Some(mut client) = self.client.take() else { return };
        if let Some(line) = client.finish() {
            self.message(now, "C>", line);
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
            },
            ServerEvent::PeerFault(error) => alloc::format!("! peer-fault {error}"),
            ServerEvent::Closed => "! closed".into(),
            ServerEvent::Pong { answered: true, .. } => "! pong".into(),
            ServerEvent::Pong { answered: false, .. } => "! no-pong".into(),
            ServerEvent::Request(_) | ServerEvent::Notification { .. } => return,
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
