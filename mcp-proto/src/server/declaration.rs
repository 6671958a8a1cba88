//! A registered without its handlers: immutable, shared by all machines, serialised beforehand.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::cacheable::Cacheable;
use super::entries::{Entries, Listed};
use super::handler_id::HandlerId;
use super::legacy::wrapped_schema;
use super::pages::Pages;
use super::registered::{Reference, Registered};
use super::result_prefix::{COMPLETE, result_prefix};
use super::template::UriTemplate;
use crate::change::{Change, List};
use crate::error::UsageError;
use crate::ext::Feature;
use crate::headers::Plan;
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
    /// The scopes that tools require, by their names.
    pub(super) tool_scopes: BTreeMap<String, Scopes>,
    pub(super) resources: BTreeMap<String, HandlerId>,
    templates: Vec<(UriTemplate, HandlerId)>,
    pub(super) prompts: BTreeMap<String, PromptEntry>,
    completions: BTreeMap<Reference, Completes>,
    methods: BTreeMap<String, MethodEntry>,
    notifications: BTreeMap<String, HandlerId>,
    fallback: Option<HandlerId>,
    /// The handler of all requests and notifications, if this server forwards them.
    pub(super) forward: Option<HandlerId>,
    pages: Lists,
    /// The tools as legacy clients see them, if that makes a difference.
    legacy_tools: Option<Pages>,
    discover: Json,
    discover_modern_only: Json,
    /// Members that each modern result gets: `resultType` and the server's name.
    pub(super) stamp: Bytes,
    /// The same for a result that asks for input.
    pub(super) input_required_stamp: Bytes,
    /// The same with caching hints.
    cache_stamps: BTreeMap<Cacheable, Bytes>,
    /// The longest time that the contents of resources may be kept.
    pub(super) contents_hint: CacheHint,
    pub(super) list_changed: BTreeSet<List>,
}

#[derive(Debug)]
pub(super) struct ToolEntry {
    pub(super) handler: HandlerId,
    /// Legacy clients see its output schema, and so its structured content, inside of an object.
    pub(super) wraps: bool,
    /// Mapping from arguments to HTTP headers.
    pub(super) plan: Plan,
    /// The extensions that a client must declare.
    pub(super) required: Vec<String>,
}

/// A method with a handler of its own.
#[derive(Debug)]
struct MethodEntry {
    handler: HandlerId,
    /// The extensions that a client must declare.
    required: Vec<String>,
}

#[derive(Debug)]
pub(super) struct PromptEntry {
    pub(super) handler: HandlerId,
    /// The arguments that must be given.
    pub(super) required: Vec<String>,
}

/// Source of completions for arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Completes {
    Handler(HandlerId),
    Nothing,
}

#[derive(Debug)]
struct Lists {
    tools: Pages,
    resources: Pages,
    templates: Pages,
    prompts: Pages,
}

impl Declaration {
    pub(super) fn new(registered: &Registered) -> Self {
        let server_info = encode(&registered.server_info);
        let cache = |what| registered.cache.get(&what).copied().unwrap_or_default();
        let capabilities = capabilities(registered);
        let mut declaration = Self {
            encoded_capabilities: encode(&capabilities),
            capabilities,
            instructions: registered.instructions.clone(),
            tools: tools(registered),
            tool_scopes: registered.tool_scopes.clone(),
            resources: by_key(&registered.resources),
            templates: templates(registered),
            prompts: prompts(registered),
            completions: completions(registered),
            methods: methods(registered),
            notifications: registered.notifications.clone(),
            fallback: registered.fallback,
            forward: registered.forward,
            pages: lists(registered),
            legacy_tools: legacy_tools(registered),
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
            server_info,
        };
        declaration.discover = declaration.write_discover(EraPolicy::Auto);
        declaration.discover_modern_only = declaration.write_discover(EraPolicy::ModernOnly);
        declaration
    }

    /// The handler of a resource, and the variables of the template that it follows.
    pub(super) fn resource(&self, uri: &str) -> Option<(HandlerId, Json)> {
        if let Some(handler) = self.resources.get(uri) {
            return Some((*handler, Json::EMPTY_OBJECT));
        }
        let matching = |(template, handler): &(UriTemplate, HandlerId)| {
            Some((*handler, template.matches(uri)?))
        };
        self.templates.iter().find_map(matching)
    }

    /// Source of completions for a prompt or a template; `None` if it does not exist.
    pub(super) fn completion(&self, reference: &Reference) -> Option<Completes> {
        self.completions.get(reference).copied()
    }

    /// The handler of a method that the specification does not have, and the extensions that a
    /// client must declare for it.
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

