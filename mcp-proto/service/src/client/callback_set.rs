//! Callbacks of an application, for requests for input and for events of a server.
//!
//! In: functions. Out: a future for each input that a server requests.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;

use serde::Serialize;

use mcp_proto::ErrorData;
use mcp_proto::Json;
#[cfg(feature = "auth")]
use mcp_proto::auth::AuthState;
use mcp_proto::client::{CallError, Change, ConnectError, Listing, Undelivered};
use mcp_proto::http::Unauthorized;
use mcp_proto::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestURLParams, ElicitResult, InputRequest, LoggingMessageNotificationParams,
};
use mcp_proto::{ProtocolError, headers::PlanError};

/// Future of an input handler.
pub(super) type AnswerFuture = Pin<Box<dyn Future<Output = Result<Json, ErrorData>> + Send>>;

type InputHandler<P> = Arc<dyn Fn(P) -> AnswerFuture + Send + Sync>;
pub(super) type Callback<T> = Arc<dyn Fn(&T) + Send + Sync>;

type OnToolRejected = Arc<dyn Fn(&str, &PlanError) + Send + Sync>;
type OnUndelivered = Arc<dyn Fn(&Undelivered, &CallError) + Send + Sync>;
type OnEntryRejected = Arc<dyn Fn(Listing, usize, &str) + Send + Sync>;
type OnNotification = Arc<dyn Fn(&str, &Json) + Send + Sync>;

/// The functions of an application.
#[derive(Clone, Default)]
pub(super) struct Callbacks {
    pub(super) form: Option<InputHandler<ElicitRequestFormParams>>,
    pub(super) url: Option<InputHandler<ElicitRequestURLParams>>,
    pub(super) message: Option<InputHandler<CreateMessageRequestParams>>,
    pub(super) log: Option<Callback<LoggingMessageNotificationParams>>,
    pub(super) change: Option<Callback<Change>>,
    pub(super) elicitation_complete: Option<Callback<str>>,
    pub(super) notification: Option<OnNotification>,
    pub(super) fault: Option<Callback<ProtocolError>>,
    pub(super) disconnected: Option<Callback<ConnectError>>,
    pub(super) tool_rejected: Option<OnToolRejected>,
    pub(super) entry_rejected: Option<OnEntryRejected>,
    pub(super) undelivered: Option<OnUndelivered>,
    pub(super) unauthorized: Option<Callback<Unauthorized>>,
    #[cfg(feature = "auth")]
    pub(super) authorization: Option<Callback<AuthState>>,
    pub(super) no_stream: Option<Callback<CallError>>,
    pub(super) wire: Option<Callback<str>>,
}

impl Callbacks {
    /// Calls the function for a request for input; `None` if there is none.
    pub(super) fn answer(self, request: InputRequest) -> Option<AnswerFuture> {
        match request {
            InputRequest::Elicit(ElicitRequestParams::Form(form)) => self.form.map(|f| f(form)),
            InputRequest::Elicit(ElicitRequestParams::Url(url)) => self.url.map(|f| f(url)),
            InputRequest::CreateMessage(params) => self.message.map(|f| f(*params)),
            // The machine answers requests for roots itself.
            _ => None,
        }
    }
}

/// Return values of a function that answers requests for input: the result or an error.
#[diagnostic::on_unimplemented(
    message = "a function that answers requests for input cannot return `{Self}`",
    note = "return an ElicitResult or a CreateMessageResult, or a Result of one of these with an \
            ErrorData; `.map_err(ErrorData::from)` converts a ContentError"
)]
pub trait IntoAnswer<T> {
    /// The result, or the error to send to the server.
    fn into_answer(self) -> Result<T, ErrorData>;
}

impl IntoAnswer<Self> for ElicitResult {
    fn into_answer(self) -> Result<Self, ErrorData> {
        Ok(self)
    }
}

impl IntoAnswer<Self> for CreateMessageResult {
    fn into_answer(self) -> Result<Self, ErrorData> {
        Ok(self)
    }
}

impl<T> IntoAnswer<T> for Result<T, ErrorData> {
    fn into_answer(self) -> Self {
        self
    }
}

/// Wraps a function that answers requests for input.
pub(super) fn input_handler<P, T, F, Fut, A>(f: F) -> InputHandler<P>
where
    F: Fn(P) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = A> + Send + 'static,
    A: IntoAnswer<T>,
    T: Serialize,
{
    Arc::new(move |params| {
        let answering = f(params);
        Box::pin(async move {
            let result = answering.await.into_answer()?;
            Json::encode(&result).map_err(|error| {
                let text = alloc::format!("the answer cannot be written as JSON: {error}");
                ErrorData::internal(text)
            })
        })
    })
}
