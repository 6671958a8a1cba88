//! Masking of secrets in the conversation that is shown.

use alloc::string::String;

use mcp_proto::internals::Raw;

/// A key that contains one of these, ignoring case and punctuation, has a secret value.
const SECRETS: [&str; 12] = [
    "dpop",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "token",
    // Whoever has the state of a call can continue the call, unless the server binds the state.
    "requeststate",
];

/// A key with one of these as a whole word has a secret value. They also occur inside of other
/// words.
const SECRET_WORDS: [&str; 3] = ["pwd", "otp", "pin"];

/// A header with one of these as a whole word has a secret value. Other keys often have these words
/// without a secret.
const SECRET_HEADER_WORDS: [&str; 5] = ["auth", "authentication", "jwt", "key", "signature"];

/// A value with one of these prefixes, ignoring case, is a credential.
const SECRET_VALUES: [&str; 3] = ["bearer ", "basic ", "dpop "];

/// Keys of the protocol that look secret and are not.
const PUBLIC: [&str; 1] = ["progresstoken"];

/// Writes a line of HTTP with its secrets masked: the query of a URL, the value of a header that
/// looks secret, and the strings that [`message`] masks.
pub(super) fn field(text: &str, out: &mut String) {
    if let Some((before, after)) = around_query(text) {
        out.push_str(before);
        out.push_str("?***");
        out.push_str(after);
        return;
    }
    match text.split_once(':') {
        Some((name, value))
            if is_name(name)
                && (looks_secret(name)
                    || has_word(name, &SECRET_HEADER_WORDS)
                    || is_session(name)
                    || is_credential(value.trim_start())) =>
        {
            out.push_str(name);
            out.push_str(": ***");
        }
        Some((name, value)) if is_task_id(name, value.trim()) => {
            let shown = value.trim().get(..8).unwrap_or_default();
            out.extend([name, ": ", shown, "…"]);
        }
        _ => message(text, out),
    }
}

/// Text before and after the query of a URL. MCP uses no query, so it may be an API key, and
/// HTTP+SSE has the id of the session there.
fn around_query(text: &str) -> Option<(&str, &str)> {
    let (_, query) = url(text)?.split_once('?')?;
    let before = text.split_at_checked(text.len() - query.len() - 1)?.0;
    Some((before, query.find(' ').and_then(|end| query.get(end..)).unwrap_or_default()))
}

