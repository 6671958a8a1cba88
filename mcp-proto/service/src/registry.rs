//! The registry of a server with async handlers.
//!
//! In: tools, resources, prompts and methods, each with its handler. Out: the declaration that the
//! machines send, the handlers by their ids, and the checks of tools that are validated. Called by
//! applications, and by a [`Catalog`](crate::Catalog).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mcp_proto::ext::Feature;
#[cfg(feature = "skills")]
use mcp_proto::ext::skills::SkillCatalog;
use mcp_proto::ext::ui::AppPage;
use mcp_proto::internals::{renumber_shared, require_tasks, tool, tool_of};
use mcp_proto::server::task::method::TaskMethod;
use mcp_proto::server::{self, Cacheable, Declaration, HandlerId, List, ListEntry, Peer};
use mcp_proto::types::{
    CacheHint, CompletionReference, Implementation, Prompt, Resource, ResourceTemplate, Tool,
};
use mcp_proto::{Json, UsageError};

use crate::handler::Handler;
use crate::middleware::Layers;
use crate::panics::{CaughtDrop, catch_panic};
use crate::task::{ChosenSettings, TaskManager, Tasks};
use crate::validation::Validation;

/// The offer of a server, each entry with its handler: a [`server::Registry`] that also makes
/// handlers from async functions, and validates calls.
///
/// ```
/// use mcp_service::Registry;
/// use mcp_proto::types::Implementation;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum { a: i64, b: i64 }
///
/// let mut registry = Registry::new(Implementation::new("sums", "1.0.0"));
/// registry.tool("add", "Adds", |Sum { a, b }: Sum, _| async move { format!("{}", a + b) })?;
/// # Ok::<(), mcp_proto::UsageError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry<H = Handler> {
    entries: server::Registry<H>,
    pub(crate) validation: Validation,
    pub(crate) layers: Layers,
    #[cfg(feature = "skills")]
    /// `None` until there is a skill.
    pub(crate) skills: Option<SkillCatalog>,
    /// Rules by which calls of tools become tasks.
    pub(crate) task_tools: BTreeMap<HandlerId, Tasks>,
    /// True if the methods of tasks are registered. They stay after the last tool is removed.
    pub(crate) has_task_methods: bool,
    pub(crate) task_manager: TaskManager,
    pub(crate) task_settings: ChosenSettings,
    #[cfg(feature = "schemars")]
    pub(crate) has_portable_schemas: bool,
}

/// Methods of the machines' registry, which return this registry instead.
macro_rules! delegates {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("See [`server::Registry::", stringify!($name), "`].")]
        pub fn $name(&mut self, $($argument: $type),*) -> &mut Self {
            self.entries.$name($($argument),*);
            self
        }
    )*};
}

/// The same for verbs that can fail.
macro_rules! delegates_or_fails {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("See [`server::Registry::", stringify!($name), "`], also for errors.")]
        pub fn $name(&mut self, $($argument: $type),*) -> Result<&mut Self, UsageError> {
            self.entries.$name($($argument),*)?;
            Ok(self)
        }
    )*};
}

impl<H> Registry<H> {
    /// An empty registry for a server with this name and version.
    pub fn new(server_info: Implementation) -> Self {
        Self {
            entries: server::Registry::new(server_info),
            validation: Validation::default(),
            layers: Layers::default(),
            #[cfg(feature = "skills")]
            skills: None,
            task_tools: BTreeMap::new(),
            has_task_methods: false,
            task_manager: TaskManager::new(),
            task_settings: ChosenSettings::default(),
            #[cfg(feature = "schemars")]
            has_portable_schemas: true,
        }
    }

    /// Sets whether tools that are added from now on get portable schemas from their types; default
    /// true. With false the schemas are as schemars derives them, and some hosts reject them.
    ///
    /// [`PortabilityRule`](mcp_proto::schema::PortabilityRule) has the rules. A [`Tool`] that is
    /// given keeps its input schema.
    #[cfg(feature = "schemars")]
    pub fn portable_schemas(&mut self, portable: bool) -> &mut Self {
        self.has_portable_schemas = portable;
        self
    }

    delegates! {
        instructions(instructions: impl Into<String>);
        page_size(entries: usize);
        list_changed(list: List);
        subscribe();
        logging();
        cache(what: Cacheable, hint: CacheHint);
        fallback(handler: H);
        forward(handler: H);
    }

