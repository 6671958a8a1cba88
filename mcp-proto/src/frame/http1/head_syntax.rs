//! The syntax of a head: of a request, or of a response.
//!
//! In: the bytes of a head. Out: its parts, or the refusal. [`Scan`](super::scan::Scan) finds the
//! end of the head, and calls the syntax of its role.

use core::mem::MaybeUninit;

use httparse::Header;

use super::body::BodyKind;
use super::bounds::Bounds;
use super::fields::FieldSpans;
use super::head::HttpVersion;
use super::refusal::Refusal;

/// Offsets of the parts of a head, and its parsed values.
#[derive(Debug)]
pub(super) struct ParsedHead<S> {
    /// The length of the head, with the empty line at its end.
    pub(super) end: usize,
    pub(super) version: HttpVersion,
    /// The positions of the fields.
    pub(super) places: FieldSpans,
    /// Framing of the body according to the head only.
    pub(super) body: BodyKind,
    pub(super) keep_alive: bool,
    /// Parts that only a request has, or only a response.
    pub(super) own: S,
}

impl<S: Copy> Clone for ParsedHead<S> {
    fn clone(&self) -> Self {
        Self { places: self.places.clone(), ..*self }
    }
}

/// Parts that only a request or only a response has in its head, and how a head is read.
pub(super) trait HeadSyntax: Copy {
    /// The refusal of an invalid start line.
    const NO_START_LINE: Refusal;

    /// Checks that a start line may begin with `bytes`.
    fn may_begin(bytes: &[u8]) -> Result<(), Refusal>;

    /// The longest start line, in bytes, and the refusal of a longer one.
    fn max_start_line(bounds: &Bounds) -> (usize, Refusal);

    /// Checks a line that should be a start line.
    fn check_start_line(line: &[u8]) -> Result<(), Refusal>;

    /// Reads the head at the beginning of `bytes`, with at most as many fields as there is space
    /// for. Returns `None` if the head is incomplete or its lines are invalid. A check of each line
    /// then finds the fault.
    fn parse<'b>(
        bytes: &'b [u8],
        space: &mut [MaybeUninit<Header<'b>>],
        bounds: &Bounds,
    ) -> Option<Result<ParsedHead<Self>, Refusal>>;
}
