//! Command line of an `everything` server.

use mcp_proto::http::{Config, Sessions};
use mcp_proto::{Duration, EraPolicy, server};

/// Usage text.
const USAGE: &str = "usage: everything stdio [--era auto|legacy|modern]\n       everything http --listen ADDRESS [--path PATH] \
                         [--era auto|legacy|modern] [--sessions sessions|stateless|off] \
                         [--head-timeout MILLISECONDS]";

/// Transport of a server.
#[derive(Debug)]
pub enum Transport {
    /// At standard input and output, with these settings.
    Stdio(Box<server::Config>),
    /// At an address.
    Http(Box<Place>),
}

/// Address and settings of a server over HTTP.
#[derive(Debug)]
pub struct Place {
    /// An address, such as `127.0.0.1:8000`.
    pub listen: String,
    /// The settings.
    pub config: Config,
}

impl Transport {
    /// Reads the arguments of a command line, without the program's name.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = arguments.into_iter();
        match arguments.next().as_deref() {
            Some("stdio") => {
                let mut config = server::Config::default();
                if let Some(option) = arguments.next() {
                    let era = arguments.next().filter(|_| option == "--era");
                    config.era_policy = era.as_deref().and_then(era_policy).ok_or(USAGE)?;
                }
                Ok(Self::Stdio(config.into()))
            }
            Some("http") => Place::parse(arguments).map(|place| Self::Http(place.into())),
            _ => Err(USAGE.into()),
        }
    }
}

fn era_policy(name: &str) -> Option<EraPolicy> {
    match name {
        "auto" => Some(EraPolicy::Auto),
        "legacy" => Some(EraPolicy::LegacyOnly),
        "modern" => Some(EraPolicy::ModernOnly),
        _ => None,
    }
}

impl Place {
    /// Reads the arguments behind `http`.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut config, mut listen) = (Config::default(), None);
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or(USAGE)?;
            match (&*option, &*value) {
                ("--listen", _) => listen = Some(value),
                ("--path", _) => config.path = value,
                ("--era", era) => config.server.era_policy = era_policy(era).ok_or(USAGE)?,
                ("--sessions", "sessions") => config.sessions = Sessions::Stateful,
                ("--sessions", "stateless") => config.sessions = Sessions::Stateless,
                ("--sessions", "off") => config.sessions = Sessions::Off,
                ("--head-timeout", _) => {
                    let millis = value.parse().map_err(|_| USAGE)?;
                    config.server.limits.head_timeout = Duration::from_millis(millis);
                }
                _ => return Err(USAGE.into()),
            }
        }
        Ok(Self { listen: listen.ok_or(USAGE)?, config })
    }
}