    delegates_or_fails! {
        extension(identifier: impl Into<String>, settings: Json);
        experimental(name: impl Into<String>, settings: Json);
        requires_extension(feature: Feature, identifier: impl Into<String>);
        add_resource(resource: Resource, handler: H);
        add_resource_template(template: ResourceTemplate, handler: H);
        add_prompt(prompt: Prompt, handler: H);
        add_completion(reference: CompletionReference, handler: H);
        add_method(method: impl Into<String>, handler: H);
        add_notification(method: impl Into<String>, handler: H);
        require_scopes(tool: &str, scopes: &str);
        add_app(tool: &str, page: &AppPage, handler: H);
        task_subscriptions(handler: H);
        disable(entry: ListEntry);
        enable(entry: &ListEntry);
    }

    /// Shows an entry only to some callers; see [`server::Registry::only_for`], also for errors. If
    /// `filter` panics, the entry is hidden. Over HTTP it must not use the
    /// [`HttpServer`](crate::HttpServer), whose sessions may be locked.
    pub fn only_for(
        &mut self,
        entry: ListEntry,
        filter: impl Fn(&Peer) -> bool + Send + Sync + 'static,
    ) -> Result<&mut Self, UsageError> {
        let filter = CaughtDrop::new(filter);
        let filter = move |peer: &Peer| {
            filter.get().and_then(|filter| catch_panic(|| filter(peer))).unwrap_or_default()
        };
        self.entries.only_for(entry, filter)?;
        Ok(self)
    }

    /// Adds a tool; see [`server::Registry::add_tool`], also for errors. After `validate_all` it
    /// fails as well if a schema does not compile.
    pub fn add_tool(&mut self, tool: Tool, handler: H) -> Result<&mut Self, UsageError> {
        self.insert_tool(tool, handler, true)
    }

    /// Adds a tool; `asks` is true if its handler may request input.
    pub(crate) fn insert_tool(
        &mut self,
        tool: Tool,
        handler: H,
        asks: bool,
    ) -> Result<&mut Self, UsageError> {
        let name = tool.name.clone();
        if asks {
            self.entries.add_tool(tool, handler)?;
        } else {
            self.entries.add_tool_without_input(tool, handler)?;
        }
        if let Err(error) = self.validation.handle_added(&self.entries, &name) {
            self.entries.remove_tool(&name);
            return Err(error);
        }
        Ok(self)
    }

    /// Removes a tool and returns its handler.
    pub fn remove_tool(&mut self, name: &str) -> Option<H> {
        self.validation.remove(&self.entries, name);
        if let Some(handler) = self.handler_of_tool(name) {
            self.task_tools.remove(&handler);
        }
        self.entries.remove_tool(name)
    }

    /// Removes a resource and returns its handler.
    pub fn remove_resource(&mut self, uri: &str) -> Option<H> {
        self.entries.remove_resource(uri)
    }

    /// Removes a resource template with its completions, and returns its handler.
    pub fn remove_resource_template(&mut self, uri_template: &str) -> Option<H> {
        self.entries.remove_resource_template(uri_template)
    }

    /// Removes a prompt with its completions, and returns its handler.
    pub fn remove_prompt(&mut self, name: &str) -> Option<H> {
        self.entries.remove_prompt(name)
    }

    /// Removes a method and returns its handler; see [`server::Registry::remove_method`].
    pub fn remove_method(&mut self, method: &str) -> Option<H> {
        self.entries.remove_method(method)
    }

    /// Removes the handler of a notification and returns it.
    pub fn remove_notification(&mut self, method: &str) -> Option<H> {
        self.entries.remove_notification(method)
    }

    /// Removes the completions of a prompt or a resource template, and returns their handler.
    pub fn remove_completion(&mut self, reference: CompletionReference) -> Option<H> {
        self.entries.remove_completion(reference)
    }

    /// Removes the handler of [`Registry::fallback`] and returns it.
    pub fn remove_fallback(&mut self) -> Option<H> {
        self.entries.remove_fallback()
    }

