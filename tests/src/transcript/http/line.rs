//! Lines of a transcript over HTTP.

use super::super::parse::{Result, bytes};

/// Acts on a server over HTTP, beside those on any server.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) enum Act {
    Send {
        connection: usize,
        parts: Vec<Part>,
    },
    Eof(usize),
    Disconnect(usize),
    /// The whole server is to stop.
    Shutdown,
    /// The client of a call is to poll.
    CloseStream(String),
    /// Sessions and listeners are counted.
    Count,
}

/// Some of what a client sends.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) enum Part {
    Request {
        method: String,
        target: String,
        version: String,
    },
    /// Without a value, the one that is sent by default is left out.
    Field(String, Option<String>),
    Body(Vec<u8>),
    /// Bytes of no request that a decent client would send.
    Raw(Vec<u8>),
}

/// Returns whether a line beginning like this is of a connection.
pub(in super::super) fn is_mark(mark: &str) -> bool {
    let number = mark.strip_suffix(['>', '<', '*']);
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// Reads a line of a client; `None` if it is a line of the server.
pub(in super::super) fn sent(mark: &str, line: &str) -> Result<Option<Act>> {
    let (number, direction) = mark.split_at(mark.len().saturating_sub(1));
    let connection = number.parse().map_err(|_| format!("`{number}` is not a connection"))?;
    let part = match direction {
        "<" => return Ok(None),
        "*" => Part::Raw(bytes(line)?),
        _ => part(line)?,
    };
    Ok(Some(Act::Send { connection, parts: vec![part] }))
}

fn part(line: &str) -> Result<Part> {
    if line.starts_with(['{', '[']) {
        return Ok(Part::Body(line.into()));
    }
    if line.starts_with('"') {
        return bytes(line).map(Part::Body);
    }
    if let Some(name) = line.strip_prefix('-') {
        return Ok(Part::Field(name.into(), None));
    }
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    if !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_uppercase()) {
        let (target, version) = rest.split_once(' ').unwrap_or((rest, "HTTP/1.1"));
        let target = if target.is_empty() { "/mcp" } else { target };
        return Ok(Part::Request {
            method: first.into(),
            target: target.into(),
            version: version.into(),
        });
    }
    let (name, value) =
        line.split_once(": ").ok_or("a request has a method, fields, and a body")?;
    Ok(Part::Field(name.into(), Some(value.into())))
}

/// Reads the act of a `!` line, if it is an act of HTTP.
pub(in super::super) fn act(event: &str) -> Result<Option<Act>> {
    let (verb, rest) = event.split_once(' ').unwrap_or((event, ""));
    let connection = || rest.parse().map_err(|_| format!("`{rest}` is not a connection"));
    Ok(Some(match verb {
        "eof" => Act::Eof(connection()?),
        "disconnect" => Act::Disconnect(connection()?),
        "shutdown" => Act::Shutdown,
        "close-stream" => Act::CloseStream(rest.into()),
        "count" => Act::Count,
        _ => return Ok(None),
    }))
}

/// Returns whether a `!` line is what a machine over HTTP reports, beside what any reports.
pub(in super::super) fn is_report(event: &str) -> bool {
    let reports = ["counted ", "disconnected ", "limit-reached ", "lost "];
    reports.iter().any(|verb| event.starts_with(verb))
}
