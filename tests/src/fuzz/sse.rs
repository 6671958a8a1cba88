//! `EventReader` against a reader that has the whole stream before it, and against the encoder.

use mcp_proto::Bytes;
use mcp_proto::frame::sse::{self, Event, EventReader, Incoming};

/// The first byte is the limit of the reader, the second the pattern by which the rest is split.
///
/// # Panics
///
/// If the reader finds something else than the oracle, or if what it finds reads otherwise once it
/// is written.
pub fn sse(data: &[u8]) {
    let [limit, pattern, stream @ ..] = data else { return };
    let sizes = [0, 2, 4, 6].map(|shift| usize::from(pattern >> shift & 3));
    let sizes = if sizes == [0; 4] { [3, 0, 1, 40] } else { sizes };
    let found = sse_pieces(usize::from(*limit), stream, &sizes);
    written_again(&found);
}

/// The same with any sizes of pieces, over and over; not all of them may be 0.
///
/// # Panics
///
/// As `sse`.
pub fn sse_pieces(max: usize, stream: &[u8], sizes: &[usize]) -> Vec<Incoming> {
    let expected = oracle(max, stream);
    for sizes in [&[stream.len().max(1)][..], &[1], &[7], sizes] {
        for eager in [true, false] {
            let found = read(max, stream, sizes, eager);
            assert_eq!(found, expected, "in pieces of {sizes:?}, polled in between: {eager}");
        }
    }
    expected.0
}

type Found = (Vec<Incoming>, Option<Bytes>);

/// Reads a stream in pieces of these sizes, over and over; returns the events and the last id. An
/// eager reader polls after each piece, others after the last one.
fn read(max: usize, mut stream: &[u8], sizes: &[usize], eager: bool) -> Found {
    let mut reader = EventReader::new(max);
    let mut found = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !stream.is_empty() {
        let size = sizes.next().map_or(1, |size| (*size).min(stream.len()));
        let (piece, rest) = stream.split_at(size);
        reader.push(Bytes::copy_from_slice(piece));
        while eager && let Some(incoming) = reader.poll() {
            found.push(incoming);
        }
        stream = rest;
    }
    found.extend(std::iter::from_fn(|| reader.poll()));
    (found, reader.last_event_id().cloned())
}

/// Checks that each event is the same after writing and reading it.
fn written_again(found: &[Incoming]) {
    for incoming in found {
        let Incoming::Event(Event { name, data, id }) = incoming else { continue };
        let id = id.as_ref().and_then(|id| str::from_utf8(id).ok());
        // An encoder of messages writes one line, without what would end it.
        if name != "message" || data.iter().any(|byte| b"\r\n\0".contains(byte)) {
            continue;
        }
        let mut stream = Vec::new();
        sse::message(id, data, &mut stream);
        let id = id.map(|id| Bytes::copy_from_slice(id.as_bytes()));
        let event = Event { name: name.clone(), data: data.clone(), id: id.clone() };
        let again = read(usize::MAX, &stream, &[stream.len()], true);
        assert_eq!(again, (vec![Incoming::Event(event)], id));
    }
}

/// Oracle for the WHATWG's rules of event streams and the limit, which sees the whole stream at
/// once.
fn oracle(max: usize, stream: &[u8]) -> Found {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let (mut found, mut last) = (Vec::new(), None);
    if BOM.starts_with(stream) {
        return (found, last);
    }
    let (mut lines, rest) = lines(stream.strip_prefix(BOM).unwrap_or(stream));
    while let Some(end) = lines.iter().position(|line| line.is_empty()) {
        let block: Vec<&[u8]> = lines.drain(..=end).collect();
        let (length, too_long) = fitting(max, &block, b"");
        let (fitting, others) = block.split_at(length);
        found.extend(fitting.iter().filter_map(|line| retry(line)));
        let skipped = others.iter().skip(1).filter(|line| line.len() <= max);
        let mut ids = fitting.iter().chain(skipped).filter_map(|line| value(line, "id"));
        let id = ids.rfind(|id| !id.contains(&0));
        let is_event = id.is_some() || fitting.iter().any(|line| value(line, "data").is_some());
        last = id.map(Bytes::copy_from_slice).or(last);
        if too_long {
            found.push(Incoming::TooLong);
        } else if is_event {
            let data: Vec<&[u8]> = fitting.iter().filter_map(|line| value(line, "data")).collect();
            let name = fitting.iter().rev().find_map(|line| value(line, "event"));
            let name = name.filter(|name| !name.is_empty()).unwrap_or(b"message");
            found.push(Incoming::Event(Event {
                name: Bytes::copy_from_slice(name),
                data: data.join(&b'\n').into(),
                id: last.clone(),
            }));
        }
    }
    // The beginning of an event.
    let (length, too_long) = fitting(max, &lines, rest);
    found.extend(lines.iter().take(length).filter_map(|line| retry(line)));
    found.extend(too_long.then_some(Incoming::TooLong));
    (found, last)
}

/// Number of lines that fit, and whether there are more, including `rest`.
fn fitting(max: usize, lines: &[&[u8]], rest: &[u8]) -> (usize, bool) {
    let mut total = 0;
    let mut exceeds = |line: &[u8]| {
        total += if line.starts_with(b":") { 0 } else { line.len() };
        total > max
    };
    match lines.iter().position(|line| exceeds(line)) {
        Some(length) => (length, true),
        None => (lines.len(), exceeds(rest)),
    }
}

/// The lines of a stream, and what is behind the last line end.
fn lines(stream: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut lines, mut rest) = (Vec::new(), stream);
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let (line, tail) = rest.split_at(end);
        lines.push(line);
        let tail_of_two = tail.strip_prefix(b"\r\n");
        rest = tail_of_two.or(tail.get(1..)).unwrap_or_default();
    }
    (lines, rest)
}

/// The value of a line, if it is of this field.
fn value<'a>(line: &'a [u8], field: &str) -> Option<&'a [u8]> {
    match line.strip_prefix(field.as_bytes())? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

fn retry(line: &[u8]) -> Option<Incoming> {
    let digits = str::from_utf8(value(line, "retry")?).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Incoming::Retry(digits.parse().unwrap_or(u64::MAX)))
}
