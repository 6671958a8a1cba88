//! Settings of a client.

use super::{Negotiation, Restart, Verdict};
use crate::limits::Limits;
use crate::time::Duration;
use crate::types::{ClientCapabilities, Implementation};

/// Settings of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The implementation of the client.
    pub client_info: Implementation,
    /// The capabilities; see [`Client::set_capabilities`](super::Client::set_capabilities).
    pub capabilities: ClientCapabilities,
    /// The way to find a version that the server speaks; default [`Negotiation::Auto`].
    pub negotiation: Negotiation,
    /// The verdict of an earlier client of the same server; default none.
    pub verdict: Option<Verdict>,
    /// The longest time that a server may be silent to `server/discover`, in the beginning, until
    /// it is taken for a legacy one, or given up if only a modern one will do; default 5 s.
    pub probe_timeout: Duration,
    /// The longest time that a server may take to answer `initialize`, and `server/discover` after
    /// that; default 60 s.
    pub initialize_timeout: Duration,
    /// The policy of restarts of a server over a byte stream that has ended; default never.
    pub restart: Restart,
    /// True if the application passes on what the server sends, and reads it itself; default false.
    ///
    /// Then every request of a legacy server but `ping` is a [`ClientEvent::Input`] with an
    /// [`InputRequest::Forwarded`], whatever is declared. Every notification but
    /// `notifications/cancelled` is a [`ClientEvent::Forwarded`]. A result that asks for input is a
    /// [`ClientEvent::Response`] like any other. The application may call `server/discover` and
    /// `subscriptions/listen`.
    ///
    /// [`ClientEvent::Input`]: super::ClientEvent::Input
    /// [`ClientEvent::Forwarded`]: super::ClientEvent::Forwarded
    /// [`ClientEvent::Response`]: super::ClientEvent::Response
    /// [`InputRequest::Forwarded`]: crate::types::InputRequest::Forwarded
    pub forwards: bool,
    /// Its bounds.
    pub limits: Limits,
}

impl Config {
    /// The default settings of a client with this name.
    pub fn new(client_info: Implementation) -> Self {
        Self {
            client_info,
            capabilities: ClientCapabilities::default(),
            negotiation: Negotiation::default(),
            verdict: None,
            probe_timeout: Duration::from_secs(5),
            initialize_timeout: Duration::from_secs(60),
            restart: Restart::Never,
            forwards: false,
            limits: Limits::default(),
        }
    }

    /// Sets how it finds a version.
    pub fn negotiation(mut self, negotiation: Negotiation) -> Self {
        self.negotiation = negotiation;
        self
    }

    /// Sets that the application passes on what the server sends: see [`Config::forwards`].
    pub fn forwarding(mut self) -> Self {
        self.forwards = true;
        self
    }

    /// Sets when a server over a byte stream is started again after it has ended.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// Sets what an earlier client of the same server has found.
    pub fn verdict(mut self, verdict: Option<Verdict>) -> Self {
        self.verdict = verdict;
        self
    }
}

impl From<Implementation> for Config {
    fn from(client_info: Implementation) -> Self {
        Self::new(client_info)
    }
}
