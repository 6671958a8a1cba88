//! Settings of a transcript's server over HTTP.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use mcp_proto::http::{Authorization, Config, Head, Sessions};

use super::super::fixture;
use super::super::settings;

/// Settings of a transcript's server over HTTP.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Settings {
    pub(in super::super) server: settings::Settings,
    path: Option<String>,
    sessions: Sessions,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    authorize: bool,
    behind_proxy: bool,
    peers: BTreeMap<usize, IpAddr>,
}

impl Settings {
    /// Reads what stands behind the `=` of a line.
    pub(in super::super) fn set(&mut self, setting: &str) -> Result<(), String> {
        let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
        let words = || value.split_whitespace().map(String::from);
        match name {
            "path" => self.path = Some(value.into()),
            "sessions" => {
                self.sessions = match value {
                    "on" => Sessions::Stateful,
                    "stateless" => Sessions::Stateless,
                    "off" => Sessions::Off,
                    _ => return Err("sessions are on, stateless or off".into()),
                }
            }
            "allowed-hosts" => self.allowed_hosts = words().collect(),
            "allowed-origins" => self.allowed_origins = words().collect(),
            "authorize" => self.authorize = true,
            "behind-proxy" => self.behind_proxy = true,
            "peer" => {
                let expected = "a peer has a connection and an address";
                let (connection, peer) = value.split_once(' ').ok_or(expected)?;
                let peer: IpAddr = peer.parse().map_err(|_| expected)?;
                self.peers.insert(settings::number(connection)?, peer);
            }
            _ => return self.server.set(setting),
        }
        Ok(())
    }

    /// The address of the client on a connection.
    pub(super) fn peer(&self, connection: usize) -> Option<IpAddr> {
        self.peers.get(&connection).copied()
    }

    /// The same for the machines.
    pub(super) fn config(&self) -> Config {
        let mut config = Config::default();
        config.server = fixture::config(&self.server).into();
        config.sessions = self.sessions;
        config.path = self.path.clone().unwrap_or(config.path);
        config.allowed_hosts.extend(self.allowed_hosts.iter().cloned());
        config.allowed_origins.extend(self.allowed_origins.iter().cloned());
        config.behind_proxy = self.behind_proxy;
        if self.authorize {
            config.authorize = Some(Arc::new(authorize));
        }
        config
    }
}

/// The token is the name of the principal; that of `mallory` is not good enough.
fn authorize(head: &Head) -> Authorization {
    let token = head.field("authorization").and_then(|value| value.strip_prefix(b"Bearer "));
    match token.map(String::from_utf8_lossy) {
        None => Authorization::Unauthorized("Bearer realm=\"fixture\"".into()),
        Some(name) if name == "mallory" => {
            Authorization::Forbidden("Bearer error=\"insufficient_scope\"".into())
        }
        Some(name) => Authorization::Allow(Some(name.into())),
    }
}
