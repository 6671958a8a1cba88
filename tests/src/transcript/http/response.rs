//! From the bytes of responses to the lines of a transcript.
//!
//! It reads what the machines write by rules of its own, and finds fault with what breaks them.

use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Reader {
    data: Vec<u8>,
    state: State,
    /// Of requests that are sent and not answered: whether they are HEAD.
    awaited: VecDeque<bool>,
    /// The session that a response has named, and the version that its body has.
    pub(super) opened: Option<(String, String)>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Body {
        length: usize,
        session: Option<String>,
    },
    Events {
        framing: Framing,
        text: Vec<u8>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Framing {
    Chunked,
    Close,
}

/// The head of a response.
struct Head {
    status: u16,
    fields: Vec<(String, String)>,
}

impl Reader {
    /// A request is sent.
    pub(super) fn expect(&mut self, is_head: bool) {
        self.awaited.push_back(is_head);
    }

    /// Reads bytes; the lines that they are.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<String> {
        self.data.extend_from_slice(bytes);
        let mut lines = Vec::new();
        while let Some(more) = self.next(&mut lines) {
            lines.extend(more);
        }
        lines
    }

    /// Returns whether nothing of a response is missing but events.
    pub(super) fn is_whole(&self) -> bool {
        match &self.state {
            State::Head => self.data.is_empty(),
            State::Body { .. } => false,
            State::Events { text, .. } => self.data.is_empty() && text.is_empty(),
        }
    }

    /// The connection has closed.
    pub(super) fn end(&mut self) -> Vec<String> {
        match std::mem::take(&mut self.state) {
            State::Events { framing: Framing::Close, .. } => vec!["end".into()],
            State::Events { framing: Framing::Chunked, .. } => vec!["cut off".into()],
            State::Head | State::Body { .. } => Vec::new(),
        }
    }

    /// The next lines; `None` if more bytes are needed.
    fn next(&mut self, lines: &mut Vec<String>) -> Option<Vec<String>> {
        match &mut self.state {
            State::Head => {
                let end = find(&self.data, b"\r\n\r\n")?;
                let head: Vec<u8> = self.data.drain(..end + 4).collect();
                Some(self.head(&String::from_utf8_lossy(&head)))
            }
            State::Body { length, session } => {
                if self.data.len() < *length {
                    return None;
                }
                let body: Vec<u8> = self.data.drain(..*length).collect();
                let text = String::from_utf8_lossy(&body).into_owned();
                if let Some(session) = session.take() {
                    let version = text.split_once("\"protocolVersion\":\"");
                    let version = version.and_then(|(_, rest)| rest.get(..10)).unwrap_or_default();
                    self.opened = Some((session, version.into()));
                }
                self.state = State::Head;
                Some(text.lines().map(String::from).collect())
            }
            State::Events { framing: Framing::Close, text } => {
                text.append(&mut self.data);
                lines.extend(events(text));
                None
            }
            State::Events { framing: Framing::Chunked, text } => {
                let line = find(&self.data, b"\r\n")?;
                let size = std::str::from_utf8(self.data.get(..line)?).ok()?;
                let Ok(size) = usize::from_str_radix(size, 16) else {
                    self.data.clear();
                    return Some(vec!["broken: a chunk without a size".into()]);
                };
                if self.data.len() < line + 2 + size + 2 {
                    return None;
                }
                let chunk: Vec<u8> = self.data.drain(..line + 2 + size + 2).collect();
                text.extend_from_slice(chunk.get(line + 2..line + 2 + size)?);
                let mut found = events(text);
                if size == 0 {
                    if !text.is_empty() {
                        found.push("broken: an event that does not end".into());
                    }
                    found.push("end".into());
                    self.state = State::Head;
                }
                Some(found)
            }
        }
    }

    fn head(&mut self, text: &str) -> Vec<String> {
        let Some(head) = Head::parse(text) else { return vec!["broken: no head".into()] };
        if head.status == 100 {
            return vec!["100".into()];
        }
        let is_head = self.awaited.pop_front().unwrap_or_default();
        let media = head.get("content-type");
        let mut first = head.status.to_string();
        first.extend(media.into_iter().flat_map(|media| [" ", media]));
        let mut lines = vec![first];
        let mut usual = vec!["content-type", "content-length", "transfer-encoding"];
        let chunked = head.get("transfer-encoding") == Some("chunked");
        let length = head.get("content-length").and_then(|length| length.parse().ok());
        if chunked && length.is_some() {
            lines.push("broken: two framings".into());
        }
        if media == Some("text/event-stream") {
            let wanted = [("cache-control", "no-store"), ("x-accel-buffering", "no")];
            for (name, value) in wanted {
                if head.get(name) != Some(value) {
                    lines.push(format!("broken: no {name}"));
                }
                usual.push(name);
            }
            let framing = if chunked { Framing::Chunked } else { Framing::Close };
            self.state = State::Events { framing, text: Vec::new() };
        } else if !is_head && length.is_some_and(|length| length > 0) {
            let session = head.get("mcp-session-id").map(String::from);
            self.state = State::Body { length: length.unwrap_or_default(), session };
        }
        for (name, value) in &head.fields {
            if !usual.contains(&&*name.to_ascii_lowercase()) {
                lines.push(format!("{name}: {value}"));
            }
        }
        lines
    }
}

impl Head {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.trim_end().split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let fields = lines.map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.into(), value.into()))
        });
        Some(Self { status, fields: fields.collect::<Option<_>>()? })
    }

    fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }
}

