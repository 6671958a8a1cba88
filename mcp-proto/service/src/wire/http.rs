//! Lines of one direction of an HTTP connection: the lines of heads and event streams, and each
//! other body as one line, independent of chunks. So a secret and its key are always in the same
//! line.

use bytes::{Buf, Bytes, BytesMut};

use super::MAX_LINE_BYTES;

#[derive(Default)]
pub(super) struct HttpLines {
    input: BytesMut,
    /// Number of bytes that were searched and have no line feed.
    searched: usize,
    position: HttpPosition,
    /// Framing of the body, from its head.
    announced: Announced,
    /// Incomplete body, or line of an event stream. The end of a long one is dropped.
    body: BytesMut,
    /// True if the beginning of the incomplete line was shown.
    shown: bool,
}

#[derive(Clone, Copy, Default)]
enum HttpPosition {
    /// In a head.
    #[default]
    Head,
    /// In a body, with this many bytes left; [`UNTIL_END`] if it ends with the connection.
    Body(u64),
    /// Before the size of a chunk.
    Size,
    /// In a chunk, with this many bytes left.
    Chunk(u64),
    /// After the data of a chunk.
    ChunkEnd,
    /// After the last chunk.
    Trailer,
    /// After invalid framing: the rest is dropped.
    Lost,
}

/// The length of a body that ends with the connection.
const UNTIL_END: u64 = u64::MAX;

#[derive(Clone, Copy, Default)]
struct Announced {
    /// Length of a body that is not chunked: none, unless the head has one.
    length: u64,
    is_chunked: bool,
    /// True if the body is a stream of events.
    is_events: bool,
}

impl HttpLines {
    pub(super) fn push(&mut self, data: &[u8]) {
        self.input.extend_from_slice(data);
    }

    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.position {
                HttpPosition::Head => {
                    let line = self.line()?;
                    if !line.is_empty() {
                        self.announced.read_line(&line);
                        return Some(line);
                    }
                    self.position = self.announced.position();
                }
                HttpPosition::Body(0) => {
                    (self.position, self.announced) = (HttpPosition::Head, Announced::default());
                    if let Some(line) = self.take_gathered() {
                        return Some(line);
                    }
                }
                HttpPosition::Chunk(0) => self.position = HttpPosition::ChunkEnd,
                HttpPosition::Body(left) | HttpPosition::Chunk(left) => {
                    let (taken, line) = self.gather(left)?;
                    let left = left.saturating_sub(taken);
                    let is_chunk = matches!(self.position, HttpPosition::Chunk(_));
                    self.position =
                        if is_chunk { HttpPosition::Chunk(left) } else { HttpPosition::Body(left) };
                    if line.is_some() {
                        return line;
                    }
                }
                HttpPosition::Size => {
                    let line = self.line()?;
                    match chunk_size(&line) {
                        Some(0) => {
                            self.position = HttpPosition::Trailer;
                            if let Some(line) = self.take_gathered() {
                                return Some(line);
                            }
                        }
                        Some(size) => self.position = HttpPosition::Chunk(size),
                        None => self.position = HttpPosition::Lost,
                    }
                }
                HttpPosition::ChunkEnd => {
                    let is_end = self.line()?.is_empty();
                    self.position = if is_end { HttpPosition::Size } else { HttpPosition::Lost };
                }
                HttpPosition::Trailer => {
                    let line = self.line()?;
                    if !line.is_empty() {
                        return Some(line);
                    }
                    (self.position, self.announced) = (HttpPosition::Head, Announced::default());
                }
                HttpPosition::Lost => {
                    self.input.clear();
                    return None;
                }
            }
        }
    }

    /// The beginning of an incomplete line or body; returned once.
    pub(super) fn beginning(&mut self) -> Option<Bytes> {
        if self.shown { None } else { self.remaining() }
    }

    /// The incomplete line or body, at the end of the connection.
    pub(super) fn remaining(&mut self) -> Option<Bytes> {
        let remaining = match self.position {
            HttpPosition::Head | HttpPosition::Trailer => &self.input,
            HttpPosition::Body(_)
            | HttpPosition::Size
            | HttpPosition::Chunk(_)
            | HttpPosition::ChunkEnd => &self.body,
            HttpPosition::Lost => return None,
        };
        let text = one_line(BytesMut::from(&**remaining));
        self.shown = !text.is_empty();
        self.shown.then_some(text)
    }

    /// Takes a line, without its line feed.
    fn line(&mut self) -> Option<Bytes> {
        let unknown = self.input.get(self.searched..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', unknown) else {
            self.searched = self.input.len();
            if self.searched >= MAX_LINE_BYTES {
                self.position = HttpPosition::Lost;
                return Some(self.input.split().freeze());
            }
            return None;
        };
        let line = self.input.split_to(self.searched.saturating_add(end)).freeze();
        self.input.advance(1);
        (self.searched, self.shown) = (0, false);
        Some(line.strip_suffix(b"\r").map_or(line.clone(), |text| line.slice_ref(text)))
    }

    /// Takes received bytes of the next `left` bytes of a body, up to the end of a line in a stream
    /// of events. Returns the number of bytes, and the line if it is complete.
    fn gather(&mut self, left: u64) -> Option<(u64, Option<Bytes>)> {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(self.input.len());
        let data = self.input.get(..count).filter(|data| !data.is_empty())?;
        let end = if self.announced.is_events { memchr::memchr(b'\n', data) } else { None };
        let text = data.get(..end.unwrap_or(count)).unwrap_or_default();
        let room = MAX_LINE_BYTES.saturating_sub(self.body.len()).min(text.len());
        self.body.extend_from_slice(text.get(..room).unwrap_or_default());
        let taken = end.map_or(count, |end| end + 1);
        self.input.advance(taken);
        Some((taken as u64, end.and_then(|_| self.take_gathered())))
    }

    /// Takes the gathered text, unless it is blank.
    fn take_gathered(&mut self) -> Option<Bytes> {
        self.shown = false;
        let text = one_line(self.body.split());
        (!text.is_empty()).then_some(text)
    }
}

