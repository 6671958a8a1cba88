//! Settings of a client.

use super::cache::settings::CacheConfig;
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
    /// The strategy for finding a version that the server supports; default [`Negotiation::Auto`].
    pub negotiation: Negotiation,
    /// The verdict of an earlier client of the same server; default none.
    pub verdict: Option<Verdict>,
    /// The longest time to wait on a byte stream for the answer to the first `server/discover`, or
    /// for the confirmation of a modern verdict; default 5 s. Afterwards the client assumes a
    /// legacy server, or gives up if it only accepts a modern server.
    pub probe_timeout: Duration,
    /// The longest time that a server may take to answer `initialize`, a `server/discover` after
    /// `initialize`, or any `server/discover` over HTTP; default 60 s.
    pub initialize_timeout: Duration,
    /// The policy for restarting a server after its byte stream has ended; default never.
    pub restart: Restart,
    /// True if the application forwards the server's messages and reads them itself; default false.
    ///
    /// Every request of a legacy server except `ping` then becomes a [`ClientEvent::Input`] with an
    /// [`InputRequest::Forwarded`], whatever capabilities are declared. Every notification except
    /// `notifications/cancelled` becomes a [`ClientEvent::Forwarded`]. A result that asks for input
    /// becomes a [`ClientEvent::Response`] like any other. The application may call
    /// `server/discover` and `subscriptions/listen`. A gap in the stream of a legacy session is a
    /// [`ClientEvent::ChangesMissed`].
    ///
    /// [`ClientEvent::ChangesMissed`]: super::ClientEvent::ChangesMissed
    /// [`ClientEvent::Input`]: super::ClientEvent::Input
    /// [`ClientEvent::Forwarded`]: super::ClientEvent::Forwarded
    /// [`ClientEvent::Response`]: super::ClientEvent::Response
    /// [`InputRequest::Forwarded`]: crate::types::InputRequest::Forwarded
    pub forwards: bool,
    /// True if the client follows a task that the server makes of a tool call, until the task has
    /// ended; default false. Requests to modern servers then declare the extension
    /// [`TASKS`](crate::ext::TASKS).
    pub follow_tasks: bool,
    /// The cache of results; default `None`: each request is sent to the server. A client that
    /// [forwards](Config::forwards) has no cache.
    pub cache: Option<CacheConfig>,
    /// The limits of the client.
    pub limits: Limits,
}

impl Config {
    /// The default settings of a client with this implementation.
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
            follow_tasks: false,
            cache: None,
            limits: Limits::default(),
        }
    }

    /// Sets the strategy for finding a version.
    pub fn negotiation(mut self, negotiation: Negotiation) -> Self {
        self.negotiation = negotiation;
        self
    }

    /// Makes the application forward the server's messages: see [`Config::forwards`].
    pub fn forwarding(mut self) -> Self {
        self.forwards = true;
        self
    }

    /// Makes calls of tools follow the tasks that servers make of them: see
    /// [`Config::follow_tasks`].
    pub fn follow_tasks(mut self) -> Self {
        self.follow_tasks = true;
        self
    }

    /// Sets the cache of results: see [`CacheConfig`].
    pub fn cache(mut self, cache: CacheConfig) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Sets the policy for restarting a server after its byte stream has ended.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// Sets the verdict of an earlier client of the same server.
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
