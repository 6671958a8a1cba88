//! The handle of a client, for the application.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::bridge::EventSink;
use super::call::Call;
use super::callback_set::{self, IntoAnswer};
use super::client_mailbox::{ClientCommand, ClientMailbox, Stage};
use super::closed::Closed;
use super::lists::{TypedList, decode, decode_list, decode_tool_result};
use super::subscription::Subscription;
use super::unsent_call::UnsentCall;
use mcp_proto::Instant;
use mcp_proto::Json;
use mcp_proto::TraceContext;
use mcp_proto::UsageError;
use mcp_proto::client::{self, CallError, Config, ConnectError, Decision, ServerInfo, Verdict};
use mcp_proto::http::client::set_field;
use mcp_proto::types::{
    CallToolResult, ClientCapabilities, CompleteRequestParams, CompleteResult,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, EmptyResult, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    ReadResourceResult, Root, SubscriptionFilter,
};

/// A client of one server. Clones are cheap and share the client.
///
/// Create it, set its handlers, and connect it with an adapter, once. Calls before that are queued,
/// without a timeout. The API is the same for modern and legacy servers. A client that is connected
/// goes on until [`Client::close`], also if all its handles are dropped.
///
/// The task that drives the client calls the functions that are set with `on_*`, without a lock.
/// So they may use the client, but must not block. A panic is ignored, or answers a request for
/// input with an error. [`Client::on_entry_rejected`] is called where a list is awaited.
///
/// ```
/// use mcp_service::Client;
/// use mcp_proto::types::{ElicitAction, ElicitResult, Implementation};
///
/// let client = Client::new(Implementation::new("app", "1.0.0"));
/// client.on_form(|_| async { ElicitResult::new(ElicitAction::Decline) });
/// // An adapter connects it; then:
/// # async fn example(client: mcp_service::Client) -> Result<(), mcp_proto::client::CallError> {
/// let tools = client.list_tools().await?.tools;
/// let sum = client.call_tool("add", &serde_json::json!({ "a": 1, "b": 2 })).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(super) mailbox: Arc<ClientMailbox>,
}

impl Client {
    /// A client that is not connected, with this configuration, or with this name and the default
    /// configuration.
    pub fn new(config: impl Into<Config>) -> Self {
        Self { mailbox: Arc::new(ClientMailbox::new(config.into(), None)) }
    }

    /// A client that sends its events to `sink`.
    pub(crate) fn with_sink(config: Config, sink: Arc<dyn EventSink>) -> Self {
        Self { mailbox: Arc::new(ClientMailbox::new(config, Some(sink))) }
    }

    /// Fails with [`UsageError::AlreadyConnected`] if the client was driven before, or is closed.
    pub(crate) fn check_idle(&self) -> Result<(), UsageError> {
        self.mailbox.check_idle()
    }

    /// Queues a call of a method of the machine for the next turn of the driver. After the end it
    /// is dropped.
    pub(crate) fn apply(&self, verb: impl FnOnce(&mut client::Client, Instant) + Send + 'static) {
        self.mailbox.apply(verb);
    }

    /// Fetches all tools, on all pages. `ttl_ms` is the smallest and `cache_scope` the strictest of
    /// the pages, `meta` that of the first one. A tool that does not fit the schema is left out and
    /// passed to [`Client::on_entry_rejected`]. The other lists work the same way.
    pub fn list_tools(&self) -> Call<ListToolsResult> {
        self.list()
    }

    /// Fetches all prompts.
    pub fn list_prompts(&self) -> Call<ListPromptsResult> {
        self.list()
    }

    /// Fetches all resources.
    pub fn list_resources(&self) -> Call<ListResourcesResult> {
        self.list()
    }

    /// Fetches all resource templates.
    pub fn list_resource_templates(&self) -> Call<ListResourceTemplatesResult> {
        self.list()
    }

