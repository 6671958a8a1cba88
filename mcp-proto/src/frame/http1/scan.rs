//! Search for the end of a head.
//!
//! In: bytes that may be the beginning of a head. Out: the parsed head, or the refusal. A refusal
//! does not depend on how many bytes have arrived.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use httparse::Header;

use super::bounds::Bounds;
use super::buffer::Buffer;
use super::fault::fault_of;
use super::head_syntax::{HeadSyntax, ParsedHead};
use super::refusal::Refusal;

/// The maximum number of fields that are parsed without an allocation.
const FEW_FIELDS: usize = 32;

/// Looks for the end of a head, line by line, as bytes arrive.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Start of the line that is not complete yet.
    line: usize,
    /// The number of complete lines, including the start line.
    lines: usize,
}

impl Scan {
    /// The head at the beginning of the buffer; `None` if more bytes are needed. A refusal does not
    /// depend on how many more bytes have arrived.
    pub(super) fn next<S: HeadSyntax>(
        &mut self,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<ParsedHead<S>>, Refusal> {
        // Most heads arrive completely, with few fields and no fault.
        if buffer.is_unsearched() && buffer.len() > 0 {
            let max_fields = FEW_FIELDS.min(bounds.max_fields);
            if let Some(parsed) = parse(buffer.bytes(), max_fields, bounds) {
                return parsed.map(Some);
            }
        }
        let Some(end) = self.find_end::<S>(buffer, bounds)? else { return Ok(None) };
        let text = buffer.bytes().get(..end).unwrap_or_default();
        let parsed = parse(text, self.lines.saturating_sub(1), bounds);
        parsed.unwrap_or_else(|| Err(fault_of::<S>(text))).map(Some)
    }

    /// The length of the head, including the empty line at its end.
    fn find_end<S: HeadSyntax>(
        &mut self,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<usize>, Refusal> {
        S::may_begin(buffer.bytes())?;
        loop {
            let (max, too_long) = self.max_bytes::<S>(bounds);
            let Some(line_feed) = buffer.find_line_feed(max) else {
                return if buffer.len() < max { Ok(None) } else { Err(too_long) };
            };
            match buffer.bytes().get(self.line..line_feed).unwrap_or_default() {
                [b'\r'] if self.lines > 0 => return Ok(Some(line_feed + 1)),
                [b' ' | b'\t', .., b'\r'] => return Err(Refusal::FoldedField),
                [.., b'\r'] => {}
                _ => return Err(Refusal::BareLineFeed),
            }
            if self.lines > bounds.max_fields {
                return Err(Refusal::TooManyFields { max_fields: bounds.max_fields });
            }
            self.lines += 1;
            self.line = line_feed + 1;
        }
    }

    fn max_bytes<S: HeadSyntax>(&self, bounds: &Bounds) -> (usize, Refusal) {
        let max_head_bytes = bounds.max_head_bytes;
        if self.lines == 0 {
            S::max_start_line(bounds)
        } else {
            (max_head_bytes, Refusal::HeadTooLong { max_head_bytes })
        }
    }
}

fn parse<S: HeadSyntax>(
    bytes: &[u8],
    max_fields: usize,
    bounds: &Bounds,
) -> Option<Result<ParsedHead<S>, Refusal>> {
    let mut few = [const { MaybeUninit::uninit() }; FEW_FIELDS];
    let mut many: Vec<MaybeUninit<Header<'_>>> = Vec::new();
    let space = if let Some(few) = few.get_mut(..max_fields) {
        few
    } else {
        many.resize_with(max_fields, MaybeUninit::uninit);
        many.as_mut_slice()
    };
    S::parse(bytes, space, bounds)
}
