//! Settings of a transcript's client over HTTP.

use mcp_proto::ProtocolVersion;
use mcp_proto::client::{Transport, Verdict};
use mcp_proto::http::Url;
use mcp_proto::http::client::Config;

use super::super::client;
use super::super::parse::Result;

/// Settings of a transcript's client over HTTP.
#[derive(Clone, Debug)]
pub(in super::super) struct Settings {
    client: client::Settings,
    url: Option<Url>,
    fields: Vec<(String, String)>,
    listens: bool,
    trusts_endpoint_origin: Option<Url>,
    /// True if a verdict of this process says that the server is one of HTTP+SSE.
    knows_sse: bool,
    /// The first byte of whatever is random.
    pub(super) random: u8,
}

impl Default for Settings {
    fn default() -> Self {
        let url = Url::parse("http://localhost/mcp").ok();
        let client = client::Settings::default();
        Self {
            client,
            url,
            fields: Vec::new(),
            listens: true,
            trusts_endpoint_origin: None,
            knows_sse: false,
            random: 0,
        }
    }
}

impl Settings {
    /// Reads what stands behind the `=` of a line.
    pub(in super::super) fn set(&mut self, setting: &str) -> Result<()> {
        let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
        match name {
            "url" => self.url = Some(Url::parse(value).map_err(|error| error.to_string())?),
            "field" => self.fields.push(field(value)?),
            "sse" if value == "known" => self.knows_sse = true,
            "trusts-endpoint-origin" => {
                let origin = Url::parse(value).map_err(|error| error.to_string())?;
                self.trusts_endpoint_origin = Some(origin);
            }
            "listens" if value == "off" => self.listens = false,
            "random" => {
                self.random = value.parse().map_err(|_| format!("`{value}` is not a byte"))?;
            }
            _ => return self.client.set(setting),
        }
        Ok(())
    }

    /// The same for the machine; `None` if it does not like it.
    pub(super) fn config(&self) -> Option<Config> {
        let mut client = self.client.config();
        if self.knows_sse {
            let mut verdict = Verdict::new(ProtocolVersion::V2024_11_05);
            verdict.transport = Transport::HttpSse;
            client.verdict = Some(verdict);
        }
        let mut config = Config::new(self.url.clone()?, client);
        config.listens = self.listens;
        config.trusts_endpoint_origin.clone_from(&self.trusts_endpoint_origin);
        for (name, value) in &self.fields {
            config = config.field(name, value).ok()?;
        }
        Some(config)
    }
}

/// Name and value of a field.
pub(super) fn field(text: &str) -> Result<(String, String)> {
    let (name, value) = text.split_once(": ").ok_or("a field is a name and a value")?;
    Ok((name.into(), value.into()))
}