    /// Calls a tool. The arguments must serialize to a JSON object; `&()` is none. With
    /// [`Config::follow_tasks`] the server may make a task of the call, which then ends with the
    /// task: see [`Call::on_task`], [`Call::detach`] and [`Client::start_tool`].
    ///
    /// Fails with [`CallError::Usage`] of [`UsageError::NotAnObject`] if the arguments are not an
    /// object, and of [`UsageError::NotJson`] if they cannot be serialized. Nothing is sent then.
    ///
    /// [Specification: Tools](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#calling-tools)
    pub fn call_tool<A: Serialize + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Call<CallToolResult> {
        let unsent = UnsentCall::with_arguments("tools/call", name, arguments);
        Call::new(&self.mailbox, unsent, decode_tool_result)
    }

    /// Reads a resource.
    ///
    /// [Specification: Resources](https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources)
    pub fn read_resource(&self, uri: &str) -> Call<ReadResourceResult> {
        self.start(UnsentCall::read_resource(uri))
    }

    /// Gets a prompt. The arguments are an object of strings; `&()` is none. Fails as
    /// [`Client::call_tool`] does.
    ///
    /// [Specification: Prompts](https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt)
    pub fn get_prompt<A: Serialize + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Call<GetPromptResult> {
        self.start(UnsentCall::with_arguments("prompts/get", name, arguments))
    }

    /// Gets completions of an argument.
    ///
    /// [Specification: Completion](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion)
    pub fn complete(&self, params: &CompleteRequestParams) -> Call<CompleteResult> {
        self.start(UnsentCall::call("completion/complete", Json::encode(params).ok()))
    }

    /// Checks that the server is alive: with `ping`, or with `server/discover` if the server is
    /// modern, since the modern era has no `ping`.
    pub fn ping(&self) -> Call<()> {
        Call::new(
            &self.mailbox,
            Ok(UnsentCall::on_machine("ping", client::Client::ping)),
            |_, _| Ok(()),
        )
    }

    /// Sets the lowest level of log messages that the server sends to [`Client::on_log`]. A modern
    /// server sends none before that. If a legacy server does not declare `logging`, nothing is
    /// sent and [`Client::on_fault`] gets an error.
    ///
    /// [Specification: Logging](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging)
    pub fn set_log_level(&self, level: LoggingLevel) -> Call<EmptyResult> {
        self.start(Ok(UnsentCall::on_machine("logging/setLevel", move |client, now, options| {
            client.set_log_level(now, level, options)
        })))
    }

