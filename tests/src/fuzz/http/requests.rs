//! Requests of clients, each with a mark of its own, and well-formed except for the one thing that
//! it tests.

use super::unmarked::{UNMARKED, unmarked};

/// A request, and what is known of it.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: Kind,
    /// The id of its message, as JSON.
    pub(super) id: Option<String>,
    /// The marks of the calls in it.
    pub(super) marks: Vec<String>,
    /// Value of its `Mcp-Session-Id`.
    pub(super) session: Option<String>,
    /// Value of its `Last-Event-ID`.
    pub(super) last_event: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Of a modern client.
    Modern,
    /// The same, and it listens.
    Listen,
    /// A POST of a legacy client.
    Legacy,
    /// One with `initialize`.
    Initialize,
    Get,
    /// A request that is answered at once, whatever it is.
    Other,
}

/// State that a client sees before it sends a request.
pub(super) struct World<'a> {
    /// A mark that no other request has.
    pub(super) mark: String,
    /// A session, if there is one.
    pub(super) session: Option<&'a str>,
    /// An event of it, if there is one.
    pub(super) event: Option<&'a str>,
}

/// The request number `number`, with an argument.
#[expect(clippy::too_many_lines, reason = "it is the list of what clients send")]
pub(super) fn request(number: u8, argument: u8, world: World<'_>) -> Sent {
    let World { mark, session, event } = world;
    let session = session.unwrap_or("00000000000000000000000000000bad").to_owned();
    if number >= UNMARKED {
        return unmarked(number, argument, session);
    }
    let id = (argument % 4).to_string();
    let mut sent = Sent {
        bytes: Vec::new(),
        kind: Kind::Legacy,
        id: Some(id.clone()),
        marks: Vec::new(),
        session: Some(session.clone()),
        last_event: None,
    };
    let of_session = format!("Mcp-Session-Id: {session}\r\n");
    let message = |method: &str, params: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}"
        )
    };
    let call = |tool: &str, mark: &str| {
        let arguments = format!("\"name\":\"{tool}\",\"arguments\":{{\"mark\":\"{mark}\"}}");
        let token = format!("\"_meta\":{{\"progressToken\":\"{mark}\"}}");
        message("tools/call", &format!("{arguments},{token}"))
    };
    let tool = if number.is_multiple_of(2) { "hold" } else { "echo" };
    sent.bytes = match number % 32 {
        0..=3 => {
            sent.marks.push(mark.clone());
            post(&of_session, &call(tool, &mark))
        }
        4..=7 => {
            (sent.kind, sent.session) = (Kind::Modern, None);
            sent.marks.push(mark.clone());
            modern(&id, tool, &mark)
        }
        8 | 9 => {
            (sent.kind, sent.session) = (Kind::Initialize, None);
            let version = match argument / 4 % 4 {
                0 => "2025-11-25",
                1 => "2025-03-26",
                2 => "2025-06-18",
                _ => "2026-07-28",
            };
            post("", &initialize(&id, version))
        }
        10 => {
            sent.id = None;
            post(&of_session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}")
        }
        11 => {
            sent.id = None;
            let params = format!("\"requestId\":{id}");
            post(
                &of_session,
                &format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{{params}}}}}"
                ),
            )
        }
        12 => {
            let marks = [format!("{mark}a"), format!("{mark}b")];
            let second =
                call("hold", &marks[1]).replacen(&format!("\"id\":{id}"), "\"id\":\"second\"", 1);
            let body = format!("[{},{second}]", call("echo", &marks[0]));
            sent.id = None;
            sent.marks.extend(marks);
            post(&of_session, &body)
        }
        13 => post(&of_session, &message("ping", "")),
        14 | 15 => {
            (sent.kind, sent.id) = (Kind::Get, None);
            get(&of_session)
        }
        16..=18 => {
            (sent.kind, sent.id) = (Kind::Get, None);
            let event =
                event.map_or(format!("{}-{}", argument / 4 % 4, argument % 4), str::to_owned);
            sent.last_event = Some(event.clone());
            get(&format!("{of_session}Last-Event-ID: {event}\r\n"))
        }
        19 => {
            (sent.kind, sent.id) = (Kind::Other, None);
            format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{of_session}\r\n").into_bytes()
        }
        20 | 21 => {
            (sent.kind, sent.session) = (Kind::Listen, None);
            let uri = argument / 4 % 4;
            let wanted = format!(
                "\"notifications\":{{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"t:{uri}\"]}},"
            );
            modern_of("subscriptions/listen", "", &id, &wanted)
        }
        22 => {
            sent.id = None;
            let body = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"roots\":[]}}}}",
                argument % 8
            );
            post(&of_session, &body)
        }
        23 => {
            let uri = format!("\"uri\":\"t:{}\"", argument / 4 % 4);
            post(&of_session, &message("resources/subscribe", &uri))
        }
        24 => {
            (sent.kind, sent.session) = (Kind::Other, None);
            // Its header names another tool.
            let text = String::from_utf8_lossy(&modern(&id, "hold", &mark)).into_owned();
            text.replacen("Mcp-Name: hold", "Mcp-Name: echo", 1).into_bytes()
        }
        25 => {
            (sent.kind, sent.id, sent.session) = (Kind::Other, None, None);
            post("", "{\"jsonrpc\":\"2.0\",")
        }
        26 => {
            (sent.kind, sent.id, sent.session) = (Kind::Other, None, None);
            b"PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}".to_vec()
        }
        27 => {
            (sent.kind, sent.id, sent.session) = (Kind::Other, None, None);
            b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()
        }
        28 => {
            (sent.kind, sent.session) = (Kind::Modern, None);
            modern_of("server/discover", "", &id, "")
        }
        29 => {
            // In chunks.
            sent.marks.push(mark.clone());
            let text = String::from_utf8_lossy(&post(&of_session, &call(tool, &mark))).into_owned();
            chunked(&text)
        }
        30 => {
            (sent.kind, sent.session) = (Kind::Modern, None);
            sent.marks.push(mark.clone());
            let text = String::from_utf8_lossy(&modern(&id, tool, &mark)).into_owned();
            text.replacen("Host:", "Connection: close\r\nHost:", 1).into_bytes()
        }
        _ => {
            // Without a session.
            sent.session = None;
            sent.marks.push(mark.clone());
            post("", &call(tool, &mark))
        }
    };
    sent
}

