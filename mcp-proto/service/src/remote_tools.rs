//! Tools of another server in a registry of this one.
//!
//! In: a [`Client`] of the other server, such as a child process or one over HTTP, and a prefix.
//! Out: its tools in a [`Registry`] or a [`Catalog`], with handlers that call them there. The eras
//! of both sides do not matter.
//!
//! | of a call | goes to the other side as |
//! |---|---|
//! | arguments, `_meta` | the same, without what belongs to one connection |
//! | a result | the same, without the name of the other server in its `_meta` |
//! | a JSON-RPC error | the same; a code that the era of the caller does not know is -32603 |
//! | no answer: the connection has ended, a timeout | a result with `isError`, which a model reads |
//! | progress | progress, if the caller wants it |
//! | the end of the caller's request | a cancellation |
//! | `input_required` of a modern server | [`Outcome::InputRequired`]; the answers go back with the state of the server |
//! | a request for input of a legacy server, or of a task that the client follows | a call of a function of the client, such as [`Client::on_form`] |
//! | a log message | a call of [`Client::on_log`] |
//!
//! | verb | tools registered before | the registry afterwards |
//! |---|---|---|
//! | `add_to` | any | also has all listed tools: the registered ones from now on |
//! | `update` | some | has the listed tools, registered again if they differ, and lacks the others |
//! | `update` | those that are listed | is the same, and no client is notified |
//! | either, on an error | any | is the same |
//!
//! [Specification: Tools](https://modelcontextprotocol.io/specification/2026-07-28/server/tools)

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::handler_call::{HandlerArgs, HandlerCall};
use super::result::tool_outcome;
use super::{Catalog, Client, Context, Handler, Registry};
use mcp_proto::client::{CallError, CallOptions};
use mcp_proto::internals::write::List as Writer;
use mcp_proto::internals::{Raw, raw, trusted};
use mcp_proto::server::{Input, InputRequired, Outcome};
use mcp_proto::types::{CallToolResult, InputRequiredResult, SubscriptionFilter, Tool};
use mcp_proto::{Era, ErrorCode, ErrorData, Json, UsageError};

/// The member of `_meta` that names the server of a result.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

type Filter = dyn Fn(&Tool) -> bool + Send + Sync;
type Configure = dyn Fn(&mut Registry, &str) -> Result<(), UsageError> + Send + Sync;

/// The tools of another server, for the registry of this server.
///
/// ```
/// use mcp_service::{Catalog, Client, Registry, RemoteTools, RemoteToolsError};
///
/// async fn offer(weather: &Client, registry: &mut Registry) -> Result<(), RemoteToolsError> {
///     RemoteTools::new(weather, "weather_").add_to(registry).await
/// }
/// ```
///
/// A tool is declared as the other server declares it, with the prefix before its name. Resources
/// that its results or its `_meta` name are not offered. The client must be connected, or about to
/// be; it may be used for other calls as well. Once the client is closed, each call of its tools is
/// a result with `isError`.
///
/// The other server sees one client for all callers: tokens and principals of callers are not
/// forwarded. A modern server requests input from the caller, as far as the caller declares the
/// capability. A legacy server requests only the input that the client declares. The functions of
/// the client ([`Client::on_form`], [`Client::on_create_message`], [`Client::set_roots`]) answer
/// for all callers. Without these functions a legacy server cannot request input. The same
/// functions answer the requests of a task, if the client
/// [follows tasks](mcp_proto::client::Config::follow_tasks). A [`Bridge`](crate::Bridge) forwards
/// everything, but for one server only.
///
/// [`Limits::max_pages`](mcp_proto::Limits::max_pages) and
/// [`Limits::max_list_bytes`](mcp_proto::Limits::max_list_bytes) of the client bound the tools. A
/// tool that does not fit the schema is passed to [`Client::on_entry_rejected`], or over HTTP to
/// [`Client::on_tool_rejected`], and is not registered. All other tools are registered, or none.
pub struct RemoteTools {
    client: Client,
    prefix: String,
    options: CallOptions,
    filter: Option<Box<Filter>>,
    configure: Option<Box<Configure>>,
    /// The registered tools by their names here, as they are listed there.
    registered: BTreeMap<String, Tool>,
}

impl RemoteTools {
    /// The tools of the server of this client, whose names get a prefix, such as `weather_`.
    pub fn new(client: &Client, prefix: impl Into<String>) -> Self {
        Self {
            client: client.clone(),
            prefix: prefix.into(),
            options: CallOptions::default(),
            filter: None,
            configure: None,
            registered: BTreeMap::new(),
        }
    }

