//! Requests with cacheable results, and their equality.
//!
//! In: a context, a method and its parameters. Out: a [`RequestKey`], which has all facts on which
//! the result depends, except the principal.
//!
//! [Specification: Cache Key](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cache-key)

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::context::CacheContext;
use crate::change::{List, is_part};
use crate::json::{Json, canonical};
use crate::message::MethodRow;

/// The method that reads a resource.
pub(super) const READ: &str = "resources/read";

/// A request with a cacheable result, independent of its client.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestKey {
    pub(super) server: Arc<str>,
    variant: Arc<str>,
    pub(super) method: &'static str,
    /// The parameters in canonical form, without `_meta`.
    params: Box<[u8]>,
    /// The resource that is read.
    uri: Option<Box<str>>,
    /// True if the request is for another page than the first.
    pub(super) has_cursor: bool,
}

impl RequestKey {
    /// A key; `None` if the result must not be cached. This holds for other methods, for a
    /// read that does not name exactly one URI, and for input ("requests carrying `inputResponses`
    /// or `requestState` MUST NOT be cached").
    pub(super) fn new(context: &CacheContext, method: &str, params: &Json) -> Option<Self> {
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
        // An update names a URI, so the resource must have exactly one URI.
        let is_clear = method != READ || (uris == 1 && uri.is_some());
        if has_input || !is_clear || !params.raw().is_object() {
            return None;
        }
        let params = canonical::text(params, |key| key != b"\"_meta\"")?.into_boxed_slice();
        let CacheContext { server, variant, .. } = context.clone();
        Some(Self { server, variant, method, params, uri, has_cursor })
    }

    /// The context of the request, which this principal has sent.
    pub(super) fn context(&self, principal: Arc<str>) -> CacheContext {
        let Self { server, variant, .. } = self;
        CacheContext { server: server.clone(), principal, variant: variant.clone() }
    }

    /// Returns whether results of a method may be cached.
    pub(super) fn is_of(method: &str) -> bool {
        MethodRow::named(method).is_some_and(MethodRow::is_cacheable)
    }

    /// Returns whether an update of the resource with this URI changes the answer: the request
    /// reads the resource, or a resource that contains it.
    pub(super) fn depends_on(&self, updated: &str) -> bool {
        let read = self.uri.as_deref().filter(|_| self.method == READ);
        read.is_some_and(|uri| is_part(updated, uri))
    }

    pub(super) fn bytes(&self) -> usize {
        let uri = self.uri.as_ref().map_or(0, |uri| uri.len());
        self.params.len() + uri + self.server.len() + self.variant.len()
    }
}

/// The methods that request a list, or a part of the list.
pub(super) fn methods_of_list(list: List) -> &'static [&'static str] {
    match list {
        List::Tools => &["tools/list"],
        List::Prompts => &["prompts/list"],
        List::Resources => &["resources/list", "resources/templates/list"],
    }
}
