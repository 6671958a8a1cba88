//! Facts about each server; `tests/interop/servers/README.md` has the same in words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use mcp_proto::client::ConnectError;
use mcp_proto::{Era, ProtocolVersion};

use super::serving::{Feature, Serving};

/// A server, and what is to be expected of it.
pub(super) struct Server {
    /// The beginning of the name that `install` prints, up to the version of the SDK.
    sdk: &'static str,
    /// The era that `install` prints.
    era: &'static str,
    /// Name of the server in its `serverInfo`.
    pub(super) name: &'static str,
    pub(super) newest_legacy: ProtocolVersion,
    /// Error of a client that accepts only a modern revision, if this server has none.
    pub(super) no_modern: fn(&ConnectError) -> bool,
    /// The same over HTTP.
    pub(super) no_modern_http: fn(&ConnectError) -> bool,
    /// True if it ends a call that is cancelled, and writes so.
    pub(super) cancels: bool,
    /// True if it ends by itself, within the time that it is given, while a call runs.
    ends_when_busy: bool,
    /// Exit code after a client that has opened no conversation.
    unopened: i32,
    /// Features that it lacks over HTTP, served in this way to a client of this era.
    pub(super) lacks: fn(Serving, Era) -> &'static [Feature],
    /// The status with which it refuses a session that is unknown to it. It should be 404, which
    /// has a client open another one; with any other the client never comes to one.
    pub(super) unknown_session: u16,
    /// Beginnings of the other lines that it writes to standard error.
    pub(super) writes: &'static [&'static str],
    pub(super) offers: &'static Offers,
}

/// Activity of a server when its input ended.
#[derive(Clone, Copy)]
pub(super) enum Doing {
    Nothing,
    /// A call ran, or what was left of one that was cancelled.
    Something,
    /// It had been refused by the client, or had refused it.
    Unopened,
}

/// Names of a server's fixtures, and its answers.
pub(super) struct Offers {
    /// The tools in the beginning.
    pub(super) tools: &'static [&'static str],
    pub(super) echo: &'static str,
    /// Text before the message.
    pub(super) echoes: &'static str,
    /// A tool with its arguments.
    pub(super) progress: (&'static str, &'static str),
    pub(super) wait: (&'static str, &'static str),
    pub(super) ask: &'static str,
    /// The question; what an answer with the name Ada comes to, and what a refusal does.
    pub(super) asks: [&'static str; 3],
    pub(super) touch: &'static str,
    /// The tool that is there after a touch; if there is none, another touch ends the updates.
    pub(super) touched: Option<&'static str>,
    pub(super) resource: &'static str,
    /// Content of the resource before and after a touch.
    pub(super) holds: [&'static str; 2],
    /// A prompt with its arguments, and what it says.
    pub(super) prompt: (&'static str, &'static str),
    pub(super) says: &'static str,
}

impl Server {
    pub(super) fn find(name: &str, era: &str) -> Option<&'static Self> {
        let sdk = name.split_once('-').map_or(name, |(sdk, _)| sdk);
        SERVERS.iter().find(|server| server.sdk == sdk && server.era == era)
    }

    pub(super) fn is_dual(&self) -> bool {
        self.era == "dual"
    }

    /// Returns whether it has ended as it should.
    pub(super) fn ends_so(&self, doing: Doing, status: ExitStatus) -> bool {
        match doing {
            Doing::Something if !self.ends_when_busy => status.signal() == Some(SIGTERM),
            Doing::Unopened => status.code() == Some(self.unopened),
            Doing::Nothing | Doing::Something => status.success(),
        }
    }

    /// Activity of the server when a client is done: a cancelled call may run on.
    pub(super) fn at_the_end(&self) -> Doing {
        if self.cancels { Doing::Nothing } else { Doing::Something }
    }

    /// Returns whether it speaks this legacy revision, or this modern one if it is a dual server.
    pub(super) fn speaks(&self, version: ProtocolVersion) -> bool {
        let place = |version| ProtocolVersion::ALL.iter().position(|known| *known == version);
        let newest =
            if self.is_dual() { ProtocolVersion::LATEST_MODERN } else { self.newest_legacy };
        place(version) <= place(newest)
    }
}

/// Status with which an unknown session is to be refused.
pub(super) const NOT_FOUND: u16 = 404;

/// Signal that ends a server.
const SIGTERM: i32 = 15;

