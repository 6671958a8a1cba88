//! Newline-delimited text.
//!
//! In: chunks of bytes, split anywhere. Out: [`Line`]s. A `\n` ends a line. A `\r` before the `\n`
//! and a byte order mark at the start of the stream are dropped, and blank lines are ignored. The
//! last line of the stream needs no newline. A line over the limit is reported once, with its
//! beginning, and the rest of it is skipped. A line from one chunk is a slice of that chunk.
//!
//! [Specification: stdio](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio)

use alloc::vec::Vec;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::json::spare::{LARGE, MAX_KEPT};
use crate::json::{BYTE_ORDER_MARK as BOM, Spare};
use crate::limits::MAX_MESSAGE_BYTES;

/// Item read by a [`LineReader`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// A line, without its end.
    Complete(Bytes),
    /// The first `max_line_bytes` bytes of a line that is too long.
    TooLong(Bytes),
}

/// Splits a stream of bytes into lines.
#[derive(Debug)]
pub struct LineReader {
    max: usize,
    /// Bytes that were not searched yet.
    input: Bytes,
    /// The beginning of an incomplete line.
    partial: Vec<u8>,
    /// Memory of the last large line that was incomplete.
    spare: Spare,
    /// The same for a line over [`MAX_KEPT`], until its release.
    huge: Spare,
    state: LineState,
}

#[derive(Debug)]
enum LineState {
    /// At the start; at most part of a byte order mark has arrived.
    Start,
    /// In lines.
    Lines,
    /// In the rest of a line that was too long.
    Skipping,
}

impl LineReader {
    /// A reader for lines of at most `max_line_bytes`, in bytes without the newline.
    pub fn new(max_line_bytes: usize) -> Self {
        Self {
            max: max_line_bytes.min(MAX_MESSAGE_BYTES),
            input: Bytes::new(),
            partial: Vec::new(),
            spare: Spare::new(),
            huge: Spare::new(),
            state: LineState::Start,
        }
    }

    /// Adds the next bytes of the stream; [`LineReader::next_line`] must have returned `None`
    /// before.
    pub fn push(&mut self, data: Bytes) {
        if self.input.is_empty() {
            self.input = data;
        } else {
            let mut joined = BytesMut::with_capacity(self.input.len() + data.len());
            joined.put(core::mem::take(&mut self.input));
            joined.put(data);
            self.input = joined.freeze();
        }
    }

    /// The next line that is not blank, `None` if more bytes are needed.
    pub fn next_line(&mut self) -> Option<Line> {
        while !self.input.is_empty() {
            self.skip_bom();
            let end = memchr::memchr(b'\n', &self.input);
            if let LineState::Skipping = self.state {
                match end {
                    Some(end) => self.input.advance(end + 1),
                    None => self.input.clear(),
                }
                end?;
                self.state = LineState::Lines;
                continue;
            }
            let Some(end) = end else {
                let rest = core::mem::take(&mut self.input);
                self.extend_partial(&rest);
                return self.overlong().then(|| self.too_long());
            };
            let piece = self.input.split_to(end);
            self.input.advance(1);
            if let Some(line) = self.complete(piece) {
                return Some(line);
            }
        }
        None
    }

    /// Handles the end of the stream: returns the last line, if it had no newline.
    pub fn finish(&mut self) -> Option<Line> {
        let rest = core::mem::take(&mut self.input);
        self.extend_partial(&rest);
        match self.state {
            LineState::Skipping => None,
            LineState::Start | LineState::Lines => self.complete(Bytes::new()),
        }
    }

