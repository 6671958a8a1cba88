//! Calls of handlers: the content of the request, and the future.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

use serde::de::DeserializeOwned;

use super::Interrupt;
use super::mime_type::ReadMimeType;
use super::misfit::misfits;
use super::result::{IntoResult, outcome, read_outcome};
use mcp_proto::ErrorData;
use mcp_proto::Json;
use mcp_proto::server::Outcome;
use mcp_proto::types::ReadResourceResult;

/// The content of a request. It may share the whole received buffer, so drop it after decoding.
pub(super) struct HandlerArgs {
    pub(super) params: Json,
    pub(super) arguments: Json,
}

/// The future of a handler's outcome.
pub(super) type BoxFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The result of calling a handler.
pub(super) enum HandlerCall {
    /// There is no future: the arguments were refused, for example.
    Done(Outcome),
    Future(BoxFuture),
}

impl HandlerCall {
    /// The call of a handler whose result is a `T`.
    pub(super) fn to<T, R>(future: impl Future<Output = R> + Send + 'static) -> Self
    where
        T: serde::Serialize,
        R: IntoResult<T>,
    {
        Self::Future(Box::pin(async move { outcome(future.await.into_result()) }))
    }

    /// The call of a handler that reads a resource.
    pub(super) fn read<R>(
        future: impl Future<Output = R> + Send + 'static,
        declared: Option<ReadMimeType>,
    ) -> Self
    where
        R: IntoResult<ReadResourceResult>,
    {
        let Some(declared) = declared else {
            return Self::Future(Box::pin(async move { read_outcome(future.await.into_result()) }));
        };
        Self::Future(Box::pin(async move {
            read_outcome(future.await.into_result().map(|result| declared.fill(result)))
        }))
    }

    #[cold]
    pub(super) fn invalid<T: DeserializeOwned>(params: &Json, error: &serde_json::Error) -> Self {
        let message = alloc::format!("the parameters do not fit: {}", misfits::<T>(params, error));
        Self::Done(Interrupt::from(ErrorData::invalid_params(message)).into())
    }
}
