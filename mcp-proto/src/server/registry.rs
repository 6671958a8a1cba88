//! Registry of a server's features, for both eras.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::access::ListEntry;
use super::cacheable::Cacheable;
use super::declaration::Declaration;
use super::handler_id::HandlerId;
use super::registered::{Reference, Registered};
use super::template::UriTemplate;
use crate::change::List;
use crate::error::UsageError;
use crate::ext::Feature;
use crate::json::Json;
use crate::message::{Method, MethodRow};
use crate::meta;
use crate::types::{
    CacheHint, CompletionReference, Implementation, Prompt, Resource, ResourceTemplate, Tool,
};
use crate::url::has_scheme;

/// Tools, resources, prompts and methods of a server, with handlers of the caller's type `H`.
///
/// ```
/// use mcp_proto::server::Registry;
/// use mcp_proto::types::{Implementation, Tool};
/// use mcp_proto::Json;
///
/// let mut registry = Registry::new(Implementation::new("clock", "1.0.0"));
/// let schema = Json::parse(r#"{"type":"object"}"#)?;
/// registry.add_tool(Tool::new("now", schema).description("Tells the time"), "handler")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The declared capabilities follow from the registrations. Lists are sent in the order of
/// registration.
///
/// Specification: [Tools](https://modelcontextprotocol.io/specification/2026-07-28/server/tools),
/// [Resources](https://modelcontextprotocol.io/specification/2026-07-28/server/resources), [Prompts](https://modelcontextprotocol.io/specification/2026-07-28/server/prompts)
#[derive(Clone, Debug)]
pub struct Registry<H> {
    pub(super) registered: Registered,
    pub(super) handlers: BTreeMap<usize, H>,
}

impl<H> Registry<H> {
    /// An empty registry for a server with this name and version.
    pub fn new(server_info: Implementation) -> Self {
        Self { registered: Registered::new(server_info), handlers: BTreeMap::new() }
    }

    /// Sets the instructions for models that use this server.
    pub fn instructions(&mut self, instructions: impl Into<String>) -> &mut Self {
        self.registered.instructions = Some(instructions.into());
        self
    }

    /// Sets the number of entries in a page of a list; default 100, at least 1.
    pub fn page_size(&mut self, entries: usize) -> &mut Self {
        self.registered.page_size = entries.max(1);
        self
    }

    /// Declares that this list may change while the server runs. The capability is then declared
    /// even while the list is empty.
    pub fn list_changed(&mut self, list: List) -> &mut Self {
        self.registered.list_changed.insert(list);
        self
    }

    /// Declares that clients may subscribe to updates of resources by URI.
    pub fn subscribe(&mut self) -> &mut Self {
        self.registered.subscribe = true;
        self
    }

    /// Declares that handlers may send log messages.
    ///
    /// [Specification: Logging](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging)
    pub fn logging(&mut self) -> &mut Self {
        self.registered.logging = true;
        self
    }

    /// Sets how long modern clients may cache a result, and for whom; default not at all.
    ///
    /// [Specification: Caching](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching)
    pub fn cache(&mut self, what: Cacheable, hint: CacheHint) -> &mut Self {
        self.registered.cache.insert(what, hint);
        self
    }

    /// Declares an extension with its settings, an object.
    ///
    /// Fails with [`UsageError::NotAnObject`], and with [`UsageError::InvalidExtension`] unless the
    /// identifier has a prefix, such as `com.example/`.
    ///
    /// [Specification: Extension Negotiation](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation)
    pub fn extension(
        &mut self,
        identifier: impl Into<String>,
        settings: Json,
    ) -> Result<&mut Self, UsageError> {
        let identifier = identifier.into();
        if !meta::is_prefixed_key(&identifier) {
            return Err(UsageError::InvalidExtension { identifier });
        }
        if !settings.raw().is_object() {
            return Err(UsageError::NotAnObject { name: identifier });
        }
        self.registered.extensions.insert(identifier, settings);
        Ok(self)
    }

