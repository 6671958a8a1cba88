//! Handlers made of async functions.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;

use serde::de::DeserializeOwned;

use super::handler_call::{HandlerArgs, HandlerCall};
use super::mime_type::DeclaredMimeType;
use super::misfit::{misfits, without_place};
use super::result::{IntoResult, IntoToolResult, tool_outcome};
use super::{Context, Registry, Session};
use mcp_proto::message::Method;
use mcp_proto::server::{Outcome, SessionRef, template_variables};
use mcp_proto::types::{
    CallToolResult, CompleteRequestParams, CompleteResult, CompletionReference, GetPromptResult,
    Prompt, ReadResourceRequestParams, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use mcp_proto::{ErrorData, Json, UsageError};

/// An async handler of requests, or a synchronous handler of notifications.
#[derive(Clone)]
pub struct Handler(HandlerKind);

#[derive(Clone)]
enum HandlerKind {
    Request(Arc<Call>),
    Notification(Arc<Notify>),
    /// For both, in a server that forwards.
    Forward(Arc<Call>, Arc<NotifyAny>, Option<Arc<EndSession>>),
}

type Call = dyn Fn(HandlerArgs, Context) -> HandlerCall + Send + Sync;
type Notify = dyn Fn(&Json, Session) -> bool + Send + Sync;
type NotifyAny = dyn Fn(Method, Json, Session) + Send + Sync;
type EndSession = dyn Fn(SessionRef) + Send + Sync;

impl Handler {
    /// A handler for a tool with arguments of type `A`.
    ///
    /// Arguments that do not decode as `A` give a result with `isError`, so that the model can
    /// correct them, as the specification requires for invalid input.
    pub fn tool<A, F, Fut, R>(f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        Self::request(move |given, context| match given.arguments.decode_arguments() {
            Ok(arguments) => {
                drop(given);
                let future = f(arguments, context);
                HandlerCall::Future(Box::pin(async move { future.await.into_tool_outcome() }))
            }
            Err(error) => {
                let what = misfits::<A>(&given.arguments, &error);
                let text = alloc::format!("The arguments do not fit the input schema: {what}");
                HandlerCall::Done(tool_outcome(Ok(CallToolResult::error(text))))
            }
        })
    }

    /// A handler for a resource. `f` gets the URI.
    pub fn resource<F, Fut, R>(f: F) -> Self
    where
        F: Fn(String, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<ReadResourceResult>,
    {
        Self::reads(DeclaredMimeType::default(), f)
    }

    /// The same for a resource with a declared media type.
    fn reads<F, Fut, R>(declared: DeclaredMimeType, f: F) -> Self
    where
        F: Fn(String, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<ReadResourceResult>,
    {
        Self::request(move |given, context| match given.params.decode() {
            Ok(ReadResourceRequestParams { uri, .. }) => {
                let declared = declared.of(&uri);
                HandlerCall::read(f(uri, context), declared)
            }
            Err(error) => HandlerCall::invalid::<ReadResourceRequestParams>(&given.params, &error),
        })
    }

    /// A handler for a resource template. `f` gets the URI, and the variables of the template as an
    /// `A`: strings, and sequences of strings for lists (`{?tags*}`).
    ///
    /// A URI whose variables do not decode as `A` is answered as a resource that does not exist. An
    /// `A` with fields of other types, which no URI can match, is answered with -32603.
    pub fn resource_template<A, F, Fut, R>(f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(String, A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<ReadResourceResult>,
    {
        Self::template(None, DeclaredMimeType::default(), f)
    }

    /// The same for a template with known variables and a declared media type.
    fn template<A, F, Fut, R>(known: Option<Vec<String>>, declared: DeclaredMimeType, f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(String, A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<ReadResourceResult>,
    {
        Self::request(move |given, context| match given.params.decode() {
            Ok(ReadResourceRequestParams { uri, .. }) => match given.arguments.decode() {
                Ok(variables) => {
                    let declared = declared.of(&uri);
                    HandlerCall::read(f(uri, variables, context), declared)
                }
                Err(error) => {
                    let error = misfit(&uri, known.as_deref(), &error);
                    HandlerCall::Done(Outcome::Error(error))
                }
            },
            Err(error) => HandlerCall::invalid::<ReadResourceRequestParams>(&given.params, &error),
        })
    }

    /// A handler for a prompt with arguments of type `A`, which arrive as strings. Arguments that
    /// do not decode as `A` are answered with -32602.
    pub fn prompt<A, F, Fut, R>(f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<GetPromptResult>,
    {
        Self::request(move |given, context| match given.arguments.decode_lossy() {
            Ok(arguments) => HandlerCall::to(f(arguments, context)),
            Err(error) => HandlerCall::invalid::<A>(&given.arguments, &error),
        })
    }

    /// A handler for completions, which cannot request input. At most the first 100 values are
    /// sent.
    pub fn completion<F, Fut, R>(f: F) -> Self
    where
        F: Fn(CompleteRequestParams, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<CompleteResult>,
    {
        Self::request(move |given, context| match given.params.decode_lossy() {
            Ok(params) => HandlerCall::to(f(params, context)),
            Err(error) => HandlerCall::invalid::<CompleteRequestParams>(&given.params, &error),
        })
    }

    /// A handler for a method with parameters of type `P`, whose result is an object. It cannot
    /// request input. Parameters that do not decode as `P` are answered with -32602.
    pub fn method<P, F, Fut, R>(f: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(P, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<Json>,
    {
        Self::request(move |given, context| match given.params.decode_arguments() {
            Ok(params) => HandlerCall::to(f(params, context)),
            Err(error) => HandlerCall::invalid::<P>(&given.params, &error),
        })
    }

    /// A handler for a notification with parameters of type `P`. Notifications with other
    /// parameters are dropped, with an event of the feature `tracing`. `f` runs in the adapter's
    /// task and must not block.
    pub fn notification<P, F>(f: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(P) + Send + Sync + 'static,
    {
        Self(HandlerKind::Notification(Arc::new(move |params, _| {
            params.decode_arguments().map(&f).is_ok()
        })))
    }

    /// The same as [`Handler::notification`], with the session of the notification, for messages to
    /// a legacy client. The session cannot send to a modern client, nor over HTTP without
    /// `Mcp-Session-Id`.
    pub fn session_notification<P, F>(f: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(P, Session) + Send + Sync + 'static,
    {
        Self(HandlerKind::Notification(Arc::new(move |params, session| {
            params.decode_arguments().map(|params| f(params, session)).is_ok()
        })))
    }

    /// A handler for [`Registry::forward`](crate::Registry::forward), which gets all requests and
    /// notifications with their methods and unchanged parameters. The outcome of a request is sent
    /// unchanged.
    pub fn forward<F, Fut, N>(request: F, notification: N) -> Self
    where
        F: Fn(Method, Json, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
        N: Fn(Method, Json, Session) + Send + Sync + 'static,
    {
        let call = move |HandlerArgs { params, .. }: HandlerArgs, context: Context| {
            HandlerCall::Future(Box::pin(request(context.call.method.clone(), params, context)))
        };
        Self(HandlerKind::Forward(Arc::new(call), Arc::new(notification), None))
    }

    /// Calls `f` with the [`Session::id`] of each session of a legacy client, and of each byte
    /// stream, that has ended. `f` runs in the adapter's task and must not block. With threads, a
    /// call of the handler for the session may begin after `f`: remember which sessions have ended.
    /// Only affects a handler of [`Handler::forward`].
    #[must_use]
    pub fn on_session_end(self, f: impl Fn(SessionRef) + Send + Sync + 'static) -> Self {
        match self.0 {
            HandlerKind::Forward(call, notify, _) => {
                Self(HandlerKind::Forward(call, notify, Some(Arc::new(f))))
            }
            other @ (HandlerKind::Request(_) | HandlerKind::Notification(_)) => Self(other),
        }
    }

    /// A handler of requests, whose outcome goes out as it is.
    pub(super) fn request(
        call: impl Fn(HandlerArgs, Context) -> HandlerCall + Send + Sync + 'static,
    ) -> Self {
        Self(HandlerKind::Request(Arc::new(call)))
    }

    pub(super) fn call(&self, given: HandlerArgs, context: Context) -> HandlerCall {
        match &self.0 {
            HandlerKind::Request(call) | HandlerKind::Forward(call, _, _) => call(given, context),
            HandlerKind::Notification(_) => {
                let error = ErrorData::internal("the handler is one of notifications");
                HandlerCall::Done(Outcome::Error(error))
            }
        }
    }

    /// Returns false if the parameters do not fit.
    pub(super) fn notify(&self, method: &Method, params: Json, session: Session) -> bool {
        match &self.0 {
            HandlerKind::Notification(notify) => return notify(&params, session),
            HandlerKind::Forward(_, notify, _) => notify(method.clone(), params, session),
            HandlerKind::Request(_) => {}
        }
        true
    }

    pub(super) fn end_session(&self, session: SessionRef) {
        if let HandlerKind::Forward(_, _, Some(end)) = &self.0 {
            end(session);
        }
    }
}

/// The error for a URI whose variables do not decode: resource not found. If no URI can decode, the
/// handler is wrong, and the error is an internal one.
fn misfit(uri: &str, known: Option<&[String]>, error: &serde_json::Error) -> ErrorData {
    let what = without_place(error);
    let wanted = what.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let is_unknown = |name| known.is_some_and(|known| known.iter().all(|it| it != name));
    if what.starts_with("invalid type") {
        let message = alloc::format!(
            "the variables of a template are strings, or lists of strings, and its handler wants \
             others: {what}"
        );
        return ErrorData::internal(message);
    }
    match wanted {
        Some(name) if is_unknown(name) => ErrorData::internal(alloc::format!(
            "the template has no variable `{name}`, which its handler wants"
        )),
        _ => ErrorData::resource_not_found(uri),
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl Registry {
    /// Adds a tool. Its input schema comes from the type of its arguments, its output schema from
    /// its return type if that is a [`Structured`](super::Structured).
    ///
    /// ```
    /// # use mcp_proto::types::Implementation;
    /// # use mcp_service::Registry;
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Echo {
    ///     /// The message to send back.
    ///     message: String,
    /// }
    ///
    /// let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
    /// registry.tool("echo", "Echoes its message", |echo: Echo, _| async move { echo.message })?;
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// The schemas are portable, unless [`Registry::portable_schemas`] disables that.
    ///
    /// Arguments follow serde: unknown members are ignored, unless the type has
    /// `deny_unknown_fields`. Fails as [`Registry::add_tool`] does.
    #[cfg(feature = "schemars")]
    pub fn tool<A, F, Fut, R>(
        &mut self,
        name: &str,
        description: &str,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned + schemars::JsonSchema,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let tool = if self.has_portable_schemas {
            Tool::of::<A>(name)?
        } else {
            Tool::of_verbatim::<A>(name)?
        };
        self.tool_with(tool.description(description), f)
    }

    /// Adds a tool with this definition. A definition without an output schema gets that of the
    /// handler's return type, as with [`tool`](Self::tool). Fails as [`Registry::add_tool`] does.
    pub fn tool_with<A, F, Fut, R>(&mut self, mut tool: Tool, f: F) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        if tool.output_schema.is_none() {
            tool.output_schema = self.output_schema::<R>()?;
        }
        self.insert_tool(tool, Handler::tool(f), R::ASKS)
    }

    fn output_schema<R: IntoToolResult>(&self) -> Result<Option<Json>, UsageError> {
        #[cfg(feature = "schemars")]
        if !self.has_portable_schemas {
            return R::output_schema_verbatim();
        }
        R::output_schema()
    }

    /// Adds a resource; see [`Handler::resource`]. Contents without a media type get the one that
    /// the resource declares. Fails as [`Registry::add_resource`] does.
    pub fn resource<F, Fut, R>(&mut self, resource: Resource, f: F) -> Result<&mut Self, UsageError>
    where
        F: Fn(String, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<ReadResourceResult>,
    {
        let declared = DeclaredMimeType::new(resource.mime_type.as_deref());
        self.add_resource(resource, Handler::reads(declared, f))
    }

    /// Adds a resource template; see [`Handler::resource_template`]. If `A` requires a variable
    /// that the template does not have, every read is answered with -32603. Fails as
    /// [`Registry::add_resource_template`] does.
    pub fn resource_template<A, F, Fut, R>(
        &mut self,
        template: ResourceTemplate,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned,
        F: Fn(String, A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<ReadResourceResult>,
    {
        let known = template_variables(&template.uri_template)?;
        let declared = DeclaredMimeType::new(template.mime_type.as_deref());
        self.add_resource_template(template, Handler::template(Some(known), declared, f))
    }

    /// Adds a prompt; see [`Handler::prompt`]. Fails as [`Registry::add_prompt`] does.
    pub fn prompt<A, F, Fut, R>(&mut self, prompt: Prompt, f: F) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<GetPromptResult>,
    {
        self.add_prompt(prompt, Handler::prompt(f))
    }

    /// Adds completions; see [`Handler::completion`]. Fails as [`Registry::add_completion`] does.
    pub fn completion<F, Fut, R>(
        &mut self,
        reference: CompletionReference,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        F: Fn(CompleteRequestParams, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<CompleteResult>,
    {
        self.add_completion(reference, Handler::completion(f))
    }

    /// Adds a method; see [`Handler::method`]. Fails as [`Registry::add_method`] does.
    pub fn method<P, F, Fut, R>(&mut self, method: &str, f: F) -> Result<&mut Self, UsageError>
    where
        P: DeserializeOwned,
        F: Fn(P, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResult<Json>,
    {
        self.add_method(method, Handler::method(f))
    }

    /// Adds a handler of a notification; see [`Handler::notification`]. Fails as
    /// [`Registry::add_notification`] does.
    pub fn notification<P, F>(&mut self, method: &str, f: F) -> Result<&mut Self, UsageError>
    where
        P: DeserializeOwned,
        F: Fn(P) + Send + Sync + 'static,
    {
        self.add_notification(method, Handler::notification(f))
    }

    /// Adds a handler of a notification that also gets the session; see
    /// [`Handler::session_notification`]. `notifications/initialized` reports each legacy client
    /// that accepts requests, `notifications/roots/list_changed` a change of its roots. Fails as
    /// [`Registry::add_notification`] does.
    pub fn session_notification<P, F>(
        &mut self,
        method: &str,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        P: DeserializeOwned,
        F: Fn(P, Session) + Send + Sync + 'static,
    {
        self.add_notification(method, Handler::session_notification(f))
    }
}
