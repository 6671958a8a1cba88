//! Responses as a client reads them, strictly, and by other means than those that wrote them.

use std::collections::VecDeque;

/// The reading side of a client.
#[derive(Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    open: Option<Open>,
    /// Number of complete responses.
    pub(super) complete: usize,
    pub(super) found: VecDeque<Found>,
    /// True if the server will close when this response is complete.
    closes: bool,
}

/// The response that is being read.
struct Open {
    body: Framing,
    events: bool,
    text: Vec<u8>,
}

enum Framing {
    Length(usize),
    Chunked,
}

/// Part of a response.
#[derive(Debug)]
pub(super) enum Found {
    Head {
        status: u16,
        session: Option<String>,
        events: bool,
    },
    /// A whole body.
    Body(String),
    /// An event: its id, its data.
    Event(Option<String>, String),
    /// An event without data, for its id.
    Primed(String),
    End,
}

impl Reader {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        while self.step() {}
    }

    /// Returns whether a response is begun and not complete.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some() || !self.bytes.is_empty()
    }

    fn step(&mut self) -> bool {
        if self.open.is_none() { self.head() } else { self.body() }
    }

    fn head(&mut self) -> bool {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { return false };
        assert!(!self.closes, "a response behind one that closes");
        self.bytes.drain(..head.len() + 4);
        let (line, fields) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        assert!(status.is_some(), "no status line: {line}");
        let status = status.unwrap_or_default();
        if status == 100 {
            return true;
        }
        let fields: Vec<(String, &str)> = fields
            .split("\r\n")
            .filter_map(|field| field.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value))
            .collect();
        let field = |name: &str| {
            let mut all = fields.iter().filter(|(key, _)| key == name).map(|(_, value)| *value);
            let first = all.next();
            assert!(all.next().is_none(), "{name} twice: {head}");
            first
        };
        let length = field("content-length").and_then(|length| length.parse().ok());
        let chunked = field("transfer-encoding") == Some("chunked");
        assert!(length.is_none() || !chunked, "framed twice: {head}");
        assert!(length.is_some() || chunked || status == 204, "not framed: {head}");
        let events = field("content-type") == Some("text/event-stream");
        self.closes = field("connection") == Some("close");
        let session = field("mcp-session-id").map(str::to_owned);
        self.found.push_back(Found::Head { status, session, events });
        let body = if chunked { Framing::Chunked } else { Framing::Length(length.unwrap_or(0)) };
        self.open = Some(Open { body, events, text: Vec::new() });
        true
    }

    fn body(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        let ended = match open.body {
            Framing::Length(length) => {
                if self.bytes.len() < length {
                    return false;
                }
                open.text.extend(self.bytes.drain(..length));
                true
            }
            Framing::Chunked => {
                let end = self.bytes.windows(2).position(|pair| pair == b"\r\n");
                let Some(end) = end else { return false };
                let size = self.bytes.get(..end).and_then(|size| str::from_utf8(size).ok());
                let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
                assert!(size.is_some(), "no chunk");
                let size = size.unwrap_or_default();
                if self.bytes.len() < end + 2 + size + 2 {
                    return false;
                }
                self.bytes.drain(..end + 2);
                open.text.extend(self.bytes.drain(..size));
                let line_end: Vec<u8> = self.bytes.drain(..2).collect();
                assert_eq!(line_end, b"\r\n", "a chunk ends elsewhere");
                size == 0
            }
        };
        let events = open.events;
        if events {
            let text = String::from_utf8_lossy(&open.text).into_owned();
            let (whole, rest) = text.rsplit_once("\n\n").unwrap_or(("", &text));
            assert!(!ended || rest.is_empty(), "half an event: {rest}");
            let rest = rest.as_bytes().to_vec();
            let found = whole.split("\n\n").filter_map(event);
            self.found.extend(found);
            open.text = rest;
        }
        if ended {
            if !events && !open.text.is_empty() {
                let text = String::from_utf8_lossy(&open.text).into_owned();
                self.found.push_back(Found::Body(text));
            }
            self.found.push_back(Found::End);
            self.open = None;
            self.complete += 1;
        }
        true
    }
}

/// An event, if it says anything.
fn event(block: &str) -> Option<Found> {
    let (mut id, mut data) = (None, None);
    for line in block.split('\n').filter(|line| !line.starts_with(':') && !line.is_empty()) {
        let field = line.split_once(": ");
        assert!(field.is_some(), "no field: {line}");
        match field.unwrap_or_default() {
            ("event", name) => assert_eq!(name, "message"),
            ("id", value) => id = Some(value.to_owned()),
            ("data", value) => data = Some(value.to_owned()),
            ("retry", millis) => assert!(millis.parse::<u64>().is_ok()),
            (name, _) => assert_eq!(name, "", "an unknown field"),
        }
    }
    match (id, data.unwrap_or_default()) {
        (None, data) if data.is_empty() => None,
        (Some(id), data) if data.is_empty() => Some(Found::Primed(id)),
        (id, data) => Some(Found::Event(id, data)),
    }
}
