//! The conversation in the transcript format, as it happens.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use bytes::Bytes;

use crate::frame::{Line, LineReader};
use crate::json::Raw;
use crate::json::write::List;
use crate::server::{CancelCause, ServerEvent};
use crate::time::{Duration, Instant};

/// Time that is not worth a line.
const A_MOMENT: Duration = Duration::from_millis(100);

/// A key with one of these in it has a secret for a value.
const SECRETS: [&str; 6] =
    ["password", "secret", "apikey", "api_key", "authorization", "credential"];

pub(super) struct Wire {
    sink: Box<dyn FnMut(&str) + Send>,
    client: LineReader,
    server: LineReader,
    last: Instant,
}

impl Wire {
    pub(super) fn new(now: Instant, sink: Box<dyn FnMut(&str) + Send>) -> Self {
        let reader = || LineReader::new(usize::MAX);
        Self { sink, client: reader(), server: reader(), last: now }
    }

    pub(super) fn received(&mut self, now: Instant, data: Bytes) {
        self.client.push(data);
        while let Some(line) = self.client.next_line() {
            self.message(now, "C>", line);
        }
    }

    pub(super) fn sent(&mut self, now: Instant, data: Bytes) {
        self.server.push(data);
        while let Some(line) = self.server.next_line() {
            self.message(now, "S>", line);
        }
    }

    pub(super) fn ended(&mut self, now: Instant) {
        if let Some(line) = self.client.finish() {
            self.message(now, "C>", line);
        }
        self.print(now, "! eof");
    }

    pub(super) fn event(&mut self, now: Instant, event: &ServerEvent) {
        let text = match event {
            ServerEvent::Cancelled { cause: CancelCause::Client(Some(reason)), .. } => {
                alloc::format!("! cancelled: {reason}")
            }
            ServerEvent::Cancelled { .. } => "! cancelled".to_string(),
            ServerEvent::PeerFault(error) => alloc::format!("! peer-fault {error}"),
            ServerEvent::Closed => "! closed".to_string(),
            ServerEvent::Request(_) => return,
        };
        self.print(now, &text);
    }

    fn message(&mut self, now: Instant, who: &str, line: Line) {
        let (Line::Complete(text) | Line::TooLong(text)) = line;
        let mut shown = Vec::new();
        mask(Raw(&text), &mut shown);
        let shown = String::from_utf8_lossy(&shown);
        self.print(now, &alloc::format!("{who} {shown}"));
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

/// Writes `value` with its secrets masked; what is no object or array is written as it is.
fn mask(value: Raw<'_>, out: &mut Vec<u8>) {
    if !value.is_object() {
        return out.extend_from_slice(value.0);
    }
    let mut object = List::object(out);
    value.members(|key, value| {
        let out = object.item();
        out.extend_from_slice(key.0);
        out.push(b':');
        let name = String::from_utf8_lossy(key.0).to_lowercase();
        if value.string().is_some() && SECRETS.iter().any(|secret| name.contains(secret)) {
            out.extend_from_slice(b"\"***\"");
        } else {
            mask(value, out);
        }
    });
    object.end();
}
