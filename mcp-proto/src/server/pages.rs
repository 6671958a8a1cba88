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
            let mut out = Vec::new();
            let mut object = List::object(&mut out);
            object.key(member);
            let mut elements = List::array(object.out());
            for entry in *chunk {
                elements.item().extend_from_slice(entry.as_bytes());
            }
            elements.end();
            if at < last {
                object.text("nextCursor", &alloc::format!("{}", (at + 1) * size));
            }
            object.end();
            Json::trusted(out)
        };
        Self { size, pages: chunks.iter().enumerate().map(page).collect() }
    }

    /// The page at this cursor; `None` if no page has returned this cursor.
    pub(super) fn at(&self, cursor: Option<&str>) -> Option<&Json> {
        let before = match cursor {
            None | Some("") => 0,
            Some(digits) => {
                let number: usize = digits.parse().ok()?;
                let canonical = number > 0 && digits == alloc::format!("{number}");
                canonical.then_some(number)?
            }
        };
        (before % self.size == 0).then(|| self.pages.get(before / self.size)).flatten()
    }
}