const SERVERS: &[Server] = &[
    Server {
        sdk: "typescript",
        era: "dual",
        name: "interop-typescript-dual",
        lacks: |serving, era| match (serving, era) {
            (Serving::Json, Era::Legacy) => MUTE,
            (Serving::Sessions | Serving::Stateless | Serving::Json | Serving::Sse, _) => {
                usual(serving, era)
            }
        },
        writes: &["responseMode: 'json' drops mid-call notifications. "],
        ..DUAL
    },
    Server { sdk: "typescript", era: "legacy", name: "interop-typescript-legacy", ..LEGACY },
    Server {
        sdk: "python",
        era: "dual",
        name: "interop-python-dual",
        lacks: |serving, era| match (serving, era) {
            // It does not see that a client goes.
            (Serving::Json, Era::Modern) => &[Feature::Progress, Feature::Cancellation],
            (Serving::Json, Era::Legacy) => MUTE,
            (Serving::Sessions | Serving::Stateless | Serving::Sse, _) => usual(serving, era),
        },
        ..DUAL
    },
    Server {
        sdk: "python",
        era: "legacy",
        name: "interop-python-legacy",
        lacks: |serving, era| match (serving, era) {
            (Serving::Json, Era::Legacy) => MUTE,
            (Serving::Sessions | Serving::Stateless | Serving::Json | Serving::Sse, _) => {
                usual(serving, era)
            }
        },
        // The end of a session with a GET, or a POST, that is answered.
        writes: &[
            "Error in standalone SSE writer",
            "Error processing JSON response",
            "Traceback (most recent call last):",
            "  ",
            "anyio.ClosedResourceError",
        ],
        ..LEGACY
    },
    Server {
        sdk: "rmcp",
        era: "dual",
        name: "interop-rmcp-dual",
        ends_when_busy: false,
        lacks: |serving, era| match serving {
            // It has no sessions, and is in one piece only if nothing else is said.
            Serving::Json => usual(Serving::Stateless, era),
            Serving::Sessions | Serving::Stateless | Serving::Sse => usual(serving, era),
        },
        ..DUAL
    },
    Server {
        sdk: "rmcp",
        era: "legacy",
        name: "interop-rmcp-legacy",
        newest_legacy: ProtocolVersion::V2025_06_18,
        no_modern: |error| *error == ConnectError::Closed,
        no_modern_http: |error| *error == ConnectError::Http { status: 415 },
        unknown_session: 401,
        unopened: 1,
        writes: &["Error: ConnectionClosed(", "Error: ExpectedInitializeRequest("],
        ..LEGACY
    },
    // It has no subscriptions.
    Server {
        sdk: "fastmcp",
        era: "legacy",
        name: "interop-fastmcp",
        lacks: |_, _| &[Feature::Changes],
        ..LEGACY
    },
    Server {
        sdk: "everything",
        era: "legacy",
        name: "mcp-servers/everything",
        cancels: false,
        ends_when_busy: false,
        unknown_session: 400,
        writes: &[
            "Starting default (STDIO) server...",
            "MCP Streamable HTTP Server listening on port ",
            "Failed to request roots from client ",
        ],
        offers: &EVERYTHING,
        ..LEGACY
    },
];

const DUAL: Server = Server {
    sdk: "",
    era: "dual",
    name: "",
    newest_legacy: ProtocolVersion::LATEST_LEGACY,
    no_modern: |_| false,
    no_modern_http: |_| false,
    cancels: true,
    ends_when_busy: true,
    unopened: 0,
    lacks: usual,
    unknown_session: NOT_FOUND,
    writes: &[],
    offers: &FIXTURES,
};

const LEGACY: Server = Server {
    era: "legacy",
    no_modern: |error| matches!(error, ConnectError::Refused(_)),
    no_modern_http: |error| matches!(error, ConnectError::Refused(_)),
    ..DUAL
};

/// Without sessions a server asks nothing, tells nothing by itself, and knows no other request; an
/// answer in one piece has no room for progress.
fn usual(serving: Serving, era: Era) -> &'static [Feature] {
    match (serving, era) {
        (Serving::Stateless, Era::Legacy) => {
            &[Feature::Input, Feature::Changes, Feature::Cancellation]
        }
        (Serving::Json, _) => &[Feature::Progress],
        (Serving::Sessions | Serving::Sse, _) | (Serving::Stateless, Era::Modern) => &[],
    }
}

/// Features that are lacking with answers in one piece, from a server that asks in the answer to a
/// call.
const MUTE: &[Feature] = &[Feature::Progress, Feature::Input];

const FIXTURES: Offers = Offers {
    tools: &["ask", "echo", "progress", "touch", "wait"],
    echo: "echo",
    echoes: "",
    progress: ("progress", "{}"),
    wait: ("wait", "{}"),
    ask: "ask",
    asks: ["What is your name?", "hello Ada", "declined"],
    touch: "touch",
    touched: Some("touched"),
    resource: "test://counter",
    holds: ["0", "1"],
    prompt: ("greet", r#"{"name":"Ada"}"#),
    says: "Greet Ada",
};

const EVERYTHING: Offers = Offers {
    tools: &[],
    echo: "echo",
    echoes: "Echo: ",
    progress: ("trigger-long-running-operation", r#"{"duration":1,"steps":3}"#),
    wait: ("trigger-long-running-operation", r#"{"duration":5,"steps":5}"#),
    ask: "trigger-elicitation-request",
    asks: ["Please provide inputs for the following fields:", "- Name: Ada", "User declined"],
    touch: "toggle-subscriber-updates",
    touched: None,
    resource: "demo://resource/dynamic/text/1",
    holds: ["Resource 1", "Resource 1"],
    prompt: ("args-prompt", r#"{"city":"Paris"}"#),
    says: "What's weather in Paris?",
};
