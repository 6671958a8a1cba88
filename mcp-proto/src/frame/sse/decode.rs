//! `EventReader`: one stream of events, read side.

use bytes::{BufMut, Bytes, BytesMut};

use super::super::number;
use super::lines::{LineBuffer, LineResult};

/// Item read by an [`EventReader`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    /// An event, at the blank line that ends it.
    Event(Event),
    /// The milliseconds to wait before reconnecting; a larger number counts as `u64::MAX`.
    Retry(u64),
    /// An event is too long. The event is reported once, before its end; the rest of the event is
    /// skipped, and the stream continues. If the event has an id, the id counts at its end.
    TooLong,
}

/// An event that has data, even empty data, or an id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Type of the event; `message` by default.
    pub name: Bytes,
    /// The data, with lines joined by `\n`; it need not be UTF-8. An event with empty data is not a
    /// message: it only has an id.
    pub data: Bytes,
    /// The id to resume from after this event: its own, or the last one before it. `None` if the
    /// stream has had no id.
    pub id: Option<Bytes>,
}

/// Splits a stream of bytes into events.
///
/// Text without a blank line at its end is not an event, and its id does not count. So a stream
/// that broke inside of an event is resumed before that event, and the end of a stream need not be
/// reported.
///
/// Memory is limited to twice the longest event, plus the bytes that were not polled. Data in one
/// line of one chunk is a slice of that chunk.
#[derive(Debug)]
pub struct EventReader {
    max: usize,
    lines: LineBuffer,
    event: Pending,
    last_event_id: Option<Bytes>,
}

/// An incomplete event.
#[derive(Debug)]
enum Pending {
    /// The event has this many bytes so far, and fits.
    Fits { bytes: usize, name: Bytes, data: Data, id: Option<Bytes> },
    /// The event is too long; everything except its id is skipped.
    TooLong { id: Option<Bytes> },
}

#[derive(Debug)]
enum Data {
    /// No line so far.
    None,
    /// One line.
    Line(Bytes),
    /// Several lines.
    Lines(BytesMut),
}

impl EventReader {
    /// A reader for events of at most `max_event_bytes`, see
    /// [`Limits::max_sse_event_bytes`](crate::Limits::max_sse_event_bytes).
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max: max_event_bytes,
            lines: LineBuffer::new(),
            event: Pending::none(),
            last_event_id: None,
        }
    }

    /// Adds the next bytes of the stream.
    pub fn push(&mut self, data: Bytes) {
        self.lines.push(data);
    }

    /// Takes the next item. Returns `None` if more bytes are needed.
    pub fn poll(&mut self) -> Option<Incoming> {
        loop {
            let found = match &self.event {
                // A colon begins a comment.
                Pending::Fits { bytes, .. } => {
                    self.lines.next(self.max.saturating_sub(*bytes), |first| first != b':')?
                }
                Pending::TooLong { .. } => self.lines.next(self.max, |first| first == b'i')?,
            };
            let incoming = match found {
                LineResult::Line(line) if line.is_empty() => {
                    self.end_of_event().map(Incoming::Event)
                }
                LineResult::Line(line) => self.event.handle_field(&line).map(Incoming::Retry),
                LineResult::TooLong => self.event.skip().then_some(Incoming::TooLong),
            };
            if incoming.is_some() {
                return incoming;
            }
        }
    }

    /// The id to resume from, for `Last-Event-ID`: that of the last complete event with an id.
    /// `None` if there was none; empty if an event has reset it.
    pub fn last_event_id(&self) -> Option<&Bytes> {
        self.last_event_id.as_ref()
    }

    /// Handles a blank line: returns the event that it ends, if there is one.
    fn end_of_event(&mut self) -> Option<Event> {
        match core::mem::replace(&mut self.event, Pending::none()) {
            Pending::Fits { name, data, id, .. } => {
                let is_event = id.is_some() || !matches!(data, Data::None);
                self.last_event_id = id.or(self.last_event_id.take());
                let name = if name.is_empty() { Bytes::from_static(b"message") } else { name };
                let id = self.last_event_id.clone();
                is_event.then(|| Event { name, data: data.joined(), id })
            }
            Pending::TooLong { id } => {
                self.last_event_id = id.or(self.last_event_id.take());
                None
            }
        }
    }
}

impl Pending {
    fn none() -> Self {
        Self::Fits { bytes: 0, name: Bytes::new(), data: Data::None, id: None }
    }

    /// Handles a field; returns the time of a `retry`.
    fn handle_field(&mut self, line: &Bytes) -> Option<u64> {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at_checked(colon)?;
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let (name, data, id) = match self {
            Self::Fits { bytes, name, data, id } => {
                *bytes += line.len();
                (name, data, id)
            }
            Self::TooLong { id } if field == b"id" => (&mut Bytes::new(), &mut Data::None, id),
            Self::TooLong { .. } => return None,
        };
        match field {
            b"data" => data.add(line.slice_ref(value)),
            b"id" if !value.contains(&0) => *id = Some(Bytes::copy_from_slice(value)),
            b"event" if value == b"message" => *name = Bytes::new(),
            b"event" => *name = Bytes::copy_from_slice(value),
            b"retry" => return number(value),
            _ => {}
        }
        None
    }

