//! `LineReader` against a splitter that has the whole stream before it.

use mcp_proto::Bytes;
use mcp_proto::frame::{Line, LineReader};

/// The first byte is the limit of the reader, the second the pattern by which the rest is split.
///
/// # Panics
///
/// If the reader finds other lines than the oracle.
pub fn line(data: &[u8]) {
    let [limit, pattern, stream @ ..] = data else { return };
    let max = usize::from(*limit);
    let expected = split(stream, max);
    for line in &expected {
        let (Line::Complete(text) | Line::TooLong(text)) = line;
        assert!(text.len() <= max, "a line over the limit");
    }
    for sizes in [vec![stream.len().max(1)], vec![1], vec![7], pieces(*pattern)] {
        assert_eq!(read(stream, max, &sizes), expected, "in pieces of {sizes:?}");
    }
}

/// The lines of a stream that comes in pieces of these sizes, over and over.
fn read(mut stream: &[u8], max: usize, sizes: &[usize]) -> Vec<Line> {
    let mut reader = LineReader::new(max);
    let mut lines = Vec::new();
    let mut sizes = sizes.iter().cycle();
    while !stream.is_empty() {
        let size = sizes.next().map_or(1, |size| (*size).min(stream.len()));
        let (piece, rest) = stream.split_at(size);
        reader.push(Bytes::copy_from_slice(piece));
        while let Some(line) = reader.next_line() {
            lines.push(line);
        }
        stream = rest;
    }
    lines.extend(reader.finish());
    assert_eq!(reader.finish(), None, "the end comes once");
    lines
}

/// Four sizes of pieces, two bits each; a piece of no bytes is one too.
fn pieces(pattern: u8) -> Vec<usize> {
    let sizes = [0, 2, 4, 6].map(|shift| usize::from(pattern >> shift & 3));
    if sizes == [0; 4] { vec![3, 0, 1] } else { sizes.to_vec() }
}

/// Oracle for lines, which sees the whole stream at once.
fn split(stream: &[u8], max: usize) -> Vec<Line> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    stream
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter_map(|line| match line.get(..max) {
            Some(beginning) if line.len() > max => {
                Some(Line::TooLong(Bytes::copy_from_slice(beginning)))
            }
            _ if line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) => None,
            _ => Some(Line::Complete(Bytes::copy_from_slice(line))),
        })
        .collect()
}
