//! An OAuth client as a pure machine: it signs in to servers that require a token.
//!
//! An [`Authorizer`] emits the requests to send, the records to store, and the page to show to a
//! person. A driver executes these actions. An MCP client is not required: a program that only
//! signs in, or another HTTP stack, can drive an authorizer.
//!
//! | in | |
//! |---|---|
//! | [`access`](Authorizer::access) | the credentials of a request that is about to be sent |
//! | [`handle_refusal`](Authorizer::handle_refusal) | a 401 or 403 of the server; returns whether to repeat the request, to wait, or to fail |
//! | [`handle_fetched`](Authorizer::handle_fetched), [`handle_loaded`](Authorizer::handle_loaded), … | answers to actions |
//!
//! | out | |
//! |---|---|
//! | [`AuthAction::Fetch`] | a request to an authorization server, or for metadata |
//! | [`AuthAction::Load`], [`AuthAction::Release`] | reading, locking and writing of the store |
//! | [`AuthAction::Sign`], [`AuthAction::Subject`] | a signature, and the token of a workload or a person |
//! | [`AuthAction::Listen`], [`AuthAction::Consent`] | a page for a person, and the redirect at its end |
//! | [`AuthAction::Changed`] | the end of the wait |
//!
//! | decision | table |
//! |---|---|
//! | the step after a 401 or 403 | [`refusal::TABLE`] |
//! | the next URL of metadata | [`discovery_table::TABLE`] |
//! | the kind of grant | [`grant_kind::TABLE`] |
//! | the client of an authorization server | [`registration::TABLE`] |
//! | the binding of tokens to a key | [`binding::TABLE`] |
//! | the trust in a redirect | [`redirect::TABLE`] |
//! | the step after the answer of a token endpoint | [`granted::TABLE`] |
//!
//! - **One flow** at a time: all requests that need a token wait for the same flow.
//! - **Bounded**: a flow takes at most 40 requests. A request is sent at most 4 times, and an
//!   operation is authorized for more scopes at most 3 times. A request for metadata follows at
//!   most 3 redirects. Every wait has a deadline.
//! - **No secret** is in a `Debug` or `Display` of these types; [`Secret::expose`] returns it.
//! - **Tokens are sent to the server only**, and data of one issuer is never sent to another.
//!
//! Bodies longer than [`MAX_BODY_BYTES`] are not read.
//!
//! # A sign-in
//!
//! ```
//! use mcp_proto::auth::{Access, AuthAction, AuthState, Authorizer, Config};
//! use mcp_proto::auth::{FetchAnswer, RefusalAdvice, SentRequest};
//! use mcp_proto::http::{Unauthorized, Url};
//! use mcp_proto::{Duration, Instant};
//!
//! let now = Instant::ZERO;
//! let server = Url::parse("https://mcp.example.com/mcp")?;
//! let config = Config::new(server.clone())
//!     .client("https://auth.example.com", "editor", None);
//! let mut authorizer = Authorizer::new(config, Box::new(|| [7; 16]));
//!
//! // The store is empty, so the first request has no token. The server refuses it.
//! assert_eq!(authorizer.access(now, "POST", &server), Access::Wait);
//! let Some(AuthAction::Load { id, .. }) = authorizer.poll_action() else { panic!() };
//! authorizer.handle_loaded(now, id, Duration::from_secs(1_800_000_000), None);
//! assert!(matches!(authorizer.poll_action(), Some(AuthAction::Changed(_))));
//! assert_eq!(authorizer.access(now, "POST", &server), Access::None);
//! let refusal = Unauthorized::new(401, [&b"Bearer"[..]]);
//! let sent = SentRequest::new("tools/list");
//! assert_eq!(authorizer.handle_refusal(now, &refusal, &sent), RefusalAdvice::Wait);
//!
//! // A driver, with the answers of both servers.
//! let mut log = Vec::new();
//! while let Some(action) = authorizer.poll_action() {
//!     match action {
//!         AuthAction::Load { id, .. } => {
//!             authorizer.handle_loaded(now, id, Duration::from_secs(1_800_000_000), None);
//!         }
//!         AuthAction::Release { id, .. } => authorizer.handle_released(now, id, Ok(())),
//!         AuthAction::Fetch(fetch) => {
//!             log.push(fetch.url.to_string());
//!             let body = match fetch.url.target() {
//!                 "/.well-known/oauth-protected-resource/mcp" => {
//!                     r#"{"resource":"https://mcp.example.com/mcp",
//!                         "authorization_servers":["https://auth.example.com"]}"#
//!                 }
//!                 "/.well-known/oauth-authorization-server" => {
//!                     r#"{"issuer":"https://auth.example.com",
//!                         "authorization_endpoint":"https://auth.example.com/authorize",
//!                         "token_endpoint":"https://auth.example.com/token",
//!                         "code_challenge_methods_supported":["S256"]}"#
//!                 }
//!                 _ => r#"{"access_token":"secret","token_type":"Bearer","expires_in":3600}"#,
//!             };
//!             let answer = FetchAnswer::new(200, body.as_bytes());
//!             authorizer.handle_fetched(now, fetch.id, answer);
//!         }
//!         AuthAction::Listen { .. } => {
//!             authorizer.handle_listening(now, Ok("http://127.0.0.1:49152/callback".into()));
//!         }
//!         AuthAction::Consent(page) => {
//!             // A browser shows the page. The redirect has a code.
//!             let redirect = format!("?code=1&state={}", page.state.expose());
//!             authorizer.handle_redirect(now, &redirect);
//!         }
//!         AuthAction::Changed(AuthState::Failed(error)) => panic!("{error}"),
//!         _ => {}
//!     }
//! }
//! assert_eq!(log, [
//!     "https://mcp.example.com/.well-known/oauth-protected-resource/mcp",
//!     "https://auth.example.com/.well-known/oauth-authorization-server",
//!     "https://auth.example.com/token",
//! ]);
//!
//! // The request is sent again.
//! let Access::Ready(credentials) = authorizer.access(now, "POST", &server) else { panic!() };
//! assert_eq!(credentials.authorization.expose(), "Bearer secret");
//! # Ok::<(), mcp_proto::http::UrlError>(())
//! ```
//!
//! [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)

