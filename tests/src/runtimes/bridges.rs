//! The sixteen cells of a bridge over pipes and sockets.
//!
//! A client of each era on each transport is in front. Behind the bridge is the server
//! `everything`, a process or over HTTP, in each era. What the client gets is what it gets from the
//! server directly.

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, io, thread};

use libtest_mimic::{Failed, Trial};
use mcp_proto::client::Config;
use mcp_proto::types::Implementation;
use mcp_proto::{Era, http, server};
use mcp_service::runtime::BridgeTarget;
use mcp_service::{BridgeConfig, Client, Command, HttpClientConfig};

use super::Suite;
use crate::bridge::script::{self, CellSteps};
use crate::bridge::{negotiation, policy};
use crate::everything;
use crate::http::{Check, Stop};
use crate::http_client::Script;
use crate::process::SERVER;

#[derive(Clone, Copy, Debug)]
enum CellTransport {
    Stdio,
    Http,
}

const TRANSPORTS: [CellTransport; 2] = [CellTransport::Stdio, CellTransport::Http];
const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A server, or what is in front of it, until the end of a conversation.
type ServerThread = thread::JoinHandle<io::Result<()>>;

pub(super) fn trials(suite: Suite) -> Vec<Trial> {
    let mut trials = Vec::new();
    for down in TRANSPORTS {
        for era in ERAS {
            for up in TRANSPORTS {
                for behind in ERAS {
                    let name =
                        format!("{}::bridge::{era:?}_{down:?}_to_{behind:?}_{up:?}", suite.name);
                    let check =
                        move || cell(suite, (down, era), (up, behind)).map_err(Failed::from);
                    trials.push(Trial::test(name.to_lowercase(), check));
                }
            }
        }
    }
    trials
}

fn cell(suite: Suite, (down, era): (CellTransport, Era), behind: (CellTransport, Era)) -> Check {
    let direct = converse(suite, down, era, None)?;
    let bridged = converse(suite, down, era, Some(behind))?;
    assert_eq!(script::differences(&direct, &bridged), Vec::<String>::new());
    Ok(())
}

/// The results of a client.
fn converse(
    suite: Suite,
    down: CellTransport,
    era: Era,
    behind: Option<(CellTransport, Era)>,
) -> Result<CellSteps, Box<dyn std::error::Error>> {
    let (stop, mut serving) = (Stop::default(), Vec::new());
    let target = behind.map(|(up, era)| target(suite, up, era, &stop, &mut serving)).transpose()?;
    let client = Client::new(
        Config::new(Implementation::new("client", "1.0.0")).negotiation(negotiation(era)),
    );
    script::equip(&client);
    let steps = Arc::new(Mutex::new(CellSteps::new()));
    let (script, ending) = (script_of(&client, &steps), stop.clone());
    match down {
        CellTransport::Stdio => {
            let (here, there) = UnixStream::pair()?;
            serving.push(thread::spawn(move || match target {
                None => (suite.serve)(there, everything()?, server::Config::default()),
                Some((target, config)) => (suite.bridge)(target, config, there),
            }));
            (suite.meet)(client, here, script)?;
        }
        CellTransport::Http => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let config =
                HttpClientConfig::parse(&format!("http://{}/mcp", listener.local_addr()?))?;
            serving.push(thread::spawn(move || match target {
                None => {
                    (suite.serve_http)(listener, everything()?, http::Config::default(), ending)
                }
                Some((target, config)) => (suite.bridge_http)(target, config, listener, ending),
            }));
            (suite.meet_http)(client, config, script)?;
        }
    }
    stop.now();
    for serving in serving {
        serving.join().map_err(|_| "a server has panicked")??;
    }
    let steps = std::mem::take(&mut *steps.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(steps)
}

/// The server behind a bridge, and the settings with which only this era of it is used.
fn target(
    suite: Suite,
    up: CellTransport,
    era: Era,
    stop: &Stop,
    serving: &mut Vec<ServerThread>,
) -> io::Result<(BridgeTarget, BridgeConfig)> {
    let mut config = BridgeConfig::new(Implementation::new("bridge", "1.0.0"));
    let target = match up {
        CellTransport::Stdio => {
            config.client.negotiation = negotiation(era);
            BridgeTarget::Command(Command::new(env::current_exe()?).env(SERVER, suite.name))
        }
        CellTransport::Http => {
            let mut config = http::Config::default();
            config.server.era_policy = policy(era);
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let url = format!("http://{}/mcp", listener.local_addr()?);
            let stop = stop.clone();
            serving.push(thread::spawn(move || {
                (suite.serve_http)(listener, everything()?, config, stop)
            }));
            BridgeTarget::Http(Box::new(HttpClientConfig::parse(&url).map_err(io::Error::other)?))
        }
    };
    Ok((target, config))
}

fn everything() -> io::Result<mcp_service::Catalog> {
    Ok(everything::registry().map_err(io::Error::other)?.into())
}

/// Takes all steps once the client is connected.
fn script_of(client: &Client, steps: &Arc<Mutex<CellSteps>>) -> Script {
    let (client, steps) = (client.clone(), steps.clone());
    Box::new(|connecting| {
        Box::pin(async move {
            connecting.await?;
            let taken = script::take(&client, sleep).await;
            *steps.lock().unwrap_or_else(PoisonError::into_inner) = taken;
            Ok(())
        })
    })
}

/// A sleep on any runtime. What is to happen meanwhile happens in other processes and threads, too.
async fn sleep(duration: Duration) {
    let (stop, wakes) = (Stop::default(), Duration::from_millis(300).max(duration));
    let slept = stop.clone();
    thread::spawn(move || {
        thread::sleep(wakes);
        slept.now();
    });
    stop.await;
}
