//! Errors of a caller.

use alloc::string::String;
use core::fmt;

use super::{PlanError, SchemaError};

/// The caller's fault: the command changed nothing.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageError {
    /// The machine has closed.
    Closed,
    /// The request is answered, cancelled, or unknown to this machine.
    NotInFlight,
    /// A client connects only once: it was driven before, also if the connection failed, or is
    /// closed.
    AlreadyConnected,
    /// `Limits::max_in_flight` calls wait for a response.
    TooManyCalls {
        /// The limit.
        max_in_flight: usize,
    },
    /// Calls with a total of `Limits::max_unsent_bytes` are queued: the era of the server is not
    /// known yet, or the server does not read.
    TooManyUnsentBytes {
        /// The limit.
        max_unsent_bytes: usize,
    },
    /// Over HTTP: half of `Limits::max_client_connections` are already used by streams that stay
    /// open.
    TooManyStreams {
        /// The limit.
        max_streams: usize,
    },
    /// Progress must be a finite number greater than the earlier one.
    ProgressNotIncreasing,
    /// A server sends messages outside of a client's requests in the legacy era only, and over HTTP
    /// only in a session.
    NoServerRequests,
    /// The client has not sent `notifications/initialized`.
    NotInitialized,
    /// The client does not declare the capability that the command needs.
    UndeclaredByClient {
        /// The capability, such as `roots` or `elicitation.url`.
        capability: &'static str,
    },
    /// The revision of the session does not define this request.
    NotInRevision {
        /// The request.
        method: &'static str,
        /// The first revision that defines the request, in this form.
        since: &'static str,
    },
    /// In messages for a model, a message with tool uses must be followed by a message of the user
    /// with exactly their results.
    UnbalancedTools,
    /// The registry does not declare the capability that the command needs.
    Undeclared {
        /// The capability, such as `logging` or `tools.listChanged`.
        capability: &'static str,
    },
    /// The registry already has an item of this kind and name.
    Duplicate {
        /// `tool`, `resource`, `resource template`, `prompt`, `completion`, `method`,
        /// `notification`, `conflicting extension`, `conflicting experimental capability` or
        /// `skill`.
        kind: &'static str,
        /// The name, URI, URI template or method.
        name: String,
    },
    /// The identifier of an extension must have a prefix, as in `com.example/name`.
    InvalidExtension {
        /// The identifier.
        identifier: String,
    },
    /// The URI of a root must begin with `file://`, and have no segments `.` and `..`.
    InvalidRoot {
        /// The URI.
        uri: String,
    },
    /// The URI of a resource, or the URL of an elicitation, must begin with a scheme and a colon.
    InvalidUri {
        /// The URI.
        uri: String,
    },
    /// The URI of a page must begin with `ui://`, and have visible ASCII characters.
    InvalidAppUri {
        /// The URI.
        uri: String,
    },
    /// A source of a page's policy must be an origin.
    InvalidCspSource {
        /// The source.
        source: String,
    },
    /// A skill inside the directory of another one is part of that skill, with all its files.
    NestedSkill {
        /// The URI of a file that the enclosing skill lacks, or has with other bytes.
        file: String,
        /// The URI of the enclosing skill.
        enclosing: String,
    },
    /// A resource template's `uriTemplate` is invalid by RFC 6570, or its variables cannot be found
    /// in a URI.
    InvalidUriTemplate {
        /// The `uriTemplate`.
        template: String,
        /// The invalid part: an expression without its braces, or a literal.
        part: String,
        /// Description of the fault.
        reason: &'static str,
    },
    /// A tool's `inputSchema` must be a JSON object with `"type": "object"`, its `outputSchema`
    /// a JSON object.
    InvalidSchema {
        /// The tool's name.
        name: String,
    },
    /// A schema of a tool cannot be used.
    UnusableSchema {
        /// The tool's name.
        name: String,
        /// Description of the fault.
        reason: SchemaError,
    },
    /// No entry of this kind and name is registered.
    UnknownEntry {
        /// `tool`, `resource`, `resource template` or `prompt`.
        kind: &'static str,
        /// The name, URI or URI template.
        name: String,
    },
    /// No tool of this name is registered.
    UnknownTool {
        /// The name.
        name: String,
    },
    /// A word is not a valid scope: it has a character that RFC 6749 does not allow, or is too
    /// long.
    InvalidScope {
        /// The word.
        scope: String,
    },
    /// No method of this name is registered.
    UnknownMethod {
        /// The method.
        method: String,
    },
    /// A feature cannot require an extension that the registry does not declare.
    UndeclaredExtension {
        /// The identifier.
        identifier: String,
    },
    /// Arguments of a tool, parameters of a method or notification, and settings of an extension
    /// must be a JSON object.
    NotAnObject {
        /// The tool, the method, or the extension's identifier.
        name: String,
    },
    /// Completions must be for a prompt or a resource template that is registered.
    UnknownReference {
        /// The prompt's name or the URI template.
        name: String,
    },
    /// The specification defines this method; applications cannot use it.
    ReservedMethod {
        /// The method.
        method: String,
    },
    /// A key that seals `requestState` must have at least 32 bytes.
    ShortKey {
        /// Length of the key, in bytes.
        bytes: usize,
    },
    /// A key with this id exists.
    DuplicateKey {
        /// The id.
        id: u32,
    },
    /// A sealed `requestState` would be longer than the server accepts.
    RequestStateTooLong {
        /// The length of the payload, in bytes.
        payload: usize,
        /// The maximum length of a payload, in bytes.
        max: usize,
    },
    /// A tool's `inputSchema` has an `x-mcp-header` that clients must reject.
    InvalidHeader {
        /// The tool's name.
        name: String,
        /// Description of the fault.
        reason: PlanError,
    },
    /// The arguments of a prompt must come from a struct with named fields.
    InvalidPromptArguments {
        /// The prompt's name.
        name: String,
    },
    /// An argument of a prompt must be a string.
    InvalidPromptArgument {
        /// The prompt's name.
        name: String,
        /// The argument's name.
        argument: String,
    },
    /// A field of HTTP requests cannot be set.
    InvalidField {
        /// The name of the field.
        name: String,
    },
    /// A value could not be written as JSON.
    NotJson {
        /// Name of the item that the value belongs to.
        name: String,
    },
}

