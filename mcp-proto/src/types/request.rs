use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::codec::open_strings;
use crate::json::Json;

/// The parameters that all requests share; `ping`, `roots/list` and `server/discover` have no
/// others.
///
/// [Schema: `RequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#requestparams)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestParams {
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The parameters that all notifications share; `notifications/initialized` and `list_changed` have
/// no others.
///
/// [Schema: `NotificationParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#notificationparams)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotificationParams {
    /// Metadata of the notification (`_meta`), such as its subscription.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The parameters of every request for a list.
///
/// [Schema: `PaginatedRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#paginatedrequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaginatedRequestParams {
    /// The `nextCursor` of the previous page; `None` for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The members that all results share; a result without others indicates success.
///
/// [Schema: `EmptyResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#emptyresult)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmptyResult {
    /// The type of the result; absent from legacy results, which are complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata of the result (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

open_strings! {
    /// The type of a modern result; the server machine writes it.
    ///
    /// [Schema: `ResultType`](https://modelcontextprotocol.io/specification/2026-07-28/schema#resulttype)
    ResultType {
        /// The request is done.
        Complete = "complete",
        /// The server needs input; the result is an
        /// [`InputRequiredResult`](super::InputRequiredResult).
        InputRequired = "input_required",
        /// The call continues as a task; the result is a
        /// [`CreateTaskResult`](super::CreateTaskResult).
        Task = "task",
    }
}
