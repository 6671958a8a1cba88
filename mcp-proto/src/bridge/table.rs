//! Decision tables of the bridge: the handling of messages and errors between two eras.
//!
//! In: the era of the downstream client, the era of the upstream server, and the kind of the
//! message. Out: a [`BridgeStep`], or the code of an error. `docs/tables.md` shows both tables; a
//! test walks every combination.

use crate::decision_table::{Cells, Column, Set, Table, row};
use crate::error::ErrorCode;
use crate::json::Raw;
use crate::message::{ErrorData, Method};
use crate::version::Era;

/// A message to a bridge, from either side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BridgeMessage {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
    /// `logging/setLevel`.
    SetLevel,
    /// `resources/subscribe` and `resources/unsubscribe`.
    Subscribe,
    /// `subscriptions/listen`.
    Listen,
    /// A request about a task. The tasks of 2025-11-25 differ from those of the modern extension.
    Task,
    /// Any other request of a client, whether or not a revision defines it.
    Request,
    /// `notifications/initialized`.
    Initialized,
    /// `notifications/roots/list_changed`.
    RootsChanged,
    /// Any other notification of a client.
    ClientNotification,
    /// A result that is complete.
    Result,
    /// A result that asks for input.
    InputRequired,
    /// An error.
    Error,
    /// A request of a server.
    InputRequest,
    /// `notifications/progress` and `notifications/message`.
    Report,
    /// A list, or a resource, has changed.
    Changed,
    /// `notifications/subscriptions/acknowledged`.
    Acknowledged,
    /// `notifications/elicitation/complete`.
    ElicitationComplete,
    /// Any other notification of a server.
    ServerNotification,
}

/// Handling of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BridgeStep {
    /// The message passes unchanged.
    Pass,
    /// The message is translated for the other era.
    Translate,
    /// The bridge answers the request, from its data about the server.
    Answer,
    /// The bridge sends `server/discover` to the server, and makes the answer from the result.
    Discover,
    /// The level is stored, and sent with each later request.
    Keep,
    /// The request becomes a `subscriptions/listen` of the bridge, or ends one.
    Listen,
    /// The request becomes `resources/subscribe` for each resource.
    Subscribe,
    /// The request becomes an `input_required` result, and the input in the client's retry becomes
    /// its answer.
    RequireInput,
    /// The result becomes requests to the client. The repeated request upstream contains their
    /// answers.
    RequestInput,
    /// The message has no counterpart, and needs no answer.
    Drop,
    /// The request is answered with -32601: the era of its client does not define it, or it is
    /// about a task, and the tasks of the server are others.
    Refuse,
}

impl Column for BridgeMessage {
    const ALL: Set<Self> = &[
        Self::Initialize,
        Self::Discover,
        Self::SetLevel,
        Self::Subscribe,
        Self::Listen,
        Self::Task,
        Self::Request,
        Self::Initialized,
        Self::RootsChanged,
        Self::ClientNotification,
        Self::Result,
        Self::InputRequired,
        Self::Error,
        Self::InputRequest,
        Self::Report,
        Self::Changed,
        Self::Acknowledged,
        Self::ElicitationComplete,
        Self::ServerNotification,
    ];
}

impl Cells for BridgeStep {}

/// The eras of the client, the eras of the server, and the kinds of messages or errors.
type Cases<T> = (Set<Era>, Set<Era>, Set<T>);

const L: Set<Era> = &[Era::Legacy];
const M: Set<Era> = &[Era::Modern];
const ANY: Set<Era> = &[Era::Legacy, Era::Modern];

/// The handling of a message, by the eras of the client and of the server, and by its kind.
pub static TABLE: Table<Cases<BridgeMessage>, BridgeStep> = {
    use BridgeMessage::{
        Acknowledged, ClientNotification, Discover, ElicitationComplete, Initialize, Initialized,
        InputRequest, InputRequired, Listen, Report, Request, RootsChanged, ServerNotification,
        SetLevel, Subscribe, Task,
    };
    Table::new(
        &["client", "server", "message", "then"],
        &[
            // First, because most messages are of these kinds.
            row("reports", (ANY, ANY, &[Request, Report, ClientNotification]), BridgeStep::Pass),
            row("not-in-legacy", (L, ANY, &[Discover, Listen]), BridgeStep::Refuse),
            row("not-in-modern", (M, ANY, &[Initialize, SetLevel, Subscribe]), BridgeStep::Refuse),
            row("tasks-of-legacy", (L, M, &[Task]), BridgeStep::Refuse),
            row("tasks-of-modern", (M, L, &[Task]), BridgeStep::Refuse),
            row("handshake", (L, L, &[Initialize]), BridgeStep::Answer),
            row("handshake-of-modern", (L, M, &[Initialize]), BridgeStep::Discover),
            row("discovery-of-legacy", (M, L, &[Discover]), BridgeStep::Answer),
            row("level-of-modern", (L, M, &[SetLevel]), BridgeStep::Keep),
            row("changes-of-lists", (L, M, &[Initialized]), BridgeStep::Listen),
            row("own-handshake", (ANY, ANY, &[Initialized]), BridgeStep::Drop),
            row("changes-of-resources", (L, M, &[Subscribe]), BridgeStep::Listen),
            row("begun-for-legacy", (L, M, &[Acknowledged]), BridgeStep::Answer),
            row("changes-of-legacy", (M, L, &[Listen]), BridgeStep::Subscribe),
            row("roots-of-modern", (ANY, M, &[RootsChanged]), BridgeStep::Drop),
            row("roots-to-legacy", (M, L, &[RootsChanged]), BridgeStep::Drop),
            row("input-of-legacy", (M, L, &[InputRequest]), BridgeStep::RequireInput),
            row("input-of-modern", (L, M, &[InputRequired]), BridgeStep::RequestInput),
            row("url-is-done", (M, ANY, &[ElicitationComplete]), BridgeStep::Drop),
            row("same-era-legacy", (L, L, BridgeMessage::ALL), BridgeStep::Pass),
            row("same-era-modern", (M, M, BridgeMessage::ALL), BridgeStep::Pass),
            row("others", (ANY, ANY, &[ServerNotification, ElicitationComplete]), BridgeStep::Pass),
            row("across", (ANY, ANY, BridgeMessage::ALL), BridgeStep::Translate),
        ],
    )
};

