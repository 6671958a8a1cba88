//! The cells over HTTP: those with servers that there are over HTTP.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Failed, Trial};
use mcp_proto::http::{Config, Sessions};
use mcp_service::{Client, HttpClientConfig};

use super::server::registry;
use super::{Cell, ServerKind, Tell, answer, meet_meanwhile};
use crate::http::{Serve, Server};
use crate::http_client::{Connecting, Meet, Running};

/// The tests of one way to drive a client.
pub fn over_http(name: &str, serve: Serve, drive: Meet) -> Vec<Trial> {
    let mut trials = Vec::new();
    for cell in Cell::all().filter(|cell| cell.server.policy().is_some()) {
        for sessions in [Sessions::Stateful, Sessions::Stateless, Sessions::Off] {
            if sessions == Sessions::Off && cell.server == ServerKind::LegacyOnly {
                // It would serve nobody.
                continue;
            }
            let name = format!("{name}::compatibility::{sessions:?}::{}", cell.name());
            let run = move || run(cell, sessions, serve, drive).map_err(Failed::from);
            trials.push(Trial::test(name, run));
        }
    }
    trials
}

fn run(cell: Cell, sessions: Sessions, serve: Serve, drive: Meet) -> Result<(), Box<dyn Error>> {
    let told = Arc::new(Mutex::new(vec!["started".to_owned()]));
    let hears = told.clone();
    let tell: Tell = Arc::new(move |line| {
        hears.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    });
    let mut config = Config::default();
    config.sessions = sessions;
    config.server.era_policy = cell.server.policy().ok_or("there is no such server over HTTP")?;
    let server = Server::of(registry(&tell)?, serve, config)?;
    let client = Client::new(cell.config());
    answer(&client);
    let url = HttpClientConfig::parse(&format!("http://{}/mcp", server.address))?;
    let met = Arc::new(Mutex::new(None));
    let (meets, given) = (met.clone(), client.clone());
    let script = move |connecting: Connecting| {
        let said = async move {
            let met = meet_meanwhile(connecting, &given).await;
            *meets.lock().unwrap_or_else(PoisonError::into_inner) = Some(met);
            Ok(())
        };
        Box::pin(said) as Running
    };
    drive(client, url, Box::new(script))?;
    let met =
        met.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or("nothing was said")?;
    let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // Without legacy clients it is a modern server.
    let kind = if sessions == Sessions::Off { ServerKind::ModernOnly } else { cell.server };
    Cell { server: kind, ..cell }.check_asked(&met, &told, sessions == Sessions::Stateful)?;
    server.end()
}
