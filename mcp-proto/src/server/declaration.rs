//! A registry without its handlers: immutable, shared by all machines, already serialized.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::access::{EntryAccess, ListEntry};
use super::cacheable::Cacheable;
use super::entries::{Entries, Listed};
use super::event::Peer;
use super::handler_id::HandlerId;
use super::lists::{Lists, encode};
use super::registered::{Reference, Registered};
use super::result_prefix::{COMPLETE, result_prefix};
use super::template::UriTemplate;
use crate::change::{Change, List};
use crate::error::UsageError;
use crate::ext::Feature;
use crate::headers::HeaderPlan;
use crate::json::Json;
use crate::json::write;
use crate::message::Capability;
use crate::negotiate;
use crate::schema::has_type_object;
use crate::scopes::Scopes;
use crate::types::{
    CacheHint, ListChangedCapability, Prompt, ResourcesCapability, ServerCapabilities, Tool,
};
use crate::version::{Era, EraPolicy, ProtocolVersion};

/// Everything that a server declares, encoded as the machines send it.
#[derive(Debug)]
pub struct Declaration {
    server_info: Json,
    pub(super) capabilities: ServerCapabilities,
    encoded_capabilities: Json,
    instructions: Option<String>,
    pub(super) tools: BTreeMap<String, ToolEntry>,
    /// The scopes that tools require, by tool.
    pub(super) tool_scopes: BTreeMap<String, Scopes>,
    pub(super) resources: BTreeMap<String, HandlerId>,
    templates: Vec<TemplateEntry>,
    pub(super) prompts: BTreeMap<String, PromptEntry>,
    completions: BTreeMap<Reference, CompletionSource>,
    methods: BTreeMap<String, MethodEntry>,
    notifications: BTreeMap<String, HandlerId>,
    fallback: Option<HandlerId>,
    /// The handler of all requests and notifications, if this server is a forwarder.
    pub(super) forward: Option<HandlerId>,
    /// The handler that looks up the tasks of a subscription.
    pub(super) task_subscriptions: Option<HandlerId>,
    lists: Lists,
    discover: Json,
    discover_modern_only: Json,
    /// Members that each modern result gets: `resultType` and the server's name.
    pub(super) stamp: Bytes,
    /// `stamp` for a result that requires input.
    pub(super) input_required_stamp: Bytes,
    /// `stamp` with the caching hint of each kind of result.
    cache_stamps: BTreeMap<Cacheable, Bytes>,
    /// The caching hint of the contents of resources, unless a result has hints of its own.
    pub(super) contents_hint: CacheHint,
    pub(super) list_changed: BTreeSet<List>,
    /// The disabled entries, and the entries that only some callers see.
    access: EntryAccess,
}

#[derive(Debug)]
pub(super) struct ToolEntry {
    pub(super) handler: HandlerId,
    /// True if legacy clients get the output schema, and the structured content, wrapped in an
    /// object.
    pub(super) wraps: bool,
    /// Mapping from arguments to HTTP headers.
    pub(super) plan: HeaderPlan,
    /// The extensions that a client must declare.
    pub(super) required: Vec<String>,
    /// True if calls of the tool may become tasks.
    pub(super) tasks: bool,
}

/// A method with a handler of its own.
#[derive(Debug)]
struct MethodEntry {
    handler: HandlerId,
    /// The extensions that a client must declare.
    required: Vec<String>,
}

#[derive(Debug)]
struct TemplateEntry {
    uri_template: String,
    parsed: UriTemplate,
    handler: HandlerId,
    /// False if the template is disabled.
    is_enabled: bool,
}

#[derive(Debug)]
pub(super) struct PromptEntry {
    pub(super) handler: HandlerId,
    /// The required arguments.
    pub(super) required: Vec<String>,
}

/// Source of completions for arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum CompletionSource {
    Handler(HandlerId),
    Empty,
}

