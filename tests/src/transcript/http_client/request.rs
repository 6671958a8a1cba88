//! From a request of a client to the lines of a transcript.
//!
//! Fields that every request of its kind has are checked and not shown.

use mcp_proto::http::client::Request;

/// The lines of a request, and what is wrong with it.
pub(super) fn lines(request: &Request) -> Vec<String> {
    let mut lines = vec![match &*request.target {
        "/mcp" => request.method.to_owned(),
        target => format!("{} {target}", request.method),
    }];
    let both = "application/json, text/event-stream";
    let (accept, content) = match request.method {
        "POST" => (Some(both), Some("application/json")),
        "GET" => (Some("text/event-stream"), None),
        _ => (None, None),
    };
    if all(request, "accept") != Vec::from_iter(accept) {
        lines.push("broken: what is accepted is not what must be".into());
    }
    if all(request, "content-type") != Vec::from_iter(content) {
        lines.push("broken: the body has not the type that it must have".into());
    }
    if all(request, "accept-encoding") != ["identity"] {
        lines.push("broken: a content coding is accepted".into());
    }
    if all(request, "user-agent").len() != 1 {
        lines.push("broken: not one product sends it".into());
    }
    for (name, value) in &request.fields {
        if ["accept", "accept-encoding", "content-type"].contains(&&*name.to_ascii_lowercase()) {
            continue;
        }
        // The name of the client in every transcript.
        if name == "User-Agent" && value == "fixture/1.0.0" {
            continue;
        }
        if all(request, name).len() > 1 {
            lines.push(format!("broken: {name} stands twice"));
        }
        let is_text = |byte: u8| matches!(byte, b' '..=b'~');
        if !value.bytes().all(is_text) || value.trim() != &**value {
            lines.push(format!("broken: {name} is no value of a field"));
        }
        lines.push(format!("{name}: {value}"));
    }
    if request.body.is_empty() == (request.method == "POST") {
        lines.push("broken: a POST, and nothing else, has a body".into());
    }
    if !request.body.is_empty() {
        lines.push(String::from_utf8_lossy(&request.body).into_owned());
    }
    lines
}

/// The values of a field.
fn all<'a>(request: &'a Request, name: &str) -> Vec<&'a str> {
    let fields = request.fields.iter();
    fields
        .filter(|(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| &**value)
        .collect()
}
