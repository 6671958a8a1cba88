//! No proxies, without the feature `proxy`.

use std::io;

use crate::{HttpClientConfig, Socket};
use mcp_proto::http::Url;

/// The proxies of a client: there are none.
pub(in crate::runtime) struct NoProxies(());

pub(in crate::runtime) fn proxies_of(_config: &HttpClientConfig) -> NoProxies {
    NoProxies(())
}

impl NoProxies {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the feature needs both")]
    pub(in crate::runtime) fn find(&self, _url: &Url) -> io::Result<Option<NoProxy>> {
        Ok(None)
    }
}

/// A proxy: there is none.
pub(in crate::runtime) enum NoProxy {}

impl NoProxy {
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

pub(in crate::runtime) async fn tunnel(
    proxy: &NoProxy,
    _url: &Url,
    _socket: &mut impl Socket,
) -> io::Result<()> {
    match *proxy {}
}
