//! The machine of a client on its transport, as the runner uses it.

#[cfg(feature = "auth")]
use mcp_proto::auth::Authorizer;
use mcp_proto::client::Client;
use mcp_proto::{Binding, Instant, http, stdio};

/// A binding of a client. [`Binding::with`] gives access to the methods of the machine. This trait
/// adds methods that only HTTP supports; elsewhere they do nothing.
pub(super) trait ClientBinding: Binding<Machine = Client> {
    /// Adds a header, already validated, to every HTTP request. Other transports ignore it.
    fn set_field(&mut self, _now: Instant, _name: &str, _value: &str) {}

    /// Gives access to the authorizer; `None` if there is none.
    #[cfg(feature = "auth")]
    fn with_authorizer<T>(
        &mut self,
        _now: Instant,
        _command: impl FnOnce(&mut Authorizer) -> T,
    ) -> Option<T> {
        None
    }
}

impl ClientBinding for stdio::Connection<Client> {}

impl ClientBinding for http::Client {
    fn set_field(&mut self, now: Instant, name: &str, value: &str) {
        let _ = Self::set_field(self, now, name, value);
    }

    #[cfg(feature = "auth")]
    fn with_authorizer<T>(
        &mut self,
        now: Instant,
        command: impl FnOnce(&mut Authorizer) -> T,
    ) -> Option<T> {
        Self::with_authorizer(self, now, command)
    }
}
