//! Return values and errors of handlers.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::error::Error;
use core::fmt;

use serde::Serialize;

#[cfg(feature = "schemars")]
use super::structured::encode_twice;
use crate::hidden_error::hidden;
use mcp_proto::ErrorData;
use mcp_proto::UsageError;
use mcp_proto::message::PlainText;
use mcp_proto::server::{InputRequired, Outcome};
use mcp_proto::types::{
    CallToolResult, CompleteResult, ContentBlock, GetPromptResult, PromptMessage,
    ReadResourceResult, ResourceContents, Task,
};
use mcp_proto::{Json, Spare};

std::thread_local! {
    /// Memory for large results that handlers return on this thread.
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare::new()) };
}

/// Writes a result; a large one into the memory of the last large one of this thread. Without it,
/// a server whose resource of 1 MB is read takes twice as much CPU time, most of it for faults of
/// pages.
fn with_spare<T>(write: impl FnOnce(&mut Spare) -> T) -> T {
    SPARE.with_borrow_mut(write)
}

/// The reason why a handler ends without a result.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Interrupt {
    /// The client must give input; then the handler is called again.
    InputRequired(InputRequired),
    /// The call continues elsewhere, as a task of
    /// [`Context::create_task`](super::Context::create_task). If the request was cancelled before
    /// its response, the task is cancelled and removed: return a task for one request only.
    Task(Box<Task>),
    /// A JSON-RPC error, which the model does not see.
    Error(ErrorData),
}

impl From<InputRequired> for Interrupt {
    fn from(required: InputRequired) -> Self {
        Self::InputRequired(required)
    }
}

impl From<ErrorData> for Interrupt {
    fn from(error: ErrorData) -> Self {
        Self::Error(error)
    }
}

impl From<Interrupt> for Outcome {
    fn from(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::InputRequired(required) => Self::InputRequired(required),
            Interrupt::Task(task) => Self::Task(task),
            Interrupt::Error(error) => Self::Error(error),
        }
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InputRequired(required) => required.fmt(f),
            Self::Task(_) => f.write_str("the call continues as a task"),
            Self::Error(error) => error.fmt(f),
        }
    }
}

impl Error for Interrupt {}

/// Downcasts a boxed error to an interrupt.
fn unboxed(error: Box<dyn Error + Send + Sync>) -> Result<Interrupt, Box<dyn Error + Send + Sync>> {
    let error = match error.downcast::<Interrupt>() {
        Ok(interrupt) => return Ok(*interrupt),
        Err(error) => error,
    };
    let error = match error.downcast::<InputRequired>() {
        Ok(required) => return Ok(Interrupt::InputRequired(*required)),
        Err(error) => error,
    };
    error.downcast::<ErrorData>().map(|error| Interrupt::Error(*error))
}

/// Return values of a tool's handler.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return a String, a ContentBlock or several, a Structured, a CallToolResult, or a Result of one of these"
)]
pub trait IntoToolResult {
    /// True if the value may be [`Interrupt::InputRequired`]. If false, the request is not kept for
    /// another round, and a request for input is answered with -32603.
    const ASKS: bool = true;

    /// The JSON Schema of the structured content, if the type has one.
    ///
    /// Fails with [`UsageError::NotJson`] if the schema cannot be serialized.
    fn output_schema() -> Result<Option<Json>, UsageError> {
        Ok(None)
    }

    /// The unchanged schema of the type, for registries without portable schemas.
    #[doc(hidden)]
    fn output_schema_verbatim() -> Result<Option<Json>, UsageError> {
        Self::output_schema()
    }

    /// Converts the value to a result, or to an interrupt, which the model does not see.
    fn into_tool_result(self) -> Result<CallToolResult, Interrupt>;

    /// Converts the value to the outcome of the request.
    #[doc(hidden)]
    fn into_tool_outcome(self) -> Outcome
    where
        Self: Sized,
    {
        tool_outcome(self.into_tool_result())
    }
}

impl IntoToolResult for CallToolResult {
    const ASKS: bool = false;

    fn into_tool_result(self) -> Result<CallToolResult, Interrupt> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    const ASKS: bool = false;

    fn into_tool_result(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::text(self))
    }

    fn into_tool_outcome(self) -> Outcome {
        let encode = |text| with_spare(|spare| CallToolResult::owned_text_json(text, spare));
        PlainText::new(self).map_or_else(|text| Outcome::Complete(encode(text)), Outcome::Text)
    }
}

impl IntoToolResult for &str {
    const ASKS: bool = false;

