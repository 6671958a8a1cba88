//! One direction of an HTTP connection as lines: those of heads, of chunks and of events, and
//! bodies of a known length, each as one.

use bytes::{Buf, Bytes, BytesMut};

use super::MAX_LINE_BYTES;

#[derive(Default)]
pub(super) struct Lines {
    input: BytesMut,
    /// How many bytes have no line feed.
    searched: usize,
    /// The length that a head has announced.
    announced: usize,
    /// How much is left of a body.
    body: usize,
}

impl Lines {
    pub(super) fn push(&mut self, data: &[u8]) {
        self.input.extend_from_slice(data);
    }

    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.body > 0 {
                if self.input.len() < self.body.min(MAX_LINE_BYTES) {
                    return None;
                }
                let body = self.input.split_to(self.body.min(self.input.len())).freeze();
                self.body = self.body.saturating_sub(body.len());
                return Some(body);
            }
            let unknown = self.input.get(self.searched..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', unknown) else {
                self.searched = self.input.len();
                return if self.searched < MAX_LINE_BYTES { None } else { self.rest() };
            };
            let line = self.input.split_to(self.searched.saturating_add(end)).freeze();
            self.input.advance(1);
            self.searched = 0;
            let line = line.strip_suffix(b"\r").map_or(line.clone(), |text| line.slice_ref(text));
            if line.is_empty() {
                self.body = core::mem::take(&mut self.announced);
                continue;
            }
            if let Some(length) = content_length(&line) {
                self.announced = length;
            }
            return Some(line);
        }
    }

    /// What has come of a line, or of a body, that is not complete.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        let rest = self.input.split().freeze();
        self.searched = 0;
        self.body = self.body.saturating_sub(rest.len());
        if rest.is_empty() { None } else { Some(rest) }
    }
}

fn content_length(line: &[u8]) -> Option<usize> {
    let (name, value) = core::str::from_utf8(line).ok()?.split_once(':')?;
    if !name.eq_ignore_ascii_case("content-length") {
        return None;
    }
    value.trim().parse().ok()
}
