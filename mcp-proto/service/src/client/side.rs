//! What a runner wants of a machine: the commands that all machines of clients have.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use mcp_proto::ErrorData;
use mcp_proto::Instant;
use mcp_proto::Json;
use mcp_proto::UsageError;
use mcp_proto::client::{
    CallId, CallOptions, Client, Decision, InputReply, Listing, SubscriptionId, Verdict,
};
use mcp_proto::types::{ClientCapabilities, LoggingLevel, Root, SubscriptionFilter};
use mcp_proto::{http, stdio};

macro_rules! side {
    ($(fn $name:ident(&mut self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        /// The machine of a client; the commands are those of [`Client`].
        pub(super) trait Side: Fields {
            $(fn $name(&mut self $(, $argument: $type)*) $(-> $result)?;)*

            /// What has been found out about the server.
            fn verdict(&self) -> Option<Verdict>;

            /// How the negotiation went.
            fn decisions(&self) -> &[Decision];
        }

        side!(stdio::Connection<Client>: $(fn $name(&mut self $(, $argument: $type)*) $(-> $result)?;)*);
        side!(http::Client: $(fn $name(&mut self $(, $argument: $type)*) $(-> $result)?;)*);
    };
    ($machine:ty: $(fn $name:ident(&mut self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        impl Side for $machine {
            $(fn $name(&mut self $(, $argument: $type)*) $(-> $result)? {
                <$machine>::$name(self $(, $argument)*)
            })*

            fn verdict(&self) -> Option<Verdict> {
                <$machine>::verdict(self)
            }

            fn decisions(&self) -> &[Decision] {
                <$machine>::decisions(self)
            }
        }
    };
}

/// The fields of HTTP requests.
pub(super) trait Fields {
    /// Gives every request a field; where requests have no fields nothing happens.
    fn set_field(&mut self, now: Instant, name: &str, value: &str) -> Result<(), UsageError>;
}

impl Fields for stdio::Connection<Client> {
    fn set_field(&mut self, _now: Instant, _name: &str, _value: &str) -> Result<(), UsageError> {
        Ok(())
    }
}

impl Fields for http::Client {
    fn set_field(&mut self, now: Instant, name: &str, value: &str) -> Result<(), UsageError> {
        Self::set_field(self, now, name, value)
    }
}

side! {
    fn call(
        &mut self,
        now: Instant,
        method: Cow<'static, str>,
        params: Json,
        options: CallOptions
    ) -> Result<CallId, UsageError>;
    fn list(
        &mut self,
        now: Instant,
        listing: Listing,
        options: CallOptions
    ) -> Result<CallId, UsageError>;
    fn ping(&mut self, now: Instant, options: CallOptions) -> Result<CallId, UsageError>;
    fn set_log_level(
        &mut self,
        now: Instant,
        level: LoggingLevel,
        options: CallOptions
    ) -> Result<CallId, UsageError>;
    fn cancel(&mut self, now: Instant, call: CallId) -> Result<(), UsageError>;
    fn answer(&mut self, now: Instant, reply: InputReply, answer: Result<Json, ErrorData>);
    fn subscribe(
        &mut self,
        now: Instant,
        filter: SubscriptionFilter
    ) -> Result<SubscriptionId, UsageError>;
    fn unsubscribe(
        &mut self,
        now: Instant,
        subscription: SubscriptionId
    ) -> Result<(), UsageError>;
    fn notify(
        &mut self,
        now: Instant,
        method: Cow<'static, str>,
        params: Json
    ) -> Result<(), UsageError>;
    fn set_roots(&mut self, now: Instant, roots: Vec<Root>) -> Result<(), UsageError>;
    fn set_capabilities(&mut self, capabilities: ClientCapabilities);
    fn close(&mut self, now: Instant);
}