    fn into_tool_result(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::text(self.to_owned()))
    }

    fn into_tool_outcome(self) -> Outcome {
        let encode = |text| with_spare(|spare| CallToolResult::text_json(text, spare));
        PlainText::new(self).map_or_else(|text| Outcome::Complete(encode(text)), Outcome::Text)
    }
}

impl IntoToolResult for ContentBlock {
    const ASKS: bool = false;

    fn into_tool_result(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::new(alloc::vec![self]))
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    const ASKS: bool = false;

    fn into_tool_result(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::new(self))
    }
}

impl<T: IntoToolResult, E: IntoToolError> IntoToolResult for Result<T, E> {
    const ASKS: bool = T::ASKS || E::ASKS;

    fn output_schema() -> Result<Option<Json>, UsageError> {
        T::output_schema()
    }

    fn output_schema_verbatim() -> Result<Option<Json>, UsageError> {
        T::output_schema_verbatim()
    }

    fn into_tool_result(self) -> Result<CallToolResult, Interrupt> {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => {
                let mut result = error.into_tool_error()?;
                result.is_error = true;
                Ok(result)
            }
        }
    }

    fn into_tool_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_tool_outcome(),
            Err(_) => tool_outcome(self.into_tool_result()),
        }
    }
}

/// Structured content: a value for programs, and its JSON text for models. A tool that is
/// registered with [`Registry::tool`](crate::Registry::tool) or
/// [`Registry::tool_with`](crate::Registry::tool_with) has the type's JSON Schema as its output
/// schema.
///
/// [Specification: Structured Content](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#structured-content)
#[cfg(feature = "schemars")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Structured<T>(pub T);

#[cfg(feature = "schemars")]
impl<T: Serialize + schemars::JsonSchema> IntoToolResult for Structured<T> {
    const ASKS: bool = false;

    fn output_schema() -> Result<Option<Json>, UsageError> {
        mcp_proto::types::Tool::new("", Json::EMPTY_OBJECT)
            .output_of::<T>()
            .map(|tool| tool.output_schema)
    }

    fn output_schema_verbatim() -> Result<Option<Json>, UsageError> {
        mcp_proto::types::Tool::new("", Json::EMPTY_OBJECT)
            .output_of_verbatim::<T>()
            .map(|tool| tool.output_schema)
    }

    fn into_tool_result(self) -> Result<CallToolResult, Interrupt> {
        let content = Json::encode(&self.0).map_err(|_| not_json())?;
        Ok(CallToolResult::text(content.as_str()).structured_content(content))
    }

    fn into_tool_outcome(self) -> Outcome {
        let texts = encode_twice(&self.0).map_err(|_| Interrupt::from(not_json()));
        written(texts.map(|(content, escaped)| {
            Ok(with_spare(|spare| {
                CallToolResult::escaped_structured_json(&escaped, &content, spare)
            }))
        }))
    }
}

#[cfg(feature = "schemars")]
fn not_json() -> ErrorData {
    ErrorData::internal("the result cannot be written as JSON")
}

/// Errors of a tool's handler. They become a result with `isError`, for the model, except for an
/// [`Interrupt`] and the types that convert to one.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    note = "fail with a String, a CallToolResult, a UsageError, a MissingScopes, an ErrorData, an \
            InputRequired, an Interrupt or a Box<dyn Error + Send + Sync>; a tool that asks for \
            input by `?` with one of the last two",
    note = "for other errors use `?` in a function that returns a boxed one"
)]
pub trait IntoToolError {
    /// True if the error may be [`Interrupt::InputRequired`]; see [`IntoToolResult::ASKS`].
    const ASKS: bool = true;

    /// Converts the error to a result, or to an interrupt, which the model does not see.
    fn into_tool_error(self) -> Result<CallToolResult, Interrupt>;
}

impl IntoToolError for CallToolResult {
    const ASKS: bool = false;

    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Ok(self)
    }
}

impl IntoToolError for String {
    const ASKS: bool = false;

    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolError for &str {
    const ASKS: bool = false;

    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::text(self))
    }
}

/// A boxed interrupt is converted to that interrupt.
impl IntoToolError for Box<dyn Error + Send + Sync> {
    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        match unboxed(self) {
            Ok(interrupt) => Err(interrupt),
            Err(error) => Ok(CallToolResult::text(error.to_string())),
        }
    }
}

/// For errors of [`Catalog::update`](super::Catalog::update) and
/// [`Context::publish`](super::Context::publish).
impl IntoToolError for UsageError {
    const ASKS: bool = false;

    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Ok(CallToolResult::text(self.to_string()))
    }
}

