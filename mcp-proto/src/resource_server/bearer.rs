//! The bearer token of a request.
//!
//! In: a head. Out: the token. The token is only read from the field `Authorization`: a token in
//! the query of a URL appears in logs, and the specification forbids it.
//!
//! [RFC 6750, section 2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1)

use super::TokenRefusal;
use crate::frame::http1::Head;

/// The maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The bearer token of a request. `None` without a field `Authorization`, or if the field has
/// another scheme.
///
/// Fails with a refusal of status 400 if there are several fields. A token with other characters
/// than RFC 6750 allows, or with more than 16 KiB, is refused as well.
///
/// ```
/// use mcp_proto::frame::http1::Head;
/// use mcp_proto::resource_server::bearer;
///
/// let mut head = Head::new("POST", "/mcp?access_token=ignored");
/// assert_eq!(bearer(&head), Ok(None));
/// head.push("Authorization", b"bearer 0123");
/// assert_eq!(bearer(&head), Ok(Some("0123")));
/// head.push("Authorization", b"Bearer 4567");
/// assert!(bearer(&head).is_err());
/// ```
pub fn bearer(head: &Head) -> Result<Option<&str>, TokenRefusal> {
    let mut fields = head.all("authorization");
    let Some(field) = fields.next() else { return Ok(None) };
    // Two fields are ambiguous.
    if fields.next().is_some() {
        return Err(TokenRefusal::malformed("there are several fields Authorization"));
    }
    let end = field.iter().position(|byte| *byte == b' ').unwrap_or(field.len());
    let (scheme, rest) = field.split_at_checked(end).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Ok(None);
    }
    let token = rest.trim_ascii();
    match core::str::from_utf8(token) {
        Ok(text) if is_token(token) => Ok(Some(text)),
        _ => Err(TokenRefusal::malformed("the field Authorization holds no bearer token")),
    }
}

/// `b64token`: "1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"=""
fn is_token(token: &[u8]) -> bool {
    let end = token.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let body = token.get(..end).unwrap_or_default();
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    !body.is_empty() && token.len() <= MAX_TOKEN_BYTES && body.iter().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_or_malformed_tokens_are_rejected() {
        let read = |value: &[u8]| {
            let mut head = Head::new("POST", "/mcp");
            head.push("Authorization", value);
            bearer(&head).map(|token| token.map(alloc::string::String::from)).map_err(|_| ())
        };
        for value in ["Bearer abc", "bearer abc", "BEARER  abc"] {
            assert_eq!(read(value.as_bytes()), Ok(Some("abc".into())), "{value}");
        }
        assert_eq!(read(b"Bearer a.b-c_d~e+f/g=="), Ok(Some("a.b-c_d~e+f/g==".into())));
        for value in ["", "Basic abc", "Bearerabc", "DPoP abc", "Bear er"] {
            assert_eq!(read(value.as_bytes()), Ok(None), "{value}");
        }
        for value in ["Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer =", "Bearer a=b"] {
            assert_eq!(read(value.as_bytes()), Err(()), "{value}");
        }
        assert_eq!(read("Bearer ä".as_bytes()), Err(()));
        let long = [&b"Bearer "[..], &alloc::vec![b'a'; MAX_TOKEN_BYTES + 1]].concat();
        assert_eq!(read(&long), Err(()));
    }
}