    /// Starts to skip an event that is too long; returns false if it is already skipped.
    fn skip(&mut self) -> bool {
        match self {
            Self::Fits { id, .. } => {
                *self = Self::TooLong { id: id.take() };
                true
            }
            Self::TooLong { .. } => false,
        }
    }
}

impl Data {
    fn add(&mut self, line: Bytes) {
        match self {
            Self::None => *self = Self::Line(line),
            Self::Line(first) => {
                let mut lines = BytesMut::with_capacity(first.len() + 1 + line.len());
                lines.put_slice(first);
                lines.put_u8(b'\n');
                lines.put(line);
                *self = Self::Lines(lines);
            }
            Self::Lines(lines) => {
                lines.put_u8(b'\n');
                lines.put(line);
            }
        }
    }

    fn joined(self) -> Bytes {
        match self {
            Self::None => Bytes::new(),
            Self::Line(line) => line,
            Self::Lines(lines) => lines.freeze(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    /// Items read from `chunks`: `name data id` of each event, and the last id after them.
    fn read(max: usize, chunks: &[&[u8]]) -> (Vec<String>, Option<String>) {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).replace('\n', "/");
        let mut reader = EventReader::new(max);
        let mut found = Vec::new();
        for chunk in chunks {
            reader.push(Bytes::copy_from_slice(chunk));
            while let Some(incoming) = reader.poll() {
                found.push(match incoming {
                    Incoming::Event(Event { name, data, id }) => {
                        let id = id.as_ref().map_or("-".into(), text);
                        format!("{} {:?} {id}", text(&name), text(&data))
                    }
                    Incoming::Retry(time) => format!("retry {time}"),
                    Incoming::TooLong => "too long".into(),
                });
            }
        }
        (found, reader.last_event_id().map(text))
    }

    /// Items read from `text`, after a check that every division into chunks gives the same items.
    fn read_all_ways(max: usize, text: &[u8]) -> (Vec<String>, Option<String>) {
        let whole = read(max, &[text]);
        for size in 1..=3 {
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(read(max, &chunks), whole, "{text:?} in chunks of {size}");
        }
        for at in 0..=text.len() {
            let (a, b) = text.split_at(at);
            assert_eq!(read(max, &[a, b]), whole, "{a:?} and {b:?}");
        }
        whole
    }

    #[track_caller]
    fn finds(text: &str, expected: &[&str], last: Option<&str>) {
        let (found, id) = read_all_ways(100, text.as_bytes());
        assert_eq!((found, id.as_deref()), (expected.iter().map(|&e| e.into()).collect(), last));
    }

    #[test]
    fn t052_an_event_without_data_gives_an_id_alone() {
        finds("id: 1\ndata: \n\n", &["message \"\" 1"], Some("1"));
        finds("id: 1\ndata\n\n", &["message \"\" 1"], Some("1"));
        finds("id: 1\n\n", &["message \"\" 1"], Some("1"));
        finds("data:\n\n", &["message \"\" -"], None);
        finds("event: x\n\n", &[], None);
    }

    #[test]
    fn t062_lines_end_with_lf_crlf_or_cr() {
        let text = "event: a\nid: 1\ndata: {1}\n\ndata: {2}\ndata: {3}\n\n";
        let expected = ["a \"{1}\" 1", "message \"{2}/{3}\" 1"];
        for end in ["\n", "\r\n", "\r"] {
            finds(&text.replace('\n', end), &expected, Some("1"));
        }
        finds(
            "data: a\rdata: b\r\ndata: c\n\rdata: d\n\r\n",
            &["message \"a/b/c\" -", "message \"d\" -"],
            None,
        );
    }

    #[test]
    fn t062_an_event_does_not_wait_for_what_follows_its_last_return() {
        assert_eq!(read(9, &[b"data: a\r\n\r"]).0, ["message \"a\" -"]);
        assert_eq!(read(9, &[b"data: a\r\r"]).0, ["message \"a\" -"]);
    }

    #[test]
    fn t063_other_line_separators_are_text() {
        let data = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f";
        finds(&format!("data: {data}\n\n"), &[&format!("message {data:?} -")], None);
    }

    #[test]
    fn t064_t065_values_have_one_blank_before_them_or_none_and_colons_are_not_needed() {
        finds("data:{1}\n\n", &["message \"{1}\" -"], None);
        finds("data:  {1} \n\n", &["message \" {1} \" -"], None);
        finds("data:\tä€😀: b\n\n", &["message \"\\tä€😀: b\" -"], None);
        finds("data\ndata\n\n", &["message \"/\" -"], None);
        finds("data: a\nnothing\nData: b\n data: c\ndata : d\n\n", &["message \"a\" -"], None);
        finds("event\nevent: x\nevent:\ndata: a\n\n", &["message \"a\" -"], None);
    }

    #[test]
    fn marks_and_comments_are_dropped() {
        finds("\u{feff}data: a\n\n", &["message \"a\" -"], None);
        finds("\u{feff}\u{feff}data: a\n\n", &[], None);
        finds("data: a\n\n\u{feff}data: b\n\n", &["message \"a\" -"], None);
        finds(":\n\n:data: x\ndata: a\n: \n\n\n\n:", &["message \"a\" -"], None);
        assert_eq!(read_all_ways(9, b"\xEF\xBBdata: a\n\ndata: b\n\n").0, ["message \"b\" -"]);
        assert_eq!(read_all_ways(9, b"\xEF\xBB").0, [""; 0]);
    }

    #[test]
    fn ids_persist_take_effect_at_the_event_end_and_can_be_reset() {
        finds("id: 1\ndata: a\n\ndata: b\n\n", &["message \"a\" 1", "message \"b\" 1"], Some("1"));
        finds("id: 1\ndata: a\n\nid: 2\ndata: b\n", &["message \"a\" 1"], Some("1"));
        finds("id: 1\n\nid\ndata: b\n\n", &["message \"\" 1", "message \"b\" "], Some(""));
        finds("id: 1\nid: 2\nid: 3\0\ndata: b\n\n", &["message \"b\" 2"], Some("2"));
    }

    #[test]
    fn retries_are_digits() {
        finds("retry: 500\n", &["retry 500"], None);
        finds("retry:0\ndata: a\n\n", &["retry 0", "message \"a\" -"], None);
        let most = format!("retry {}", u64::MAX);
        finds("retry: 99999999999999999999\n\n", &[&most], None);
        finds("retry: 18446744073709551615\n\n", &[&most], None);
        finds(
            "retry\nretry: \nretry: +1\nretry: 1 \nretry:  1\nretry: 1e3\nretry: -1\n\n",
            &[],
            None,
        );
    }

    #[test]
    fn truncated_event_is_dropped() {
        finds("data: a\n\ndata: b", &["message \"a\" -"], None);
        finds("data: a\n\ndata: b\n", &["message \"a\" -"], None);
    }

    #[test]
    fn t068_an_event_that_is_too_long_is_reported_once_and_skipped() {
        let fits = "id:1\ndata:12345678\n:comments do not count\n\n";
        let (found, id) = read_all_ways(17, fits.as_bytes());
        assert_eq!(
            (found, id.as_deref()),
            (alloc::vec!["message \"12345678\" 1".into()], Some("1"))
        );
        for (text, expected) in [
            ("id:1\ndata:123456789\ndata:x\n\ndata:b\n\n", "1"),
            ("id:1\ndata:1234\ndata:\n\ndata:b\n\n", "1"),
            ("data:12345678901234567890\nretry:1\n:\nid:1\n\ndata:b\n\n", "1"),
            ("id:0\n\nid:12345678901234567890\nid:123456789012345\n\ndata:b\n\n", "0"),
            (
                "id:0\n\nid:12345678901234567890\nid:12345678901234\nid:1\0\n\ndata:b\n\n",
                "12345678901234",
            ),
        ] {
            let (found, id) = read_all_ways(17, text.as_bytes());
            let expected: &[String] = &["too long".into(), format!("message \"b\" {expected}")];
            assert_eq!(found.get(found.len() - 2..), Some(expected), "{text}");
            assert!(id.is_some());
        }
        assert_eq!(read(4, &[b"data:"]).0, ["too long"]);
    }

    #[test]
    fn t066_many_events_that_are_skipped_take_no_stack() {
        let text = "event: x\n\n:\n\n".repeat(100_000);
        assert_eq!(read(100, &[text.as_bytes(), b"data: a\n\n"]).0, ["message \"a\" -"]);
    }

    /// Each byte is copied a few times at most: otherwise this would take hours.
    #[test]
    fn a_long_event_in_small_chunks_takes_linear_time() {
        let mut reader = EventReader::new(usize::MAX);
        reader.push(Bytes::from_static(b"data:"));
        for _ in 0..300_000 {
            reader.push(Bytes::from_static(b"a"));
            assert_eq!(reader.poll(), None);
        }
        for _ in 0..300_000 {
            reader.push(Bytes::from_static(b"\ndata"));
        }
        reader.push(Bytes::from_static(b"\n\n"));
        let Some(Incoming::Event(event)) = reader.poll() else { panic!() };
        assert_eq!(event.data.len(), 600_000);
    }

    #[test]
    fn data_of_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"data: a\n\n");
        let mut reader = EventReader::new(9);
        reader.push(chunk.clone());
        let Some(Incoming::Event(event)) = reader.poll() else { panic!() };
        assert_eq!(event.data.as_ptr(), chunk[6..].as_ptr());
    }

    #[test]
    fn data_need_not_be_utf_8() {
        assert_eq!(read_all_ways(99, b"data: \xff\n\n").0, ["message \"\u{fffd}\" -"]);
    }
}
