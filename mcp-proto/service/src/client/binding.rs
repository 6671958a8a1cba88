//! The machine of a client on its transport, as the runner uses it.

#[cfg(feature = "auth")]
use alloc::boxed::Box;

#[cfg(feature = "auth")]
use super::auth_slot::AuthorizerVerb;
use mcp_proto::client::Client;
use mcp_proto::{Binding, Instant, http, stdio};

/// A binding of a client. The verbs of the machine are given by [`Binding::with`]; here are those
/// of one transport only.
pub(super) trait ClientBinding: Binding<Machine = Client> {
    /// Gives every HTTP request a field, which was checked. Other transports have no fields.
    fn set_field(&mut self, _now: Instant, _name: &str, _value: &str) {}

    /// Gives access to the authorizer; `None` if there is none.
    #[cfg(feature = "auth")]
    fn with_authorizer(&mut self, _now: Instant, _verb: Box<AuthorizerVerb>) -> Option<()> {
        None
    }
}

impl ClientBinding for stdio::Connection<Client> {}

impl ClientBinding for http::Client {
    fn set_field(&mut self, now: Instant, name: &str, value: &str) {
        let _ = Self::set_field(self, now, name, value);
    }

    #[cfg(feature = "auth")]
    fn with_authorizer(&mut self, now: Instant, verb: Box<AuthorizerVerb>) -> Option<()> {
        Self::with_authorizer(self, now, |authorizer| verb(authorizer, now))
    }
}
