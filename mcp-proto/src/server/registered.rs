//! Registrations of a [`Registry`](super::Registry) except the handlers.
//!
//! In: the registrations of an application. Out: the data from which a
//! [`Declaration`](super::Declaration) is made.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::access::{EntryAccess, ListEntry};
use super::cacheable::Cacheable;
use super::entries::Entries;
use super::handler_id::HandlerId;
use super::names::is_tool_name;
use crate::change::List;
use crate::error::UsageError;
use crate::ext::{self, Feature};
use crate::headers::HeaderPlan;
use crate::json::Json;
use crate::schema::{check_dialects, has_type_object};
use crate::scopes::{RequiredScopes, Scopes};
use crate::types::{
    CacheHint, CompletionReference, Implementation, Prompt, Resource, ResourceTemplate, Tool,
};

/// All registrations, with handlers as ids.
#[derive(Clone, Debug)]
pub(super) struct Registered {
    pub(super) server_info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) page_size: usize,
    pub(super) tools: Entries<Tool>,
    /// The scopes that tools require, by tool.
    pub(super) tool_scopes: BTreeMap<String, Scopes>,
    /// The tools whose calls may become tasks, each with whether its clients must support tasks.
    pub(super) task_tools: BTreeMap<String, bool>,
    pub(super) resources: Entries<Resource>,
    pub(super) templates: Entries<ResourceTemplate>,
    pub(super) prompts: Entries<Prompt>,
    pub(super) completions: BTreeMap<Reference, HandlerId>,
    pub(super) methods: BTreeMap<String, HandlerId>,
    pub(super) notifications: BTreeMap<String, HandlerId>,
    pub(super) fallback: Option<HandlerId>,
    pub(super) forward: Option<HandlerId>,
    pub(super) task_subscriptions: Option<HandlerId>,
    pub(super) logging: bool,
    pub(super) list_changed: BTreeSet<List>,
    pub(super) subscribe: bool,
    pub(super) extensions: BTreeMap<String, Json>,
    /// The extensions that features require.
    pub(super) required: BTreeMap<Feature, Vec<String>>,
    pub(super) experimental: BTreeMap<String, Json>,
    pub(super) cache: BTreeMap<Cacheable, CacheHint>,
    /// The entries that are disabled, or hidden from some callers.
    pub(super) access: EntryAccess,
}

impl Registered {
    /// An empty set of registrations for a server with this name and version.
    pub(super) fn new(server_info: Implementation) -> Self {
        Self {
            server_info,
            instructions: None,
            page_size: 100,
            tools: Entries::new(),
            tool_scopes: BTreeMap::new(),
            task_tools: BTreeMap::new(),
            resources: Entries::new(),
            templates: Entries::new(),
            prompts: Entries::new(),
            completions: BTreeMap::new(),
            methods: BTreeMap::new(),
            notifications: BTreeMap::new(),
            fallback: None,
            forward: None,
            task_subscriptions: None,
            logging: false,
            list_changed: BTreeSet::new(),
            subscribe: false,
            extensions: BTreeMap::new(),
            required: BTreeMap::new(),
            experimental: BTreeMap::new(),
            cache: BTreeMap::new(),
            access: EntryAccess::default(),
        }
    }

    /// Removes all settings of a tool.
    pub(super) fn forget_tool(&mut self, name: &str) {
        self.tool_scopes.remove(name);
        self.task_tools.remove(name);
        self.required.remove(&Feature::tool(name));
        self.access.remove(&ListEntry::tool(name));
    }

    /// The extensions that a feature needs.
    pub(super) fn required(&self, feature: &Feature) -> Vec<String> {
        let mut required = self.required.get(feature).cloned().unwrap_or_default();
        if let Feature::Tool(name) = feature
            && self.task_tools.get(name) == Some(&true)
            && !required.iter().any(|identifier| identifier == ext::TASKS)
        {
            required.push(ext::TASKS.into());
        }
        required
    }

