//! The pages of the specification that errors link to, by subject and revision.
//!
//! In: an error, and the negotiated revision. Out: a page of that revision and its anchor. If the
//! revision does not cover the subject, the page is the nearest one of that revision. [`TABLE`] has
//! a row per subject; a test compares each page with `tests/spec/pages.txt`.

use super::ProtocolError;
use crate::version::ProtocolVersion;

/// Subject of an error, which decides its page of the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PageSubject {
    Authorization,
    Batches,
    Cancellation,
    ClientCapabilities,
    Completion,
    CustomTransports,
    Eras,
    Extensions,
    HttpHeaders,
    Initialize,
    Input,
    Listening,
    Logging,
    Messages,
    Meta,
    Methods,
    Notifications,
    Pagination,
    Progress,
    PromptErrors,
    References,
    Requests,
    Resources,
    ResourceErrors,
    Responses,
    Resumption,
    Sampling,
    Security,
    Sending,
    Sessions,
    Stdio,
    Subscriptions,
    Tools,
    Transports,
    VersionHeader,
    Versions,
}

/// The pages of a subject: of the modern revision, and of the legacy revisions, oldest first.
struct PageRow {
    subject: PageSubject,
    modern: &'static str,
    legacy: [&'static str; 4],
}

/// Pages of the four legacy revisions, oldest first; a single path stands for all.
macro_rules! legacy {
    ($all:literal) => {
        legacy!($all, $all, $all, $all)
    };
    ($first:literal, $second:literal, $third:literal, $fourth:literal) => {
        [
            concat!("2024-11-05/", $first),
            concat!("2025-03-26/", $second),
            concat!("2025-06-18/", $third),
            concat!("2025-11-25/", $fourth),
        ]
    };
}

#[rustfmt::skip]
const TABLE: &[PageRow] = &[
    row(PageSubject::Authorization, "2026-07-28/basic/authorization#error-handling", legacy!("basic/transports#http-with-sse", "basic/authorization#error-handling", "basic/authorization#error-handling", "basic/authorization#error-handling")),
    row(PageSubject::Batches, "2025-03-26/basic#batching", legacy!("basic/messages", "basic#batching", "changelog#major-changes", "basic#messages")),
    row(PageSubject::Cancellation, "2026-07-28/basic/patterns/cancellation", legacy!("basic/utilities/cancellation")),
    row(PageSubject::ClientCapabilities, "2026-07-28/client/elicitation#capabilities", legacy!("client/sampling#capabilities", "client/sampling#capabilities", "client/elicitation#capabilities", "client/elicitation#capabilities")),
    row(PageSubject::Completion, "2026-07-28/server/utilities/completion", legacy!("server/utilities/completion")),
    row(PageSubject::CustomTransports, "2026-07-28/basic/transports#custom-transports", legacy!("basic/transports#custom-transports")),
    row(PageSubject::Eras, "2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions", legacy!("basic/lifecycle#version-negotiation")),
    row(PageSubject::Extensions, "2026-07-28/basic/versioning#extension-negotiation", legacy!("basic/lifecycle#capability-negotiation")),
    row(PageSubject::HttpHeaders, "2026-07-28/basic/transports/streamable-http#server-validation", legacy!("basic/transports#http-with-sse", "basic/transports#streamable-http", "basic/transports#protocol-version-header", "basic/transports#protocol-version-header")),
    row(PageSubject::Initialize, "2025-11-25/basic/lifecycle#initialization", legacy!("basic/lifecycle#initialization")),
    row(PageSubject::Input, "2026-07-28/basic/patterns/mrtr", legacy!("client/sampling", "client/sampling", "client/elicitation", "client/elicitation")),
    row(PageSubject::Listening, "2026-07-28/basic/transports/streamable-http#receiving-messages", legacy!("basic/transports#http-with-sse", "basic/transports#listening-for-messages-from-the-server", "basic/transports#listening-for-messages-from-the-server", "basic/transports#listening-for-messages-from-the-server")),
    row(PageSubject::Logging, "2025-11-25/server/utilities/logging", legacy!("server/utilities/logging")),
    row(PageSubject::Messages, "2026-07-28/basic#messages", legacy!("basic/messages", "basic#messages", "basic#messages", "basic#messages")),
    row(PageSubject::Meta, "2026-07-28/basic#_meta", legacy!("basic/messages#requests", "basic#requests", "basic#_meta", "basic#_meta")),
    row(PageSubject::Methods, "2026-07-28/basic#error-codes", legacy!("basic/messages#responses", "basic#responses", "basic#responses", "basic#error-responses")),
    row(PageSubject::Notifications, "2026-07-28/basic#notifications", legacy!("basic/messages#notifications", "basic#notifications", "basic#notifications", "basic#notifications")),
    row(PageSubject::Pagination, "2026-07-28/server/utilities/pagination", legacy!("server/utilities/pagination")),
    row(PageSubject::Progress, "2026-07-28/basic/patterns/progress", legacy!("basic/utilities/progress")),
    row(PageSubject::PromptErrors, "2026-07-28/server/prompts#error-handling", legacy!("server/prompts#error-handling")),
    row(PageSubject::References, "2026-07-28/server/utilities/completion#reference-types", legacy!("server/utilities/completion#reference-types")),
    row(PageSubject::Requests, "2026-07-28/basic#requests", legacy!("basic/messages#requests", "basic#requests", "basic#requests", "basic#requests")),
    row(PageSubject::Resources, "2026-07-28/server/resources", legacy!("server/resources")),
    row(PageSubject::ResourceErrors, "2026-07-28/server/resources#error-handling", legacy!("server/resources#error-handling")),
    row(PageSubject::Responses, "2026-07-28/basic#responses", legacy!("basic/messages#responses", "basic#responses", "basic#responses", "basic#responses")),
    row(PageSubject::Resumption, "2025-11-25/basic/transports#resumability-and-redelivery", legacy!("basic/transports#http-with-sse", "basic/transports#resumability-and-redelivery", "basic/transports#resumability-and-redelivery", "basic/transports#resumability-and-redelivery")),
    row(PageSubject::Sampling, "2026-07-28/client/sampling#message-content-constraints", legacy!("client/sampling#messages", "client/sampling#messages", "client/sampling#messages", "client/sampling#message-content-constraints")),
    row(PageSubject::Security, "2026-07-28/basic/transports/streamable-http#security-endpoint", legacy!("basic/transports#security-warning")),
    row(PageSubject::Sending, "2026-07-28/basic/transports/streamable-http#sending-messages", legacy!("basic/transports#http-with-sse", "basic/transports#sending-messages-to-the-server", "basic/transports#sending-messages-to-the-server", "basic/transports#sending-messages-to-the-server")),
    row(PageSubject::Sessions, "2025-11-25/basic/transports#session-management", legacy!("basic/transports#http-with-sse", "basic/transports#session-management", "basic/transports#session-management", "basic/transports#session-management")),
    row(PageSubject::Stdio, "2026-07-28/basic/transports/stdio", legacy!("basic/transports#stdio")),
    row(PageSubject::Subscriptions, "2026-07-28/basic/patterns/subscriptions", legacy!("server/resources#subscriptions")),
    row(PageSubject::Tools, "2026-07-28/server/tools#calling-tools", legacy!("server/tools#calling-tools")),
    row(PageSubject::Transports, "2026-07-28/basic/transports", legacy!("basic/transports")),
    row(PageSubject::VersionHeader, "2025-11-25/basic/transports#protocol-version-header", legacy!("basic/transports#http-with-sse", "basic/transports#streamable-http", "basic/transports#protocol-version-header", "basic/transports#protocol-version-header")),
    row(PageSubject::Versions, "2026-07-28/basic/versioning#protocol-version-negotiation", legacy!("basic/lifecycle#version-negotiation")),
];

const fn row(subject: PageSubject, modern: &'static str, legacy: [&'static str; 4]) -> PageRow {
    PageRow { subject, modern, legacy }
}

