//! What is known of each server; `tests/interop/servers/README.md` says the same in words.

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
    /// What it calls itself.
    pub(super) name: &'static str,
    pub(super) newest_legacy: ProtocolVersion,
    /// What a client is told that takes a modern revision alone, if this server has none.
    pub(super) no_modern: fn(&ConnectError) -> bool,
    /// The same over HTTP.
    pub(super) no_modern_http: fn(&ConnectError) -> bool,
    /// True if it ends a call that is cancelled, and writes so.
    pub(super) cancels: bool,
    /// True if it ends by itself, within the time that it is given, while a call runs.
    ends_when_busy: bool,
    /// What it exits with if a client has opened no conversation with it.
    unopened: i32,
    /// What it lacks over HTTP, served in this way to a client of this era.
    pub(super) lacks: fn(Serving, Era) -> &'static [Feature],
    /// The status with which it refuses a session that is unknown to it. It should be 404, which has a
    /// client open another one; with any other the client never comes to one.
    pub(super) unknown_session: u16,
    /// How the lines begin that it writes to standard error beside that.
    pub(super) writes: &'static [&'static str],
    pub(super) offers: &'static Offers,
}

/// What a server was doing when its input ended.
#[derive(Clone, Copy)]
pub(super) enum Doing {
    Nothing,
    /// A call ran, or what was left of one that was cancelled.
    Something,
    /// It had been refused by the client, or had refused it.
    Unopened,
}

/// What a server calls its fixtures, and how it answers.
pub(super) struct Offers {
    /// The tools in the beginning.
    pub(super) tools: &'static [&'static str],
    pub(super) echo: &'static str,
    /// What comes before the message.
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
    /// What the resource holds before and after a touch.
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

    /// What it does when a client is done: what was cancelled may run on.
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

/// How an unknown session is to be refused.
pub(super) const NOT_FOUND: u16 = 404;

/// What a server is told to end with.
const SIGTERM: i32 = 15;

const SERVERS: &[Server] = &[
    Server {
        sdk: "typescript",
        era: "dual",
        name: "interop-typescript-dual",
        lacks: |serving, era| match (serving, era) {
            (Serving::Json, Era::Legacy) => MUTE,
            (Serving::Sessions | Serving::Stateless | Serving::Json, _) => usual(serving, era),
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
            (Serving::Sessions | Serving::Stateless, _) => usual(serving, era),
        },
        ..DUAL
    },
    Server {
        sdk: "python",
        era: "legacy",
        name: "interop-python-legacy",
        lacks: |serving, era| match (serving, era) {
            (Serving::Json, Era::Legacy) => MUTE,
            (Serving::Sessions | Serving::Stateless | Serving::Json, _) => usual(serving, era),
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
            Serving::Sessions | Serving::Stateless => usual(serving, era),
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
        (Serving::Sessions, _) | (Serving::Stateless, Era::Modern) => &[],
    }
}

/// What is lacking in answers in one piece, from a server that asks in the answer to a call.
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