    /// Adds an extension that clients must declare for a feature.
    pub(super) fn require_extension(
        &mut self,
        feature: Feature,
        identifier: String,
    ) -> Result<(), UsageError> {
        if !self.extensions.contains_key(&identifier) {
            return Err(UsageError::UndeclaredExtension { identifier });
        }
        match &feature {
            Feature::Tool(name) if !self.tools.has(name) => {
                return Err(UsageError::UnknownTool { name: name.clone() });
            }
            Feature::Method(method) if !self.methods.contains_key(method) => {
                return Err(UsageError::UnknownMethod { method: method.clone() });
            }
            Feature::Tool(_) | Feature::Method(_) => {}
        }
        let required = self.required.entry(feature).or_default();
        if !required.contains(&identifier) {
            required.push(identifier);
        }
        Ok(())
    }

    /// Checks that a tool can be added: its schemas and its name.
    pub(super) fn check_tool(&self, tool: &Tool) -> Result<(), UsageError> {
        let output = tool.output_schema.as_ref().is_none_or(|schema| schema.raw().is_object());
        if !has_type_object(&tool.input_schema) || !output {
            return Err(UsageError::InvalidSchema { name: tool.name.clone() });
        }
        if let Err(reason) = HeaderPlan::compile(&tool.input_schema) {
            return Err(UsageError::InvalidHeader { name: tool.name.clone(), reason });
        }
        self.tools.check(tool)?;
        check_dialects(tool)
    }

    /// Checks that completions can be added.
    pub(super) fn check_completion(&self, reference: &Reference) -> Result<(), UsageError> {
        let (is_known, name) = match reference {
            Reference::Prompt(name) => (self.prompts.has(name), name),
            Reference::Template(template) => (self.templates.has(template), template),
        };
        if !is_known {
            return Err(UsageError::UnknownReference { name: name.clone() });
        }
        if self.completions.contains_key(reference) {
            return Err(UsageError::Duplicate { kind: "completion", name: name.clone() });
        }
        Ok(())
    }

    /// Checks that the extension of tasks is declared.
    pub(super) fn check_tasks(&self) -> Result<(), UsageError> {
        if self.extensions.contains_key(ext::TASKS) {
            return Ok(());
        }
        Err(UsageError::UndeclaredExtension { identifier: ext::TASKS.into() })
    }

    /// Lets calls of a tool become tasks.
    pub(super) fn allow_tasks(&mut self, tool: &str) -> Result<(), UsageError> {
        self.check_tasks()?;
        if !self.tools.has(tool) {
            return Err(UsageError::UnknownTool { name: tool.into() });
        }
        self.task_tools.entry(tool.into()).or_default();
        Ok(())
    }

    /// Sets whether clients must support tasks for a tool whose calls may become tasks.
    pub(super) fn require_tasks(&mut self, tool: &str, is_required: bool) {
        if let Some(requires) = self.task_tools.get_mut(tool) {
            *requires = is_required;
        }
    }

    /// Warnings about tools that many clients reject.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (tool, _) in self.tools.iter() {
            if !is_tool_name(&tool.name) {
                warnings.push(alloc::format!(
                    "the tool name {:?} should have 1 to 128 of the characters A-Z a-z 0-9 _ - .",
                    tool.name
                ));
            }
            // `Registry::add_tool` has checked that the plan can be compiled.
            let Ok(plan) = HeaderPlan::compile(&tool.input_schema) else { continue };
            let of_tool = plan.warnings().map(|warning| alloc::format!("{}: {warning}", tool.name));
            warnings.extend(of_tool);
        }
        warnings
    }

    /// Sets the scopes that calls of a tool require.
    pub(super) fn require_scopes(&mut self, tool: &str, scopes: &str) -> Result<(), UsageError> {
        if !self.tools.has(tool) {
            return Err(UsageError::UnknownTool { name: tool.into() });
        }
        let required = RequiredScopes::words(scopes).into_valid();
        let required = required.map_err(|scope| UsageError::InvalidScope { scope })?;
        if required.is_empty() {
            self.tool_scopes.remove(tool);
        } else {
            self.tool_scopes.insert(tool.into(), required);
        }
        Ok(())
    }
}

/// Prompt or resource template whose arguments can be completed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reference {
    Prompt(String),
    Template(String),
}

impl From<CompletionReference> for Reference {
    fn from(reference: CompletionReference) -> Self {
        match reference {
            CompletionReference::Prompt(prompt) => Self::Prompt(prompt.name),
            CompletionReference::Resource(template) => Self::Template(template.uri),
        }
    }
}
