//! Headers that mirror arguments of a tool, from the tools that the server has listed.
//!
//! In: results of `tools/list`; calls. Out: the results without tools whose schema requires invalid
//! headers; the headers of a call.
//!
//! [Specification: Custom Headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters)

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use super::Fields;
use crate::error::{EmitError, PlanError};
use crate::headers::ListedTools;
use crate::json::Json;
use crate::json::write::{self, List};

/// Header plans of the tools that have mirrored arguments. If a tool is missing here, its server
/// refuses the call, and the client sends it again after it has fetched the list.
#[derive(Debug, Default)]
pub(super) struct Tools(ListedTools);

/// A rejected tool, and the reason.
pub(super) type Rejected = (String, PlanError);

impl Tools {
    /// The headers that mirror arguments of a call, if the tool's schema is known.
    pub(super) fn headers(&self, method: &str, params: &Json) -> Result<Fields, EmitError> {
        if method != "tools/call" || self.0.is_empty() {
            return Ok(Vec::new());
        }
        let Some((plan, arguments)) = self.0.of_call(params) else { return Ok(Vec::new()) };
        let headers = plan.emit(&arguments)?;
        let owned = |text: &str| Cow::Owned(text.to_owned());
        Ok(headers.into_iter().map(|(name, value)| (owned(name), owned(&value))).collect())
    }

    /// Stores the plans of a page, and removes the rejected tools.
    pub(super) fn read(&mut self, page: &Json, max_bytes: usize) -> (Json, Vec<Rejected>) {
        let mut rejected = Vec::new();
        let mut kept = Vec::new();
        page.raw().members(|key, value| {
            if key.string().as_deref() == Some("tools") {
                kept.clear();
                value.elements(|tool| match self.0.add(tool, max_bytes) {
                    None => kept.push(tool),
                    Some(rejection) => rejected.push(rejection),
                });
            }
        });
        if rejected.is_empty() {
            return (page.clone(), rejected);
        }
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        page.raw().members(|key, value| {
            if key.string().as_deref() == Some("tools") {
                object.key("tools");
                let mut list = List::array(object.out());
                for tool in &kept {
                    list.item().extend_from_slice(tool.0);
                }
                list.end();
            } else {
                object.copy(key, value);
            }
        });
        object.end();
        (Json::trusted(out), rejected)
    }
}

/// The parameters of a request for the page after `page`, if there is one.
pub(super) fn next_page(page: &Json) -> Option<Json> {
    let cursor = page.raw().member("nextCursor")?.string()?;
    Some(write::text_object("cursor", &cursor))
}
