//! Settings of a transcript's client: the `=` lines, and their defaults.

use mcp_proto::client::{Config, Negotiation, Restart, Verdict};
use mcp_proto::types::Implementation;
use mcp_proto::{Json, ProtocolVersion};

use super::super::parse::Result;
use super::super::settings::{duration, json, limit};

/// Settings of a transcript's client.
#[derive(Clone, Debug)]
pub(in super::super) struct Settings {
    pub(super) config: Config,
}

impl Default for Settings {
    fn default() -> Self {
        Self { config: Config::new(Implementation::new("fixture", "1.0.0")) }
    }
}

impl Settings {
    /// The same for the machine.
    pub(in super::super) fn config(&self) -> Config {
        self.config.clone()
    }

    /// Reads what stands behind the `=` of a line.
    pub(in super::super) fn set(&mut self, setting: &str) -> Result<()> {
        let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
        let config = &mut self.config;
        match name {
            "negotiation" => {
                config.negotiation = match value {
                    "auto" => Negotiation::Auto,
                    "legacy" => Negotiation::Legacy,
                    pinned => Negotiation::Pinned(version(pinned)?),
                }
            }
            "verdict" => config.verdict = Some(verdict(value)?),
            "capabilities" => config.capabilities = decode(&json(value)?)?,
            "probe-timeout" => config.probe_timeout = duration(value)?,
            "initialize-timeout" => config.initialize_timeout = duration(value)?,
            "restart" => {
                config.restart = match value {
                    "never" => Restart::Never,
                    "on-call" => Restart::OnCall,
                    "always" => Restart::Always,
                    _ => return Err(format!("no restart policy `{value}`")),
                }
            }
            "follow-tasks" => config.follow_tasks = true,
            "limit" => limit(&mut config.limits, value)?,
            _ => return Err(format!("no setting `{name}` of a client")),
        }
        Ok(())
    }
}

pub(super) fn decode<T: serde::de::DeserializeOwned>(json: &Json) -> Result<T> {
    json.decode().map_err(|error| error.to_string())
}

/// A version alone, or what was stored, as JSON.
fn verdict(text: &str) -> Result<Verdict> {
    if text.starts_with('{') { decode(&json(text)?) } else { version(text).map(Verdict::new) }
}

fn version(name: &str) -> Result<ProtocolVersion> {
    ProtocolVersion::from_name(name).ok_or_else(|| format!("no version `{name}`"))
}