    /// Requires an extension for a tool or a method. Requests of clients that do not declare the
    /// extension get -32021, without a call of the handler. Legacy clients declare extensions in
    /// `initialize`; they get -32603 instead. A feature may require several extensions.
    ///
    /// Fails, and changes nothing, with [`UsageError::UndeclaredExtension`] unless
    /// [`Registry::extension`] declares it, and with [`UsageError::UnknownTool`] or
    /// [`UsageError::UnknownMethod`] if the feature is not registered.
    pub fn requires_extension(
        &mut self,
        feature: Feature,
        identifier: impl Into<String>,
    ) -> Result<&mut Self, UsageError> {
        self.registered.require_extension(feature, identifier.into())?;
        Ok(self)
    }

    /// Sets whether clients must support tasks for a tool of [`Registry::allow_tasks`].
    pub(crate) fn require_tasks(&mut self, tool: &str, is_required: bool) {
        self.registered.require_tasks(tool, is_required);
    }

    /// Declares an experimental capability with its settings, an object.
    ///
    /// Fails with [`UsageError::NotAnObject`].
    pub fn experimental(
        &mut self,
        name: impl Into<String>,
        settings: Json,
    ) -> Result<&mut Self, UsageError> {
        let name = name.into();
        if !settings.raw().is_object() {
            return Err(UsageError::NotAnObject { name });
        }
        self.registered.experimental.insert(name, settings);
        Ok(self)
    }

    /// Adds a tool.
    ///
    /// Names "SHOULD" have 1 to 128 of the characters `A-Z a-z 0-9 _ - .`; other names are
    /// accepted, and [`Registry::warnings`] lists them.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`]. Fails with
    /// [`UsageError::InvalidSchema`] unless the input schema is an object with `"type": "object"`
    /// and the output schema is an object. Fails with [`UsageError::UnusableSchema`] if a schema
    /// uses another dialect than 2020-12 and draft-07. Fails with [`UsageError::InvalidHeader`] if
    /// HTTP clients must reject its `x-mcp-header`s. (Legacy clients only know output schemas of
    /// objects. For them any other schema, and the structured content, is wrapped in an object as
    /// its member `result`.)
    pub fn add_tool(&mut self, tool: Tool, handler: H) -> Result<&mut Self, UsageError> {
        self.insert_tool(tool, handler, true)
    }

    /// Adds a tool whose handler never answers with
    /// [`Outcome::InputRequired`](super::Outcome::InputRequired). The machine then stores nothing
    /// of its calls for another round. Fails as [`Registry::add_tool`] does.
    pub fn add_tool_without_input(
        &mut self,
        tool: Tool,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        self.insert_tool(tool, handler, false)
    }

    fn insert_tool(&mut self, tool: Tool, handler: H, asks: bool) -> Result<&mut Self, UsageError> {
        self.registered.check_tool(&tool)?;
        let handler = self.add_handler(handler, asks);
        self.registered.tools.add(tool, handler);
        Ok(self)
    }

    /// Sets the scopes that calls of a tool require over HTTP, separated by blanks. An empty text
    /// removes the requirement. Removing the tool removes it too.
    ///
    /// A call whose token lacks one of the scopes gets 403 with a challenge that names all of them,
    /// and the handler is not called. A call without [`Claims`](crate::resource_server::Claims)
    /// gets the same, also if the server is unprotected. On a byte stream no scopes are required.
    ///
    /// Fails with [`UsageError::UnknownTool`], and with [`UsageError::InvalidScope`] if a word is
    /// not a valid scope.
    ///
    /// [Specification: Scope Challenge Handling](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling)
    pub fn require_scopes(&mut self, tool: &str, scopes: &str) -> Result<&mut Self, UsageError> {
        self.registered.require_scopes(tool, scopes)?;
        Ok(self)
    }

    /// Allows [`Outcome::Task`](super::Outcome::Task) for calls of a tool by modern clients that
    /// declare the extension [`ext::TASKS`](crate::ext::TASKS).
    ///
    /// Fails with [`UsageError::UndeclaredExtension`] and [`UsageError::UnknownTool`].
    pub fn allow_tasks(&mut self, tool: &str) -> Result<&mut Self, UsageError> {
        self.registered.allow_tasks(tool).map(|()| self)
    }

    /// Lets clients subscribe to tasks, and sets the handler that looks up the tasks. Its requests
    /// are `subscriptions/listen` with `notifications.taskIds`, its result `{"taskIds": [...]}` has
    /// the client's tasks. [`Change::TaskUpdated`](super::Change::TaskUpdated) reports their
    /// states.
    ///
    /// Fails with [`UsageError::UndeclaredExtension`] without [`ext::TASKS`](crate::ext::TASKS).
    pub fn task_subscriptions(&mut self, handler: H) -> Result<&mut Self, UsageError> {
        self.registered.check_tasks()?;
        if let Some(before) = self.registered.task_subscriptions {
            self.handlers.remove(&before.serial);
        }
        self.registered.task_subscriptions = Some(self.add_handler(handler, false));
        Ok(self)
    }

