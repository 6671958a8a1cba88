//! A list in pages, each already serialized.

use alloc::vec::Vec;

use crate::json::Json;
use crate::json::write::List;

/// A list in pages. A cursor is the decimal number of entries before its page.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Pages {
    size: usize,
    pages: Vec<Json>,
}

impl Pages {
    /// Makes pages of `size` entries each, at least one page; `member` is the name of the list in
    /// the results.
    pub(super) fn new(member: &str, entries: &[Json], size: usize) -> Self {
        let mut chunks: Vec<&[Json]> = entries.chunks(size.max(1)).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        let last = chunks.len() - 1;
        let page = |(at, chunk): (usize, &&[Json])| {
            write_page(member, chunk.iter(), (at < last).then_some((at + 1) * size))
        };
        Self { size, pages: chunks.iter().enumerate().map(page).collect() }
    }

    /// The page at this cursor; `None` if no page has returned this cursor.
    pub(super) fn at(&self, cursor: Option<&str>) -> Option<&Json> {
        self.pages.get(entries_before(cursor, self.size)? / self.size)
    }
}

/// A page with these entries. `next` is the number of entries before the next page, if there is
/// one.
pub(super) fn write_page<'a>(
    member: &str,
    entries: impl Iterator<Item = &'a Json>,
    next: Option<usize>,
) -> Json {
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.key(member);
    let mut elements = List::array(object.out());
    for entry in entries {
        elements.item().extend_from_slice(entry.as_bytes());
    }
    elements.end();
    if let Some(next) = next {
        object.text("nextCursor", &alloc::format!("{next}"));
    }
    object.end();
    Json::trusted(out)
}

/// The number of entries before the page at this cursor, for pages of `size` entries; `None` if no
/// page can have returned this cursor.
pub(super) fn entries_before(cursor: Option<&str>, size: usize) -> Option<usize> {
    let before = match cursor {
        None | Some("") => 0,
        Some(digits) => {
            let number: usize = digits.parse().ok()?;
            let canonical = number > 0 && digits == alloc::format!("{number}");
            canonical.then_some(number)?
        }
    };
    before.is_multiple_of(size).then_some(before)
}
