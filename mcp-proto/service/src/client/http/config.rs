//! Settings of a client over HTTP: its server, and the way to it.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

#[cfg(feature = "proxy")]
use super::proxies::Proxies;
#[cfg(feature = "auth")]
use crate::auth::SignIn;
use mcp_proto::Duration;
use mcp_proto::client;
use mcp_proto::http::Url;
use mcp_proto::http::client::{Config, set_field};
use mcp_proto::{UsageError, http::UrlError};

/// The longest time that a connection may take by default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of a client over HTTP: its server, and the way to it; [`client::Config`] has the rest.
///
/// ```
/// use mcp_service::HttpClientConfig;
///
/// let config = HttpClientConfig::parse("https://mcp.example.com/mcp")?;
/// let config = config.field("Authorization", "Bearer 0123")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpClientConfig {
    /// URL of the server.
    pub url: Url,
    /// True if the client opens a GET stream for messages that a legacy server sends outside of
    /// calls; default true. Without the stream, changes are reported during a call or not at all.
    pub listens: bool,
    /// Another origin that the endpoint of a server of 2024-11-05 may name; default none. See
    /// [`Config::trusts_endpoint_origin`].
    pub trusts_endpoint_origin: Option<Url>,
    /// The timeout for connecting, including TLS; default 10 s.
    pub connect_timeout: Duration,
    /// For `https`, the certificates of the authorities to trust, as PEM; default `None`: those
    /// of the platform.
    pub trusted: Option<Vec<u8>>,
    fields: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    #[cfg(feature = "auth")]
    pub(super) sign_in: Option<SignIn>,
    /// `None` for those of the environment.
    #[cfg(feature = "proxy")]
    pub(crate) proxies: Option<Proxies>,
}

impl HttpClientConfig {
    /// The default settings for the server at `url`.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            listens: true,
            trusts_endpoint_origin: None,
            connect_timeout: CONNECT_TIMEOUT,
            trusted: None,
            fields: Vec::new(),
            #[cfg(feature = "auth")]
            sign_in: None,
            #[cfg(feature = "proxy")]
            proxies: None,
        }
    }

    /// The default settings for the server at a URL that is yet to be read.
    ///
    /// Fails with a [`UrlError`] that names the fault of the URL.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        Url::parse(url).map(Self::new)
    }

    /// Gives every request a field, such as `Authorization` with a token, in place of one of the
    /// same name; [`Client::set_field`](crate::Client::set_field) does so later on. The
    /// field is only sent to the origin of the URL.
    ///
    /// Fails with [`UsageError::InvalidField`] if the name is not a token or is one that the
    /// client sets itself, or if the value is not a valid field value.
    pub fn field(mut self, name: &str, value: &str) -> Result<Self, UsageError> {
        set_field(&mut self.fields, name, value)?;
        Ok(self)
    }

    /// Returns whether every request has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// Trusts the authorities with these certificates, as PEM, and not those of the platform.
    pub fn trust(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trusted = Some(pem.into());
        self
    }

    /// Connects through these proxies; default those of the environment, see [`Proxies`].
    #[cfg(feature = "proxy")]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = Some(proxies);
        self
    }

    /// Lets the client get tokens when the server refuses a request with 401 or 403. Then the
    /// client sends the request again. Cannot be combined with a field `Authorization` or
    /// `DPoP`.
    #[cfg(feature = "auth")]
    pub fn sign_in(mut self, sign_in: SignIn) -> Self {
        self.sign_in = Some(sign_in);
        self
    }

    /// Fails with [`UsageError::InvalidField`] if both a sign-in and one of its fields are set.
    #[cfg(feature = "auth")]
    pub(super) fn check(&self) -> Result<(), UsageError> {
        let set = ["Authorization", "DPoP"].into_iter().find(|name| self.has_field(name));
        match set.filter(|_| self.sign_in.is_some()) {
            Some(name) => Err(UsageError::InvalidField { name: name.into() }),
            None => Ok(()),
        }
    }

    /// The settings of a machine.
    pub(super) fn of_machine(self, client: client::Config) -> Result<Config, UsageError> {
        let mut config = Config::new(self.url, client);
        config.listens = self.listens;
        config.trusts_endpoint_origin = self.trusts_endpoint_origin;
        self.fields.iter().try_fold(config, |config, (name, value)| config.field(name, value))
    }
}

impl From<Url> for HttpClientConfig {
    fn from(url: Url) -> Self {
        Self::new(url)
    }
}

/// Shows the names of fields, and not their values, which may be secrets.
impl fmt::Debug for HttpClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<&str> = self.fields.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("HttpClientConfig")
            .field("url", &self.url)
            .field("listens", &self.listens)
            .field("trusts_endpoint_origin", &self.trusts_endpoint_origin)
            .field("connect_timeout", &self.connect_timeout)
            .field("trusted", &self.trusted.is_some())
            .field("fields", &fields)
            .finish_non_exhaustive()
    }
}
