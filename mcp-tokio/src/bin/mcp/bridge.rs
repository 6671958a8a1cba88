//! `mcp bridge`: a server of any era, for clients of any era.
//!
//! In: a server, and where clients are. Out: the conversations, on standard input and output or over
//! HTTP, until the client is gone or a signal comes.

use std::env;
use std::net::SocketAddr;
use std::sync::Arc;

use mcp_tokio::mcp_proto::frame::http1::Head;
use mcp_tokio::{
    Authorization, Bridge, BridgeConfig, BridgeTarget, Config, HttpConfig, Implementation, Restart,
    bridge, serve_http, serve_stdio_with,
};
use tokio::net::TcpListener;

use crate::args::BridgeArgs;
use crate::failure::{Exit, Failure};
use crate::target::Target;

pub(crate) async fn run(args: BridgeArgs) -> Result<Exit, Failure> {
    let common = &args.alone.common;
    let mut config =
        BridgeConfig::new(Implementation::new("mcp-bridge", env!("CARGO_PKG_VERSION")));
    config.sharing = args.upstream;
    config.max_upstreams = args.max_upstreams.max(1);
    config.client.negotiation = common.era;
    config.client.probe_timeout = config.client.probe_timeout.min(common.timeout);
    config.client.initialize_timeout = common.timeout;
    config.client.restart = Restart::OnCall;
    let target = match Target::new(args.alone.url.as_deref(), common)? {
        Target::Command(command) => BridgeTarget::Command(command),
        Target::Http(config) => BridgeTarget::Http(config),
    };
    let bridge = bridge(target, config);
    let served = if let Some(address) = args.listen {
        listen(&bridge, address, &args).await
    } else {
        let mut config = Config::default();
        config.era_policy = args.serve;
        let served = serve_stdio_with(bridge.catalog(), config).await;
        served.map_err(|error| Failure::new(Exit::Connection, error))
    };
    bridge.close().await;
    served.map(|()| Exit::Fine)
}

async fn listen(bridge: &Bridge, address: SocketAddr, args: &BridgeArgs) -> Result<(), Failure> {
    let mut config = HttpConfig::default();
    config.server.era_policy = args.serve;
    config.allowed_hosts.extend_from_slice(&args.allow_host);
    config.allowed_origins.extend_from_slice(&args.allow_origin);
    match &args.require_bearer_env {
        Some(name) => {
            let token = env::var(name).ok().filter(|token| !token.is_empty());
            let token = token.ok_or_else(|| {
                Failure::usage(format!("the environment has no token in the variable {name}"))
            })?;
            config.authorize = Some(Arc::new(move |head| authorize(head, &token)));
        }
        None if !address.ip().is_loopback() => {
            return Err(Failure::usage(format!(
                "whoever reaches {address} could use the server: no token is required"
            ))
            .advice("require one with --require-bearer-env, or listen at 127.0.0.1"));
        }
        None => {}
    }
    let failed = |error| Failure::new(Exit::Connection, format!("{address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    eprintln!("mcp bridge: http://{local}{}", config.path);
    serve_http(listener, bridge.catalog(), config).await.map_err(failed)
}

fn authorize(head: &Head, token: &str) -> Authorization {
    let given = head.field("authorization").unwrap_or_default();
    let given =
        given.split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
    match given {
        Some((_, given)) if is_same(given, token.as_bytes()) => {
            Authorization::Allow(Some("bearer".into()))
        }
        Some(_) => Authorization::Unauthorized("Bearer error=\"invalid_token\"".into()),
        None => Authorization::Unauthorized("Bearer".into()),
    }
}

/// Compares in a time that does not depend on where the first difference is.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}
