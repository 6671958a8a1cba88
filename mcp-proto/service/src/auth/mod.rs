//! Sign-in of a client: the storage of credentials, and the consent of the user.
//!
//! A client over HTTP with a [`SignIn`] gets tokens automatically: [`mcp_proto::auth`] has the
//! state machine, and this module does its I/O. A [`Vault`] stores credentials, a [`Consent`] shows
//! a page to the user.
//!
//! ```no_run
//! use mcp_service::HttpClientConfig;
//! use mcp_service::auth::{FileVault, Loopback, SignIn};
//!
//! let vault = FileVault::open("/home/me/.config/my-app/credentials")?;
//! let sign_in = SignIn::new(vault)
//!     .consent(Loopback::new())
//!     .settings(|settings| settings.client_name("My app").scopes("files:read"));
//! let config = HttpClientConfig::parse("https://mcp.example.com/mcp")?.sign_in(sign_in);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)

mod consent;
#[cfg(feature = "sign")]
mod es256_key;
mod file_vault;
mod loopback;
mod open_page;
mod paste;
mod redirect_page;
mod sign_in;
mod signer;
mod vault;

pub use consent::{Consent, PendingConsent};
#[cfg(feature = "sign")]
pub use es256_key::Es256Key;
pub use file_vault::FileVault;
pub use loopback::Loopback;
pub use mcp_proto::auth::{
    AuthDecision, AuthError, AuthMethod, AuthState, Config, ConsentPage, IdentityProvider,
    ProofKey, Scopes, Secret,
};
pub use open_page::open_page;
pub use paste::Paste;
pub use sign_in::SignIn;
pub use signer::Signer;
pub use vault::{AuthFuture, MemoryVault, Vault, VaultLock};
