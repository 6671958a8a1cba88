//! The servers of the matrix.
//!
//! In: bytes. Out: bytes; and, to whoever counts, that it was started and that its tool was called.

use std::sync::Arc;

use bytes::Bytes;
use mcp_proto::server::Config;
use mcp_proto::types::{ElicitRequestFormParams, Implementation, RequestedSchema, StringSchema};
use mcp_proto::{EraPolicy, Instant, UsageError};
use mcp_service::{Context, Drive, Handler, Interrupt, Registry, Service};
use schemars::JsonSchema;
use serde::Deserialize;

/// Whom a server tells what it does.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// A server that a client may meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerKind {
    /// It serves both eras.
    Auto,
    /// Legacy revisions alone; it answers whatever it does not know.
    LegacyOnly,
    /// Modern revisions alone.
    ModernOnly,
    /// A legacy server that ends if what it hears first is not `initialize`, like rmcp 0.8.
    Exits,
    /// A legacy server that hears nothing before `initialize`.
    Silent,
}

impl ServerKind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Auto, Self::LegacyOnly, Self::ModernOnly, Self::Exits, Self::Silent];

    /// The settings of such a server over HTTP, if there may be one.
    pub(super) fn policy(self) -> Option<EraPolicy> {
        match self {
            Self::Auto => Some(EraPolicy::Auto),
            Self::ModernOnly => Some(EraPolicy::ModernOnly),
            Self::LegacyOnly => Some(EraPolicy::LegacyOnly),
            Self::Exits | Self::Silent => None,
        }
    }

    /// Starts one.
    ///
    /// Fails if its tools cannot be declared.
    pub fn start(self, tell: &Tell) -> Result<Box<dyn Drive>, UsageError> {
        tell("started");
        let mut config = Config::default();
        config.era_policy = self.policy().unwrap_or(EraPolicy::LegacyOnly);
        let service = Service::new(registry(tell)?, config);
        let door = match self {
            Self::Auto | Self::LegacyOnly | Self::ModernOnly => return Ok(Box::new(service)),
            Self::Exits => Door::Breaks(Vec::new()),
            Self::Silent => Door::Closed(Vec::new()),
        };
        Ok(Box::new(Porter { service, door }))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize)]
struct Name {
    name: String,
}

pub(super) fn registry(tell: &Tell) -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("compatible", "1"));
    let tell = tell.clone();
    registry.tool("add", "Adds", move |Sum { a, b }: Sum, _| {
        tell("added");
        async move { format!("{}", a + b) }
    })?;
    registry.tool("greet", "Asks for a name", greet)?;
    Ok(registry)
}

async fn greet(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let schema = RequestedSchema::new().required("name", StringSchema::new());
    let answer = context.elicit("name", ElicitRequestFormParams::new("Who is there?", schema))?;
    Ok(match answer.accepted::<Name>() {
        Some(Ok(Name { name })) => format!("Hello, {name}!"),
        Some(Err(_)) | None => "Go away!".into(),
    })
}

/// A service behind a door that `initialize` opens.
struct Porter {
    service: Service,
    door: Door,
}

enum Door {
    Open,
    /// With the line that has begun; other lines go nowhere.
    Closed(Vec<u8>),
    /// With the line that has begun; another line ends the server.
    Breaks(Vec<u8>),
    Broken,
}

impl Drive for Porter {
    fn handle_bytes(&mut self, now: Instant, data: Bytes) {
        let breaks = matches!(self.door, Door::Breaks(_));
        let line = match &mut self.door {
            Door::Open => return self.service.handle_bytes(now, data),
            Door::Broken => return,
            Door::Closed(line) | Door::Breaks(line) => line,
        };
        line.extend_from_slice(&data);
        while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            let rest = line.split_off(end + 1);
            if String::from_utf8_lossy(line).contains(r#""method":"initialize""#) {
                line.extend(rest);
                let heard = std::mem::take(line);
                self.door = Door::Open;
                return self.service.handle_bytes(now, heard.into());
            }
            if breaks {
                self.door = Door::Broken;
                return;
            }
            *line = rest;
        }
    }

    fn wants_read(&self) -> bool {
        !matches!(self.door, Door::Broken) && self.service.wants_read()
    }

    fn is_closed(&self) -> bool {
        matches!(self.door, Door::Broken) || self.service.is_closed()
    }

    fn is_aborted(&self) -> bool {
        matches!(self.door, Door::Broken) || self.service.is_aborted()
    }

    crate::pass_to_service! {
        handle_eof handle_stop turn output handle_written handle_write_closed poll_timeout
        is_write_blocked flush_deadline
    }
}
