use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::codec::number;
use crate::json::Json;
use crate::message::{ProgressToken, RequestId};

/// The parameters of `notifications/progress`.
///
/// [Schema: `ProgressNotificationParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#progressnotificationparams)
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressNotificationParams {
    /// The progress token of the request.
    pub progress_token: ProgressToken,
    /// The progress; it increases, even if the total is unknown.
    #[serde(serialize_with = "number")]
    pub progress: f64,
    /// The total, if it is known.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub total: Option<f64>,
    /// The current step, for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Metadata of the notification (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The parameters of `notifications/cancelled`.
///
/// [Schema: `CancelledNotificationParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#cancellednotificationparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledNotificationParams {
    /// The request to cancel; only 2025-11-25 allows it to be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The reason, for a log or for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Metadata of the notification (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}