mod action;
mod auth_flow;
mod auth_step;
mod authorization_request;
mod authorizer;
#[doc(hidden)]
pub mod binding;
mod client_document;
mod client_registration;
mod config;
mod current_tokens;
mod decisions;
mod discovery;
#[doc(hidden)]
pub mod discovery_table;
mod document;
mod error;
mod event;
mod form;
mod goal;
#[doc(hidden)]
pub mod grant_kind;
#[doc(hidden)]
pub mod granted;
mod host_kind;
mod identity_provider;
mod issuer_binding;
mod jwt;
mod metadata;
mod nonces;
mod outbox;
mod pkce;
mod policy;
mod proofs;
mod record;
#[doc(hidden)]
pub mod redirect;
pub(crate) mod redirect_uri;
mod refresh;
#[doc(hidden)]
pub mod refusal;
#[doc(hidden)]
pub mod registration;
mod secret;
mod service_grant;
mod sign_in;
mod step_ups;
mod token_call;
mod token_request;
mod unix_clock;

use crate::scopes;

pub use crate::scopes::Scopes;
pub use action::{
    Access, AuthAction, AuthState, ConsentPage, Credentials, Fetch, FetchAnswer, FetchId, KeyRole,
    RecordId, RefusalAdvice, SentRequest, SignId, SignInId, SubjectId, TokenId,
};
pub use authorizer::Authorizer;
pub use config::Config;
pub use decisions::AuthDecision;
pub use document::MAX_BODY_BYTES;
pub use error::{AuthError, UrlRefusal};
pub use grant_kind::GrantKind;
pub use host_kind::HostKind;
pub use identity_provider::IdentityProvider;
pub use jwt::ProofKey;
pub use metadata::{IssuerMetadata, ResourceMetadata};
pub use policy::{FetchReach, UrlPolicy};
pub use registration::AuthMethod;
pub use secret::Secret;
