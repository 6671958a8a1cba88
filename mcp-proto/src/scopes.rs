//! Scopes: the permissions of a token.
//!
//! In: text of a challenge, names of a metadata document, settings. Out: an ordered set, its unions
//! and differences, the value of the parameter `scope`, and whether a token has what is required.
//!
//! [RFC 6749, section 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The scope that requests a refresh token.
#[cfg(feature = "auth")]
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// The maximum number of scopes of a set, and of bytes of a scope; the rest are ignored.
const MAX_SCOPES: usize = 256;
const MAX_SCOPE_BYTES: usize = 256;

/// A set of scopes in the order in which they were added.
///
/// A scope consists of the characters that RFC 6749 allows: visible ASCII without `"` and `\`.
/// Invalid scopes are never added. A set has at most 256 scopes of at most 256 bytes.
///
/// ```
/// use mcp_proto::resource_server::Scopes;
///
/// let asked = Scopes::words("files:read profile");
/// let challenged = Scopes::words("files:write files:read");
/// assert!(!asked.contains_all(&challenged));
/// assert_eq!(asked.union(&challenged).to_string(), "files:read profile files:write");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// The empty set.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Reads scopes separated by spaces.
    pub fn words(text: &str) -> Self {
        text.split([' ', '\t', '\r', '\n']).collect()
    }

    /// Adds a scope. Ignores an invalid scope, and one above the maximum.
    pub(crate) fn insert(&mut self, scope: &str) {
        let is_valid = !scope.is_empty()
            && scope.len() <= MAX_SCOPE_BYTES
            && scope.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
        if is_valid && self.0.len() < MAX_SCOPES && !self.contains(scope) {
            self.0.push(scope.into());
        }
    }

    /// True if `scope` is in the set.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|own| own == scope)
    }

    /// True if all of `other` is in the set.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|scope| self.contains(scope))
    }

    /// The scopes of this set, then those that only `other` has.
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// The set without `scope`.
    #[cfg(any(test, feature = "auth"))]
    pub(crate) fn without(&self, scope: &str) -> Self {
        self.iter().filter(|own| *own != scope).collect()
    }

    /// The scopes in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the parameter `scope`: all, separated by spaces.
    pub fn to_param(&self) -> String {
        self.0.join(" ")
    }
}

/// The value of the parameter `scope`.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_param())
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<I: IntoIterator<Item = &'a str>>(scopes: I) -> Self {
        let mut set = Self::none();
        scopes.into_iter().for_each(|scope| set.insert(scope));
        set
    }
}

/// The scopes that a server requires.
///
/// A dropped requirement would grant access to everybody. So a text with an invalid scope, or with
/// more scopes than a set holds, is a requirement that no token fulfils.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RequiredScopes {
    scopes: Scopes,
    /// The first scope that the set cannot hold.
    invalid: Option<String>,
}

impl RequiredScopes {
    /// Reads scopes separated by spaces.
    pub(crate) fn words(text: &str) -> Self {
        let scopes = Scopes::words(text);
        let invalid = text.split_ascii_whitespace().find(|word| !scopes.contains(word));
        Self { invalid: invalid.map(Into::into), scopes }
    }

    /// Returns whether a token with the scopes `granted` has all required scopes.
    pub(crate) fn are_in(&self, granted: &Scopes) -> bool {
        self.invalid.is_none() && granted.contains_all(&self.scopes)
    }

    /// The valid scopes.
    pub(crate) fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The scopes, or the first one that is invalid.
    pub(crate) fn into_valid(self) -> Result<Scopes, String> {
        self.invalid.map_or(Ok(self.scopes), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_has_an_invalid_scope() {
        let everything = Scopes::words("a b");
        for (required, is_granted) in
            [("", true), ("a", true), ("b a", true), ("c", false), ("ä", false), ("a b\"", false)]
        {
            let required = RequiredScopes::words(required);
            assert_eq!(required.are_in(&everything), is_granted, "{required:?}");
        }
        assert_eq!(RequiredScopes::words("a ö ü").into_valid(), Err("ö".into()));
        assert_eq!(RequiredScopes::words("a b").into_valid(), Ok(everything));
    }

    #[test]
    fn invalid_scopes_are_dropped() {
        let set: Scopes =
            ["a", "", "b c", "d\"e", "f\\g", "h\r\ni", "ä", "a"].into_iter().collect();
        assert_eq!(set.to_param(), "a");
        assert_eq!(Scopes::words(" x\t y\r\nX-Evil: z ").to_param(), "x y X-Evil: z");
    }

    #[test]
    fn a_set_is_bounded() {
        let words: Vec<String> = (0..10_000).map(|number| alloc::format!("s{number}")).collect();
        assert_eq!(Scopes::words(&words.join(" ")).iter().count(), 256);
        assert!(Scopes::words(&"s".repeat(257)).is_empty());
    }

    #[test]
    fn union_keeps_the_order_of_the_first() {
        let (first, second) = (Scopes::words("a b"), Scopes::words("c a"));
        assert_eq!(first.union(&second).to_param(), "a b c");
        assert_eq!(first.without("a").to_param(), "b");
        assert!(first.union(&second).contains_all(&second));
    }
}