pub(super) fn post(fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn chunked(text: &str) -> Vec<u8> {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let (head, _) = head.rsplit_once("\r\n").unwrap_or((head, ""));
    let (first, second) = body.split_at(body.len() / 2);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let chunks = [chunk(first), chunk(second), chunk("")].concat();
    format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}").into_bytes()
}

fn get(fields: &str) -> Vec<u8> {
    format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{fields}\r\n")
        .into_bytes()
}

fn modern(id: &str, tool: &str, mark: &str) -> Vec<u8> {
    let params = format!("\"name\":\"{tool}\",\"arguments\":{{\"mark\":\"{mark}\"}},");
    let meta =
        format!("\"progressToken\":\"{mark}\",\"io.modelcontextprotocol/logLevel\":\"debug\",");
    let name = format!("Mcp-Name: {tool}\r\n");
    with_meta("tools/call", &name, id, &params, &meta)
}

fn modern_of(method: &str, fields: &str, id: &str, params: &str) -> Vec<u8> {
    with_meta(method, fields, id, params, "")
}

pub(super) fn with_meta(method: &str, fields: &str, id: &str, params: &str, meta: &str) -> Vec<u8> {
    let fields = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{fields}");
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}\"_meta\":{{{meta}\
         \"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientCapabilities\":{{\"roots\":{{}}}}}}}}}}"
    );
    post(&fields, &body)
}

fn initialize(id: &str, version: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"initialize\",\"params\":{{\
         \"protocolVersion\":\"{version}\",\"capabilities\":{{\"roots\":{{}}}},\
         \"clientInfo\":{{\"name\":\"c\",\"version\":\"1\"}}}}}}"
    )
}
