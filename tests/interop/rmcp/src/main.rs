//! `interop-rmcp MODE -- URL | COMMAND...`: the rmcp client, which speaks both eras.
#![expect(deprecated, reason = "the modern era deprecates what the legacy era has")]

mod host;
mod over_http;
mod steps;
mod watch;

use std::{env, process::ExitCode, time::Duration};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt,
    model::ProtocolVersion,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use tokio::{process::Command, time};

use crate::{
    host::Host,
    steps::{Client, Outcome, ok},
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
    let (Some(mode), Some("--")) = (words.next(), words.next().as_deref()) else {
        return Err("usage: interop-rmcp MODE -- URL | COMMAND...".into());
    };
    let server = Server { words: words.collect() };
    time::timeout(DEADLINE, converse(&mode, &server)).await?
}

async fn converse(mode: &str, server: &Server) -> Outcome {
    let mut client = server.connect(mode).await?;
    ok("connect");
    let (_, version) = lifecycle(mode)?;
    steps::take(&client, version).await?;
    client.close().await?;
    ok("close");
    if server.url().is_some() {
        over_http::take(mode, server).await?;
    }
    Ok(())
}

/// What is tried: a URL, or a command to spawn.
struct Server {
    words: Vec<String>,
}

impl Server {
    fn url(&self) -> Option<&str> {
        self.words.first().map(String::as_str).filter(|word| word.starts_with("http:"))
    }

    async fn connect(&self, mode: &str) -> Outcome<Client> {
        let (lifecycle, _) = lifecycle(mode)?;
        let host = Host::default();
        if let Some(url) = self.url() {
            let server = StreamableHttpClientTransport::from_uri(url);
            return Ok(host.serve_with_lifecycle(server, lifecycle).await?);
        }
        let [program, arguments @ ..] = self.words.as_slice() else {
            return Err("no server".into());
        };
        let mut command = Command::new(program);
        command.args(arguments);
        let server = TokioChildProcess::new(command)?;
        Ok(host.serve_with_lifecycle(server, lifecycle).await?)
    }
}

/// How the client connects in `mode`, and the version that must come of it.
fn lifecycle(mode: &str) -> Outcome<(ClientLifecycleMode, ProtocolVersion)> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: preferred_versions.clone(),
        legacy_version: None,
    };
    match mode {
        "initialize" => Ok((ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25)),
        "discover" => Ok((
            ClientLifecycleMode::Discover { preferred_versions },
            ProtocolVersion::V_2026_07_28,
        )),
        "auto" => Ok((auto, ProtocolVersion::V_2026_07_28)),
        // The server must turn out to be a legacy one.
        "fallback" => Ok((auto, ProtocolVersion::V_2025_11_25)),
        _ => Err(format!("no mode {mode}").into()),
    }
}
