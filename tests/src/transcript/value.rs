//! A transcript as a value.

use std::time::Duration;

use mcp_proto::Json;
use mcp_proto::server::{Change, InputRequired, Notification};
use mcp_proto::types::InputRequest;

use super::client;
use super::http;
use super::http_client;
use super::settings::Settings;

/// A conversation, read from its text.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) lines: Vec<Line>,
}

/// Side that is played, with its settings.
#[derive(Clone, Debug)]
pub(super) enum Role {
    Server(Settings),
    Client(client::Settings),
    /// A server, over HTTP.
    Http(http::Settings),
    /// A client, over HTTP.
    HttpClient(http_client::Settings),
}

/// A line of the text.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) content: Content,
}

/// Content of a line.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A comment, a setting, or nothing.
    Remark,
    Input(Input),
    Output,
}

/// Input of the machine.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Input {
    Bytes(Vec<u8>),
    Elapse(Duration),
    Eof,
    Server(Act),
    Client(client::Act),
    Http(http::Act),
    /// Part of an answer to a client over HTTP.
    Answer(http_client::Answer),
    /// A field of every request of a client over HTTP.
    Field(String, String),
}

/// Act on a server.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Act {
    Answer {
        call: String,
        answer: Answer,
    },
    Notify {
        call: String,
        notification: Notification,
    },
    /// Before the machine's actions are taken.
    Publish(Vec<Change>),
    /// The server is another one from here on: a setting.
    Declare(String),
    Ping {
        name: String,
        timeout: Duration,
    },
    /// Outside of a request.
    NotifySession(Notification),
    /// Outside of a request.
    RequestInput {
        name: String,
        timeout: Duration,
        request: InputRequest,
    },
}

/// End of a held call.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Answer {
    Release(Option<Json>),
    Ask(InputRequired),
    Fail,
    Crash(Option<i64>),
}

/// An input and the outputs that it must have.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) input: Input,
    /// Index of the last line of the input.
    pub(super) last: usize,
    /// Indices of the output lines.
    pub(super) outputs: Vec<usize>,
}

impl Transcript {
    /// Its file, below `tests/transcripts`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of its comments, line by line.
    pub fn comments(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| line.text.strip_prefix('#')).map(str::trim)
    }

    /// Returns whether it is a client that is played.
    pub fn plays_client(&self) -> bool {
        matches!(self.role, Role::Client(_) | Role::HttpClient(_))
    }

    /// Returns whether it is HTTP that is spoken.
    pub fn speaks_http(&self) -> bool {
        matches!(self.role, Role::Http(_) | Role::HttpClient(_))
    }

    /// All bytes that the client sends to a server that is played, one after the other.
    pub fn client_bytes(&self) -> Vec<u8> {
        if self.plays_client() { Vec::new() } else { self.bytes() }
    }

    /// All bytes that the server sends to a client that is played, one after the other.
    pub fn server_bytes(&self) -> Vec<u8> {
        if self.plays_client() { self.bytes() } else { Vec::new() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for line in &self.lines {
            if let Content::Input(Input::Bytes(bytes)) = &line.content {
                all.extend_from_slice(bytes);
            }
        }
        all
    }

    /// The inputs with their outputs; adjacent bytes are one input.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            match (&line.content, steps.last_mut()) {
                (Content::Remark, _) | (Content::Output, None) => {}
                (Content::Output, Some(step)) => step.outputs.push(at),
                (
                    Content::Input(Input::Bytes(more)),
                    Some(Step { input: Input::Bytes(bytes), last, outputs }),
                ) if outputs.is_empty() => {
                    bytes.extend_from_slice(more);
                    *last = at;
                }
                (
                    Content::Input(Input::Http(http::Act::Send { connection: same, parts: more })),
                    Some(Step {
                        input: Input::Http(http::Act::Send { connection, parts }),
                        last,
                        outputs,
                    }),
                ) if outputs.is_empty() && connection == same => {
                    parts.extend_from_slice(more);
                    *last = at;
                }
                (
                    Content::Input(Input::Answer(http_client::Answer {
                        exchange: same,
                        parts: more,
                    })),
                    Some(Step {
                        input: Input::Answer(http_client::Answer { exchange, parts }),
                        last,
                        outputs,
                    }),
                ) if outputs.is_empty() && exchange == same => {
                    parts.extend_from_slice(more);
                    *last = at;
                }
                (Content::Input(input), _) => {
                    steps.push(Step { input: input.clone(), last: at, outputs: Vec::new() });
                }
            }
        }
        steps
    }
}
