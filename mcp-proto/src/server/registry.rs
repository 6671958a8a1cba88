//! Register once, serve both eras.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::cacheable::Cacheable;
use super::declaration::Declaration;
use super::handler_id::HandlerId;
use super::names::{has_scheme, is_tool_name};
use super::registered::{Reference, Registered};
use super::template::UriTemplate;
use crate::change::List;
use crate::error::UsageError;
use crate::ext::Feature;
use crate::headers::Plan;
use crate::json::Json;
use crate::message::{Method, MethodRow};
use crate::meta;
use crate::schema::{check_dialects, has_type_object};
use crate::types::{
    CacheHint, CompletionReference, Implementation, Prompt, Resource, ResourceTemplate, Tool,
};

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
/// The capabilities that are declared follow from what is registered. Lists are sent in the order
/// in which their entries were added.
///
/// Specification: [Tools](https://modelcontextprotocol.io/specification/2026-07-28/server/tools),
/// [Resources](https://modelcontextprotocol.io/specification/2026-07-28/server/resources), [Prompts](https://modelcontextprotocol.io/specification/2026-07-28/server/prompts)
#[derive(Clone, Debug)]
pub struct Registry<H> {
    pub(super) registered: Registered,
    handlers: BTreeMap<usize, H>,
}

impl<H> Registry<H> {
    /// An empty registry for a server with this name and version.
    pub fn new(server_info: Implementation) -> Self {
        Self { registered: Registered::new(server_info), handlers: BTreeMap::new() }
    }

    /// Sets what models are told about using this server.
    pub fn instructions(&mut self, instructions: impl Into<String>) -> &mut Self {
        self.registered.instructions = Some(instructions.into());
        self
    }

    /// Sets how many entries a page of a list has; default 100, at least 1.
    pub fn page_size(&mut self, entries: usize) -> &mut Self {
        self.registered.page_size = entries.max(1);
        self
    }

    /// Declares that this list may change while the server runs. Its capability is declared then
    /// even while the list is empty.
    pub fn list_changed(&mut self, list: List) -> &mut Self {
        self.registered.list_changed.insert(list);
        self
    }

    /// Declares that clients are told of updates of the resources that they name.
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

    /// Sets how long modern clients may keep a result, and for whom; default not at all.
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

    /// Has requests for a tool or a method answered with -32021 unless their client declares an
    /// extension; the handler is not called. Legacy clients declare extensions with `initialize`;
    /// those that do not get -32603. A feature may need several extensions.
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

    /// Declares what no specification defines, with its settings, an object.
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
    /// Names "SHOULD" have 1 to 128 of the characters `A-Z a-z 0-9 _ - .`; others are accepted, and
    /// [`Registry::warnings`] names them.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`], with
    /// [`UsageError::InvalidSchema`] unless the input schema is an object with
    /// `"type": "object"` and the output schema an object, with [`UsageError::UnusableSchema`] if
    /// one is in another dialect than 2020-12 and draft-07, and with
    /// [`UsageError::InvalidHeader`] if clients on HTTP must reject its `x-mcp-header`s. (Legacy
    /// clients know output schemas of objects alone: for them another one is put inside of an
    /// object, as its member `result`, and structured content likewise.)
    pub fn add_tool(&mut self, tool: Tool, handler: H) -> Result<&mut Self, UsageError> {
        self.insert_tool(tool, handler, true)
    }

    /// Adds a tool whose handler never answers with
    /// [`Outcome::InputRequired`](super::Outcome::InputRequired), so that the machine keeps nothing
    /// of its calls for another round. Fails as [`Registry::add_tool`] does.
    pub fn add_tool_without_input(
        &mut self,
        tool: Tool,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        self.insert_tool(tool, handler, false)
    }

    fn insert_tool(&mut self, tool: Tool, handler: H, asks: bool) -> Result<&mut Self, UsageError> {
        let output = tool.output_schema.as_ref().is_none_or(|schema| schema.raw().is_object());
        if !has_type_object(&tool.input_schema) || !output {
            return Err(UsageError::InvalidSchema { name: tool.name });
        }
        if let Err(reason) = Plan::compile(&tool.input_schema) {
            return Err(UsageError::InvalidHeader { name: tool.name, reason });
        }
        self.registered.tools.check(&tool)?;
        check_dialects(&tool)?;
        let handler = self.keep(handler, asks);
        self.registered.tools.add(tool, handler);
        Ok(self)
    }

