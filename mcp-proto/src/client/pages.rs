//! Merging of the pages of a list.
//!
//! In: the results of one list request, page by page. Out: the cursor of the next page; finally one
//! result with all items.
//!
//! | member of the whole | taken from |
//! |---|---|
//! | the items | all pages, in order |
//! | `ttlMs` | the page with the smallest; a page without it, or with none that is a number, counts as 0 |
//! | `cacheScope` | `public` if every page says so, else `private` |
//! | `_meta` | the first page: it describes a response, and that one is the application's |
//!
//! If no page has `ttlMs` or `cacheScope`, as with legacy servers, the whole list has none either.
//!
//! An empty cursor is a cursor, but some servers mark the end of a list with it. So a list ends
//! after a page that names the cursor of its own request, if that cursor is empty. It also ends if
//! such a page repeats the entries of the page before.
//!
//! [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)

use alloc::vec::Vec;

use super::event::Listing;
use crate::error::ProtocolError;
use crate::json::write::List as Writer;
use crate::json::{Json, Raw};
use crate::limits::Limits;

/// The received pages of a list.
#[derive(Debug)]
pub(super) struct Pages {
    listing: Listing,
    count: usize,
    /// True if a modern server has sent the last page, and so its cursor.
    is_modern: bool,
    /// The items, with commas between them.
    items: Vec<u8>,
    /// The offset of the items of the last page.
    last: usize,
    ttl: Hint<f64>,
    /// True for public, false for private.
    scope: Hint<bool>,
    meta: Option<Json>,
}

/// Combined value of one caching hint over the pages so far.
#[derive(Clone, Copy, Debug)]
enum Hint<T> {
    /// No page has the hint.
    Absent,
    /// The strictest value.
    Is(T),
}

impl<T> Hint<T> {
    /// Adds the hint of the page after `count` others; `worst` replaces a missing hint.
    fn add(self, said: Option<T>, count: usize, worst: T, stricter: impl Fn(T, T) -> T) -> Self {
        match (self, said) {
            (Self::Absent, None) => Self::Absent,
            (Self::Absent, Some(said)) if count == 0 => Self::Is(said),
            (Self::Absent, Some(_)) => Self::Is(worst),
            (Self::Is(before), said) => Self::Is(stricter(before, said.unwrap_or(worst))),
        }
    }
}

/// One page of a list.
struct Page<'a> {
    /// Items without the brackets of their array.
    items: &'a [u8],
    /// The cursor of the next page, a JSON string.
    next: Option<Raw<'a>>,
    ttl: Option<f64>,
    scope: Option<bool>,
    meta: Option<Raw<'a>>,
}

impl Pages {
    pub(super) fn new(listing: Listing) -> Self {
        let ttl = Hint::Absent;
        let scope = Hint::Absent;
        let items = Vec::new();
        Self { listing, count: 0, is_modern: false, items, last: 0, ttl, scope, meta: None }
    }

    pub(super) fn listing(&self) -> Listing {
        self.listing
    }

    /// Returns whether there is a page.
    pub(super) fn has_some(&self) -> bool {
        self.count > 0
    }

    /// Returns whether a modern server has sent the last page, and so its cursor.
    pub(super) fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Adds a page that was requested with `params`; returns the cursor of the next page, if there
    /// is one. `is_modern` is true if the server is modern. Fails if the result is not a page of
    /// the list.
    pub(super) fn push<'a>(
        &mut self,
        result: &'a Json,
        params: &Json,
        is_modern: bool,
    ) -> Result<Option<Raw<'a>>, ProtocolError> {
        let page = Page::read(result, self.listing.member())
            .ok_or(ProtocolError::InvalidResult { expected: "a page of the list" })?;
        self.ttl = self.ttl.add(page.ttl, self.count, 0.0, f64::min);
        self.scope = self.scope.add(page.scope, self.count, false, |one, other| one && other);
        if self.count == 0 {
            self.meta = page.meta.map(|meta| Json::trusted(meta.0.to_vec()));
        }
        self.count += 1;
        self.is_modern = is_modern;
        let names_itself = page.names_itself(params);
        let is_copy = names_itself && self.items.get(self.last..) == Some(page.items);
        if is_copy && !page.items.is_empty() {
            return Ok(None);
        }
        if !self.items.is_empty() && !page.items.is_empty() {
            self.items.push(b',');
        }
        self.last = self.items.len();
        self.items.extend_from_slice(page.items);
        Ok(page.next.filter(|next| !names_itself || next.0 != b"\"\""))
    }

    /// Returns whether the limit of pages or bytes is reached.
    pub(super) fn is_full(&self, limits: &Limits) -> bool {
        self.count >= limits.max_pages || self.items.len() > limits.max_list_bytes
    }

    /// All pages as one result.
    pub(super) fn whole(&self) -> Json {
        let mut text = Vec::with_capacity(self.items.len() + 64);
        let mut object = Writer::object(&mut text);
        object.member(self.listing.member(), &[b"[", &*self.items, b"]"].concat());
        if let Hint::Is(ttl) = self.ttl {
            // The value is finite and not negative.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            object.member("ttlMs", alloc::format!("{}", ttl as u64).as_bytes());
        }
        if let Hint::Is(is_public) = self.scope {
            object.text("cacheScope", if is_public { "public" } else { "private" });
        }
        if let Some(meta) = &self.meta {
            object.member("_meta", meta.as_bytes());
        }
        object.end();
        Json::trusted(text)
    }
}

impl<'a> Page<'a> {
    /// Returns whether the cursor of the next page is the one that this page was requested with.
    fn names_itself(&self, params: &Json) -> bool {
        let sent = params.raw().member("cursor").and_then(Raw::string);
        sent.is_some() && sent == self.next.and_then(Raw::string)
    }

    fn read(result: &'a Json, member: &str) -> Option<Self> {
        let mut items = None;
        let mut next = None;
        let mut ttl = None;
        let mut scope = None;
        let mut meta = None;
        result.raw().members(|key, value| match key.string().as_deref() {
            Some("nextCursor") if value.0 != b"null" => next = Some(value),
            Some("ttlMs") => {
                let number = core::str::from_utf8(value.0).ok().and_then(|it| it.parse().ok());
                ttl = Some(number.filter(|ttl: &f64| ttl.is_finite()).unwrap_or(0.0).max(0.0));
            }
            Some("cacheScope") => scope = Some(value.string().as_deref() == Some("public")),
            Some("_meta") if value.is_object() => meta = Some(value),
            // Servers in Go write an empty list as `null`.
            Some(name) if name == member && value.0 == b"null" => items = Some(&b""[..]),
            Some(name) if name == member => {
                let inside =
                    value.0.strip_prefix(b"[").and_then(|inside| inside.strip_suffix(b"]"));
                items = inside.map(<[u8]>::trim_ascii);
            }
            _ => {}
        });
        // A cursor that is not a string cannot be sent back.
        let next_is_string = next.is_none_or(|next: Raw<'_>| next.is_string());
        let items = items.filter(|_| next_is_string)?;
        Some(Self { items, next, ttl, scope, meta })
    }
}
