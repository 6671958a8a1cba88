//! The names of headers, and the members that they mirror.

use crate::message::{MethodRow, Subject};

/// The header that mirrors `io.modelcontextprotocol/protocolVersion` of `params._meta`.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";

/// The header that mirrors `method`.
pub const METHOD: &str = "Mcp-Method";

/// The header that mirrors the subject of a request; see [`name_member`].
pub const NAME: &str = "Mcp-Name";

/// Prefix of the names of headers that carry arguments; compared without case.
pub const PREFIX: &str = "Mcp-Param-";

/// The key of a schema whose value names a header.
pub(crate) const ANNOTATION: &str = "x-mcp-header";

/// Returns whether an `x-mcp-header` is valid: not empty, and only `tchar` of RFC 9110.
///
/// ```
/// use mcp_proto::headers::is_name;
///
/// assert!(is_name("Region"));
/// assert!(!is_name("My Region"));
/// assert!(!is_name(""));
/// ```
///
/// [RFC 9110, Tokens](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)
pub const fn is_name(name: &str) -> bool {
    let mut rest = name.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        if !is_tchar(*first) {
            return false;
        }
        rest = others;
    }
    !name.is_empty()
}

/// The member of `params` that `Mcp-Name` mirrors; `None` for methods that need no such header.
///
/// ```
/// use mcp_proto::headers::name_member;
///
/// assert_eq!(name_member("tools/call"), Some("name"));
/// assert_eq!(name_member("prompts/get"), Some("name"));
/// assert_eq!(name_member("resources/read"), Some("uri"));
/// assert_eq!(name_member("tasks/cancel"), Some("taskId"));
/// assert_eq!(name_member("tools/list"), None);
/// ```
///
/// [Specification: Standard Request Headers](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers)
pub fn name_member(method: &str) -> Option<&'static str> {
    MethodRow::named(method).and_then(|row| row.subject).map(Subject::member)
}

pub(crate) const fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}