impl PageRow {
    fn page(&self, version: ProtocolVersion) -> &'static str {
        let [v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25] = self.legacy;
        match version {
            ProtocolVersion::V2024_11_05 => v2024_11_05,
            ProtocolVersion::V2025_03_26 => v2025_03_26,
            ProtocolVersion::V2025_06_18 => v2025_06_18,
            ProtocolVersion::V2025_11_25 => v2025_11_25,
            ProtocolVersion::V2026_07_28 => self.modern,
        }
    }
}

impl ProtocolError {
    /// The page of the specification with the violated rule, for modern peers. If the modern
    /// revision has no such page, the page belongs to the newest revision that has one.
    pub fn page(&self) -> &'static str {
        self.page_in(ProtocolVersion::LATEST_MODERN)
    }

    /// The page for peers of this revision; if the revision does not cover the subject, its nearest
    /// page.
    pub fn page_in(&self, version: ProtocolVersion) -> &'static str {
        let subject = self.subject();
        let row = TABLE.iter().find(|row| row.subject == subject);
        row.map_or("2026-07-28", |row| row.page(version))
    }

    fn subject(&self) -> PageSubject {
        match self {
            Self::InvalidUtf8 => PageSubject::Transports,
            Self::ForeignOutput { .. } | Self::LineTooLong { .. } => PageSubject::Stdio,
            Self::InvalidFrame { .. } => PageSubject::CustomTransports,
            Self::Syntax { .. } | Self::TooDeep { .. } | Self::NotAMessage | Self::NotJsonRpc2 => {
                PageSubject::Messages
            }
            Self::UnexpectedBatch | Self::EmptyBatch | Self::BatchTooLong { .. } => {
                PageSubject::Batches
            }
            Self::DuplicateMember { .. }
            | Self::AmbiguousKind
            | Self::InvalidId
            | Self::TokenTooLong { .. }
            | Self::InvalidMethod
            | Self::ParamsNotObject
            | Self::DuplicateId { .. }
            | Self::TooManyInFlight { .. }
            | Self::EndpointFull { .. }
            | Self::TooManyBytesInFlight { .. } => PageSubject::Requests,
            Self::InvalidError
            | Self::UnexpectedResponse
            | Self::InvalidResult { .. }
            | Self::MalformedResult { .. }
            | Self::UnknownResultType { .. } => PageSubject::Responses,
            Self::UnexpectedRequest { .. } | Self::TooManyInputRounds { .. } => PageSubject::Input,
            Self::UndeclaredInput { .. } => PageSubject::ClientCapabilities,
            Self::ExtensionsRequired { .. } => PageSubject::Extensions,
            Self::InvalidNotification { .. } => PageSubject::Notifications,
            Self::BeforeInitialize { .. } | Self::UnexpectedInitialize => PageSubject::Initialize,
            Self::ModernOnLegacy | Self::ModernNotServed | Self::TooMuchBeforeConnected => {
                PageSubject::Eras
            }
            Self::MissingMeta { .. } | Self::InvalidMeta { .. } => PageSubject::Meta,
            Self::UnsupportedVersion { .. } => PageSubject::Versions,
            Self::MethodNotFound { .. } => PageSubject::Methods,
            Self::LoggingNotDeclared => PageSubject::Logging,
            Self::HeaderMismatch { .. } => PageSubject::HttpHeaders,
            Self::HostNotAllowed { .. } | Self::OriginNotAllowed { .. } => PageSubject::Security,
            Self::InsufficientScope { .. } => PageSubject::Authorization,
            Self::UnsupportedMediaType
            | Self::UnsupportedContentEncoding { .. }
            | Self::NotAcceptable { .. }
            | Self::BodyTooLong { .. }
            | Self::CutOff
            | Self::ContentEncoding { .. } => PageSubject::Sending,
            Self::VersionNotServed { .. } | Self::VersionDiffers { .. } => {
                PageSubject::VersionHeader
            }
            Self::EventTooLong { .. } => PageSubject::Listening,
            Self::UnknownEvent => PageSubject::Resumption,
            Self::InvalidParam { member, .. } => PageSubject::of_param(member),
            Self::UnknownTool { .. } => PageSubject::Tools,
            Self::ResourceNotFound { .. } => PageSubject::ResourceErrors,
            Self::UnknownPrompt { .. } | Self::InvalidArgument { .. } => PageSubject::PromptErrors,
            Self::UnknownReference { .. } => PageSubject::References,
            Self::InvalidCursor | Self::ListTooLong { .. } => PageSubject::Pagination,
            Self::TooManySubscriptions { .. }
            | Self::TooManySubscriptionBytes { .. }
            | Self::ShareExceeded {
                limit: "max_subscriptions_per_holder" | "max_connections",
                ..
            } => PageSubject::Subscriptions,
            Self::RepeatedHeader { .. }
            | Self::SessionNotFound
            | Self::ShareExceeded { .. }
            | Self::ShuttingDown => PageSubject::Sessions,
        }
    }
}

