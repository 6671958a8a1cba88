//! Servers that are not there, or do not want to be.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::sync::Arc;

use mcp_proto::client::{CallError, ConnectError};
use mcp_proto::http::Authorization;
use mcp_service::{ConnectFailure, HttpClientConfig};
use serde_json::json;

use super::{ALL, ERAS, MODERN, Named, Site, to};
use crate::http::{Check, Server};

pub(super) const CHECKS: &[Named] = &[
    ("who_asks_must_be_known", ALL, who_asks_must_be_known),
    ("a_token_may_be_exchanged", ALL, a_token_may_be_exchanged),
    ("nobody_is_there", ERAS, nobody_is_there),
    ("something_else_is_there", ERAS, something_else_is_there),
    ("a_host_without_an_address", MODERN, a_host_without_an_address),
];

const CHALLENGE: &str = r#"Bearer resource_metadata="https://example.com/meta", scope="mcp""#;

/// A server of those who have this token.
fn guarded(site: Site, token: &'static str) -> Result<Server, Box<dyn Error>> {
    let mut config = site.config();
    config.authorize = Some(Arc::new(move |head| {
        if head.field("Authorization") == Some(token.as_bytes()) {
            Authorization::Allow(Some("ada".into()))
        } else {
            Authorization::Unauthorized(CHALLENGE.into())
        }
    }));
    Server::start(site.serve, config)
}

fn who_asks_must_be_known(site: Site) -> Check {
    let server = guarded(site, "Bearer a")?;
    site.meet_with(&site.client(), to(server.address)?, |connected| async {
        let ConnectError::Unauthorized(unauthorized) = why(connected)? else {
            return Err("it is known".into());
        };
        assert_eq!(unauthorized.status, 401);
        Ok(())
    })?;
    server.end()
}

fn a_token_may_be_exchanged(site: Site) -> Check {
    let (server, client) = (guarded(site, "Bearer a")?, site.client());
    let config = to(server.address)?.field("Authorization", "Bearer a")?;
    let given = client.clone();
    site.meet_with(&client, config, |connected| async move {
        connected?;
        let echo = async || given.call_tool("echo", &json!({ "message": "a" })).await;
        echo().await?;
        given.set_field("authorization", "Bearer b")?;
        let Err(CallError::Unauthorized(_)) = echo().await else {
            return Err("the token of nobody is known".into());
        };
        given.set_field("Authorization", "Bearer a")?;
        echo().await?;
        assert!(given.set_field("Mcp-Session-Id", "a").is_err(), "it is the client's own");
        given.close().await;
        Ok(())
    })?;
    server.end()
}

fn nobody_is_there(site: Site) -> Check {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    site.meet_with(&site.client(), to(address)?, |connected| async {
        assert_eq!(kind_of(&connected), Some(ErrorKind::ConnectionRefused));
        let ConnectError::Connection(reason) = why(connected)? else {
            return Err("somebody is there".into());
        };
        assert!(reason.to_lowercase().contains("refused"), "{reason}");
        Ok(())
    })
}

fn something_else_is_there(site: Site) -> Check {
    let server = site.server()?;
    let url = format!("http://{}/another", server.address);
    let config = HttpClientConfig::parse(&format!("{url}?key=secret"))?;
    site.meet_with(&site.client(), config, |connected| async move {
        let error = connected.err().ok_or("it is connected")?;
        let text = format!("{url}: the server has answered with HTTP status 404");
        assert_eq!((error.to_string(), error.kind()), (text, ErrorKind::Other));
        assert_eq!(why::<()>(Err(error))?, ConnectError::Http { status: 404 });
        Ok(())
    })?;
    server.end()
}

fn a_host_without_an_address(site: Site) -> Check {
    let config = HttpClientConfig::parse("http://nowhere.invalid/mcp")?;
    site.meet_with(&site.client(), config, |connected| async {
        assert_eq!(kind_of(&connected), Some(ErrorKind::NotFound));
        let why = why(connected)?;
        assert!(matches!(why, ConnectError::Connection(_)), "{why}");
        assert!(why.to_string().contains(": nowhere.invalid: "), "{why}");
        Ok(())
    })
}

/// The kind of the failure.
pub(super) fn kind_of<T>(connected: &io::Result<T>) -> Option<ErrorKind> {
    connected.as_ref().err().map(io::Error::kind)
}

/// Why there is no connection.
pub(super) fn why<T>(connected: io::Result<T>) -> Result<ConnectError, Box<dyn Error>> {
    let error = connected.err().ok_or("it is connected")?;
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ConnectFailure>());
    Ok(inner.ok_or_else(|| error.to_string())?.error.clone())
}
