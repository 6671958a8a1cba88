//! Clients of `mcp bridge` over HTTP: paths and tokens.
//!
//! In: bridges, and an address. Out: a server with the path `/mcp`, or with `/NAME/mcp` for each
//! bridge that has a name. The principal of a client is the name of its bridge, so that paths do
//! not share sessions.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use mcp_tokio::mcp_proto::frame::http1::Head;
use mcp_tokio::mcp_proto::http::RouteResponse;
use mcp_tokio::{Authorization, Bridge, Catalog, HttpConfig, serve_http};
use tokio::net::TcpListener;

use super::args::BridgeArgs;
use crate::failure::{Exit, Failure};
use crate::print;

/// A bridge, and the name of its server in the file.
pub(super) struct NamedBridge {
    pub(super) bridge: Bridge,
    pub(super) name: Option<String>,
}

/// The names of bridges by their paths; without a name the path is `/mcp`.
type Paths = BTreeMap<String, Arc<str>>;

pub(super) async fn listen(
    bridges: &[NamedBridge],
    address: SocketAddr,
    args: &BridgeArgs,
) -> Result<(), Failure> {
    let token = args.tokens.required(address)?;
    let mut config = HttpConfig::default();
    config.server.era_policy = args.serve;
    config.allowed_hosts.extend_from_slice(&args.allow_host);
    config.allowed_origins.extend_from_slice(&args.allow_origin);
    // The bridge compares `Mcp-Param-*` with the arguments of a call.
    config.keep_head = true;
    let is_alone = matches!(bridges, [NamedBridge { name: None, .. }]);
    if !is_alone && args.tokens.has_issuer() {
        return Err(Failure::usage("--require-issuer protects one server")
            .advice("choose one of the file with --server"));
    }
    #[cfg(feature = "jwt")]
    args.tokens.jwt.protect(&mut config)?;
    let path = |NamedBridge { name, .. }: &NamedBridge| match name {
        Some(name) => (format!("/{}/mcp", encoded(name)), name.as_str().into()),
        None => (config.path.clone(), "client".into()),
    };
    let paths: Arc<Paths> = Arc::new(bridges.iter().map(path).collect());
    let failed =
        |error| Failure::new(Exit::Connection, format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    let urls = paths.keys().map(|path| format!("mcp bridge: http://{local}{path}"));
    print::notes(&urls.collect::<Vec<_>>());
    if !is_alone {
        config.path = String::new();
        let known = paths.clone();
        config.route(move |head| {
            let is_known = known.contains_key(head.path());
            if is_known { None } else { Some(RouteResponse::new(404)) }
        });
    }
    if !args.tokens.has_issuer() {
        config.authorize = Some(Arc::new(move |head| authorize(head, token.as_deref(), &paths)));
    }
    serve_http(listener, catalog(bridges), config).await.map_err(failed)
}

fn catalog(bridges: &[NamedBridge]) -> Catalog {
    let named: BTreeMap<String, Bridge> = bridges
        .iter()
        .filter_map(|NamedBridge { bridge, name }| Some((name.clone()?, bridge.clone())))
        .collect();
    match bridges {
        [NamedBridge { bridge, name: None }] => bridge.catalog(),
        bridges => {
            let all: Vec<_> = bridges.iter().map(|named| named.bridge.clone()).collect();
            Bridge::catalog_of(all, move |peer| named.get(peer.principal.as_deref()?).cloned())
        }
    }
}

fn authorize(head: &Head, token: Option<&str>, paths: &Paths) -> Authorization {
    let given = head.field("authorization").unwrap_or_default();
    let given =
        given.split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
    match (token, given) {
        (None, _) => Authorization::Allow(paths.get(head.path()).cloned()),
        (Some(token), Some((_, given))) if is_same(given, token.as_bytes()) => {
            Authorization::Allow(paths.get(head.path()).cloned())
        }
        (Some(_), Some(_)) => Authorization::Unauthorized("Bearer error=\"invalid_token\"".into()),
        (Some(_), None) => Authorization::Unauthorized("Bearer".into()),
    }
}

/// Compares in a time that depends on the lengths only.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

/// A name as a segment of a path (RFC 3986, 3.3).
fn encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.extend(["%".to_owned(), format!("{byte:02X}")]),
        }
    }
    out
}