/// The kind of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// -32002 `Resource not found`.
    ResourceNotFound,
    /// -32602 to `resources/read`, with `data.uri`.
    MissingResource,
    /// -32042: the user must visit a URL first.
    UrlElicitation,
    /// -32020 to -32022, which modern servers send.
    Modern,
    /// Another code from -32000 to -32099, which JSON-RPC leaves to the implementation.
    Reserved,
    /// Any other code.
    Other,
}

/// The code of an error for the other side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The code stays the same.
    Same,
    /// -32002.
    ResourceNotFound,
    /// -32602.
    InvalidParams,
    /// -32603.
    Internal,
}

impl Column for Fault {
    const ALL: Set<Self> = &[
        Self::ResourceNotFound,
        Self::MissingResource,
        Self::UrlElicitation,
        Self::Modern,
        Self::Reserved,
        Self::Other,
    ];
}

impl Cells for Code {}

/// The code of an error, by the eras of the client and of the server, and by its kind.
pub static ERRORS: Table<Cases<Fault>, Code> = {
    use Fault::{MissingResource, Modern, Reserved, ResourceNotFound, UrlElicitation};
    Table::new(
        &["client", "server", "error", "code"],
        &[
            row("same-era-legacy", (L, L, Fault::ALL), Code::Same),
            row("same-era-modern", (M, M, Fault::ALL), Code::Same),
            row("missing-of-legacy", (M, L, &[ResourceNotFound]), Code::InvalidParams),
            row("missing-of-modern", (L, M, &[MissingResource]), Code::ResourceNotFound),
            row("no-counterpart", (M, L, &[UrlElicitation]), Code::Internal),
            row("envelope-of-modern", (L, M, &[Modern]), Code::Internal),
            row("modern-by-chance", (M, L, &[Modern]), Code::Internal),
            row("reserved", (M, L, &[Reserved]), Code::Internal),
            row("as-it-is", (ANY, ANY, Fault::ALL), Code::Same),
        ],
    )
};

/// The handling of a message.
pub(super) fn decide(down: Era, up: Era, message: BridgeMessage) -> BridgeStep {
    // The table covers every combination.
    TABLE.find((down, up, message)).map_or(BridgeStep::Drop, |row| row.then)
}

/// The error for the other side.
pub(super) fn translate(down: Era, up: Era, method: &Method, mut error: ErrorData) -> ErrorData {
    let code = ERRORS.find((down, up, Fault::of(method, &error))).map(|row| row.then);
    match code {
        Some(Code::ResourceNotFound) => error.code = ErrorCode::RESOURCE_NOT_FOUND,
        Some(Code::InvalidParams) => error.code = ErrorCode::INVALID_PARAMS,
        Some(Code::Internal) => error.code = ErrorCode::INTERNAL_ERROR,
        Some(Code::Same) | None => {}
    }
    error
}

impl Fault {
    fn of(method: &Method, error: &ErrorData) -> Self {
        let has_uri = || {
            let data = error.data.as_ref();
            data.is_some_and(|data| data.raw().member("uri").is_some_and(Raw::is_string))
        };
        match error.code {
            ErrorCode::RESOURCE_NOT_FOUND => Self::ResourceNotFound,
            ErrorCode::URL_ELICITATION_REQUIRED => Self::UrlElicitation,
            ErrorCode::INVALID_PARAMS if *method == Method::ReadResource && has_uri() => {
                Self::MissingResource
            }
            ErrorCode(-32022..=-32020) => Self::Modern,
            ErrorCode(-32099..=-32000) => Self::Reserved,
            _ => Self::Other,
        }
    }
}

impl BridgeMessage {
    /// The kind of a request of a client.
    pub(super) fn of_request(method: &Method) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are passed on")]
        match method {
            Method::Initialize => Self::Initialize,
            Method::Discover => Self::Discover,
            Method::SetLevel => Self::SetLevel,
            Method::Subscribe | Method::Unsubscribe => Self::Subscribe,
            Method::Listen => Self::Listen,
            Method::GetTask | Method::UpdateTask | Method::CancelTask => Self::Task,
            // Only 2025-11-25 has these methods.
            other if ["tasks/result", "tasks/list"].contains(&other.name()) => Self::Task,
            _ => Self::Request,
        }
    }

    /// The kind of a notification of a client.
    pub(super) fn of_client(method: &Method) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are passed on")]
        match method {
            Method::Initialized => Self::Initialized,
            Method::RootsListChanged => Self::RootsChanged,
            _ => Self::ClientNotification,
        }
    }

    /// The kind of a notification of a server.
    pub(super) fn of_server(method: &str) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others are passed on")]
        match Method::from_name(method.into()) {
            Method::Progress | Method::LogMessage => Self::Report,
            Method::ToolsListChanged
            | Method::PromptsListChanged
            | Method::ResourcesListChanged
            | Method::ResourceUpdated => Self::Changed,
            Method::SubscriptionsAcknowledged => Self::Acknowledged,
            Method::ElicitationComplete => Self::ElicitationComplete,
            _ => Self::ServerNotification,
        }
    }
}
