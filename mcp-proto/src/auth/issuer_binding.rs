//! The issuer that credentials of the application belong to.
//!
//! In: the issuer that the application names, or the first one at which the credentials are used.
//! Out: that issuer. "Clients MUST NOT reuse client credentials from a different authorization
//! server", and whoever receives a credential can present it elsewhere.

use alloc::string::String;

/// The issuer of credentials: named by the application, or found by their first use.
#[derive(Clone, Debug, Default)]
pub(super) struct IssuerBinding {
    /// The issuer; `None` for the issuer that the server names.
    named: Option<String>,
    /// The issuer at which credentials for any issuer were used.
    used: Option<String>,
}

impl IssuerBinding {
    /// A binding to this issuer, or to the issuer that the server names if `None`.
    pub(super) fn new(named: Option<&str>) -> Self {
        Self { named: named.map(String::from), used: None }
    }

    /// The issuer that the application names.
    pub(super) fn named(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// The issuer, if it is known.
    pub(super) fn issuer(&self) -> Option<&str> {
        self.named().or(self.used.as_deref())
    }

    /// Binds credentials for any issuer to the issuer at which they are used.
    pub(super) fn bind(&mut self, issuer: &str) {
        if self.named.is_none() {
            self.used = Some(issuer.into());
        }
    }

    /// Lets credentials for any issuer be used at any issuer again.
    pub(super) fn unbind(&mut self) {
        self.used = None;
    }
}
