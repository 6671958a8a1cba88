//! Registrations of a [`Registry`](super::Registry), apart from the handlers.
//!
//! In: what the registry was told. Out: the fields, which a [`Declaration`](super::Declaration) is made
//! of.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::cacheable::Cacheable;
use super::entries::Entries;
use super::handler_id::HandlerId;
use crate::change::List;
use crate::error::UsageError;
use crate::ext::Feature;
use crate::json::Json;
use crate::scopes::Scopes;
use crate::types::{
    CacheHint, CompletionReference, Implementation, Prompt, Resource, ResourceTemplate, Tool,
};

/// All that is registered, by names of handlers.
#[derive(Clone, Debug)]
pub(super) struct Registered {
    pub(super) server_info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) page_size: usize,
    pub(super) tools: Entries<Tool>,
    /// The scopes that tools require, by their names.
    pub(super) tool_scopes: BTreeMap<String, Scopes>,
    pub(super) resources: Entries<Resource>,
    pub(super) templates: Entries<ResourceTemplate>,
    pub(super) prompts: Entries<Prompt>,
    pub(super) completions: BTreeMap<Reference, HandlerId>,
    pub(super) methods: BTreeMap<String, HandlerId>,
    pub(super) notifications: BTreeMap<String, HandlerId>,
    pub(super) fallback: Option<HandlerId>,
    pub(super) forward: Option<HandlerId>,
    pub(super) logging: bool,
    pub(super) list_changed: BTreeSet<List>,
    pub(super) subscribe: bool,
    pub(super) extensions: BTreeMap<String, Json>,
    /// The extensions that features need.
    pub(super) required: BTreeMap<Feature, Vec<String>>,
    pub(super) experimental: BTreeMap<String, Json>,
    pub(super) cache: BTreeMap<Cacheable, CacheHint>,
}

impl Registered {
    /// Nothing yet, of a server with this name and version.
    pub(super) fn new(server_info: Implementation) -> Self {
        Self {
            server_info,
            instructions: None,
            page_size: 100,
            tools: Entries::new(),
            tool_scopes: BTreeMap::new(),
            resources: Entries::new(),
            templates: Entries::new(),
            prompts: Entries::new(),
            completions: BTreeMap::new(),
            methods: BTreeMap::new(),
            notifications: BTreeMap::new(),
            fallback: None,
            forward: None,
            logging: false,
            list_changed: BTreeSet::new(),
            subscribe: false,
            extensions: BTreeMap::new(),
            required: BTreeMap::new(),
            experimental: BTreeMap::new(),
            cache: BTreeMap::new(),
        }
    }

    /// The extensions that a feature needs.
    pub(super) fn required(&self, feature: &Feature) -> Vec<String> {
        self.required.get(feature).cloned().unwrap_or_default()
    }

    /// Adds an extension that clients have to declare for a feature.
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

    /// Sets the scopes that calls of a tool require.
    pub(super) fn require_scopes(&mut self, tool: &str, scopes: &str) -> Result<(), UsageError> {
        if !self.tools.has(tool) {
            return Err(UsageError::UnknownTool { name: tool.into() });
        }
        let required = Scopes::words(scopes);
        // A requirement that is lost would let everybody in.
        let mut words = scopes.split_ascii_whitespace();
        if let Some(scope) = words.find(|word| !required.contains(word)) {
            return Err(UsageError::InvalidScope { scope: scope.into() });
        }
        self.tool_scopes.insert(tool.into(), required);
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
