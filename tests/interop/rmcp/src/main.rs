//! `interop-rmcp MODE -- URL | COMMAND...`: the rmcp client, which speaks both eras. `soak` says
//! what `interop-rmcp soak NAME -- URL` does.
#![expect(deprecated, reason = "the modern era deprecates what the legacy era has")]

mod host;
mod over_http;
mod soak;
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
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["soak", name, "--", url] => soak::run(name, &Server::new(&[url])).await,
        [mode, "--", ref server @ ..] => {
            time::timeout(DEADLINE, converse(mode, &Server::new(server))).await?
        }
        _ => Err("usage: interop-rmcp MODE -- URL | COMMAND...".into()),
    }
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

/// Server under test: a URL, or a command to spawn.
struct Server {
    words: Vec<String>,
}

impl Server {
    fn new(words: &[&str]) -> Self {
        Self { words: words.iter().map(|&word| word.to_owned()).collect() }
    }

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

/// Lifecycle of the client in `mode`, and the version that it must come to.
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