impl Declaration {
    pub(super) fn new(registered: &Registered) -> Self {
        let server_info = encode(&registered.server_info);
        let cache = |what| cache_hint(registered, what);
        let capabilities = capabilities(registered);
        let mut declaration = Self {
            encoded_capabilities: encode(&capabilities),
            capabilities,
            instructions: registered.instructions.clone(),
            tools: tools(registered),
            tool_scopes: registered.tool_scopes.clone(),
            resources: by_key(&registered.resources, &registered.access),
            templates: templates(registered),
            prompts: prompts(registered),
            completions: completions(registered),
            methods: methods(registered),
            notifications: registered.notifications.clone(),
            fallback: registered.fallback,
            forward: registered.forward,
            task_subscriptions: registered.task_subscriptions,
            lists: Lists::new(registered),
            discover: Json::EMPTY_OBJECT,
            discover_modern_only: Json::EMPTY_OBJECT,
            stamp: result_prefix(COMPLETE, &server_info, None, None),
            input_required_stamp: result_prefix(b"\"input_required\"", &server_info, None, None),
            cache_stamps: Cacheable::ALL
                .into_iter()
                .map(|what| (what, result_prefix(COMPLETE, &server_info, None, Some(cache(what)))))
                .collect(),
            contents_hint: cache(Cacheable::Contents),
            list_changed: registered.list_changed.clone(),
            access: registered.access.clone(),
            server_info,
        };
        declaration.discover = declaration.write_discover(EraPolicy::Auto);
        declaration.discover_modern_only = declaration.write_discover(EraPolicy::ModernOnly);
        declaration
    }

    /// The handler of a tool; `None` if the tool is unknown, disabled or hidden from this caller.
    pub(crate) fn offered_tool(&self, name: &str, caller: &Arc<Peer>) -> Option<HandlerId> {
        self.tool_entry(name, &|| caller.clone()).map(|entry| entry.handler)
    }

    /// Returns whether no entry is disabled, or hidden from some callers.
    #[cfg(feature = "skills")]
    pub(crate) fn offers_all(&self) -> bool {
        self.access.is_empty()
    }

    /// Returns whether a resource is registered, and neither disabled nor hidden from this caller.
    #[cfg(feature = "skills")]
    pub(crate) fn offers_resource(&self, uri: &str, caller: &Arc<Peer>) -> bool {
        self.resources.contains_key(uri)
            && !self.hides(|| ListEntry::resource(uri), || caller.clone())
    }

    /// A tool; `None` if it is unknown, disabled or hidden from this caller.
    pub(super) fn tool_entry(
        &self,
        name: &str,
        caller: &dyn Fn() -> Arc<Peer>,
    ) -> Option<&ToolEntry> {
        self.tools.get(name).filter(|_| !self.hides(|| ListEntry::tool(name), caller))
    }

    /// The handler of a resource, and the variables of the template that its URI matches.
    pub(super) fn resource(
        &self,
        uri: &str,
        caller: &dyn Fn() -> Arc<Peer>,
    ) -> Option<(HandlerId, Json)> {
        if let Some(handler) = self.resources.get(uri)
            && !self.hides(|| ListEntry::resource(uri), caller)
        {
            return Some((*handler, Json::EMPTY_OBJECT));
        }
        let matching = |template: &TemplateEntry| {
            let variables = template.parsed.matches(uri)?;
            let entry = || ListEntry::resource_template(&*template.uri_template);
            (!self.hides(entry, caller)).then_some((template.handler, variables))
        };
        self.templates.iter().filter(|template| template.is_enabled).find_map(matching)
    }

    /// Returns whether this caller gets no updates of a URI, because its resource is hidden from
    /// the caller. Updates of a URI without a resource or a template are for all callers.
    pub(super) fn hides_updates(&self, uri: &str, caller: &dyn Fn() -> Arc<Peer>) -> bool {
        if self.access.is_empty() {
            return false;
        }
        let is_read = self.resources.contains_key(uri)
            || !self.access.is_enabled(|| ListEntry::resource(uri))
            || self.templates.iter().any(|template| template.parsed.matches(uri).is_some());
        is_read && self.resource(uri, caller).is_none()
    }

    /// Returns whether an entry is hidden from this caller.
    pub(super) fn hides(
        &self,
        entry: impl FnOnce() -> ListEntry,
        caller: impl FnOnce() -> Arc<Peer>,
    ) -> bool {
        self.access.filters.hide(entry, caller)
    }

    /// Returns whether some entries are hidden from some callers.
    pub(super) fn has_filters(&self) -> bool {
        !self.access.filters.is_empty()
    }

