//! Checks that remain without TLS, in the client or in this suite.

#[cfg(not(feature = "tls"))]
use std::error::Error;
use std::io;

use mcp_service::HttpClientConfig;

use super::{MODERN, Named, Site};
use crate::http::Check;

/// Clients without TLS.
pub(super) const CHECKS: &[Named] = &[("https_needs_a_feature", MODERN, https_needs_a_feature)];

/// Clients with TLS that nothing here can test: not in silence.
#[cfg(not(feature = "tls"))]
pub(super) const UNTESTED: &[Named] = &[("within_tls", MODERN, untested)];

fn https_needs_a_feature(site: Site) -> Check {
    let config = HttpClientConfig::parse("https://localhost/mcp")?;
    site.meet_with(&site.client(), config, |connected| async {
        let error = connected.err().ok_or("it is connected")?;
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("the feature `tls`"), "{error}");
        Ok(())
    })
}

#[cfg(not(feature = "tls"))]
fn untested(_: Site) -> Check {
    Err(Box::<dyn Error>::from("TLS is tested with `--features tls,mcp-tests/tls`"))
}