impl PageSubject {
    /// The subject of a parameter.
    fn of_param(member: &str) -> Self {
        match member {
            "protocolVersion" | "capabilities" | "clientInfo" => Self::Initialize,
            "requestId" => Self::Cancellation,
            "inputResponses" | "requestState" => Self::Input,
            "level" => Self::Logging,
            "messages" => Self::Sampling,
            "notifications" => Self::Subscriptions,
            "ref" | "argument" => Self::Completion,
            "uri" => Self::Resources,
            "_meta.progressToken" => Self::Progress,
            _ => Self::Tools,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::format;

    use super::*;

    /// A page per line, and its anchors.
    const PAGES: &str = include_str!("../../../tests/spec/pages.txt");

    #[test]
    fn second_hour_18_every_error_links_to_a_page_of_each_revision() {
        let known: BTreeSet<_> = PAGES
            .lines()
            .filter_map(|line| line.split_once(' ').or(Some((line, ""))))
            .flat_map(|(page, anchors)| {
                let anchors = anchors.split(' ').map(move |anchor| format!("{page}#{anchor}"));
                anchors.chain([page.into()])
            })
            .collect();
        for row in TABLE {
            for version in ProtocolVersion::ALL {
                let page = row.page(*version);
                assert!(known.contains(page), "{page}");
                // The modern revision lacks pages about sessions.
                let is_own = page.starts_with(&format!("{version}/"));
                assert!(is_own || *version == ProtocolVersion::LATEST_MODERN, "{page}");
            }
        }
    }

    #[test]
    fn each_subject_has_one_row() {
        let names: BTreeSet<_> = TABLE.iter().map(|row| format!("{:?}", row.subject)).collect();
        assert_eq!(names.len(), TABLE.len());
        // `Versions` is the last subject, so its index gives the number of subjects.
        assert_eq!(TABLE.len(), PageSubject::Versions as usize + 1);
    }
}
