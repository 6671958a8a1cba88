use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::codec::or_default;
use crate::error::UsageError;
use crate::json::Json;

/// The result of `roots/list`.
///
/// [Schema: `ListRootsResult`](https://modelcontextprotocol.io/specification/2026-07-28/schema#listrootsresult)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    #[serde(deserialize_with = "or_default")]
    pub roots: Vec<Root>,
    /// Metadata of the result (`_meta`); legacy.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl ListRootsResult {
    /// A result with these roots.
    pub fn new(roots: Vec<Root>) -> Self {
        Self { roots, meta: None }
    }
}

/// A folder or file that the server may work on.
///
/// [Schema: Root](https://modelcontextprotocol.io/specification/2026-07-28/schema#root)
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// The URI; it starts with `file://`.
    pub uri: String,
    /// For display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metadata of the root (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Json>,
}

impl Root {
    /// The root at this URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: None, meta: None }
    }

    /// Checks that all roots are files or folders: the URI "MUST be a `file://` URI in the current
    /// specification", and has no segment `.` or `..`. A server that compares paths with the root
    /// could otherwise be led out of it. Servers decode paths, so the dots and the separators `/`
    /// and `\` count also if they are percent-encoded.
    ///
    /// Fails with [`UsageError::InvalidRoot`].
    ///
    /// [Specification: Security Considerations](https://modelcontextprotocol.io/specification/2026-07-28/client/roots#security-considerations)
    pub fn check_all(roots: &[Self]) -> Result<(), UsageError> {
        match roots.iter().find(|root| !root.is_file()) {
            Some(root) => Err(UsageError::InvalidRoot { uri: root.uri.clone() }),
            None => Ok(()),
        }
    }

    fn is_file(&self) -> bool {
        let Some((scheme, path)) = self.uri.split_at_checked("file://".len()) else { return false };
        let encoded = path.to_ascii_lowercase();
        let path = encoded.replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
        let mut segments = path.split(['/', '\\', '?', '#']);
        scheme.eq_ignore_ascii_case("file://")
            && !segments.any(|segment| segment == "." || segment == "..")
    }

    /// Sets the name for display.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that decodes the path of a root finds `..` between its separators.
    #[test]
    fn root_with_encoded_separators_does_not_lead_out_of_itself() {
        for uri in [
            "file:///work/..%2f..%2fetc",
            "file:///work/a%2F%2E%2E",
            "file:///work/..%5cetc",
            r"file:///C:/work\..\other",
            "file:///work/..#a",
            "file:///work/..?a",
        ] {
            let refused = Root::check_all(&[Root::new(uri)]);
            assert_eq!(refused, Err(UsageError::InvalidRoot { uri: uri.into() }));
        }
        for uri in
            ["file:///work/a%2fb", "file:///work/..a", "file:///C:/a..b", "file:///work/%252e"]
        {
            assert_eq!(Root::check_all(&[Root::new(uri)]), Ok(()), "{uri}");
        }
    }
}