    /// Source of completions for a prompt, a template or a resource; `None` if there is none of
    /// that name or URI.
    pub(super) fn completion(
        &self,
        reference: &Reference,
        caller: &dyn Fn() -> Arc<Peer>,
    ) -> Option<CompletionSource> {
        let entry = || match reference {
            Reference::Prompt(name) => ListEntry::prompt(&**name),
            Reference::Template(template) => ListEntry::resource_template(&**template),
        };
        match (self.completions.get(reference), reference) {
            (Some(source), _) => Some(*source).filter(|_| !self.hides(entry, caller)),
            // The URI of a resource has no variables.
            (None, Reference::Template(uri)) if self.resources.contains_key(uri) => {
                let resource = || ListEntry::resource(&**uri);
                Some(CompletionSource::Empty).filter(|_| !self.hides(resource, caller))
            }
            (None, Reference::Template(_) | Reference::Prompt(_)) => None,
        }
    }

    /// The handler of a method that is registered by its name, or else the fallback, and the
    /// extensions that a client must declare for it.
    pub(super) fn method(&self, method: &str) -> Option<(HandlerId, &[String])> {
        match self.methods.get(method) {
            Some(entry) => Some((entry.handler, &entry.required)),
            None => Some((self.fallback?, &[])),
        }
    }

    pub(super) fn notification(&self, method: &str) -> Option<HandlerId> {
        self.notifications.get(method).copied().or(self.forward)
    }

    pub(super) fn has_notifications(&self) -> bool {
        !self.notifications.is_empty() || self.forward.is_some()
    }

    /// The page of a list at this cursor; `None` if the cursor is unknown.
    pub(super) fn page(
        &self,
        era: Era,
        list: Cacheable,
        cursor: Option<&str>,
        caller: &dyn Fn() -> Arc<Peer>,
    ) -> Option<Json> {
        self.lists.page(era, list, cursor, caller)
    }

    /// Checks that a change is declared, so that it may be published.
    ///
    /// Fails with [`UsageError::Undeclared`].
    pub fn check(&self, change: &Change) -> Result<(), UsageError> {
        let (declared, capability) = match change {
            Change::ListChanged(list) => (self.list_changed.contains(list), list.capability()),
            Change::ResourceUpdated(_) => {
                (self.declares(Capability::ResourceSubscriptions), "resources.subscribe")
            }
            Change::TaskUpdated(_) => (self.task_subscriptions.is_some(), "extensions (tasks)"),
        };
        if declared { Ok(()) } else { Err(UsageError::Undeclared { capability }) }
    }

    /// The lists that differ in `other`.
    pub(crate) fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = List> + 'a {
        self.lists.differences(&other.lists)
    }

    /// Members of a modern result that clients may cache.
    pub(super) fn cache_stamp(&self, what: Cacheable) -> &Bytes {
        self.cache_stamps.get(&what).unwrap_or(&self.stamp)
    }

    /// The server's `Implementation`.
    pub(super) fn server_info(&self) -> &Json {
        &self.server_info
    }

    /// The result of `server/discover` for a server with this policy.
    pub(super) fn discover(&self, policy: EraPolicy) -> &Json {
        match policy {
            EraPolicy::Auto | EraPolicy::LegacyOnly => &self.discover,
            EraPolicy::ModernOnly => &self.discover_modern_only,
        }
    }

    /// The result of `initialize`; without a session, the client cannot be notified of changes.
    pub(super) fn initialize(&self, version: ProtocolVersion, has_session: bool) -> Json {
        let stateless = (!has_session).then(|| encode(&self.capabilities.without_changes()));
        let capabilities = stateless.as_ref().unwrap_or(&self.encoded_capabilities);
        let mut out = Vec::new();
        let mut object = write::List::object(&mut out);
        object.text("protocolVersion", version.as_str());
        object.member("capabilities", capabilities.as_bytes());
        object.member("serverInfo", self.server_info.as_bytes());
        if let Some(instructions) = &self.instructions {
            object.text("instructions", instructions);
        }
        object.end();
        Json::trusted(out)
    }

    fn write_discover(&self, policy: EraPolicy) -> Json {
        let mut out = Vec::new();
        let mut object = write::List::object(&mut out);
        object.key("supportedVersions");
        let mut list = write::List::array(object.out());
        for version in negotiate::listed(policy) {
            write::string(list.item(), version);
        }
        list.end();
        object.member("capabilities", self.encoded_capabilities.as_bytes());
        if let Some(instructions) = &self.instructions {
            object.text("instructions", instructions);
        }
        object.end();
        Json::trusted(out)
    }
}

