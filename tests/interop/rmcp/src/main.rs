//! `interop-rmcp MODE -- COMMAND...`: the rmcp client, which speaks both eras.
#![expect(deprecated, reason = "the modern era deprecates what the legacy era has")]

mod host;
mod steps;
mod watch;

use std::{env, error::Error, process::ExitCode, time::Duration};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, model::ProtocolVersion, transport::TokioChildProcess,
};
use tokio::{process::Command, time};

use crate::{
    host::Host,
    steps::{Outcome, ok},
};

const DEADLINE: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await else {
        return ExitCode::SUCCESS;
    };
    println!("FAILED: {error}");
    ExitCode::FAILURE
}

async fn run() -> Outcome {
    let mut words = env::args().skip(1);
    let (Some(mode), Some("--"), Some(program)) =
        (words.next(), words.next().as_deref(), words.next())
    else {
        return Err("usage: interop-rmcp MODE -- COMMAND...".into());
    };
    let mut command = Command::new(program);
    command.args(words);
    time::timeout(DEADLINE, converse(&mode, command)).await?
}

async fn converse(mode: &str, command: Command) -> Outcome {
    let (lifecycle, version) = lifecycle(mode)?;
    let server = TokioChildProcess::new(command)?;
    let mut client = Host::default().serve_with_lifecycle(server, lifecycle).await?;
    ok("connect");
    steps::take(&client, version).await?;
    client.close().await?;
    ok("close");
    Ok(())
}

/// How the client connects in `mode`, and the version that must come of it.
fn lifecycle(mode: &str) -> Result<(ClientLifecycleMode, ProtocolVersion), Box<dyn Error>> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match mode {
        "initialize" => Ok((ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25)),
        "discover" => Ok((
            ClientLifecycleMode::Discover { preferred_versions },
            ProtocolVersion::V_2026_07_28,
        )),
        "auto" => Ok((
            ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
            ProtocolVersion::V_2026_07_28,
        )),
        _ => Err(format!("no mode {mode}").into()),
    }
}
