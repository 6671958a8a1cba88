//! The server that transcripts talk to.

use std::sync::Arc;

use mcp_proto::server::{Config, Outcome, Registry, Request};
use mcp_proto::stdio::Connection;
use mcp_proto::types::{self, CallToolResult, Implementation};
use mcp_proto::{ErrorCode, ErrorData, Json, UsageError};
use serde_json::{Map, Value};

use super::value::{Answer, Settings};

/// A tool of the fixture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tool {
    Echo,
    Hold,
    Fail,
    Crash,
    Raw,
    Peer,
}

/// What a tool makes of a call.
#[derive(Debug)]
pub(super) enum Reaction {
    Answers(Outcome),
    /// It waits, under this name.
    Waits(String),
}

/// The server that the settings describe, and its tools.
pub(super) fn server(settings: &Settings) -> Result<(Registry<Tool>, Connection), UsageError> {
    let mut registry = Registry::new(Implementation::new("fixture", "1.0.0"));
    for tool in &settings.tools {
        let schema = Json::parse(tool.input_schema()).unwrap_or(Json::EMPTY_OBJECT);
        let listed = types::Tool::new(tool.name(), schema);
        registry.add_tool(listed.description(tool.description()), *tool)?;
    }
    if let Some(entries) = settings.page_size {
        registry.page_size(entries);
    }
    if let Some(text) = &settings.instructions {
        registry.instructions(text);
    }
    let mut config = Config::default();
    config.era_policy = settings.era_policy;
    config.limits = settings.limits.clone();
    let connection = Connection::server(Arc::clone(&registry.declaration()), config);
    Ok((registry, connection))
}

impl Tool {
    pub(super) const ALL: [Self; 6] =
        [Self::Echo, Self::Hold, Self::Fail, Self::Crash, Self::Raw, Self::Peer];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Hold => "hold",
            Self::Fail => "fail",
            Self::Crash => "crash",
            Self::Raw => "raw",
            Self::Peer => "peer",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Echo => "Echoes its message",
            Self::Hold => "Waits until it is released",
            Self::Fail => "Fails",
            Self::Crash => "Crashes",
            Self::Raw => "Returns its arguments",
            Self::Peer => "Tells who calls",
        }
    }

    fn input_schema(self) -> &'static str {
        match self {
            Self::Echo => r#"{"type":"object","properties":{"message":{"type":"string"}}}"#,
            Self::Hold => r#"{"type":"object","properties":{"as":{"type":"string"}}}"#,
            Self::Crash => r#"{"type":"object","properties":{"code":{"type":"integer"}}}"#,
            Self::Fail | Self::Raw | Self::Peer => r#"{"type":"object"}"#,
        }
    }

    /// Handles a call.
    pub(super) fn call(self, request: &Request) -> Reaction {
        let arguments: Map<String, Value> = request.arguments.decode().unwrap_or_default();
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        Reaction::Answers(match self {
            Self::Echo => match text("message") {
                Some(message) => tool_result(&CallToolResult::text(message)),
                None => tool_result(&CallToolResult::error("`message` must be a string")),
            },
            Self::Hold => match text("as") {
                Some(call) => return Reaction::Waits(call.to_owned()),
                None => tool_result(&CallToolResult::error("`as` must be a string")),
            },
            Self::Fail => failed(),
            Self::Crash => crashed(arguments.get("code").and_then(Value::as_i64)),
            Self::Raw => Outcome::Complete(request.arguments.clone()),
            Self::Peer => tool_result(&CallToolResult::text(peer(request))),
        })
    }
}

/// What a held call returns.
pub(super) fn answer(answer: &Answer) -> Outcome {
    match answer {
        Answer::Release(None) => tool_result(&CallToolResult::text("released")),
        Answer::Release(Some(result)) => Outcome::Complete(result.clone()),
        Answer::Fail => failed(),
        Answer::Crash => crashed(None),
    }
}

fn failed() -> Outcome {
    tool_result(&CallToolResult::error("failed"))
}

fn crashed(code: Option<i64>) -> Outcome {
    let code = code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    Outcome::Error(ErrorData::new(code, "crashed"))
}

fn peer(request: &Request) -> String {
    let peer = &request.peer;
    let client_info = peer.client_info.as_ref().map_or("unknown", Json::as_str);
    let progress = if request.wants_progress { "wants progress" } else { "no progress" };
    format!("{}, {client_info}, {}, {progress}", peer.version, peer.capabilities)
}

fn tool_result(result: &CallToolResult) -> Outcome {
    match Json::encode(result) {
        Ok(result) => Outcome::Complete(result),
        Err(error) => Outcome::Error(ErrorData::internal(error.to_string())),
    }
}
