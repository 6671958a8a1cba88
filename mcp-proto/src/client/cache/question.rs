//! Which requests have results that can be kept, and which of them are the same request.
//!
//! In: a method and its parameters. Out: what the result depends on.
//!
//! [Specification: Cache Key](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cache-key)

use alloc::boxed::Box;

use crate::change::{List, is_part};
use crate::json::{Json, canonical};
use crate::message::MethodRow;

/// The method that reads a resource.
pub(super) const READ: &str = "resources/read";

/// A request whose result can be kept, independent of its client.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    pub(super) method: &'static str,
    /// The parameters in one spelling, without `_meta`.
    params: Box<[u8]>,
    /// The resource that is read.
    uri: Option<Box<str>>,
    /// True if it asks for another page than the first.
    pub(super) has_cursor: bool,
}

impl Question {
    /// `None` if the result cannot be kept: it is of another method, or it depends on input that
    /// the request brings ("requests carrying `inputResponses` or `requestState` MUST NOT be
    /// cached").
    pub(super) fn new(method: &str, params: &Json) -> Option<Self> {
        let method = MethodRow::named(method).filter(|row| row.is_cacheable())?.name;
        let mut uri = None;
        let mut uris = 0;
        let mut has_cursor = false;
        let mut has_input = false;
        params.raw().members(|key, value| match key.string().as_deref() {
            Some("uri") => {
                uris += 1;
                uri = value.string().map(|uri| Box::from(&*uri));
            }
            Some("cursor") => has_cursor = true,
            Some("inputResponses" | "requestState") => has_input = true,
            Some(_) | None => {}
        });
        // An update names a URI: what is read must be known by exactly one.
        let is_clear = method != READ || (uris == 1 && uri.is_some());
        if has_input || !is_clear || !params.raw().is_object() {
            return None;
        }
        let params = canonical::text(params, |key| key != b"\"_meta\"")?.into_boxed_slice();
        Some(Self { method, params, uri, has_cursor })
    }

    /// Returns whether the answer is another one when the resource with this URI has changed: it is
    /// that resource, or one that has it as a part.
    pub(super) fn reads(&self, updated: &str) -> bool {
        let read = self.uri.as_deref().filter(|_| self.method == READ);
        read.is_some_and(|uri| is_part(updated, uri))
    }

    pub(super) fn bytes(&self) -> usize {
        self.params.len() + self.uri.as_ref().map_or(0, |uri| uri.len())
    }
}

/// The methods that request a list, or a part of it.
pub(super) fn of_list(list: List) -> &'static [&'static str] {
    match list {
        List::Tools => &["tools/list"],
        List::Prompts => &["prompts/list"],
        List::Resources => &["resources/list", "resources/templates/list"],
    }
}
