//! The names that arguments have as headers.

/// What the names of headers with arguments begin with; case does not matter.
pub const PREFIX: &str = "Mcp-Param-";

/// The key of a schema whose value names a header.
pub(crate) const ANNOTATION: &str = "x-mcp-header";

/// Whether an `x-mcp-header` may be this: not empty, and nothing but `tchar` of RFC 9110.
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

const fn is_tchar(byte: u8) -> bool {
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
