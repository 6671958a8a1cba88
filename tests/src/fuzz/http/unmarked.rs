//! Requests without a mark: all that clients send besides calls, listening and sessions.

use super::requests::{Kind, Sent, post, with_meta};

/// The first number of [`request`](super::requests::request) for a request without a mark.
pub(super) const UNMARKED: u8 = 128;

/// An unmarked request. Its number and argument choose the method, the parameters and the era.
pub(super) fn unmarked(number: u8, argument: u8, session: String) -> Sent {
    let id = (argument % 4).to_string();
    let (method, name, params) = subject(number, argument / 4 % 4);
    let is_notification = method.starts_with("notifications/");
    let is_modern = argument >= 128;
    let bytes = if is_notification {
        let fields = if is_modern { String::new() } else { session_field(&session) };
        post(&fields, &format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}"))
    } else if is_modern {
        let field = name.map_or(String::new(), |name| format!("Mcp-Name: {name}\r\n"));
        let comma = if params.is_empty() { "" } else { "," };
        with_meta(method, &field, &id, &format!("{params}{comma}"), "")
    } else {
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}"
        );
        post(&session_field(&session), &message)
    };
    Sent {
        bytes,
        kind: if is_modern { Kind::Modern } else { Kind::Legacy },
        id: (!is_notification).then_some(id),
        marks: Vec::new(),
        session: (!is_modern).then_some(session),
        last_event: None,
    }
}

fn session_field(session: &str) -> String {
    format!("Mcp-Session-Id: {session}\r\n")
}

/// The method, the name in the header of a modern client, and the parameters.
fn subject(number: u8, n: u8) -> (&'static str, Option<String>, String) {
    let uri = format!("t:{n}");
    let of_uri = format!("\"uri\":\"{uri}\"");
    let no_params = String::new;
    match number % 16 {
        0 => ("tools/list", None, no_params()),
        1 => ("tools/list", None, format!("\"cursor\":\"{n}\"")),
        2 => ("prompts/list", None, no_params()),
        3 => ("prompts/get", Some("p".into()), "\"name\":\"p\",\"arguments\":{\"n\":\"x\"}".into()),
        4 => ("resources/list", None, no_params()),
        5 => ("resources/templates/list", None, no_params()),
        6 => ("resources/read", Some(uri), of_uri),
        7 => ("resources/read", Some("a:b".into()), "\"uri\":\"a:b\"".into()),
        8 => {
            let reference = "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}";
            let argument = "\"argument\":{\"name\":\"n\",\"value\":\"\"}";
            ("completion/complete", None, format!("{reference},{argument}"))
        }
        9 => ("x/y", None, of_uri),
        10 => {
            let level = if n == 0 { "debug" } else { "error" };
            ("logging/setLevel", None, format!("\"level\":\"{level}\""))
        }
        11 => ("resources/unsubscribe", None, of_uri),
        12 => ("a/b", None, no_params()),
        13 => ("tools/call", Some("echo".into()), "\"name\":7".into()),
        14 => ("notifications/x", None, no_params()),
        _ => ("notifications/roots/list_changed", None, no_params()),
    }
}
