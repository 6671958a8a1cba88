//! From async functions to handlers.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use core::future::Future;
use core::pin::Pin;

use serde::de::DeserializeOwned;

use super::Context;
use crate::error::UsageError;
use crate::json::Json;
use crate::message::ErrorData;
use crate::server::{Outcome, Registry};
use crate::types::{CallToolResult, ContentBlock, Tool};

/// An async handler of any arguments.
#[derive(Clone)]
pub struct Handler(Arc<Call>);

type Call = dyn Fn(&Json, Context) -> Running + Send + Sync;

/// What a handler's call comes to.
pub(super) type BoxFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A handler that was called.
pub(super) enum Running {
    /// It did not get as far as a future.
    Done(Outcome),
    Future(BoxFuture),
}

impl Handler {
    /// A handler for a tool with arguments of type `A`.
    ///
    /// Arguments that are no `A` become a result with `isError`, so that a model can correct
    /// itself, as the specification asks of input that does not validate.
    pub fn tool<A, F, Fut, R>(f: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        Self(Arc::new(move |arguments, context| match arguments.decode() {
            Ok(arguments) => {
                let future = f(arguments, context);
                Running::Future(Box::pin(async move { outcome(future.await) }))
            }
            Err(error) => {
                let error = error.to_string();
                // The place that serde_json names is one in a text that the model has not got.
                let what = error.split_once(" at line ").map_or(&*error, |(what, _)| what);
                let text = alloc::format!("The arguments do not fit the input schema: {what}");
                Running::Done(outcome(CallToolResult::error(text)))
            }
        }))
    }

    pub(super) fn call(&self, arguments: &Json, context: Context) -> Running {
        (self.0)(arguments, context)
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl Registry<Handler> {
    /// Adds a tool whose input schema comes from the type of its arguments.
    ///
    /// ```
    /// # use mcp_proto::{server::Registry, types::Implementation};
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Echo {
    ///     /// What to say.
    ///     message: String,
    /// }
    ///
    /// let mut registry = Registry::new(Implementation::new("echo", "1.0.0"));
    /// registry.tool("echo", "Echoes its message", |echo: Echo, _| async move { echo.message })?;
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// Arguments follow serde: members that the type does not know are ignored, unless it says
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
        let tool = Tool::of::<A>(name)?.description(description);
        self.add_tool(tool, Handler::tool(f))
    }

    /// Adds a tool whose definition is given; fails as [`Registry::add_tool`] does.
    pub fn tool_with<A, F, Fut, R>(&mut self, tool: Tool, f: F) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        self.add_tool(tool, Handler::tool(f))
    }
}

/// What a tool's handler may return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return a String, a ContentBlock, a CallToolResult, or a Result of one of these"
)]
pub trait IntoToolResult {
    /// The result, or an error that the model is not told of.
    fn into_tool_result(self) -> Result<CallToolResult, ErrorData>;
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorData> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::text(self.to_owned()))
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::new(alloc::vec![self]))
    }
}

impl<T: IntoToolResult, E: IntoToolError> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => {
                error.into_tool_error().map(|result| CallToolResult { is_error: true, ..result })
            }
        }
    }
}

/// What a tool's handler may fail with. All but an [`ErrorData`] is told to the model, as a result
/// with `isError`.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    note = "fail with a String, a CallToolResult, a Box<dyn Error + Send + Sync> or an ErrorData",
    note = "for other errors use `?` in a function that returns a boxed one"
)]
pub trait IntoToolError {
    /// The failure, or an error that the model is not told of.
    fn into_tool_error(self) -> Result<CallToolResult, ErrorData>;
}

impl IntoToolError for CallToolResult {
    fn into_tool_error(self) -> Result<CallToolResult, ErrorData> {
        Ok(self)
    }
}

impl IntoToolError for String {
    fn into_tool_error(self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolError for &str {
    fn into_tool_error(self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolError for Box<dyn Error + Send + Sync> {
    fn into_tool_error(self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::text(self.to_string()))
    }
}

impl IntoToolError for ErrorData {
    fn into_tool_error(self) -> Result<CallToolResult, ErrorData> {
        Err(self)
    }
}

fn outcome(value: impl IntoToolResult) -> Outcome {
    match value.into_tool_result().map(|result| Json::encode(&result)) {
        Ok(Ok(json)) => Outcome::Complete(json),
        Ok(Err(_)) => Outcome::Error(ErrorData::internal("the result cannot be written as JSON")),
        Err(error) => Outcome::Error(error),
    }
}
