//! Arguments of `mcp bridge`.
//!
//! In: words. Out: [`BridgeArgs`], and the texts of its help.

use std::net::SocketAddr;

use mcp_tokio::{EraPolicy, Sharing};

use super::tokens::TokenArgs;
use crate::args::Alone;

#[derive(clap::Args)]
pub(crate) struct BridgeArgs {
    /// Serves HTTP at this address, in place of standard input and output: at the path /mcp, or
    /// with --config and without --server each server of the file at /NAME/mcp
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// The eras of the clients: auto, legacy or modern
    #[arg(long, value_name = "ERAS", default_value = "auto", value_parser = eras)]
    pub(crate) serve: EraPolicy,
    /// The clients that share a connection to the server: per-client or shared
    #[arg(long, value_name = "SHARING", default_value = "per-client", value_parser = sharing)]
    pub(crate) upstream: Sharing,
    /// The maximum number of connections to each server; up to twice as many while old ones end
    #[arg(long, value_name = "NUMBER", default_value_t = 64)]
    pub(crate) max_upstreams: usize,
    /// A host that requests may name, besides localhost; may be repeated
    #[arg(long, value_name = "HOST", requires = "listen")]
    pub(crate) allow_host: Vec<String>,
    /// An origin whose pages may send requests; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "listen")]
    pub(crate) allow_origin: Vec<String>,
    #[command(flatten)]
    pub(crate) tokens: TokenArgs,
    #[command(flatten)]
    pub(crate) alone: Alone,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "it is an IP address and a port, such as 127.0.0.1:8000".into())
}

fn eras(text: &str) -> Result<EraPolicy, String> {
    match text {
        "auto" => Ok(EraPolicy::Auto),
        "legacy" => Ok(EraPolicy::LegacyOnly),
        "modern" => Ok(EraPolicy::ModernOnly),
        _ => Err("it is auto, legacy or modern".into()),
    }
}

fn sharing(text: &str) -> Result<Sharing, String> {
    match text {
        "per-client" => Ok(Sharing::PerClient),
        "shared" => Ok(Sharing::Shared),
        _ => Err("it is per-client or shared".into()),
    }
}

pub(crate) const USAGE_BRIDGE: &str = "mcp bridge [OPTIONS] <URL>
       mcp bridge [OPTIONS] -- <COMMAND>...
       mcp bridge --listen <ADDRESS:PORT> [OPTIONS] <URL>
       mcp bridge --listen <ADDRESS:PORT> [OPTIONS] -- <COMMAND>...
       mcp bridge --listen <ADDRESS:PORT> [OPTIONS] --config <FILE>";

pub(crate) const HELP_BRIDGE: &str = "\
--era is the era of the server, --serve has the eras of the clients. Each legacy client has its own
connection to the server, or its own process. Modern clients share one if they have the same
principal and declare the same capabilities. With --upstream shared all clients share one, for a
server that stores nothing about its clients.

--root is refused: the clients supply the roots. So are --out and --json: a bridge has no output of
its own.

--timeout limits the negotiation with the server. Requests of clients may take an hour.

Over HTTP only a loopback address is served without tokens; hosts and origins are always checked.
Another address needs --allow-host with the name that clients use, and --require-bearer-env or, if
built with the feature jwt, --require-issuer, which verifies tokens of an authorization server, for
the subjects that --subject names. No token of a client is passed on to the server: --bearer-env,
--header and `mcp login` supply the credentials for the server. All clients use these credentials.

With --listen and --config the bridge has a path for each server of the file, /NAME/mcp. Settings of
one server, such as --header, --bearer-env and --env, then belong in the file. --server chooses one
server of the file, at /mcp.

Standard output belongs to the protocol. MCP_WIRE=1 shows both conversations on standard error.";