/// Takes whole events out of a stream.
fn events(text: &mut Vec<u8>) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(end) = find(text, b"\n\n") {
        let event: Vec<u8> = text.drain(..end + 2).collect();
        lines.push(event_line(&String::from_utf8_lossy(&event)));
    }
    lines
}

fn event_line(event: &str) -> String {
    let (mut name, mut id, mut data, mut retry) = (None, None, None, None);
    for line in event.trim_end().lines() {
        let known = match line.split_once(": ").unwrap_or((line.trim_end_matches(':'), "")) {
            ("event", value) => name.replace(value),
            ("id", value) => id.replace(value),
            ("data", value) => data.replace(value),
            ("retry", value) => retry.replace(value),
            ("", _) => return ":".into(),
            _ => Some(""),
        };
        if known.is_some() {
            return format!("broken: an event that says {event:?}");
        }
    }
    match (name, id, data, retry) {
        (Some("message"), None, Some(data), None) => format!("event: {data}"),
        (Some("message"), Some(id), Some(data), None) => format!("event {id}: {data}"),
        (None, Some(id), Some(""), None) => format!("event {id}:"),
        (None, None, None, Some(retry)) => format!("retry: {retry}"),
        _ => format!("broken: an event that says {event:?}"),
    }
}

fn find(data: &[u8], what: &[u8]) -> Option<usize> {
    data.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let mut reader = Reader::default();
        let mut lines = reader.read(text.as_bytes());
        lines.extend((!reader.is_whole()).then(|| "half".to_owned()));
        lines
    }

    const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
        Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n";

    fn event(text: &str) -> String {
        let chunk = format!("{STREAM}{:x}\r\n{text}\r\n", text.len());
        lines(&chunk).pop().unwrap_or_default()
    }

    #[test]
    fn responses_are_told_apart() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n\
            HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nA: b\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(lines(text), ["100", "202", "404 application/json", "A: b", "{}"]);
    }

    #[test]
    fn events_are_shown_with_what_they_have() {
        assert_eq!(event("event: message\nid: 1-2\ndata: {}\n\n"), "event 1-2: {}");
        assert_eq!(event("event: message\ndata: {}\n\n"), "event: {}");
        assert_eq!(event("id: 1-0\ndata: \n\n"), "event 1-0:");
        assert_eq!(event("retry: 1000\n\n"), "retry: 1000");
        assert_eq!(event(":\n\n"), ":");
        assert_eq!(lines(&format!("{STREAM}0\r\n\r\n")), ["200 text/event-stream", "end"]);
    }

    #[test]
    fn what_breaks_the_rules_is_shown() {
        assert!(event("data: {}\n\n").starts_with("broken: "));
        assert!(event("event: message\ndata: {\ndata: }\n\n").starts_with("broken: "));
        assert!(event("event: other\ndata: {}\n\n").starts_with("broken: "));
        assert_eq!(event("event: message\n"), "half");
        let bare = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        assert!(lines(bare).contains(&"broken: no x-accel-buffering".to_owned()));
        assert_eq!(lines("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}").last().unwrap(), "half");
    }
}