impl Announced {
    /// Position after the head.
    fn position(&self) -> HttpPosition {
        if self.is_chunked { HttpPosition::Size } else { HttpPosition::Body(self.length) }
    }

    /// Reads a line of a head.
    fn read_line(&mut self, line: &[u8]) {
        let Ok(line) = core::str::from_utf8(line) else { return };
        if line.starts_with("HTTP/") {
            self.length = length_after(line);
            return;
        }
        let Some((name, value)) = line.split_once(':') else { return };
        let value = value.trim();
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("content-length") {
            self.length = value.parse().unwrap_or_default();
        } else if is("transfer-encoding") {
            self.is_chunked = true;
        } else if is("content-type") {
            self.is_events = value.starts_with("text/event-stream");
        }
    }
}

/// The length of a response's body, by its status line (RFC 9112, 6.3). A header with the length
/// comes later.
fn length_after(status_line: &str) -> u64 {
    match status_line.split(' ').nth(1) {
        Some("204" | "304") => 0,
        Some(status) if status.starts_with('1') => 0,
        _ => UNTIL_END,
    }
}

/// The text with blanks in place of its line ends, and without those at its end. JSON has line ends
/// only between tokens, so its value stays the same.
fn one_line(mut text: BytesMut) -> Bytes {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let length = text.iter().rposition(|byte| !is_end(byte)).map_or(0, |last| last + 1);
    text.truncate(length);
    for byte in text.iter_mut().filter(|byte| is_end(byte)) {
        *byte = b' ';
    }
    text.freeze()
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let size = core::str::from_utf8(line).ok()?.split(';').next()?;
    u64::from_str_radix(size.trim(), 16).ok()
}