impl IntoToolError for ErrorData {
    const ASKS: bool = false;

    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Err(self.into())
    }
}

impl IntoToolError for InputRequired {
    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Err(self.into())
    }
}

impl IntoToolError for Interrupt {
    fn into_tool_error(self) -> Result<CallToolResult, Interrupt> {
        Err(self)
    }
}

/// Return values of a handler of another method, where `T` is the method's result.
#[diagnostic::on_unimplemented(
    message = "a handler whose result is `{T}` cannot return `{Self}`",
    note = "return a `{T}` or what becomes one (of a prompt a PromptMessage or several, of a \
            resource a ResourceContents or several, of a completion a Vec of texts), or a Result \
            of that with an ErrorData, an InputRequired, an Interrupt or a \
            Box<dyn Error + Send + Sync>"
)]
pub trait IntoResult<T> {
    /// Converts the value to a result, or to an interrupt.
    fn into_result(self) -> Result<T, Interrupt>;
}

/// A boxed error that is no [`Interrupt`] is answered with -32603, without its text.
impl<T, U: IntoResult<T>, E: IntoInterrupt> IntoResult<T> for Result<U, E> {
    fn into_result(self) -> Result<T, Interrupt> {
        match self {
            Ok(value) => value.into_result(),
            Err(error) => Err(error.into_interrupt()),
        }
    }
}

/// Errors of a handler of a method other than `tools/call`.
#[diagnostic::on_unimplemented(
    message = "a handler cannot fail with `{Self}`",
    note = "fail with an ErrorData, an InputRequired, an Interrupt or a Box<dyn Error + Send + Sync>"
)]
pub trait IntoInterrupt {
    /// Converts the error to an interrupt.
    fn into_interrupt(self) -> Interrupt;
}

impl IntoInterrupt for Interrupt {
    fn into_interrupt(self) -> Interrupt {
        self
    }
}

impl IntoInterrupt for InputRequired {
    fn into_interrupt(self) -> Interrupt {
        self.into()
    }
}

impl IntoInterrupt for ErrorData {
    fn into_interrupt(self) -> Interrupt {
        self.into()
    }
}

impl IntoInterrupt for Box<dyn Error + Send + Sync> {
    fn into_interrupt(self) -> Interrupt {
        unboxed(self).unwrap_or_else(|error| hidden(&*error).into())
    }
}

/// Implements [`IntoResult`] by conversions.
macro_rules! into_result {
    ($($from:ty => $result:ty, |$value:ident| $convert:expr;)*) => {$(
        impl IntoResult<$result> for $from {
            fn into_result(self) -> Result<$result, Interrupt> {
                let $value = self;
                Ok($convert)
            }
        }
    )*};
}

into_result! {
    GetPromptResult => GetPromptResult, |result| result;
    Vec<PromptMessage> => GetPromptResult, |messages| GetPromptResult::new(messages);
    PromptMessage => GetPromptResult, |message| GetPromptResult::new(alloc::vec![message]);
    ReadResourceResult => ReadResourceResult, |result| result;
    Vec<ResourceContents> => ReadResourceResult, |contents| ReadResourceResult::new(contents);
    ResourceContents => ReadResourceResult, |contents| ReadResourceResult::new(alloc::vec![contents]);
    CompleteResult => CompleteResult, |result| result;
    Vec<String> => CompleteResult, |values| CompleteResult::new(values);
    Vec<&str> => CompleteResult, |values| {
        CompleteResult::new(values.into_iter().map(String::from).collect())
    };
    Json => Json, |result| result;
}

/// The outcome of a tool.
pub(super) fn tool_outcome(result: Result<CallToolResult, Interrupt>) -> Outcome {
    written(result.map(|result| with_spare(|spare| result.to_json_in(spare))))
}

/// The outcome of a read.
pub(super) fn read_outcome(result: Result<ReadResourceResult, Interrupt>) -> Outcome {
    written(result.map(|result| with_spare(|spare| result.to_json_in(spare))))
}

/// The outcome of any other request.
pub(super) fn outcome<T: Serialize>(result: Result<T, Interrupt>) -> Outcome {
    written(result.map(|result| Json::encode(&result)))
}

fn written(result: Result<Result<Json, serde_json::Error>, Interrupt>) -> Outcome {
    match result {
        Ok(Ok(json)) => Outcome::Complete(json),
        Ok(Err(error)) => {
            let message = alloc::format!("the result cannot be written as JSON: {error}");
            Outcome::Error(ErrorData::internal(message))
        }
        Err(interrupt) => interrupt.into(),
    }
}