    /// Moves all entries of another registry into this one; see [`server::Registry::mount`].
    ///
    /// Layers and validation of the other registry are kept, only for the mounted handlers. The
    /// layers of this registry are around the mounted handlers as well. Tasks are kept as
    /// [`Registry::task_store`] and [`Registry::task_config`] of this registry say.
    ///
    /// Fails as [`server::Registry::mount`] does, also if both have skills. Fails with
    /// [`UsageError::UnusableSchema`] if this registry validates all tools and a schema of the
    /// other one does not compile.
    pub fn mount(&mut self, prefix: &str, other: Self) -> Result<&mut Self, UsageError> {
        let Self { mut entries, mut validation, layers, task_tools, has_task_methods, .. } = other;
        let new_ids = renumber_shared(&mut entries, &self.entries);
        self.validation.prepare_mount(&mut validation, &entries)?;
        if self.has_task_methods && has_task_methods {
            // They are the same for all tools.
            for method in [TaskMethod::Get, TaskMethod::Update, TaskMethod::Cancel] {
                entries.remove_method(method.name());
            }
        }
        let handlers = entries.handlers().collect();
        self.entries.mount(prefix, entries)?;
        self.validation.mount(validation, &new_ids);
        let is_served = |id| self.entries.handler(id).is_some();
        self.layers.mount(&layers, handlers, &new_ids, is_served);
        self.task_tools.extend(task_tools.into_iter().map(|(id, tasks)| (new_ids.of(id), tasks)));
        self.has_task_methods |= has_task_methods;
        #[cfg(feature = "skills")]
        if let Some(skills) = other.skills {
            self.skills = Some(skills);
        }
        Ok(self)
    }

    /// The tools in the order in which they were added, with those that are disabled or shown only
    /// to some callers. For example for a list in the log, or for tests.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.tools().map(|(tool, _)| tool)
    }

    /// The resources, as [`Registry::tools`] has the tools.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.entries.resources().map(|(resource, _)| resource)
    }

    /// The resource templates, as [`Registry::tools`] has the tools.
    pub fn resource_templates(&self) -> impl Iterator<Item = &ResourceTemplate> {
        self.entries.resource_templates().map(|(template, _)| template)
    }

    /// The prompts, as [`Registry::tools`] has the tools.
    pub fn prompts(&self) -> impl Iterator<Item = &Prompt> {
        self.entries.prompts().map(|(prompt, _)| prompt)
    }

    /// Sentences to log when the server starts; see [`server::Registry::warnings`].
    pub fn warnings(&self) -> Vec<String> {
        self.entries.warnings()
    }

    /// The handler that a [`Request`](server::Request) names.
    pub fn handler(&self, id: HandlerId) -> Option<&H> {
        self.entries.handler(id)
    }

    /// The tool of a handler, if it is one of a tool.
    pub(crate) fn tool_of(&self, id: HandlerId) -> Option<&Tool> {
        tool_of(&self.entries, id)
    }

    /// The handler of a tool.
    pub(crate) fn handler_of_tool(&self, name: &str) -> Option<HandlerId> {
        tool(&self.entries, name).map(|(_, handler)| handler)
    }

    /// Lets the machines send tasks in answer to calls of a tool.
    pub(crate) fn allow_tasks(&mut self, tool: &str) -> Result<(), UsageError> {
        self.entries.allow_tasks(tool).map(|_| ())
    }

    /// Sets whether clients must support tasks for a tool whose calls may become tasks.
    pub(crate) fn require_tasks(&mut self, tool: &str, is_required: bool) {
        require_tasks(&mut self.entries, tool, is_required);
    }

    /// The declaration for the machines; see [`server::Registry::declaration`].
    pub fn declaration(&self) -> Arc<Declaration> {
        self.entries.declaration()
    }

    #[cfg(feature = "validate")]
    /// Validates the calls of a tool from now on: arguments against its `inputSchema`, and
    /// structured content against its `outputSchema`.
    ///
    /// Arguments that do not fit are answered with a result with `isError` that names the places,
    /// and the handler is not called. The specification asks for this if input does not validate.
    /// Structured content that does not fit, or is missing, is a fault of the server and answered
    /// with -32603. What a user fills into a form that the tool asks for is checked as well: -32602
    /// for a modern client, -32603 for a legacy one.
    ///
    /// [`ToolSchemas`](crate::schema::ToolSchemas) documents the bounds. A tool that replaces
    /// another one of its name is validated only if it is named again.
    ///
    /// Fails, and changes nothing, with [`UsageError::UnknownTool`], and with
    /// [`UsageError::UnusableSchema`] if a schema does not compile.
    pub fn validate(&mut self, tool: &str) -> Result<&mut Self, UsageError> {
        self.validation.include(&self.entries, tool)?;
        Ok(self)
    }

    #[cfg(feature = "validate")]
    /// Validates the calls of all tools, those that are registered and those that will be; see
    /// [`Registry::validate`].
    ///
    /// Fails, and changes nothing, with [`UsageError::UnusableSchema`] if a schema does not
    /// compile; a tool whose schemas do not compile is not registered afterwards.
    pub fn validate_all(&mut self) -> Result<&mut Self, UsageError> {
        self.validation.include_all(&self.entries)?;
        Ok(self)
    }
}
