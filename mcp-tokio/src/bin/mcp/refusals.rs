//! Refusals over HTTP: the redirects and the reasons that errors of a client leave out.
//!
//! In: the lines of a conversation, as [`on_wire`] reports them, without secrets. Out: the
//! [`Refusal`] of each status. A process talks to one server, so it has one list of them.
//!
//! [`on_wire`]: mcp_tokio::Client::on_wire

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use mcp_tokio::Json;
use serde_json::Value;

/// Details of the last answer to a POST with a status; of another answer if there is none.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// Target of a redirect, without its query.
    pub(crate) location: Option<String>,
    /// The error in the body, on one line.
    pub(crate) reason: Option<String>,
}

static REFUSALS: Mutex<Refusals> = Mutex::new(Refusals::new());

/// Reads a line of a conversation.
pub(crate) fn read(line: &str) {
    REFUSALS.lock().unwrap_or_else(PoisonError::into_inner).read(line);
}

/// The details of the last answer with this status.
pub(crate) fn of(status: u16) -> Refusal {
    let refusals = REFUSALS.lock().unwrap_or_else(PoisonError::into_inner);
    refusals.by_status.get(&status).cloned().unwrap_or_default()
}

struct Refusals {
    by_status: BTreeMap<u16, Refusal>,
    /// Connections whose last request is a POST: the others have no messages.
    posts: BTreeSet<u64>,
    /// Status of the answer on each connection, if its details are read.
    open: BTreeMap<u64, u16>,
}

impl Refusals {
    const fn new() -> Self {
        Self { by_status: BTreeMap::new(), posts: BTreeSet::new(), open: BTreeMap::new() }
    }

    fn read(&mut self, line: &str) {
        let Some((mark, text)) = line.split_once(' ') else { return };
        let Ok(connection) = mark.trim_end_matches(['<', '>']).parse() else { return };
        if mark.ends_with('>') {
            return self.read_request(connection, text);
        }
        if text.starts_with("HTTP/") {
            return self.begin(connection, text);
        }
        let Some(status) = self.open.get(&connection) else { return };
        let refusal = self.by_status.entry(*status).or_default();
        match field(text) {
            Some((name, value)) if name.eq_ignore_ascii_case("location") => {
                refusal.location = Some(value.to_owned());
            }
            Some(_) => {}
            None => refusal.reason = reason(text),
        }
    }

    /// Reads the method in a request line.
    fn read_request(&mut self, connection: u64, line: &str) {
        if !line.ends_with(" HTTP/1.1") {
            return;
        }
        if line.starts_with("POST ") {
            self.posts.insert(connection);
        } else {
            self.posts.remove(&connection);
        }
    }

    /// Begins an answer with its status line.
    fn begin(&mut self, connection: u64, line: &str) {
        self.open.remove(&connection);
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let Some(status @ 300..) = status else { return };
        if self.posts.contains(&connection) || !self.by_status.contains_key(&status) {
            self.open.insert(connection, status);
            self.by_status.insert(status, Refusal::default());
        }
    }
}

/// The name and the value of a header field. A body of one line may look the same, and is ignored.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_name && !name.is_empty()).then(|| (name, value.trim()))
}

/// The error in a body: that of JSON-RPC, of OAuth (RFC 6749, 5.2), of Problem Details (RFC 9457),
/// or plain text. `None` for a page.
fn reason(body: &str) -> Option<String> {
    let json = Json::parse(body.to_owned()).ok();
    let text = match json.and_then(|json| json.decode().ok()) {
        Some(Value::Object(members)) => reason_of(&Value::Object(members))?,
        _ if body.contains(['<', '{']) => return None,
        _ => body.to_owned(),
    };
    Some(excerpt(&text)).filter(|text| !text.is_empty())
}

fn reason_of(members: &Value) -> Option<String> {
    let text = |place: &str| members.pointer(place)?.as_str().map(str::to_owned);
    let described = match (text("/error"), text("/error_description")) {
        (Some(error), Some(description)) => Some(format!("{error}: {description}")),
        (error, description) => description.or(error),
    };
    let places = ["/error/message", "/message", "/detail", "/title"];
    let mut others = places.into_iter().filter_map(text);
    others.next().or(described)
}

/// The beginning of a text of a server, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 400;

    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut chars = line.chars();
    let start: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_the_error_of_the_body() {
        for (body, expected) in [
            (
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"No  session\n"}}"#,
                "No session",
            ),
            (r#"{"error":"invalid_request","error_description":"no"}"#, "invalid_request: no"),
            (r#"{"error":"invalid_token"}"#, "invalid_token"),
            (r#"{"error_description":"no"}"#, "no"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"type":"about:blank","title":"Forbidden"}"#, "Forbidden"),
            (r#"{"error":"Forbidden","message":"You have no account"}"#, "You have no account"),
            ("404 page not found", "404 page not found"),
        ] {
            assert_eq!(reason(body).as_deref(), Some(expected), "{body}");
        }
        for body in ["<html>No</html>", "{}", "[]{", r#"{"error":null,"a":"b"}"#, " "] {
            assert_eq!(reason(body), None, "{body}");
        }
    }

    #[test]
    fn refusal_is_that_of_the_last_answer_with_the_status() {
        let mut refusals = Refusals::new();
        for line in [
            "1> POST /mcp HTTP/1.1",
            "1< HTTP/1.1 400 Bad Request",
            r#"1< {"error":"old"}"#,
            "1> POST /mcp HTTP/1.1",
            "2< HTTP/1.1 307 Temporary Redirect",
            "1< HTTP/1.1 400 Bad Request",
            "1< content-type: application/json",
            "2< LOCATION: https://host/mcp?***",
            "S> no line of HTTP",
            "1< not now",
            "1< HTTP/1.1 200 OK",
            r#"1< {"error":"no refusal"}"#,
            "1> GET /mcp HTTP/1.1",
            "1< HTTP/1.1 400 Bad Request",
            "1< of the stream",
        ] {
            refusals.read(line);
        }
        let bad = Refusal { location: None, reason: Some("not now".into()) };
        let moved = Refusal { location: Some("https://host/mcp?***".into()), reason: None };
        assert_eq!(refusals.by_status, BTreeMap::from([(307, moved), (400, bad)]));
    }
}
