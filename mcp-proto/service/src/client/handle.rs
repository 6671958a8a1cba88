//! The handle of a client: what an application does with it.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::{Future, poll_fn};
use core::task::Poll;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::bridge::EventSink;
use super::answers::{self, IntoAnswer};
use super::ask::Ask;
use super::call::Call;
use super::client_mailbox::{ClientCommand, ClientMailbox, Stage};
use super::closed::Closed;
use super::lists::{TypedList, decode, decode_list};
use super::subscription::Subscription;
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

/// A client of one server, cheap to clone; all clones are the same client.
///
/// It is made first, told what it can give, and then connected by an adapter. What is asked for
/// before that waits. Whether the server is a modern or a legacy one does not matter.
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
    /// A client that is yet to be connected, with these settings, or with this name and the default
    /// settings.
    pub fn new(config: impl Into<Config>) -> Self {
        Self { mailbox: Arc::new(ClientMailbox::new(config.into(), None)) }
    }

    /// A client whose events go elsewhere.
    pub(crate) fn with_sink(config: Config, sink: Arc<dyn EventSink>) -> Self {
        Self { mailbox: Arc::new(ClientMailbox::new(config, Some(sink))) }
    }

    /// Gives a command to the machine, when its driver has its next turn. After the end it is dropped.
    pub(crate) fn apply(&self, verb: impl FnOnce(&mut client::Client, Instant) + Send + 'static) {
        self.mailbox.apply(verb);
    }

    /// Fetches all tools, on all pages. `ttl_ms` is the smallest and `cache_scope` the strictest of the
    /// pages, `meta` that of the first one. A tool that is not as the schema says is left out, and
    /// goes to [`Client::on_entry_rejected`]. So it is with the other lists.
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

    /// Calls a tool with arguments, anything that is an object in JSON; `&()` for none. With
    /// [`Config::follow_tasks`] the server may make a task of the call, and the call ends when the
    /// task does: see [`Call::on_task`], [`Call::detach`] and [`Client::start_tool`].
    ///
    /// Fails with [`UsageError::NotAnObject`] inside of a [`CallError`] for arguments that are no
    /// object.
    ///
    /// [Specification: Tools](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#calling-tools)
    pub fn call_tool<A: Serialize + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Call<CallToolResult> {
        self.start(Ask::with_arguments("tools/call", name, arguments))
    }

    /// Reads a resource.
    ///
    /// [Specification: Resources](https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources)
    pub fn read_resource(&self, uri: &str) -> Call<ReadResourceResult> {
        self.start(Ask::of_resource("resources/read", uri))
    }

    /// Gets a prompt with arguments, an object of strings; `&()` for none.
    ///
    /// [Specification: Prompts](https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt)
    pub fn get_prompt<A: Serialize + ?Sized>(
        &self,
        name: &str,
        arguments: &A,
    ) -> Call<GetPromptResult> {
        self.start(Ask::with_arguments("prompts/get", name, arguments))
    }

    /// Asks how an argument might go on.
    ///
    /// [Specification: Completion](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion)
    pub fn complete(&self, params: &CompleteRequestParams) -> Call<CompleteResult> {
        self.start(Ask::call("completion/complete", Json::encode(params).ok()))
    }

    /// Asks for a sign of life.
    pub fn ping(&self) -> Call<()> {
        Call::new(&self.mailbox, Ok(Ask::verb("ping", client::Client::ping)), |_, _| Ok(()))
    }

    /// Says which log messages are wanted: as severe as `level`, or more; [`Client::on_log`] hears
    /// them. In the modern era none come before that. A legacy server that does not declare
    /// `logging` is sent nothing; [`Client::on_fault`] hears of it.
    ///
    /// [Specification: Logging](https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging)
    pub fn set_log_level(&self, level: LoggingLevel) -> Call<EmptyResult> {
        self.start(Ok(Ask::verb("logging/setLevel", move |client, now, options| {
            client.set_log_level(now, level, options)
        })))
    }

    /// Calls a method, such as one of an extension, with parameters that are an object in JSON. The
    /// result is read as an `R`; with [`Json`] it is as it came.
    pub fn call<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: &(impl Serialize + ?Sized),
    ) -> Call<R> {
        self.start(Ask::call(method, Json::encode(params).ok()))
    }

    /// Sends a notification, such as one of an extension, with parameters that are an object in
    /// JSON; see [`client::Client::notify`](mcp_proto::client::Client::notify). What that would refuse
    /// goes nowhere.
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

    /// Wants to be told when something changes; completes when the server says what it honours. That
    /// may be less, or nothing: [`Subscription::honoured`] tells, and what is not honoured never
    /// comes.
    ///
    /// Fails with a [`CallError`] if there is no connection, or no acknowledgement in 60 s.
    ///
    /// [Specification: Subscriptions](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions)
    pub fn subscribe(
        &self,
        filter: SubscriptionFilter,
    ) -> impl Future<Output = Result<Subscription, CallError>> + Send + use<> {
        Subscription::open(self.mailbox.clone(), filter)
    }

    /// Shows forms to the user: declares `elicitation.form`. What
    /// [`ElicitRequestFormParams`] offers helps to answer.
    ///
    /// [Specification: Elicitation](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation)
    pub fn on_form<F, Fut, A>(&self, f: F)
    where
        F: Fn(ElicitRequestFormParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
        A: IntoAnswer<ElicitResult>,
    {
        self.mailbox.change(|answers, has| {
            answers.form = Some(answers::answer(f));
            let elicitation = has.elicitation.get_or_insert_default();
            elicitation.form = Some(Json::EMPTY_OBJECT);
        });
    }

    /// Sends the user to URLs: declares `elicitation.url`.
    ///
    /// [Specification: Elicitation](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation)
    pub fn on_url<F, Fut, A>(&self, f: F)
    where
        F: Fn(ElicitRequestURLParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
        A: IntoAnswer<ElicitResult>,
    {
        self.mailbox.change(|answers, has| {
            answers.url = Some(answers::answer(f));
            let elicitation = has.elicitation.get_or_insert_default();
            elicitation.url = Some(Json::EMPTY_OBJECT);
        });
    }

    /// Samples from a model: declares `sampling`. Whether it may use tools is declared by
    /// [`Client::declare`].
    ///
    /// [Specification: Sampling](https://modelcontextprotocol.io/specification/2026-07-28/client/sampling)
    pub fn on_create_message<F, Fut, A>(&self, f: F)
    where
        F: Fn(CreateMessageRequestParams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = A> + Send + 'static,
        A: IntoAnswer<CreateMessageResult>,
    {
        self.mailbox.change(|answers, has| {
            answers.message = Some(answers::answer(f));
            has.sampling.get_or_insert_default();
        });
    }

    /// Sets the roots that servers are told of when they ask; declares `roots`. A legacy server is
    /// told when they change.
    ///
    /// Fails with [`UsageError::InvalidRoot`] for a URI that does not begin with `file://`.
    ///
    /// [Specification: Roots](https://modelcontextprotocol.io/specification/2026-07-28/client/roots)
    pub fn set_roots(&self, roots: Vec<Root>) -> Result<(), UsageError> {
        Root::check_all(&roots)?;
        self.mailbox.apply(move |client, now| drop(client.set_roots(now, roots)));
        Ok(())
    }

    /// Changes what the client declares: a modern server reads it in every request, a legacy one
    /// when it is connected. Changes wait for each other: `change` may look at the client, and must
    /// not change it.
    pub fn declare(&self, change: impl FnOnce(&mut ClientCapabilities)) {
        self.mailbox.change(|_, capabilities| change(capabilities));
    }

    /// Over HTTP, gives every request from now on a field, such as `Authorization` with a fresh
    /// token, in place of one of the same name. It goes to the origin of the URL and to no other.
    /// Over other streams nothing comes of it.
    ///
    /// Fails with [`UsageError::InvalidField`] if the name is no token or one that the client writes
    /// itself, or if the value is not what a field may hold.
    pub fn set_field(&self, name: &str, value: &str) -> Result<(), UsageError> {
        set_field(&mut Vec::new(), name, value)?;
        self.mailbox.command(ClientCommand::Field { name: name.into(), value: value.into() });
        Ok(())
    }

    /// Names the user or the tenant for whom the client asks from here on, for its cache; see
    /// [`CacheConfig::principal`](mcp_proto::client::CacheConfig::principal).
    pub fn set_principal(&self, principal: Option<&str>) {
        let principal = principal.map(String::from);
        self.mailbox.apply(move |client, _| client.set_principal(principal.as_deref()));
    }

    /// Asks `f` for the trace that a call belongs to, where the call is first polled, unless
    /// [`Call::trace`] has said it: what an OpenTelemetry propagator injects, for example. It is said
    /// once: of several functions the first one stays.
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

    /// Waits until the era of the server is known.
    pub fn connected(
        &self,
    ) -> impl Future<Output = Result<ServerInfo, ConnectError>> + Send + use<> {
        let mailbox = self.mailbox.clone();
        poll_fn(move |context| {
            let seen = mailbox.watch(context.waker(), |stage, closed| match stage {
                Stage::Connected(known) => Some(Ok(known.0.clone())),
                Stage::Closed(error) => Some(Err(error.clone().unwrap_or(ConnectError::Closed))),
                Stage::Idle(_) | Stage::Connecting => closed.map(|_| Err(ConnectError::Closed)),
            });
            seen.map_or(Poll::Pending, Poll::Ready)
        })
    }

    /// The server, while it is connected.
    pub fn server(&self) -> Option<ServerInfo> {
        match self.mailbox.stage() {
            Stage::Connected(known) => Some(known.0),
            Stage::Idle(_) | Stage::Connecting | Stage::Closed(_) => None,
        }
    }

    /// The knowledge about the server, to be stored; while it is connected.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.mailbox.stage() {
            Stage::Connected(known) => Some(known.1),
            Stage::Idle(_) | Stage::Connecting | Stage::Closed(_) => None,
        }
    }

    /// The course of the negotiation, as far as it has come: which rows of
    /// [`probe::TABLE`](mcp_proto::client::probe::TABLE) were taken, in order; also after it has failed.
    /// Their times are those of whoever drives the client, which the adapters count from when they
    /// are asked to connect. See
    /// [`client::Client::decisions`](mcp_proto::client::Client::decisions).
    pub fn decisions(&self) -> Vec<Decision> {
        self.mailbox.decisions()
    }

    /// Waits until the connection has ended and returns why: [`Client::close`] was called, the server
    /// has ended or exited, or there has been no connection. A server in a process of its own has
    /// exited then, with a known status. Any number of tasks may wait, before and after the end.
    ///
    /// Before the client is driven this waits for that as well. A server that goes away ends nothing
    /// over HTTP, nor if [`Config::restart`] starts it again: the next call tries again.
    ///
    /// ```
    /// # use mcp_service::Client;
    /// # async fn example(client: Client) {
    /// let closed = client.closed().await;
    /// eprintln!("the connection is over: {closed}");
    /// # }
    /// ```
    pub fn closed(&self) -> impl Future<Output = Closed> + Send + use<> {
        let mailbox = self.mailbox.clone();
        poll_fn(move |context| {
            let closed = mailbox.watch(context.waker(), |_, closed| closed.cloned());
            closed.map_or(Poll::Pending, Poll::Ready)
        })
    }

    /// Closes the connection: every call ends, with [`CallError::Interrupted`] if the
    /// server may have executed it, else with [`CallError::Closed`]. Completes when whoever
    /// drives the client is done with it; a server in a process of its own has ended then.
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.mailbox.command(ClientCommand::Close);
        let mailbox = self.mailbox.clone();
        poll_fn(move |context| {
            let ended = mailbox.watch(context.waker(), |stage, closed| {
                (closed.is_some() || matches!(stage, Stage::Idle(_))).then_some(())
            });
            ended.map_or(Poll::Pending, Poll::Ready)
        })
    }

    pub(super) fn list<L: TypedList>(&self) -> Call<L> {
        let list = Ask::verb(L::LISTING.method(), |client, now, options| {
            client.list(now, L::LISTING, options)
        });
        Call::new(&self.mailbox, Ok(list), decode_list)
    }

    fn start<R: DeserializeOwned>(&self, ask: Result<Ask, CallError>) -> Call<R> {
        Call::new(&self.mailbox, ask, decode)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server()).finish_non_exhaustive()
    }
}
