//! Responses of an authorization server.

use alloc::string::{String, ToString};

use serde_json::json;

/// A response of an authorization server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuthAnswer {
    /// The status.
    pub status: u16,
    /// The value of `Location`, if there is one.
    pub location: Option<String>,
    /// The value of `DPoP-Nonce`, if there is one.
    pub nonce: Option<String>,
    /// The body: JSON, or nothing.
    pub body: String,
}

impl AuthAnswer {
    pub(super) fn new(status: u16, body: &str) -> Self {
        Self { status, location: None, nonce: None, body: body.into() }
    }

    /// An error response with this code.
    pub(super) fn error(error: &str) -> Self {
        let status = if error == "invalid_client" { 401 } else { 400 };
        Self::new(status, &json!({ "error": error }).to_string())
    }
}
