//! The parts of a URL, from left to right.
//!
//! In: text. Out: its parts, checked and in normal form.

use alloc::string::{String, ToString};
use core::net::Ipv6Addr;

use crate::error::{UrlError, excerpt};

/// The text without its fragment; fails at a character that is not allowed. RFC 3986 allows the
/// same characters, but `[` and `]` only in a host. They are accepted because many queries contain
/// them. A backslash is refused, because some parsers read it as a slash, and would find another
/// host.
pub(super) fn check_characters(text: &str) -> Result<&str, UrlError> {
    let (text, _) = text.split_once('#').unwrap_or((text, ""));
    let allowed = |found: char| {
        found.is_ascii_graphic() && !matches!(found, '"' | '<' | '>' | '\\' | '^' | '`' | '{'..='}')
    };
    match text.char_indices().find(|(_, found)| !allowed(*found)) {
        Some((at, found)) => Err(UrlError::Character { found, at }),
        None => Ok(text),
    }
}

/// Returns whether a text is the scheme of a URI (RFC 3986, section 3.1).
pub(crate) fn is_scheme(text: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'+' | b'-' | b'.') || byte.is_ascii_alphanumeric();
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_allowed)
}

/// Returns whether a text begins with the scheme of a URI.
pub(crate) fn has_scheme(text: &str) -> bool {
    split_scheme(text).is_some()
}

/// The scheme of an absolute URI and the text after its colon; `None` without a scheme.
pub(super) fn split_scheme(reference: &str) -> Option<(&str, &str)> {
    reference.split_once(':').filter(|(scheme, _)| is_scheme(scheme))
}

/// Host and port; the colons of an IPv6 address are inside of brackets.
pub(super) fn split_port(authority: &str) -> (&str, Option<&str>) {
    let address = match authority.strip_prefix('[') {
        Some(_) => authority.find(']').map_or(authority.len(), |end| end + 1),
        None => 0,
    };
    match authority.rsplit_once(':') {
        Some((host, port)) if host.len() >= address => (host, Some(port)),
        Some(_) | None => (authority, None),
    }
}

pub(super) fn read_host(host: &str) -> Result<String, UrlError> {
    let error = || UrlError::Host { found: excerpt(host) };
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').ok_or_else(error)?;
        return address.parse::<Ipv6Addr>().map(|address| address.to_string()).map_err(|_| error());
    }
    let is_name_byte =
        |byte: u8| matches!(byte, b'-' | b'.' | b'_') || byte.is_ascii_alphanumeric();
    if host.bytes().all(is_name_byte) { Ok(host.to_ascii_lowercase()) } else { Err(error()) }
}

pub(super) fn read_port(port: &str) -> Result<u16, UrlError> {
    // Parsing an integer would accept a sign.
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let read = port.parse().ok().filter(|port| digits && *port > 0);
    read.ok_or_else(|| UrlError::Port { found: excerpt(port) })
}

/// The path, and the query with its question mark.
pub(super) fn split_query(target: &str) -> (&str, &str) {
    let end = target.find('?').unwrap_or(target.len());
    target.split_at_checked(end).unwrap_or((target, ""))
}

/// Writes a path that begins with a slash, or is empty, without dot segments.
///
/// [RFC 3986, section 5.2.4](https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4)
pub(super) fn push_path(out: &mut String, path: &str) {
    let start = out.len();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => {
                let parent = out.get(start..).and_then(|path| path.rfind('/')).unwrap_or_default();
                out.truncate(start + parent);
            }
            name => {
                out.push('/');
                out.push_str(name);
            }
        }
        // A path that ends in a dot segment is a folder.
        if segments.peek().is_none() && matches!(segment, "." | "..") {
            out.push('/');
        }
    }
    if out.len() == start {
        out.push('/');
    }
}