    /// Calls a method, such as one of an extension. The parameters must serialize to a JSON object.
    /// The result is decoded as an `R`; [`Json`] is the result as received.
    ///
    /// Fails with [`CallError::Usage`] as
    /// [`client::Client::call`](mcp_proto::client::Client::call) does, and of
    /// [`UsageError::NotJson`]. Fails with [`CallError::Protocol`] if the result is not an `R`.
    pub fn call<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: &(impl Serialize + ?Sized),
    ) -> Call<R> {
        self.start(UnsentCall::call(method, Json::encode(params).ok()))
    }

    /// Sends a notification, such as one of an extension. The method must begin with
    /// `notifications/`, and the parameters must serialize to a JSON object. A notification that
    /// [`client::Client::notify`](mcp_proto::client::Client::notify) refuses is dropped, without an
    /// error.
    ///
    /// Fails with [`UsageError::NotJson`].
    pub fn notify(
        &self,
        method: impl Into<String>,
        params: &(impl Serialize + ?Sized),
    ) -> Result<(), UsageError> {
        let method = method.into();
        let Ok(params) = Json::encode(params) else {
            return Err(UsageError::NotJson { name: method });
        };
        self.mailbox.apply(move |client, now| drop(client.notify(now, method, params)));
        Ok(())
    }

    /// Subscribes to changes. Completes when the server acknowledges the subscription. The server
    /// may honour only a part of the filter, or nothing: see [`Subscription::honoured`].
    ///
    /// Fails with a [`CallError`] if there is no connection, or no acknowledgement within 60 s.
    /// Over HTTP the client asks again if the stream breaks before that, without end, and the time
    /// starts again. Drop the future to give up.
    ///
    /// [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)
    pub fn subscribe(
        &self,
        filter: SubscriptionFilter,
    ) -> impl Future<Output = Result<Subscription, CallError>> + Send + use<> {
        Subscription::open(self.mailbox.clone(), filter)
    }

    /// Sets the handler that shows forms to the user; declares `elicitation.form`. See the methods
    /// of [`ElicitRequestFormParams`].
    ///
    /// [Specification: Elicitation](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation)
    pub fn on_form<F, Fut, A>(&self, f: F)
    where
        F: Fn(ElicitRequestFormParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
        A: IntoAnswer<ElicitResult>,
    {
        self.mailbox.change(|callbacks, has| {
            callbacks.form = Some(callback_set::input_handler(f));
            let elicitation = has.elicitation.get_or_insert_default();
            elicitation.form = Some(Json::EMPTY_OBJECT);
        });
    }

    /// Sets the handler that sends the user to URLs; declares `elicitation.url`.
    ///
    /// [Specification: Elicitation](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation)
    pub fn on_url<F, Fut, A>(&self, f: F)
    where
        F: Fn(ElicitRequestURLParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
        A: IntoAnswer<ElicitResult>,
    {
        self.mailbox.change(|callbacks, has| {
            callbacks.url = Some(callback_set::input_handler(f));
            let elicitation = has.elicitation.get_or_insert_default();
            elicitation.url = Some(Json::EMPTY_OBJECT);
        });
    }

    /// Sets the handler that samples from a model; declares `sampling`. Use [`Client::declare`] to
    /// declare `sampling.tools`.
    ///
    /// [Specification: Sampling](https://modelcontextprotocol.io/specification/2026-07-28/client/sampling)
    pub fn on_create_message<F, Fut, A>(&self, f: F)
    where
        F: Fn(CreateMessageRequestParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
        A: IntoAnswer<CreateMessageResult>,
    {
        self.mailbox.change(|callbacks, has| {
            callbacks.message = Some(callback_set::input_handler(f));
            has.sampling.get_or_insert_default();
        });
    }

    /// Sets the roots, which the server may request; declares `roots`. A legacy server is notified
    /// when they change.
    ///
    /// Fails with [`UsageError::InvalidRoot`]; see [`Root::check_all`].
    ///
    /// [Specification: Roots](https://modelcontextprotocol.io/specification/2026-07-28/client/roots)
    pub fn set_roots(&self, roots: Vec<Root>) -> Result<(), UsageError> {
        Root::check_all(&roots)?;
        self.mailbox.apply(move |client, now| drop(client.set_roots(now, roots)));
        Ok(())
    }

    /// Changes the capabilities that the client declares: to a modern server in every request, to a
    /// legacy one when it connects. Changes run one at a time: `change` may read the client, but
    /// must not change it.
    pub fn declare(&self, change: impl FnOnce(&mut ClientCapabilities)) {
        self.mailbox.change(|_, capabilities| change(capabilities));
    }

    /// Over HTTP, adds a header to every later request, such as `Authorization` with a fresh token;
    /// replaces one of the same name. The header is sent only to the origin of the URL. Other
    /// transports ignore it, and a client with a sign-in ignores `Authorization`.
    ///
    /// Fails with [`UsageError::InvalidField`] if the name is not a token or is one that the client
    /// sets itself, or if the value is not a valid header value.
    pub fn set_field(&self, name: &str, value: &str) -> Result<(), UsageError> {
        set_field(&mut Vec::new(), name, value)?;
        self.mailbox.command(ClientCommand::Field { name: name.into(), value: value.into() });
        Ok(())
    }

    /// Sets the user or tenant of later requests, for the cache; see
    /// [`CacheConfig::principal`](mcp_proto::client::CacheConfig::principal).
    pub fn set_principal(&self, principal: Option<&str>) {
        let principal = principal.map(String::from);
        self.mailbox.apply(move |client, _| client.set_principal(principal.as_deref()));
    }

    /// Sets the source of trace contexts, such as an OpenTelemetry propagator. `f` runs at the
    /// first poll of a call that has no [`Call::trace`]. Only the first function that is set
    /// counts.
    ///
    /// ```
    /// use mcp_proto::TraceContext;
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_service::Client;
    ///
    /// # let client = Client::new(Implementation::new("app", "1.0.0"));
    /// client.trace_with(|| {
    ///     TraceContext::new("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01")
    /// });
    /// ```
    ///
    /// [Specification: OpenTelemetry trace context](https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta)
    pub fn trace_with(&self, f: impl Fn() -> TraceContext + Send + Sync + 'static) {
        self.mailbox.trace_with(Box::new(f));
    }

    /// Waits until the client is connected: until the era of the server is known.
    pub fn connected(
        &self,
    ) -> impl Future<Output = Result<ServerInfo, ConnectError>> + Send + use<> {
        self.mailbox.watch(|stage, closed| match stage {
            Stage::Connected(known) => Some(Ok(known.0.clone())),
            Stage::Closed(error) => Some(Err(error.clone().unwrap_or(ConnectError::Closed))),
            Stage::Idle(_) | Stage::Connecting => closed.map(|_| Err(ConnectError::Closed)),
        })
    }

    /// The server of the last connection; `None` before the first one, and once the client is
    /// closed.
    pub fn server(&self) -> Option<ServerInfo> {
        match self.mailbox.stage() {
            Stage::Connected(known) => Some(known.0),
            Stage::Idle(_) | Stage::Connecting | Stage::Closed(_) => None,
        }
    }

    /// The verdict about that server, to be stored; `None` before the first connection, and once
    /// the client is closed.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.mailbox.stage() {
            Stage::Connected(known) => Some(known.1),
            Stage::Idle(_) | Stage::Connecting | Stage::Closed(_) => None,
        }
    }

    /// The decisions of the negotiation so far, also after a failure: the rows of
    /// [`probe::TABLE`](mcp_proto::client::probe::TABLE) that were taken, in order. Their times are
    /// those of the driver; the adapters count from the call that connects. See
    /// [`client::Client::decisions`](mcp_proto::client::Client::decisions).
    pub fn decisions(&self) -> Vec<Decision> {
        self.mailbox.decisions()
    }

    /// For each of the [`decisions`](Self::decisions), the error that it is about. See
    /// [`client::Client::decision_errors`](mcp_proto::client::Client::decision_errors).
    pub fn decision_errors(&self) -> Vec<Option<CallError>> {
        self.mailbox.decision_errors()
    }

    /// Waits until the connection has ended, and returns the cause: [`Client::close`] was called,
    /// the server has ended or exited, or no connection was made. A server that is a child process
    /// has exited by then, with a known status. Any number of tasks may wait, before and after the
    /// end.
    ///
    /// The loss of a server does not end the connection over HTTP, nor if [`Config::restart`]
    /// starts the server again: the next call connects again. Also waits while the client is not
    /// driven yet.
    ///
    /// ```
    /// # use mcp_service::Client;
    /// # async fn example(client: Client) {
    /// let closed = client.closed().await;
    /// eprintln!("the connection is over: {closed}");
    /// # }
    /// ```
    pub fn closed(&self) -> impl Future<Output = Closed> + Send + use<> {
        self.mailbox.watch(|_, closed| closed.cloned())
    }

    /// Closes the connection. A call that follows a task fails with [`CallError::TaskLeft`], and
    /// one that the server may have executed, unless it is idempotent, with
    /// [`CallError::Interrupted`]. Other calls fail with [`CallError::Closed`], or with
    /// [`CallError::Connect`] before the first connection. Completes when the driver has ended; a
    /// server that is a child process has exited by then. A client that nothing drives, because it
    /// was never connected or its server could not be started, is over at once.
    ///
    /// The client closes also if the future is dropped.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.mailbox.close();
        self.mailbox.watch(|_, closed| closed.map(|_| ()))
    }

    pub(super) fn list<L: TypedList>(&self) -> Call<L> {
        let list = UnsentCall::on_machine(L::LISTING.method(), |client, now, options| {
            client.list(now, L::LISTING, options)
        });
        Call::new(&self.mailbox, Ok(list), decode_list)
    }

    fn start<R: DeserializeOwned>(&self, unsent: Result<UnsentCall, CallError>) -> Call<R> {
        Call::new(&self.mailbox, unsent, decode)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server()).finish_non_exhaustive()
    }
}
