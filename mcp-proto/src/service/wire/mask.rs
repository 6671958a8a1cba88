//! What is shown, without secrets.

use alloc::string::String;

use crate::json::Raw;

/// A key with one of these in its letters and digits has a secret for a value.
const SECRETS: [&str; 9] = [
    "password",
    "passphrase",
    "secret",
    "apikey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "token",
];

/// The protocol's own keys that look like it and are none.
const PUBLIC: [&str; 1] = ["progresstoken"];

/// Writes a line of HTTP with its secrets masked: a query, the value of a field that looks secret, and
/// what [`message`] masks.
pub(super) fn field(text: &str, out: &mut String) {
    if let Some((path, protocol)) = query(text) {
        out.extend([path, "?*** ", protocol]);
        return;
    }
    match text.split_once(':') {
        Some((name, _)) if is_name(name) && (looks_secret(name) || is_session(name)) => {
            out.push_str(name);
            out.push_str(": ***");
        }
        _ => message(text, out),
    }
}

/// What is before and behind a query, in the first line of a request.
fn query(text: &str) -> Option<(&str, &str)> {
    let (request, protocol) = text.rsplit_once(' ')?;
    let is_request = protocol.starts_with("HTTP/") && request.starts_with(char::is_uppercase);
    let (path, _) = request.split_once('?').filter(|_| is_request)?;
    Some((path, protocol))
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whoever knows the id of a session is in it.
fn is_session(name: &str) -> bool {
    name.eq_ignore_ascii_case("mcp-session-id")
}

/// Writes a message with its secrets masked: strings, also in an array, behind a key that looks
/// secret. It looks at strings and what is between them alone, so that what is no JSON is shown
/// as it is.
pub(super) fn message(mut rest: &str, out: &mut String) {
    let (mut secret, mut arrays) = (false, 0_u32);
    while let Some((between, string)) = rest.find('"').and_then(|at| rest.split_at_checked(at)) {
        for mark in between.chars() {
            match mark {
                '[' => arrays += 1,
                ']' => arrays = arrays.saturating_sub(1),
                ',' if arrays > 0 => {}
                ',' | '{' | '}' => (secret, arrays) = (false, 0),
                _ => {}
            }
        }
        out.push_str(between);
        let (string, after) = string.split_at_checked(length(string)).unwrap_or((string, ""));
        if after.trim_start().starts_with(':') {
            (secret, arrays) = (looks_secret(&unescaped(string)), 0);
            out.push_str(string);
        } else {
            out.push_str(if secret { "\"***\"" } else { string });
        }
        rest = after;
    }
    out.push_str(rest);
}

/// The length of the string that `text` begins with, quotes included.
fn length(text: &str) -> usize {
    let mut escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

/// The text of a string.
fn unescaped(string: &str) -> String {
    Raw(string.as_bytes()).string().map(Into::into).unwrap_or_default()
}

fn looks_secret(key: &str) -> bool {
    let letters = key.chars().filter(|letter| letter.is_alphanumeric());
    let key: String = letters.flat_map(char::to_lowercase).collect();
    SECRETS.iter().any(|secret| key.contains(secret)) && !PUBLIC.contains(&key.as_str())
}
