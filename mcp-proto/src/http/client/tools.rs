//! Headers that repeat arguments of a tool, as far as the server has listed its tools.
//!
//! In: results of `tools/list`; calls. Out: the results without the tools whose schema asks for
//! invalid headers; the headers of a call.
//!
//! [Specification: Custom Headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters)

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::Fields;
use crate::error::{EmitError, PlanError};
use crate::headers::Plan;
use crate::json::write::List;
use crate::json::{Json, Raw};

/// The most tools whose plans are kept; their schemas may have `Limits::max_list_bytes` together. A
/// call of another one is refused by its server, and sent again once the list was fetched.
const MAX_PLANS: usize = 4096;

/// The plans of tools that have headers at all.
#[derive(Debug, Default)]
pub(super) struct Tools {
    plans: BTreeMap<String, (Plan, usize)>,
    /// The bytes of the schemas that they are of.
    bytes: usize,
}

/// A tool that is left out, and why.
pub(super) type Rejected = (String, PlanError);

impl Tools {
    /// The headers that repeat arguments of a call, as far as the tool's schema is known.
    pub(super) fn headers(&self, method: &str, params: &Json) -> Result<Fields, EmitError> {
        if method != "tools/call" {
            return Ok(Vec::new());
        }
        let tool = params.raw().member("name").and_then(Raw::string);
        let Some((plan, _)) = tool.and_then(|tool| self.plans.get(&*tool)) else {
            return Ok(Vec::new());
        };
        let arguments = arguments(params);
        let headers = plan.emit(&arguments)?;
        let owned = |text: &str| Cow::Owned(text.to_owned());
        Ok(headers.into_iter().map(|(name, value)| (owned(name), owned(&value))).collect())
    }

    /// Takes note of a page, and leaves out what must be.
    pub(super) fn read(&mut self, page: &Json, max_bytes: usize) -> (Json, Vec<Rejected>) {
        let mut rejected = Vec::new();
        let mut kept = Vec::new();
        page.raw().members(|key, value| {
            if key.string().as_deref() == Some("tools") {
                kept.clear();
                value.elements(|tool| match self.see(tool, max_bytes) {
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

    /// Takes note of a tool; gives it back if it is to be left out.
    fn see(&mut self, tool: Raw<'_>, max_bytes: usize) -> Option<Rejected> {
        let mut name = None;
        let mut schema = None;
        tool.members(|key, value| match key.string().as_deref() {
            Some("name") => name = value.string().map(Cow::into_owned),
            Some("inputSchema") => schema = Some(Json::trusted(value.0.to_vec())),
            _ => {}
        });
        // What is no tool is left to whoever reads the list.
        let name = name?;
        let schema = schema?;
        if let Some((_, bytes)) = self.plans.remove(&name) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        match Plan::compile(&schema) {
            Ok(plan) if plan.is_empty() => None,
            Ok(plan) => {
                let bytes = name.len().saturating_add(schema.as_bytes().len());
                let is_full = self.bytes.saturating_add(bytes) > max_bytes;
                if is_full || self.plans.len() >= MAX_PLANS {
                    self.plans.clear();
                    self.bytes = 0;
                }
                if bytes <= max_bytes {
                    self.plans.insert(name, (plan, bytes));
                    self.bytes = self.bytes.saturating_add(bytes);
                }
                None
            }
            Err(error) => Some((name, error)),
        }
    }
}

/// The arguments of a call; `{}` if it has none.
fn arguments(params: &Json) -> Json {
    let arguments = params.raw().member("arguments").filter(|value| value.is_object());
    arguments.map_or(Json::EMPTY_OBJECT, |value| Json::trusted(value.0.to_vec()))
}

/// The parameters of a request for the page behind `page`, if there is one.
pub(super) fn next_page(page: &Json) -> Option<Json> {
    let cursor = page.raw().member("nextCursor")?.string()?;
    let mut out = Vec::new();
    let mut object = List::object(&mut out);
    object.text("cursor", &cursor);
    object.end();
    Some(Json::trusted(out))
}
