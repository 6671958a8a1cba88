//! Plans of the tools that a server has listed.
//!
//! In: tools from results of `tools/list`. Out: the plan for a call, with its arguments.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::plan::HeaderPlan;
use crate::error::PlanError;
use crate::json::{Json, Raw};

/// The maximum number of tools whose plans are stored. The bytes of the tools' schemas have their
/// own limit, a parameter of `add`.
const MAX_PLANS: usize = 4096;

/// The plans of tools that have headers.
#[derive(Debug, Default)]
pub(crate) struct ListedTools {
    /// The plans, each with the bytes that it counts for.
    plans: BTreeMap<String, (HeaderPlan, usize)>,
    bytes: usize,
}

impl ListedTools {
    /// Returns whether no tool has headers.
    pub(crate) fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// The plan of the tool that a call names, if it has headers, and the arguments; `{}` if the
    /// call has none.
    pub(crate) fn of_call(&self, params: &Json) -> Option<(&HeaderPlan, Json)> {
        let tool = params.raw().member("name").and_then(Raw::string)?;
        let (plan, _) = self.plans.get(&*tool)?;
        let arguments = params.raw().member("arguments").filter(|value| value.is_object());
        let arguments = arguments.map(|Raw(text)| Json::trusted(text.to_vec()));
        Some((plan, arguments.unwrap_or(Json::EMPTY_OBJECT)))
    }

    /// Stores the plan of a tool in place of an earlier one. All schemas together have at most
    /// `max_bytes`: if a further schema does not fit, the others are dropped.
    ///
    /// Returns the name of a tool that clients must reject, and the reason.
    pub(crate) fn add(&mut self, tool: Raw<'_>, max_bytes: usize) -> Option<(String, PlanError)> {
        let mut name = None;
        let mut schema = None;
        tool.members(|key, value| match key.string().as_deref() {
            Some("name") => name = value.string().map(Cow::into_owned),
            Some("inputSchema") => schema = Some(Json::trusted(value.0.to_vec())),
            _ => {}
        });
        // The reader of the list rejects elements that are not tools.
        let name = name?;
        let schema = schema?;
        if let Some((_, bytes)) = self.plans.remove(&name) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        match HeaderPlan::compile(&schema) {
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
