//! The lines of a stream of events.
//!
//! In: chunks of bytes, split anywhere. Out: lines without their ends, which are `\n`, `\r\n` or
//! `\r`. A byte order mark at the start of the stream is dropped. Unwanted lines are dropped as
//! they arrive. A line ends at its `\r`, even if a `\n` may follow, so an event is complete without
//! any byte after it.

use alloc::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::json::BYTE_ORDER_MARK as BOM;

/// Splits a stream into lines.
#[derive(Debug)]
pub(super) struct LineBuffer {
    /// Bytes that were not searched yet.
    input: VecDeque<Bytes>,
    /// The beginning of an incomplete line.
    partial: BytesMut,
    place: LinePosition,
}

#[derive(Clone, Copy, Debug)]
enum LinePosition {
    /// At the start of the stream, after this many bytes of a byte order mark.
    Mark(usize),
    /// Before a line.
    Start,
    /// Before a line, after a `\r`: a `\n` would belong to the same line end.
    Return,
    /// In a line.
    Line,
    /// In a line that is dropped.
    Skipped,
}

/// Item found in the stream.
pub(super) enum LineResult {
    /// A line.
    Line(Bytes),
    /// A line has more than `max` bytes. The rest of the line is skipped.
    TooLong,
}

impl LineBuffer {
    pub(super) fn new() -> Self {
        Self { input: VecDeque::new(), partial: BytesMut::new(), place: LinePosition::Mark(0) }
    }

    /// Adds the next bytes of the stream.
    pub(super) fn push(&mut self, data: Bytes) {
        self.input.push_back(data);
    }

    /// The next line of at most `max` bytes; `None` if more bytes are needed. A line whose first
    /// byte is not `wanted` is dropped at any length; an empty line is always wanted.
    pub(super) fn next(&mut self, max: usize, wanted: impl Fn(u8) -> bool) -> Option<LineResult> {
        loop {
            let chunk = self.input.front_mut()?;
            let Some(first) = chunk.first().copied() else {
                self.input.pop_front();
                continue;
            };
            self.place = match self.place {
                LinePosition::Mark(length) if BOM.get(length) == Some(&first) => {
                    chunk.advance(1);
                    if length + 1 < BOM.len() {
                        LinePosition::Mark(length + 1)
                    } else {
                        LinePosition::Start
                    }
                }
                LinePosition::Mark(0) => LinePosition::Start,
                // An incomplete mark is text.
                LinePosition::Mark(length) => {
                    self.partial.put_slice(BOM.get(..length).unwrap_or_default());
                    LinePosition::Line
                }
                LinePosition::Return => {
                    chunk.advance(usize::from(first == b'\n'));
                    LinePosition::Start
                }
                LinePosition::Start if matches!(first, b'\n' | b'\r') || wanted(first) => {
                    LinePosition::Line
                }
                LinePosition::Start => LinePosition::Skipped,
                LinePosition::Line | LinePosition::Skipped => {
                    if let Some(found) = self.rest_of_line(max) {
                        return Some(found);
                    }
                    self.place
                }
            }
        }
    }

    /// Collects the received part of a line; returns the line, once it is complete or too long.
    fn rest_of_line(&mut self, max: usize) -> Option<LineResult> {
        let is_wanted = matches!(self.place, LinePosition::Line);
        let chunk = self.input.front_mut()?;
        let end = memchr::memchr2(b'\n', b'\r', chunk);
        let piece = chunk.split_to(end.unwrap_or(chunk.len()));
        match chunk.first() {
            Some(b'\r') => self.place = LinePosition::Return,
            Some(_) => self.place = LinePosition::Start,
            None => {}
        }
        chunk.advance(usize::from(end.is_some()));
        if !is_wanted {
            return None;
        }
        if self.partial.len() + piece.len() > max {
            self.partial = BytesMut::new();
            if end.is_none() {
                self.place = LinePosition::Skipped;
            }
            return Some(LineResult::TooLong);
        }
        if end.is_some() && self.partial.is_empty() {
            return Some(LineResult::Line(piece));
        }
        self.partial.put(piece);
        end.map(|_| LineResult::Line(core::mem::take(&mut self.partial).freeze()))
    }
}
