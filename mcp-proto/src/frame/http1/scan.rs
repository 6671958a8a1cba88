//! Where a head ends.
//!
//! In: bytes that may be the beginning of a head. Out: what the parser of its role makes of the
//! whole of it, or why it is refused. What is refused does not depend on how much has come.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use httparse::Header;

use super::buffer::Buffer;
use super::fault::fault_of;
use super::reader::Bounds;
use super::refusal::Refusal;

/// So many fields are found without memory of their own.
const FEW_FIELDS: usize = 32;

/// The head of a request or of a response, as it is read.
pub(super) trait Parse: Sized {
    /// The refusal of a start line that is none.
    const NO_START_LINE: Refusal;

    /// Whether a start line may begin like this.
    fn may_begin(bytes: &[u8]) -> Result<(), Refusal>;

    /// The longest start line, in bytes, and the refusal of a longer one.
    fn max_start_line(bounds: &Bounds) -> (usize, Refusal);

    /// Checks a line that should be a start line.
    fn check_start_line(line: &[u8]) -> Result<(), Refusal>;

    /// Reads the head at the beginning of `bytes`, with at most as many fields as there is space
    /// for. `None` if the whole of it has not come, or if it is not made of lines as they must be:
    /// whoever looks at it line by line knows more.
    fn parse<'b>(
        bytes: &'b [u8],
        space: &mut [MaybeUninit<Header<'b>>],
        bounds: &Bounds,
    ) -> Option<Result<Self, Refusal>>;
}

/// Looks for the end of a head, line by line, as bytes come.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Where the line begins whose end has not come.
    line: usize,
    /// Complete lines, the start line among them.
    lines: usize,
}

impl Scan {
    /// The head at the beginning of the buffer; `None` if more bytes are needed. What is refused
    /// does not depend on how much more has come.
    pub(super) fn next<P: Parse>(
        &mut self,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<P>, Refusal> {
        // Most heads come whole, with few fields and no fault.
        if buffer.is_unsearched() {
            let max_fields = FEW_FIELDS.min(bounds.max_fields);
            if let Some(parsed) = parse(buffer.bytes(), max_fields, bounds) {
                return parsed.map(Some);
            }
        }
        let Some(end) = self.find_end::<P>(buffer, bounds)? else { return Ok(None) };
        let text = buffer.bytes().get(..end).unwrap_or_default();
        let parsed = parse(text, self.lines.saturating_sub(1), bounds);
        parsed.unwrap_or_else(|| Err(fault_of::<P>(text))).map(Some)
    }

    /// The length of the head, with the empty line behind it.
    fn find_end<P: Parse>(
        &mut self,
        buffer: &mut Buffer,
        bounds: &Bounds,
    ) -> Result<Option<usize>, Refusal> {
        P::may_begin(buffer.bytes())?;
        loop {
            let (max, too_long) = self.max_bytes::<P>(bounds);
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

    fn max_bytes<P: Parse>(&self, bounds: &Bounds) -> (usize, Refusal) {
        let max_head_bytes = bounds.max_head_bytes;
        if self.lines == 0 {
            P::max_start_line(bounds)
        } else {
            (max_head_bytes, Refusal::HeadTooLong { max_head_bytes })
        }
    }
}

fn parse<P: Parse>(bytes: &[u8], max_fields: usize, bounds: &Bounds) -> Option<Result<P, Refusal>> {
    let mut few = [const { MaybeUninit::uninit() }; FEW_FIELDS];
    let mut many: Vec<MaybeUninit<Header<'_>>> = Vec::new();
    let space = if let Some(few) = few.get_mut(..max_fields) {
        few
    } else {
        many.resize_with(max_fields, MaybeUninit::uninit);
        many.as_mut_slice()
    };
    P::parse(bytes, space, bounds)
}