/// The caching hint of a result, which is private if the result depends on the caller.
fn cache_hint(registered: &Registered, what: Cacheable) -> CacheHint {
    let hint = registered.cache.get(&what).copied().unwrap_or_default();
    let is_private = registered.access.filters.has(|entry| {
        matches!(
            (what, entry),
            (Cacheable::Tools, ListEntry::Tool(_))
                | (Cacheable::Prompts, ListEntry::Prompt(_))
                | (Cacheable::Resources | Cacheable::Contents, ListEntry::Resource(_))
                | (
                    Cacheable::ResourceTemplates | Cacheable::Contents,
                    ListEntry::ResourceTemplate(_)
                )
        )
    });
    if is_private { CacheHint::private(hint.ttl_ms) } else { hint }
}

fn capabilities(registered: &Registered) -> ServerCapabilities {
    let changes = |list| registered.list_changed.contains(&list);
    let list = |list, is_empty: bool| {
        let list_changed = changes(list);
        (list_changed || !is_empty).then_some(ListChangedCapability { list_changed })
    };
    let resources = ResourcesCapability {
        subscribe: registered.subscribe,
        list_changed: changes(List::Resources),
    };
    let has_resources = !registered.resources.is_empty()
        || !registered.templates.is_empty()
        || resources != ResourcesCapability::default();
    ServerCapabilities {
        experimental: registered.experimental.clone(),
        logging: registered.logging.then_some(Json::EMPTY_OBJECT),
        completions: (!registered.completions.is_empty()).then_some(Json::EMPTY_OBJECT),
        prompts: list(List::Prompts, registered.prompts.is_empty()),
        resources: has_resources.then_some(resources),
        tools: list(List::Tools, registered.tools.is_empty()),
        extensions: registered.extensions.clone(),
    }
}

fn tools(registered: &Registered) -> BTreeMap<String, ToolEntry> {
    let entry = |(tool, handler): &(Tool, HandlerId)| {
        let wraps = tool.output_schema.as_ref().is_some_and(|schema| !has_type_object(schema));
        // The tool's headers were checked when the tool was added.
        let plan = HeaderPlan::compile(&tool.input_schema).unwrap_or_default();
        let required = registered.required(&Feature::tool(&*tool.name));
        let tasks = registered.task_tools.contains_key(&tool.name);
        (tool.name.clone(), ToolEntry { handler: *handler, wraps, plan, required, tasks })
    };
    registered.tools.enabled(&registered.access).map(entry).collect()
}

fn methods(registered: &Registered) -> BTreeMap<String, MethodEntry> {
    let entry = |(method, handler): (&String, &HandlerId)| {
        let required = registered.required(&Feature::method(&**method));
        (method.clone(), MethodEntry { handler: *handler, required })
    };
    registered.methods.iter().map(entry).collect()
}

fn prompts(registered: &Registered) -> BTreeMap<String, PromptEntry> {
    let entry = |(prompt, handler): &(Prompt, HandlerId)| {
        let required = prompt.arguments.iter().filter(|argument| argument.required);
        let required = required.map(|argument| argument.name.clone()).collect();
        (prompt.name.clone(), PromptEntry { handler: *handler, required })
    };
    registered.prompts.enabled(&registered.access).map(entry).collect()
}

fn by_key<T: Listed>(entries: &Entries<T>, access: &EntryAccess) -> BTreeMap<String, HandlerId> {
    entries.enabled(access).map(|(item, handler)| (item.key().into(), *handler)).collect()
}

fn templates(registered: &Registered) -> Vec<TemplateEntry> {
    let parsed = registered.templates.iter().filter_map(|(template, handler)| {
        // Templates are checked when they are added.
        let parsed = UriTemplate::parse(&template.uri_template).ok()?;
        let uri_template = template.uri_template.clone();
        let entry = || ListEntry::resource_template(&*uri_template);
        let is_enabled = registered.access.is_enabled(entry);
        Some(TemplateEntry { uri_template, parsed, handler: *handler, is_enabled })
    });
    parsed.collect()
}

fn completions(registered: &Registered) -> BTreeMap<Reference, CompletionSource> {
    let prompts = registered.prompts.enabled(&registered.access);
    let prompts = prompts.map(|(prompt, _)| Reference::Prompt(prompt.name.clone()));
    let templates = registered.templates.enabled(&registered.access);
    let templates =
        templates.map(|(template, _)| Reference::Template(template.uri_template.clone()));
    let handler = |reference| {
        let handler = registered.completions.get(&reference);
        let source =
            handler.map_or(CompletionSource::Empty, |handler| CompletionSource::Handler(*handler));
        (reference, source)
    };
    prompts.chain(templates).map(handler).collect()
}