    fn complete(&mut self, piece: Bytes) -> Option<Line> {
        self.state = LineState::Lines;
        let mut line = piece;
        if !self.partial.is_empty() {
            self.extend_partial(&line);
            line = self.keep_partial();
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.max {
            line.truncate(self.max);
            return Some(Line::TooLong(line));
        }
        let blank = line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'));
        (!blank).then_some(Line::Complete(line))
    }

    /// Returns whether the memory of a line over 2 MiB is kept for the next one, until
    /// [`LineReader::release_memory`].
    pub fn keeps_memory(&self) -> bool {
        !self.huge.is_empty()
    }

    /// Releases the memory of a line over 2 MiB. Memory up to that size is kept.
    pub fn release_memory(&mut self) {
        self.huge = Spare::new();
    }

    /// Takes the incomplete line, and keeps its memory.
    fn keep_partial(&mut self) -> Bytes {
        let partial = core::mem::take(&mut self.partial);
        if partial.capacity() > MAX_KEPT {
            self.huge.keep_any(partial)
        } else {
            self.spare.keep(partial)
        }
    }

    /// Adds the rest of the input to the incomplete line; a large line moves to spare memory.
    fn extend_partial(&mut self, piece: &[u8]) {
        let length = self.partial.len() + piece.len();
        if length > LARGE && self.partial.capacity() <= LARGE {
            let spare = if self.keeps_memory() { &mut self.huge } else { &mut self.spare };
            let mut large = spare.take(length.max(2 * LARGE));
            large.extend_from_slice(&self.partial);
            self.partial = large;
        }
        self.partial.extend_from_slice(piece);
    }

    /// Returns whether the incomplete line is too long even without a `\r` at its end. Bytes of a
    /// possible byte order mark do not count.
    fn overlong(&self) -> bool {
        if let LineState::Start = self.state {
            return false;
        }
        self.partial.len() > self.max.saturating_add(1)
            || self.partial.len() > self.max && self.partial.last() != Some(&b'\r')
    }

    fn too_long(&mut self) -> Line {
        let mut line = core::mem::take(&mut self.partial);
        line.truncate(self.max);
        self.state = LineState::Skipping;
        Line::TooLong(line.into())
    }

    fn skip_bom(&mut self) {
        let LineState::Start = self.state else { return };
        if !self.partial.is_empty() {
            let rest = core::mem::take(&mut self.input);
            self.extend_partial(&rest);
            self.input = core::mem::take(&mut self.partial).into();
        }
        if self.input.starts_with(BOM) {
            self.input.advance(BOM.len());
            self.state = LineState::Lines;
        } else if !BOM.starts_with(&self.input) {
            self.state = LineState::Lines;
        }
    }
}

/// Ends a message that begins at `start` in `out`. Newlines in the message, which can only be
/// whitespace between JSON tokens, become spaces, and one newline follows.
pub fn write_line(out: &mut BytesMut, start: usize) {
    let mut rest = out.get_mut(start..).unwrap_or_default();
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (_, tail) = rest.split_at_mut(at);
        if let Some((newline, tail)) = tail.split_first_mut() {
            *newline = b' ';
            rest = tail;
        } else {
            rest = &mut [];
        }
    }
    out.extend_from_slice(b"\n");
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn lines(max: usize, chunks: &[&[u8]]) -> Vec<Line> {
        let mut reader = LineReader::new(max);
        let mut found = Vec::new();
        for chunk in chunks {
            reader.push(Bytes::copy_from_slice(chunk));
            while let Some(line) = reader.next_line() {
                found.push(line);
            }
        }
        found.extend(reader.finish());
        found
    }

    fn complete(text: &'static str) -> Line {
        Line::Complete(Bytes::from_static(text.as_bytes()))
    }

    fn too_long(text: &'static str) -> Line {
        Line::TooLong(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn t101_t102_t108_line_ends_marks_and_a_last_line_without_newline() {
        let text = b"\xEF\xBB\xBF{1}\r\n\n \r\n{2}\n\xEF\xBB\xBF{3}\r{4}";
        let expected = [complete("{1}"), complete("{2}"), complete("\u{feff}{3}\r{4}")];
        for size in 1..=text.len() {
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(lines(100, &chunks), expected, "chunks of {size}");
        }
    }

    #[test]
    fn t107_a_line_that_is_too_long_is_reported_once_and_skipped() {
        let text = b"1234\r\n12345\n123456789\n1\n12345\r\n";
        let expected =
            [complete("1234"), too_long("1234"), too_long("1234"), complete("1"), too_long("1234")];
        for size in 1..=text.len() {
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(lines(4, &chunks), expected, "chunks of {size}");
        }
        assert_eq!(lines(4, &[b"123456"]), [too_long("1234")]);
    }

    #[test]
    fn a_part_of_a_mark_is_text() {
        assert_eq!(
            lines(9, &[b"\xEF", b"\xBB"]),
            [Line::Complete(Bytes::from_static(b"\xEF\xBB"))]
        );
        assert_eq!(lines(9, &[b"\xEF\xBB\xBF"]), []);
    }

    #[test]
    fn line_of_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"one\ntwo\n");
        let mut reader = LineReader::new(9);
        reader.push(chunk.clone());
        let Some(Line::Complete(line)) = reader.next_line() else { panic!() };
        assert_eq!(line.as_ptr(), chunk.as_ptr());
    }

    #[test]
    fn memory_of_a_huge_line_is_kept_until_its_release() {
        let mut reader = LineReader::new(usize::MAX);
        let mut byte = b'a';
        let mut read = |length: usize, releases: bool| {
            byte += 1;
            reader.push(vec![byte; length].into());
            assert_eq!(reader.next_line(), None);
            if releases {
                reader.release_memory();
                assert!(!reader.keeps_memory());
            }
            reader.push(Bytes::from_static(b"\n"));
            let Some(Line::Complete(line)) = reader.next_line() else { panic!() };
            assert_eq!(line.len(), length);
            assert!(line.iter().all(|it| *it == byte), "nothing of the line before");
            (line, reader.keeps_memory())
        };
        assert!(!read(LARGE, false).1);
        let (first, is_kept) = read(2 * MAX_KEPT, false);
        assert!(is_kept);
        let place = first.as_ptr();
        let (second, _) = read(2 * MAX_KEPT, false);
        assert_ne!(second.as_ptr(), place, "the first line is still in use");
        drop(first);
        let place = second.as_ptr();
        drop(second);
        for releases in [false, true] {
            let (line, is_kept) = read(LARGE + 1, releases);
            assert!(is_kept);
            assert_eq!(line.as_ptr(), place, "a shorter line has the memory of a huge one");
        }
        assert!(!read(9, true).1);
    }

    #[test]
    fn written_lines_contain_no_newline() {
        let mut out = BytesMut::from(&b"before\n{\n\"a\":\r\n1}"[..]);
        write_line(&mut out, 7);
        assert_eq!(&out[..], b"before\n{ \"a\":  1}\n");
    }
}
