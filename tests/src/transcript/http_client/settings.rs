//! How the client of a transcript over HTTP is set up.

use mcp_proto::http::Url;
use mcp_proto::http::client::Config;

use super::super::client;
use super::super::parse::Result;

/// How the client of a transcript over HTTP is set up.
#[derive(Clone, Debug)]
pub(in super::super) struct Settings {
    client: client::Settings,
    url: Option<Url>,
    fields: Vec<(String, String)>,
    listens: bool,
    /// The first byte of whatever is random.
    pub(super) random: u8,
}

impl Default for Settings {
    fn default() -> Self {
        let url = Url::parse("http://localhost/mcp").ok();
        let client = client::Settings::default();
        Self { client, url, fields: Vec::new(), listens: true, random: 0 }
    }
}

impl Settings {
    /// Reads what stands behind the `=` of a line.
    pub(in super::super) fn set(&mut self, setting: &str) -> Result<()> {
        let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
        match name {
            "url" => self.url = Some(Url::parse(value).map_err(|error| error.to_string())?),
            "field" => self.fields.push(field(value)?),
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
        let mut config = Config::new(self.url.clone()?, self.client.config());
        config.listens = self.listens;
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