    /// The page of a list at this cursor, `None` if no page handed it out.
    pub(super) fn page(&self, era: Era, list: Cacheable, cursor: Option<&str>) -> Option<&Json> {
        match list {
            Cacheable::Tools => match (era, &self.legacy_tools) {
                (Era::Legacy, Some(tools)) => tools.at(cursor),
                _ => self.pages.tools.at(cursor),
            },
            Cacheable::Prompts => self.pages.prompts.at(cursor),
            Cacheable::Resources => self.pages.resources.at(cursor),
            Cacheable::ResourceTemplates => self.pages.templates.at(cursor),
            Cacheable::Discover | Cacheable::Contents => None,
        }
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
        };
        if declared { Ok(()) } else { Err(UsageError::Undeclared { capability }) }
    }

    /// The lists that are not the same in `other`.
    pub(crate) fn differences(&self, other: &Self) -> impl Iterator<Item = List> {
        let ours = &self.pages;
        let theirs = &other.pages;
        List::ALL.into_iter().filter(move |list| match list {
            List::Tools => ours.tools != theirs.tools,
            List::Prompts => ours.prompts != theirs.prompts,
            List::Resources => {
                ours.resources != theirs.resources || ours.templates != theirs.templates
            }
        })
    }

    /// Members that a modern result gets if clients may cache it.
    pub(super) fn cache_stamp(&self, what: Cacheable) -> &Bytes {
        self.cache_stamps.get(&what).unwrap_or(&self.stamp)
    }

    /// The server's `Implementation`.
    pub(super) fn server_info(&self) -> &Json {
        &self.server_info
    }

    /// The result of `server/discover`, from a server with this policy.
    pub(super) fn discover(&self, policy: EraPolicy) -> &Json {
        match policy {
            EraPolicy::Auto | EraPolicy::LegacyOnly => &self.discover,
            EraPolicy::ModernOnly => &self.discover_modern_only,
        }
    }

    /// The result of `initialize`.
    pub(super) fn initialize(&self, version: ProtocolVersion) -> Json {
        let mut out = Vec::new();
        let mut object = write::List::object(&mut out);
        object.text("protocolVersion", version.as_str());
        object.member("capabilities", self.encoded_capabilities.as_bytes());
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
        // It was checked when the tool was added.
        let plan = Plan::compile(&tool.input_schema).unwrap_or_default();
        let required = registered.required(&Feature::tool(&*tool.name));
        (tool.name.clone(), ToolEntry { handler: *handler, wraps, plan, required })
    };
    registered.tools.iter().map(entry).collect()
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
    registered.prompts.iter().map(entry).collect()
}

fn by_key<T: Listed>(entries: &Entries<T>) -> BTreeMap<String, HandlerId> {
    entries.iter().map(|(item, handler)| (item.key().into(), *handler)).collect()
}

fn templates(registered: &Registered) -> Vec<(UriTemplate, HandlerId)> {
    let parsed = registered.templates.iter().filter_map(|(template, handler)| {
        // They have been checked when they were added.
        Some((UriTemplate::parse(&template.uri_template).ok()?, *handler))
    });
    parsed.collect()
}

fn completions(registered: &Registered) -> BTreeMap<Reference, Completes> {
    let prompts =
        registered.prompts.iter().map(|(prompt, _)| Reference::Prompt(prompt.name.clone()));
    let templates = registered.templates.iter();
    let templates =
        templates.map(|(template, _)| Reference::Template(template.uri_template.clone()));
    let handler = |reference| {
        let handler = registered.completions.get(&reference);
        let completes = handler.map_or(Completes::Nothing, |handler| Completes::Handler(*handler));
        (reference, completes)
    };
    prompts.chain(templates).map(handler).collect()
}

fn lists(registered: &Registered) -> Lists {
    let size = registered.page_size;
    Lists {
        tools: Pages::new("tools", &encoded(&registered.tools), size),
        resources: Pages::new("resources", &encoded(&registered.resources), size),
        templates: Pages::new("resourceTemplates", &encoded(&registered.templates), size),
        prompts: Pages::new("prompts", &encoded(&registered.prompts), size),
    }
}

fn legacy_tools(registered: &Registered) -> Option<Pages> {
    let mut differ = false;
    let tools = registered.tools.iter().map(|(tool, _)| {
        let schema = tool.output_schema.as_ref().filter(|schema| !has_type_object(schema));
        let Some(schema) = schema else { return encode(tool) };
        differ = true;
        encode(&tool.clone().output_schema(wrapped_schema(schema)))
    });
    let tools: Vec<Json> = tools.collect();
    differ.then(|| Pages::new("tools", &tools, registered.page_size))
}

fn encoded<T: Listed + serde::Serialize>(entries: &Entries<T>) -> Vec<Json> {
    entries.iter().map(|(item, _)| encode(item)).collect()
}

/// Plain structs of strings and raw JSON always encode.
fn encode<T: serde::Serialize>(value: &T) -> Json {
    Json::encode(value).unwrap_or(Json::EMPTY_OBJECT)
}