    /// Sets the options of calls at the other server, such as timeouts; default
    /// [`CallOptions::default`], with 60 s and 1 hour in all. Progress restarts the 60 s of a call
    /// whose own caller asks for progress.
    pub fn call_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Registers only tools for which `f` returns true. It gets them as they are listed, without
    /// the prefix.
    pub fn filter(mut self, f: impl Fn(&Tool) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Box::new(f));
        self
    }

    /// Calls `f` after each tool is registered, with its name here, to require scopes, restrict it
    /// to some callers, or validate its calls. Other settings are lost when the other server
    /// changes the tool. An error of `f` is one of the registration.
    ///
    /// ```
    /// # use mcp_service::{Client, RemoteTools};
    /// # fn remote(files: &Client) -> RemoteTools {
    /// RemoteTools::new(files, "files_")
    ///     .configure(|registry, name| registry.require_scopes(name, "files").map(|_| ()))
    /// # }
    /// ```
    pub fn configure(
        mut self,
        f: impl Fn(&mut Registry, &str) -> Result<(), UsageError> + Send + Sync + 'static,
    ) -> Self {
        self.configure = Some(Box::new(f));
        self
    }

    /// Lists the tools and registers them.
    ///
    /// Fails, and changes nothing, with [`RemoteToolsError::Call`] if they cannot be listed. Fails
    /// with [`RemoteToolsError::Registry`] as [`Registry::add_tool`] does, with
    /// [`UsageError::Duplicate`] for a name that is taken.
    pub async fn add_to(&mut self, registry: &mut Registry) -> Result<(), RemoteToolsError> {
        let listed = self.list().await?;
        let mut changed = registry.clone();
        let mut registered = BTreeMap::new();
        for (name, tool) in listed {
            self.add(&mut changed, &name, tool.clone())?;
            registered.insert(name, tool);
        }
        *registry = changed;
        self.registered = registered;
        Ok(())
    }

    /// Lists the tools, and updates the catalog: adds, removes and replaces the tools that have
    /// changed since the last time. Clients of the catalog are notified if its registry declares
    /// [`list_changed`](Registry::list_changed) for tools. Returns whether anything has changed.
    ///
    /// Fails, and changes nothing, as [`RemoteTools::add_to`] does.
    pub async fn update(&mut self, catalog: &Catalog) -> Result<bool, RemoteToolsError> {
        let listed = self.list().await?;
        let mut registered = BTreeMap::new();
        for (name, tool) in &listed {
            if registered.insert(name.clone(), tool.clone()).is_some() {
                return Err(UsageError::Duplicate { kind: "tool", name: name.clone() }.into());
            }
        }
        if registered == self.registered {
            return Ok(false);
        }
        catalog.update(|registry| {
            for (name, before) in &self.registered {
                if registered.get(name) != Some(before) {
                    registry.remove_tool(name);
                }
            }
            for (name, tool) in listed {
                if self.registered.get(&name) != Some(&tool) {
                    self.add(registry, &name, tool)?;
                }
            }
            Ok(())
        })?;
        self.registered = registered;
        Ok(true)
    }

    /// [Updates](RemoteTools::update) the catalog, and again whenever the other server reports that
    /// its tools have changed. Run the future in its own task.
    ///
    /// Returns when the other server ends the subscription, and after the first update if it
    /// reports no changes. Fails as [`RemoteTools::update`] does, and with
    /// [`RemoteToolsError::Call`] if there is no subscription or its connection ends. After an
    /// error it may be called again.
    pub async fn follow(&mut self, catalog: &Catalog) -> Result<(), RemoteToolsError> {
        let filter = SubscriptionFilter::new().tools_list_changed();
        let mut changes = self.client.subscribe(filter).await?;
        loop {
            self.update(catalog).await?;
            if !changes.honoured().tools_list_changed {
                return Ok(());
            }
            if changes.changed().await.is_none() {
                return Ok(changes.ended().unwrap_or(Ok(()))?);
            }
        }
    }

    /// The tools that are wanted, by their names here, as they are listed.
    async fn list(&self) -> Result<Vec<(String, Tool)>, CallError> {
        let tools = self.client.list_tools().await?.tools.into_iter();
        let wanted = tools.filter(|tool| self.filter.as_ref().is_none_or(|filter| filter(tool)));
        Ok(wanted.map(|tool| (alloc::format!("{}{}", self.prefix, tool.name), tool)).collect())
    }

    fn add(&self, registry: &mut Registry, name: &str, mut tool: Tool) -> Result<(), UsageError> {
        let handler = self.handler(&tool.name);
        tool.name = name.into();
        registry.add_tool(tool, handler)?;
        self.configure.as_ref().map_or(Ok(()), |configure| configure(registry, name))
    }

    /// The handler of the tool that has this name there.
    fn handler(&self, name: &str) -> Handler {
        let (client, options) = (self.client.clone(), self.options.clone());
        let name: Arc<str> = name.into();
        Handler::request(move |given, context| {
            let params = call_params(&name, &given, context.input());
            drop(given);
            let client = client.clone();
            let options = options.clone().forward_input(context.peer().client_capabilities());
            HandlerCall::Future(Box::pin(call(client, params, options, context)))
        })
    }
}