    /// Adds a resource.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`], and with
    /// [`UsageError::InvalidUri`] unless the URI begins with a scheme.
    pub fn add_resource(
        &mut self,
        resource: Resource,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        if !has_scheme(&resource.uri) {
            return Err(UsageError::InvalidUri { uri: resource.uri });
        }
        self.registered.resources.check(&resource)?;
        let handler = self.add_handler(handler, true);
        self.registered.resources.add(resource, handler);
        Ok(self)
    }

    /// Adds a family of resources. A URI that is not a registered resource is read from the first
    /// template that matches, in the order of registration.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`] and with
    /// [`UsageError::InvalidUriTemplate`].
    pub fn add_resource_template(
        &mut self,
        template: ResourceTemplate,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        UriTemplate::parse(&template.uri_template)?;
        self.registered.templates.check(&template)?;
        let handler = self.add_handler(handler, true);
        self.registered.templates.add(template, handler);
        Ok(self)
    }

    /// Adds a prompt.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`].
    pub fn add_prompt(&mut self, prompt: Prompt, handler: H) -> Result<&mut Self, UsageError> {
        self.registered.prompts.check(&prompt)?;
        let handler = self.add_handler(handler, true);
        self.registered.prompts.add(prompt, handler);
        Ok(self)
    }

    /// Adds completions for the arguments of a registered prompt or resource template.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`] and with
    /// [`UsageError::UnknownReference`].
    pub fn add_completion(
        &mut self,
        reference: CompletionReference,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        let reference = reference.into();
        self.registered.check_completion(&reference)?;
        let handler = self.add_handler(handler, false);
        self.registered.completions.insert(reference, handler);
        Ok(self)
    }

    /// Adds a method that the machine does not answer itself, such as one of an extension.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`] and with
    /// [`UsageError::ReservedMethod`].
    pub fn add_method(
        &mut self,
        method: impl Into<String>,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        let method = method.into();
        if MethodRow::named(&method).is_some_and(|row| !row.has_handler()) {
            return Err(UsageError::ReservedMethod { method });
        }
        if self.registered.methods.contains_key(&method) {
            return Err(UsageError::Duplicate { kind: "method", name: method });
        }
        let handler = self.add_handler(handler, false);
        self.registered.methods.insert(method, handler);
        Ok(self)
    }

    /// Adds a handler of a notification, such as `notifications/roots/list_changed`. Notifications
    /// without a handler are dropped.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`], and with
    /// [`UsageError::ReservedMethod`] for `notifications/cancelled`, which the machine handles.
    pub fn add_notification(
        &mut self,
        method: impl Into<String>,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        let method = method.into();
        if Method::from_name(method.as_str().into()) == Method::Cancelled {
            return Err(UsageError::ReservedMethod { method });
        }
        if self.registered.notifications.contains_key(&method) {
            return Err(UsageError::Duplicate { kind: "notification", name: method });
        }
        let handler = self.add_handler(handler, false);
        self.registered.notifications.insert(method, handler);
        Ok(self)
    }

    /// Sets the handler of all requests whose methods neither the specification nor this registry
    /// defines. Without a fallback these requests get -32601.
    pub fn fallback(&mut self, handler: H) -> &mut Self {
        if let Some(before) = self.registered.fallback {
            self.handlers.remove(&before.serial);
        }
        self.registered.fallback = Some(self.add_handler(handler, false));
        self
    }

