//! From the lines of a request to its bytes, with what a decent client adds.

use serde_json::Value;

use super::line::Part;

/// Knowledge of a client about its session.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) version: String,
}

/// Something that is sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    /// True if it is a HEAD request; its answer has no body.
    pub(super) is_head: bool,
    pub(super) is_request: bool,
}

/// A request of which the lines are being read.
#[derive(Debug)]
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    version: &'a str,
    fields: Vec<(&'a str, Option<&'a str>)>,
    body: Option<&'a [u8]>,
}

/// The bytes of what a client sends, request by request.
pub(super) fn compose(
    parts: &[Part],
    session: Option<&Session>,
    known: &[Session],
) -> Result<Vec<Sent>, String> {
    let mut all = Vec::new();
    let mut open: Option<Request<'_>> = None;
    for part in parts {
        match part {
            Part::Request { method, target, version } => {
                all.extend(open.take().map(|request| request.sent(session, known)));
                let (fields, body) = (Vec::new(), None);
                open = Some(Request { method, target, version, fields, body });
            }
            Part::Raw(bytes) => {
                all.extend(open.take().map(|request| request.sent(session, known)));
                all.push(Sent { bytes: bytes.clone(), is_head: false, is_request: false });
            }
            Part::Field(name, value) => {
                let request = open.as_mut().ok_or("a field stands behind a method")?;
                request.fields.push((name, value.as_deref()));
            }
            Part::Body(bytes) => {
                let request = open.as_mut().ok_or("a body stands behind a method")?;
                request.body = Some(bytes);
            }
        }
    }
    all.extend(open.map(|request| request.sent(session, known)));
    Ok(all)
}

impl Request<'_> {
    fn sent(&self, session: Option<&Session>, known: &[Session]) -> Sent {
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut chunked = false;
        for (name, value) in &self.fields {
            chunked |= name.eq_ignore_ascii_case("transfer-encoding");
            fields.extend(value.map(|value| ((*name).into(), value.into())));
        }
        for (name, value) in self.defaults(session, known, chunked) {
            if !self.fields.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                fields.push((name.into(), value));
            }
        }
        let mut bytes = format!("{} {} {}\r\n", self.method, self.target, self.version);
        for (name, value) in fields {
            bytes.extend([&*name, ": ", &*value, "\r\n"]);
        }
        bytes.push_str("\r\n");
        let mut bytes = bytes.into_bytes();
        let body = self.body.unwrap_or_default();
        if chunked {
            let (first, second) = body.split_at(body.len() / 2);
            for chunk in [first, second].into_iter().filter(|chunk| !chunk.is_empty()) {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        } else {
            bytes.extend_from_slice(body);
        }
        Sent { bytes, is_head: self.method == "HEAD", is_request: true }
    }

    /// Header fields that are sent unless the transcript says otherwise.
    fn defaults(
        &self,
        session: Option<&Session>,
        known: &[Session],
        chunked: bool,
    ) -> Vec<(&'static str, String)> {
        let mut fields = vec![("Host", "localhost".into())];
        let body: Value = serde_json::from_slice(self.body.unwrap_or_default()).unwrap_or_default();
        match self.method {
            "POST" => {
                fields.push(("Content-Type", "application/json".into()));
                fields.push(("Accept", "application/json, text/event-stream".into()));
                if !chunked {
                    let length = self.body.map_or(0, <[u8]>::len);
                    fields.push(("Content-Length", length.to_string()));
                }
            }
            "GET" => fields.push(("Accept", "text/event-stream".into())),
            "DELETE" => {}
            _ => return fields,
        }
        match body.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion") {
            Some(claim) => mirror(&body, claim, &mut fields),
            None if body.get("method").is_some_and(|method| method == "initialize") => {}
            None => {
                let given = self.fields.iter().find_map(|(name, value)| {
                    name.eq_ignore_ascii_case("mcp-session-id").then_some(*value)
                });
                let session = match given {
                    None => session,
                    Some(id) => known.iter().find(|session| Some(&*session.id) == id),
                };
                if let Some(Session { id, version }) = session {
                    fields.push(("Mcp-Session-Id", id.clone()));
                    fields.push(("MCP-Protocol-Version", version.clone()));
                }
            }
        }
        fields
    }
}

/// Adds the headers that mirror the body of a modern request.
fn mirror(body: &Value, claim: &Value, fields: &mut Vec<(&'static str, String)>) {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(String::from);
    fields.extend(text(Some(claim)).map(|claim| ("MCP-Protocol-Version", claim)));
    let method = text(body.get("method")).filter(|_| body.get("id").is_some());
    let member = match method.as_deref() {
        Some("tools/call" | "prompts/get") => "/params/name",
        Some("resources/read") => "/params/uri",
        _ => "/",
    };
    fields.extend(method.map(|method| ("Mcp-Method", method)));
    fields.extend(text(body.pointer(member)).map(|name| ("Mcp-Name", name)));
}
