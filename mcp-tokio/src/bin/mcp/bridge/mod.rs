//! `mcp bridge`: a server of any era, for clients of any era.
//!
//! In: a server, or a file with several, and the transport of the clients. Out: the conversations,
//! on standard input and output or over HTTP, until the client disconnects or a signal arrives.

pub(crate) mod args;
mod http;
mod tokens;

use mcp_tokio::{
    BridgeConfig, BridgeTarget, Config, EraPolicy, Implementation, Restart, bridge,
    serve_stdio_with,
};

use crate::failure::{Exit, Failure};
use crate::faults::Faults;
use crate::interrupt::unless_interrupted;
use crate::print;
use crate::target::Target;
use args::BridgeArgs;
use http::NamedBridge;

/// Refuses the options for an output: standard output belongs to the protocol.
pub(crate) fn check_output(args: &BridgeArgs) -> Result<(), Failure> {
    let common = &args.alone.common;
    let options = [("--out", common.out.is_some()), ("--json", common.json)];
    match options.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} is not for a bridge: its output belongs to the protocol"
        ))),
        None => Ok(()),
    }
}

pub(crate) async fn run(args: BridgeArgs) -> Result<Exit, Failure> {
    let common = &args.alone.common;
    if args.listen.is_none() && common.sign_in.paste {
        return Err(Failure::usage(
            "--paste reads from standard input, which belongs to the client",
        )
        .advice("sign in with `mcp login --paste`; the bridge uses what that stores"));
    }
    if !common.root.is_empty() {
        return Err(Failure::usage("--root is not for a bridge: its clients give the roots"));
    }
    let url = args.alone.url.as_deref();
    let alone = || Target::new(url, common).map(|target| open(target, None, &args));
    let (bridges, served) = if let Some(address) = args.listen {
        let bridges = match (&common.config, &common.server) {
            (Some(file), None) if common.program.is_empty() && url.is_none() => {
                let servers = Target::all(file, common)?.into_iter();
                servers.map(|(name, target)| open(target, Some(name), &args)).collect()
            }
            _ => vec![alone()?],
        };
        let served = http::listen(&bridges, address, &args).await;
        (bridges, served)
    } else {
        let only = alone()?;
        let served = serve_alone(&only, args.serve).await;
        (vec![only], served)
    };
    let closing: Vec<_> = bridges.iter().map(|named| named.bridge.close()).collect();
    // After another signal, servers that do not exit are killed by the drop of the runtime.
    let _ = unless_interrupted(async {
        for closed in closing {
            closed.await;
        }
        Ok(())
    })
    .await;
    served.map(|()| Exit::Fine)
}

/// Serves one client over standard input and output.
async fn serve_alone(only: &NamedBridge, eras: EraPolicy) -> Result<(), Failure> {
    let mut config = Config::default();
    config.era_policy = eras;
    let served = serve_stdio_with(only.bridge.catalog(), config).await;
    served.map_err(|error| {
        let message = format!("standard input or output cannot be used: {error}");
        Failure::new(Exit::Connection, message)
    })
}

/// A bridge to a server, with its name in the file. Nothing is started or connected yet.
fn open(target: Target, name: Option<String>, args: &BridgeArgs) -> NamedBridge {
    let common = &args.alone.common;
    let mut config =
        BridgeConfig::new(Implementation::new("mcp-bridge", env!("CARGO_PKG_VERSION")));
    config.sharing = args.upstream;
    config.max_upstreams = args.max_upstreams;
    config.client.negotiation = common.era;
    config.client.probe_timeout = config.client.probe_timeout.min(common.timeout);
    config.client.initialize_timeout = common.timeout;
    config.client.restart = Restart::OnCall;
    let server = target.name();
    let target = match target {
        Target::Command(command) => BridgeTarget::Command(command),
        Target::Http(config) => BridgeTarget::Http(config),
    };
    let bridge = bridge(target, config);
    let whose = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let faults = Faults::new(format!("mcp: {whose}{server}"));
    bridge.on_fault(move |error| faults.show(error));
    bridge.on_failure(move |error| print::note(&format!("mcp: {whose}{error}")));
    NamedBridge { bridge, name }
}