    /// Sets the scopes that calls of a tool require over HTTP, with blanks between them; none takes
    /// the requirement away. It goes with the tool.
    ///
    /// A call whose token lacks one of them gets 403 with a challenge that names all of them, and
    /// its handler does not run. So does a call without [`Claims`](crate::resource_server::Claims),
    /// also on a server that is not protected. On a byte stream nothing is required.
    ///
    /// Fails with [`UsageError::UnknownTool`], and with [`UsageError::InvalidScope`] if a word
    /// cannot be a scope.
    ///
    /// [Specification: Scope Challenge Handling](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-challenge-handling)
    pub fn require_scopes(&mut self, tool: &str, scopes: &str) -> Result<&mut Self, UsageError> {
        self.registered.require_scopes(tool, scopes)?;
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
        let handler = self.keep(handler, true);
        self.registered.resources.add(resource, handler);
        Ok(self)
    }

    /// Adds a family of resources. What is not a resource is read from the first template, in the
    /// order in which they were added, that it follows.
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
        let handler = self.keep(handler, true);
        self.registered.templates.add(template, handler);
        Ok(self)
    }

    /// Adds a prompt.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`].
    pub fn add_prompt(&mut self, prompt: Prompt, handler: H) -> Result<&mut Self, UsageError> {
        self.registered.prompts.check(&prompt)?;
        let handler = self.keep(handler, true);
        self.registered.prompts.add(prompt, handler);
        Ok(self)
    }

    /// Adds what completes the arguments of a prompt, or of a resource template, that is
    /// registered.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`] and with
    /// [`UsageError::UnknownReference`].
    pub fn add_completion(
        &mut self,
        reference: CompletionReference,
        handler: H,
    ) -> Result<&mut Self, UsageError> {
        let reference = reference.into();
        let (Reference::Prompt(name) | Reference::Template(name)) = &reference;
        let known = match &reference {
            Reference::Prompt(name) => self.registered.prompts.has(name),
            Reference::Template(template) => self.registered.templates.has(template),
        };
        if !known {
            return Err(UsageError::UnknownReference { name: name.clone() });
        }
        if self.registered.completions.contains_key(&reference) {
            return Err(UsageError::Duplicate { kind: "completion", name: name.clone() });
        }
        let handler = self.keep(handler, false);
        self.registered.completions.insert(reference, handler);
        Ok(self)
    }

    /// Adds a method that the machine does not answer by itself, such as one of an extension.
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
        let handler = self.keep(handler, false);
        self.registered.methods.insert(method, handler);
        Ok(self)
    }

    /// Adds a handler of a notification, such as `notifications/roots/list_changed`; those without
    /// one are dropped.
    ///
    /// Fails, and adds nothing, with [`UsageError::Duplicate`], and with
    /// [`UsageError::ReservedMethod`] for `notifications/cancelled`, which is the machine's.
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
        let handler = self.keep(handler, false);
        self.registered.notifications.insert(method, handler);
        Ok(self)
    }

    /// Sets the handler of all requests whose methods neither the specification nor this registry
    /// has; without one they are answered with -32601.
    pub fn fallback(&mut self, handler: H) -> &mut Self {
        if let Some(before) = self.registered.fallback {
            self.handlers.remove(&before.serial);
        }
        self.registered.fallback = Some(self.keep(handler, false));
        self
    }

    /// Sets the handler of all requests and notifications, whatever else is registered: for a server
    /// that forwards them to another one.
    ///
    /// The handler gets `initialize`, `server/discover`, lists with their cursors, subscriptions and
    /// methods that no revision defines, with parameters as they came. Its results and errors go out
    /// as they are. The exceptions:
    ///
    /// - The machine answers `ping`, and keeps the level of `logging/setLevel` as well. Methods that
    ///   the era of the client does not have are answered with -32601.
    /// - The machine writes `protocolVersion` of the result of `initialize`, and `supportedVersions`
    ///   of that of `server/discover`. An error in answer to `initialize` leaves the connection
    ///   unopened.
    /// - `subscriptions/listen` is in flight until the handler ends it with a result. What it reports
    ///   are [`Notification::Forwarded`](super::Notification::Forwarded) about the request, which get
    ///   the id of the subscription. After `Limits::handler_timeout` the subscription ends.
    /// - Input for a modern client is the result, `input_required`, and comes back in the parameters;
    ///   [`Outcome::InputRequired`](super::Outcome::InputRequired) is refused. A legacy client is
    ///   asked with [`Server::request_input_about`](super::Server::request_input_about).
    pub fn forward(&mut self, handler: H) -> &mut Self {
        if let Some(before) = self.registered.forward {
            self.handlers.remove(&before.serial);
        }
        self.registered.forward = Some(self.keep(handler, false));
        self
    }

    /// Takes a tool out and returns its handler.
    pub fn remove_tool(&mut self, name: &str) -> Option<H> {
        let handler = self.registered.tools.remove(name)?;
        self.registered.tool_scopes.remove(name);
        self.registered.required.remove(&Feature::tool(name));
        self.handlers.remove(&handler.serial)
    }

    /// Takes a resource out and returns its handler.
    pub fn remove_resource(&mut self, uri: &str) -> Option<H> {
        let handler = self.registered.resources.remove(uri)?;
        self.handlers.remove(&handler.serial)
    }

    /// Takes a family of resources out, its completions too, and returns its handler.
    pub fn remove_resource_template(&mut self, uri_template: &str) -> Option<H> {
        let handler = self.registered.templates.remove(uri_template)?;
        self.remove_completion(Reference::Template(uri_template.into()));
        self.handlers.remove(&handler.serial)
    }

    /// Takes a prompt out, its completions too, and returns its handler.
    pub fn remove_prompt(&mut self, name: &str) -> Option<H> {
        let handler = self.registered.prompts.remove(name)?;
        self.remove_completion(Reference::Prompt(name.into()));
        self.handlers.remove(&handler.serial)
    }

    /// Sentences about tools that the specification allows and many clients do not: those with a
    /// name outside of what it recommends, and those with a header whose argument has a union for a
    /// type, or none. Log them when the server starts: some clients leave such tools out.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (tool, _) in self.registered.tools.iter() {
            if !is_tool_name(&tool.name) {
                warnings.push(alloc::format!(
                    "the tool name {:?} should have 1 to 128 of the characters A-Z a-z 0-9 _ - .",
                    tool.name
                ));
            }
            // It has been compiled when the tool was added.
            let Ok(plan) = Plan::compile(&tool.input_schema) else { continue };
            let of_tool = plan.warnings().map(|warning| alloc::format!("{}: {warning}", tool.name));
            warnings.extend(of_tool);
        }
        warnings
    }

    /// The tools and their handlers, in the order in which they were added.
    pub fn tools(&self) -> impl Iterator<Item = (&Tool, HandlerId)> {
        self.registered.tools.iter().map(|(tool, handler)| (tool, *handler))
    }

    /// The handler that a [`Request`](super::Request) names.
    pub fn handler(&self, id: HandlerId) -> Option<&H> {
        self.handlers.get(&id.serial)
    }

    /// What the machines need to know: all of it but the handlers, ready to be sent. It is made
    /// anew each time, so keep it for all connections.
    pub fn declaration(&self) -> Arc<Declaration> {
        Arc::new(Declaration::new(&self.registered))
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is made to be dropped")]
    fn remove_completion(&mut self, reference: Reference) {
        if let Some(handler) = self.registered.completions.remove(&reference) {
            self.handlers.remove(&handler.serial);
        }
    }

    fn keep(&mut self, handler: H, asks: bool) -> HandlerId {
        // It is compared and never shown. No two registries share one, so that a handler of one is
        // never taken for a handler of the other that is served in its place.
        static SERIALS: AtomicUsize = AtomicUsize::new(0);
        let serial = SERIALS.fetch_add(1, Ordering::Relaxed);
        self.handlers.insert(serial, handler);
        HandlerId { serial, asks }
    }
}
