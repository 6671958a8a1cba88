//! The syntax of a head: of a request, or of a response.
//!
//! In: the bytes of a head. Out: its parts, or the refusal. [`Scan`](super::scan::Scan) finds the
//! end of the head, and calls the syntax of its role.

use core::mem::MaybeUninit;

use httparse::Header;

use super::bounds::Bounds;
use super::refusal::Refusal;

/// The parts of a head, and how they are read.
pub(super) trait HeadSyntax: Sized {
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
    ) -> Option<Result<Self, Refusal>>;
}