/// The URL in a request line, in a `Referer` or `Location` header, or in the first event of
/// HTTP+SSE, whose data are no JSON.
fn url(text: &str) -> Option<&str> {
    if let Some((method, rest)) = text.split_once(' ')
        && !method.is_empty()
        && method.bytes().all(|byte| byte.is_ascii_uppercase())
    {
        return Some(rest);
    }
    let (name, value) = text.split_once(':')?;
    let is_url = ["referer", "location"].iter().any(|known| name.eq_ignore_ascii_case(known))
        || name == "data" && !value.contains('"');
    is_url.then_some(value)
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// The id of a session grants access to it.
fn is_session(name: &str) -> bool {
    name.eq_ignore_ascii_case("mcp-session-id")
}

/// Returns whether a header may have the id of a task. Ids of this crate's servers have 22
/// characters of URL-safe Base64. Names of tools that look the same are cut too.
fn is_task_id(name: &str, value: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.eq_ignore_ascii_case("mcp-name") && value.len() == 22 && value.bytes().all(is_digit)
}

/// Writes a message with its secrets masked: strings, also in an array, after a key that looks
/// secret. The message is not parsed, only scanned for strings, so invalid JSON is shown too.
pub(super) fn message(mut rest: &str, out: &mut String) {
    let mut secret = false;
    let mut arrays = 0_u32;
    let mut is_task = false;
    while let Some((between, string)) = rest.find('"').and_then(|at| rest.split_at_checked(at)) {
        for mark in between.chars() {
            match mark {
                '[' => arrays += 1,
                ']' => arrays = arrays.saturating_sub(1),
                ',' if arrays > 0 => {}
                ',' | '{' | '}' => (secret, arrays, is_task) = (false, 0, false),
                _ => {}
            }
        }
        out.push_str(between);
        let (string, after) = string.split_at_checked(length(string)).unwrap_or((string, ""));
        if after.trim_start().starts_with(':') {
            (secret, arrays) = (looks_secret(&unescaped(string)), 0);
            out.push_str(string);
            is_task = ["\"taskId\"", "\"taskIds\""].contains(&string);
        } else if is_task {
            push_id(string, out);
        } else {
            let inner = string.get(1..).unwrap_or_default();
            out.push_str(if secret || is_credential(inner) { "\"***\"" } else { string });
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Writes the id of a task, cut to 8 characters: the whole id may grant access to the task.
fn push_id(string: &str, out: &mut String) {
    let id = string.trim_matches('"');
    match id.char_indices().nth(8) {
        Some((end, _)) => out.extend(["\"", id.get(..end).unwrap_or_default(), "…\""]),
        None => out.push_str(string),
    }
}

/// The length of the string that `text` begins with, including quotes.
fn length(text: &str) -> usize {
    let mut escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

/// Decodes a string.
fn unescaped(string: &str) -> String {
    Raw(string.as_bytes()).string().map(Into::into).unwrap_or_default()
}

fn looks_secret(name: &str) -> bool {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    let key: String = letters.flat_map(char::to_lowercase).collect();
    let is_secret =
        SECRETS.iter().any(|secret| key.contains(secret)) || has_word(name, &SECRET_WORDS);
    is_secret && !PUBLIC.contains(&key.as_str())
}

/// Returns whether a key has one of these words. Words of a key are separated by other characters
/// than letters, or begin with a capital.
fn has_word(key: &str, known: &[&str]) -> bool {
    let parts = key.split(|mark: char| !mark.is_alphabetic()).filter(|part| !part.is_empty());
    let is_known = |word: &str| known.iter().any(|it| it.eq_ignore_ascii_case(word));
    parts.flat_map(words).any(is_known)
}

/// The words of `camelCase`: a capital after a lowercase letter begins a word.
fn words(mut text: &str) -> impl Iterator<Item = &str> {
    core::iter::from_fn(move || {
        let mut before = text.chars().next()?;
        let next = text.char_indices().skip(1).find(|(_, letter)| {
            let begins = letter.is_uppercase() && before.is_lowercase();
            before = *letter;
            begins
        });
        let (word, rest) = text.split_at_checked(next.map_or(text.len(), |(at, _)| at))?;
        text = rest;
        Some(word)
    })
}

fn is_credential(value: &str) -> bool {
    SECRET_VALUES.iter().any(|secret| {
        value.get(..secret.len()).is_some_and(|start| start.eq_ignore_ascii_case(secret))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        field(text, &mut out);
        out
    }

    #[test]
    fn queries_of_urls_are_masked() {
        for (text, expected) in [
            ("POST /mcp?key=x HTTP/1.1", "POST /mcp?*** HTTP/1.1"),
            ("Location: https://host/mcp?token=x", "Location: https://host/mcp?***"),
            ("data: /messages/?session_id=x", "data: /messages/?***"),
            ("data:/messages?sessionId=x", "data:/messages?***"),
            (r#"data: {"a":"b?c d"}"#, r#"data: {"a":"b?c d"}"#),
            ("X-Note: why? so", "X-Note: why? so"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn keys_in_headers_are_masked() {
        for (text, expected) in [
            ("Ocp-Apim-Subscription-Key: hunter2", "Ocp-Apim-Subscription-Key: ***"),
            ("X-Key: hunter2", "X-Key: ***"),
            ("X-Auth: hunter2", "X-Auth: ***"),
            ("X-Authentication: hunter2", "X-Authentication: ***"),
            ("X_API_KEY: hunter2", "X_API_KEY: ***"),
            ("X-JWT: hunter2", "X-JWT: ***"),
            ("X-Signature: hunter2", "X-Signature: ***"),
            ("Keep-Alive: timeout=5", "Keep-Alive: timeout=5"),
            ("X-Author: Ada", "X-Author: Ada"),
            (r#"data: {"key":"a"}"#, r#"data: {"key":"a"}"#),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn task_t17_ids_of_tasks_are_cut() {
        assert_eq!(shown("Mcp-Name: AQEBAQEBAQEBAQEBAQEBAQ"), "Mcp-Name: AQEBAQEB…");
        assert_eq!(shown("Mcp-Name: render"), "Mcp-Name: render");
        assert_eq!(
            shown(r#"{"taskId":"0123456789","a":"b"}"#),
            r#"{"taskId":"01234567…","a":"b"}"#
        );
        assert_eq!(shown(r#"{"taskId":"01234567"}"#), r#"{"taskId":"01234567"}"#);
        assert_eq!(
            shown(r#"{"taskIds":["0123456789", "abcdefghij"],"a":"0123456789"}"#),
            r#"{"taskIds":["01234567…", "abcdefgh…"],"a":"0123456789"}"#
        );
    }
}
