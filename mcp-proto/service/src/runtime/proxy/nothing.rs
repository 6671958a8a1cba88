//! No proxies, without the feature `proxy`.

use std::io;

use crate::{HttpClientConfig, Socket};
use mcp_proto::http::Url;

/// The proxies of a client: there are none.
pub(in crate::runtime) struct Proxies(());

impl Proxies {
    pub(in crate::runtime) fn of(_config: &HttpClientConfig) -> Self {
        Self(())
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the feature needs both")]
    pub(in crate::runtime) fn find(&self, _url: &Url) -> io::Result<Option<Proxy>> {
        Ok(None)
    }
}

/// A proxy: there is none.
pub(in crate::runtime) enum Proxy {}

impl Proxy {
    pub(in crate::runtime) fn host(&self) -> &str {
        match *self {}
    }

    pub(in crate::runtime) fn port(&self) -> u16 {
        match *self {}
    }

    pub(in crate::runtime) fn name(&self) -> &str {
        match *self {}
    }

    pub(in crate::runtime) fn is_secure(&self) -> bool {
        match *self {}
    }
}

#[expect(clippy::unused_async, reason = "it waits with the feature")]
pub(in crate::runtime) async fn tunnel(
    proxy: &Proxy,
    _url: &Url,
    _socket: &mut impl Socket,
) -> io::Result<()> {
    match *proxy {}
}