    /// Sets the handler of all requests, and of notifications without a handler of their own, for a
    /// server that forwards them to another server.
    ///
    /// The handler gets `initialize`, `server/discover`, lists with their cursors, subscriptions
    /// and methods that no revision defines, with unchanged parameters. Its results and errors are
    /// sent unchanged, with these exceptions:
    ///
    /// - The machine answers `ping`, and keeps the level of `logging/setLevel` as well. Methods
    ///   that the era of the client does not have are answered with -32601.
    /// - The machine writes `protocolVersion` in the result of `initialize`, and
    ///   `supportedVersions` in the result of `server/discover`. An error in answer to `initialize`
    ///   leaves the connection unopened.
    /// - `subscriptions/listen` is in flight until the handler ends it with a result, or the client
    ///   cancels it or leaves. It has no timeout. Over HTTP it ends with the token of its client.
    ///   [`Notification::Forwarded`](super::Notification::Forwarded) about the request reports
    ///   changes, and gets the id of the subscription.
    /// - An `input_required` result asks a modern client for input, which arrives in the parameters
    ///   of its next request. [`Outcome::InputRequired`](super::Outcome::InputRequired) is refused.
    ///   [`Server::request_input_about`](super::Server::request_input_about) asks a legacy client.
    pub fn forward(&mut self, handler: H) -> &mut Self {
        if let Some(before) = self.registered.forward {
            self.handlers.remove(&before.serial);
        }
        self.registered.forward = Some(self.add_handler(handler, false));
        self
    }

    /// Removes a tool, and returns its handler.
    pub fn remove_tool(&mut self, name: &str) -> Option<H> {
        let handler = self.registered.tools.remove(name)?;
        self.registered.forget_tool(name);
        self.handlers.remove(&handler.serial)
    }

    /// Removes a resource, and returns its handler.
    pub fn remove_resource(&mut self, uri: &str) -> Option<H> {
        let handler = self.registered.resources.remove(uri)?;
        self.registered.access.remove(&ListEntry::resource(uri));
        self.handlers.remove(&handler.serial)
    }

    /// Removes a family of resources and its completions, and returns its handler.
    pub fn remove_resource_template(&mut self, uri_template: &str) -> Option<H> {
        let handler = self.registered.templates.remove(uri_template)?;
        self.registered.access.remove(&ListEntry::resource_template(uri_template));
        self.forget_completion(&Reference::Template(uri_template.into()));
        self.handlers.remove(&handler.serial)
    }

    /// Removes a prompt and its completions, and returns its handler.
    pub fn remove_prompt(&mut self, name: &str) -> Option<H> {
        let handler = self.registered.prompts.remove(name)?;
        self.registered.access.remove(&ListEntry::prompt(name));
        self.forget_completion(&Reference::Prompt(name.into()));
        self.handlers.remove(&handler.serial)
    }

    /// Warnings about tools that the specification allows but many clients reject. Such a tool has
    /// a name outside of the recommended form, or a header whose argument has a union type or no
    /// type. Log the warnings when the server starts.
    pub fn warnings(&self) -> Vec<String> {
        self.registered.warnings()
    }

    /// The tools and their handlers, in the order in which they were added.
    pub fn tools(&self) -> impl Iterator<Item = (&Tool, HandlerId)> {
        self.registered.tools.iter().map(|(tool, handler)| (tool, *handler))
    }

    /// The resources and their handlers, in the order in which they were added.
    pub fn resources(&self) -> impl Iterator<Item = (&Resource, HandlerId)> {
        self.registered.resources.iter().map(|(resource, handler)| (resource, *handler))
    }

    /// The resource templates and their handlers, in the order in which they were added.
    pub fn resource_templates(&self) -> impl Iterator<Item = (&ResourceTemplate, HandlerId)> {
        self.registered.templates.iter().map(|(template, handler)| (template, *handler))
    }

    /// The prompts and their handlers, in the order in which they were added.
    pub fn prompts(&self) -> impl Iterator<Item = (&Prompt, HandlerId)> {
        self.registered.prompts.iter().map(|(prompt, handler)| (prompt, *handler))
    }

    /// The handler of a [`Request`](super::Request).
    pub fn handler(&self, id: HandlerId) -> Option<&H> {
        self.handlers.get(&id.serial)
    }

    /// Freezes the declaration: all that the machines need, serialized, without the handlers.
    /// Each call builds another one, so share one between all connections.
    pub fn declaration(&self) -> Arc<Declaration> {
        Arc::new(Declaration::new(&self.registered))
    }

    pub(super) fn forget_completion(&mut self, reference: &Reference) -> Option<H> {
        let handler = self.registered.completions.remove(reference)?;
        self.handlers.remove(&handler.serial)
    }

    fn add_handler(&mut self, handler: H, asks: bool) -> HandlerId {
        let id = HandlerId::new(asks);
        self.handlers.insert(id.serial, handler);
        id
    }
}