texts! { UsageError:
    Closed => "the connection has closed";
    NotInFlight => "the request is not in flight";
    AlreadyConnected =>
        "a client connects only once, and this one was driven before or is closed; make another \
         `Client`";
    TooManyCalls { max_in_flight } => "Limits::max_in_flight = {max_in_flight} calls are open";
    TooManyUnsentBytes { max_unsent_bytes } =>
        "the queued calls would exceed Limits::max_unsent_bytes = {max_unsent_bytes}: the era of \
         the server is not known yet, or the server does not read";
    TooManyStreams { max_streams } =>
        "{max_streams} streams are open, half of Limits::max_client_connections; combine \
         the subscriptions";
    ProgressNotIncreasing => "progress must increase";
    NoServerRequests =>
        "a server sends messages outside of a client's requests to legacy clients only, and over \
         HTTP only in a session";
    NotInitialized => "the client has not sent `notifications/initialized`";
    UndeclaredByClient { capability } =>
        "the client does not declare the capability `{capability}`";
    NotInRevision { method, since } => "`{method}` in this form exists since revision {since}";
    UnbalancedTools =>
        "a message with tool uses must be followed by a message of the user with exactly their \
         results";
    Undeclared { capability } =>
        "the capability `{capability}` is not declared in the registry";
    Duplicate { kind, name } => "a {kind} \"{name}\" is already registered";
    InvalidExtension { identifier } =>
        "\"{identifier}\" is not the identifier of an extension: add a prefix of labels and dots, \
         such as `com.example/`";
    InvalidRoot { uri } =>
        "the root \"{uri}\" must have a URI that begins with `file://`, and no segments `.` and `..`";
    InvalidUri { uri } => "\"{uri}\" is not a URI: it must begin with a scheme, such as `file:`";
    InvalidAppUri { uri } =>
        "\"{uri}\" is not the URI of a page: it must begin with `ui://` and have visible ASCII \
         characters";
    InvalidCspSource { source } =>
        "\"{source}\" is not an origin, such as `https://example.com` or `https://*.example.com`";
    NestedSkill { file, enclosing } =>
        "\"{file}\" must be a file of \"{enclosing}\" as well, with the same bytes: a skill has all \
         files of the skills in its directory";
    InvalidUriTemplate { template, part, reason } =>
        "no URI can be matched with \"{template}\", for \"{part}\": {reason}";
    InvalidSchema { name } =>
        "\"{name}\": `inputSchema` must be an object with \"type\": \"object\" (arguments are a \
         struct with named fields, such as `struct Nothing {{}}`), `outputSchema` an object";
    UnusableSchema { name, reason } => "\"{name}\": {reason}";
    UnknownEntry { kind, name } => "no {kind} \"{name}\" is registered";
    UnknownTool { name } => "no tool \"{name}\" is registered";
    InvalidScope { scope } =>
        "\"{scope}\" is not a scope: it has 1 to 256 visible ASCII characters, no quotes or \
         backslashes";
    UnknownMethod { method } => "no method \"{method}\" is registered";
    UndeclaredExtension { identifier } =>
        "the extension \"{identifier}\" is not declared: call `Registry::extension` first";
    NotAnObject { name } => "\"{name}\": arguments, parameters and settings must be a JSON object";
    UnknownReference { name } => "no prompt or resource template \"{name}\" is registered";
    ReservedMethod { method } => "\"{method}\" is a method of the specification";
    ShortKey { bytes } => "a key of {bytes} bytes is too short; use at least 32 random bytes";
    DuplicateKey { id } => "a key with the id {id} exists already";
    RequestStateTooLong { payload, max } =>
        "a payload of {payload} bytes is too long for a `requestState`: the maximum is {max}; \
         store more on the server, and its key in the payload";
    InvalidHeader { name, reason } => "\"{name}\": {reason}";
    InvalidPromptArguments { name } =>
        "the arguments of the prompt \"{name}\" must come from a struct with named fields";
    InvalidPromptArgument { name, argument } =>
        "the argument \"{argument}\" of the prompt \"{name}\" must be a string, an enum of \
         strings, or an Option of one";
    InvalidField { name } =>
        "the field \"{name}\" cannot be set: its name must be a token that MCP, HTTP and a \
         sign-in do not use, and its value visible ASCII";
    NotJson { name } => "\"{name}\" cannot be written as JSON";
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// Shows the text of `Display`, because `main` prints a returned error with `Debug`.
impl fmt::Debug for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for UsageError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others have no cause")]
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::UnusableSchema { reason, .. } => Some(reason),
            Self::InvalidHeader { reason, .. } => Some(reason),
            _ => None,
        }
    }
}