impl fmt::Debug for RemoteTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteTools").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// The reason why the tools of another server are not registered.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RemoteToolsError {
    /// The other server does not list its tools, or does not report changes.
    Call(CallError),
    /// A tool cannot be registered.
    Registry(UsageError),
}

impl From<CallError> for RemoteToolsError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<UsageError> for RemoteToolsError {
    fn from(error: UsageError) -> Self {
        Self::Registry(error)
    }
}

impl fmt::Display for RemoteToolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => write!(
                f,
                "the other server does not list its tools, or report their changes: {error}"
            ),
            Self::Registry(error) => {
                write!(f, "a tool of the other server cannot be registered: {error}")
            }
        }
    }
}

impl core::error::Error for RemoteToolsError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Call(error) => Some(error),
            Self::Registry(error) => Some(error),
        }
    }
}

/// Calls a tool at the other server.
async fn call(client: Client, params: Json, options: CallOptions, context: Context) -> Outcome {
    let mut call = client.call::<Json>("tools/call", &params).options(options);
    if context.wants_progress() {
        call = call.on_progress(move |progress| context.progress(progress));
    }
    match call.await {
        Ok(result) if is_input_required(&client, &result) => input_required(&result),
        Ok(result) => Outcome::Complete(own_result(&result, is_modern(&client))),
        Err(CallError::Error { error, .. }) => Outcome::Error(own_error(&client, error)),
        Err(error) => {
            let executed = if error.may_have_been_executed() { "may have been" } else { "was not" };
            tool_outcome(Ok(CallToolResult::error(alloc::format!(
                "The server of this tool gave no result: {error}. The call {executed} executed."
            ))))
        }
    }
}

/// The parameters of a call at the other server. The client replaces what belongs to a connection.
fn call_params(name: &str, given: &HandlerArgs, input: Option<&Input>) -> Json {
    let mut out = Vec::new();
    let mut params = Writer::object(&mut out);
    params.text("name", name);
    params.member("arguments", given.arguments.as_bytes());
    raw(&given.params).members(|key, value| {
        if key.string().as_deref() == Some("_meta") && value.is_object() {
            params.copy(key, value);
        }
    });
    if let Some(Input { responses, state, .. }) = input {
        if !responses.is_empty()
            && let Ok(responses) = Json::encode(responses)
        {
            params.member("inputResponses", responses.as_bytes());
        }
        if let Some(state) = state {
            params.text("requestState", state);
        }
    }
    params.end();
    trusted(out)
}

/// Returns whether the server asks for input; a legacy one does not do so in a result. A client
/// that was closed after the result no longer has a server.
fn is_input_required(client: &Client, result: &Json) -> bool {
    let kind = raw(result).member("resultType").and_then(Raw::string);
    kind.as_deref() == Some("input_required") && is_modern(client)
}

fn is_modern(client: &Client) -> bool {
    client.server().is_none_or(|server| server.era() == Era::Modern)
}

/// The error for the caller. Errors about versions and headers are about this connection to the
/// other server, not about the caller's; a legacy server has none of the modern codes.
fn own_error(client: &Client, mut error: ErrorData) -> ErrorData {
    let is_foreign = match error.code {
        ErrorCode::HEADER_MISMATCH | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => true,
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => !is_modern(client),
        _ => false,
    };
    if is_foreign {
        error.code = ErrorCode::INTERNAL_ERROR;
    }
    error
}

fn input_required(result: &Json) -> Outcome {
    let Ok(asked) = result.decode_lossy::<InputRequiredResult>() else {
        let message = "the server of this tool asks for input in an unknown form";
        return Outcome::Error(ErrorData::internal(message));
    };
    let mut required = InputRequired::default();
    required.requests = asked.input_requests.unwrap_or_default();
    required.state = asked.request_state;
    Outcome::InputRequired(required)
}

/// A result of the other server as one of this server, which writes its own type and name. Members
/// that are `null` count as absent, except structured content of a modern server: `null` is content
/// there. Some servers omit the content if there is structured content.
fn own_result(result: &Json, is_modern: bool) -> Json {
    let mut has_content = false;
    let mut out = Vec::new();
    let mut own = Writer::object(&mut out);
    raw(result).members(|key, value| match key.string().as_deref() {
        Some("resultType") => {}
        Some(name) if value.0 == b"null" && (name != "structuredContent" || !is_modern) => {}
        Some("_meta") if value.is_object() => {
            let mut kept = Vec::new();
            let mut meta = Writer::object(&mut kept);
            value.members(|key, value| {
                if key.string().as_deref() != Some(SERVER_INFO) {
                    meta.copy(key, value);
                }
            });
            let is_empty = meta.is_empty();
            meta.end();
            if !is_empty {
                own.member("_meta", &kept);
            }
        }
        name => {
            has_content |= name == Some("content");
            own.copy(key, value);
        }
    });
    if !has_content {
        own.member("content", b"[]");
    }
    own.end();
    trusted(out)
}
