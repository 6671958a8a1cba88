use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::codec::{is_false, or_default};
use super::{ResultType, ServerCapabilities};
use crate::json::Json;

/// The notifications that a client wants, or that a server agrees to send.
///
/// [Schema: `SubscriptionFilter`](https://modelcontextprotocol.io/specification/2026-07-28/schema#subscriptionfilter)
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// `notifications/tools/list_changed`; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub tools_list_changed: bool,
    /// `notifications/prompts/list_changed`; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub prompts_list_changed: bool,
    /// `notifications/resources/list_changed`; default false.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub resources_list_changed: bool,
    /// `notifications/resources/updated` for the resources with these URIs.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub resource_subscriptions: Vec<String>,
    /// `notifications/tasks` for the tasks with these ids; the extension
    /// [`ext::TASKS`](crate::ext::TASKS).
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub task_ids: Vec<String>,
}

impl SubscriptionFilter {
    /// An empty filter.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds changes of the list of tools.
    pub fn tools_list_changed(mut self) -> Self {
        self.tools_list_changed = true;
        self
    }

    /// Adds changes of the list of prompts.
    pub fn prompts_list_changed(mut self) -> Self {
        self.prompts_list_changed = true;
        self
    }

    /// Adds changes of the list of resources.
    pub fn resources_list_changed(mut self) -> Self {
        self.resources_list_changed = true;
        self
    }

    /// Adds changes of the resource with this URI.
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.resource_subscriptions.push(uri.into());
        self
    }

    /// Adds changes of the task with this id.
    pub fn task(mut self, task_id: impl Into<String>) -> Self {
        self.task_ids.push(task_id.into());
        self
    }

    /// The lists in this filter whose changes a server with these capabilities reports; no
    /// resources and no tasks.
    pub(crate) fn lists_offered_by(&self, has: &ServerCapabilities) -> Self {
        let resources = has.resources.unwrap_or_default();
        let (tools, prompts) = (has.tools.unwrap_or_default(), has.prompts.unwrap_or_default());
        Self {
            tools_list_changed: self.tools_list_changed && tools.list_changed,
            prompts_list_changed: self.prompts_list_changed && prompts.list_changed,
            resources_list_changed: self.resources_list_changed && resources.list_changed,
            ..Self::default()
        }
    }

    /// The parameters of `subscriptions/listen`, or of its acknowledgement, without `_meta`.
    pub(crate) fn params(&self) -> Json {
        let notifications = self.clone();
        let params = SubscriptionsListenRequestParams { notifications, meta: None };
        // Plain values: the encoding cannot fail.
        Json::encode(&params).unwrap_or(Json::EMPTY_OBJECT)
    }
}

/// The parameters of `subscriptions/listen`.
///
/// [Schema: `SubscriptionsListenRequestParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#subscriptionslistenrequestparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsListenRequestParams {
    /// The notifications that the client wants.
    pub notifications: SubscriptionFilter,
    /// Metadata of the request (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

/// The result of `subscriptions/listen`: the server has ended the subscription.
///
/// [Schema: `SubscriptionsListenResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#subscriptionslistenresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionsListenResult {
    /// The type of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata of the result (`_meta`); `io.modelcontextprotocol/subscriptionId` is the id of
    /// the request.
    #[serde(rename = "_meta")]
    pub meta: Json,
}

/// The parameters of `notifications/subscriptions/acknowledged`.
///
/// [Schema: `SubscriptionsAcknowledgedNotificationParams`](https://modelcontextprotocol.io/specification/2026-07-28/schema#subscriptionsacknowledgednotificationparams)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsAcknowledgedNotificationParams {
    /// The notifications that the server will send, a part of those that the client wants.
    pub notifications: SubscriptionFilter,
    /// Metadata of the notification (`_meta`); `io.modelcontextprotocol/subscriptionId` is the id
    /// of the request.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}
