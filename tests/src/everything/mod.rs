//! A server with something of everything, for real clients to try: one declaration, used by the
//! `everything` example of each adapter. Names, texts and schemas are those that the official
//! conformance suite looks for.

mod input;
mod prompts;
mod resources;
mod seal;
mod skills;
mod tasks;
mod tools;
mod transport;

use std::time::Duration;

use mcp_proto::UsageError;
use mcp_proto::server::{Cacheable, List};
use mcp_proto::types::{CacheHint, Implementation};
use mcp_service::{Handler, Registry};
use schemars::JsonSchema;
use serde::Deserialize;

pub use transport::{Place, Transport};

/// A red pixel as a PNG, in Base64.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV file without samples, in Base64.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Lets a client take note of what was sent before it gets more.
const A_MOMENT: Duration = Duration::from_millis(50);

/// No arguments.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// The server's registry.
pub fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("everything", env!("CARGO_PKG_VERSION")));
    registry
        .instructions("Every tool shows one thing that a server can do.")
        .logging()
        .subscribe()
        .list_changed(List::Tools)
        .list_changed(List::Prompts)
        .list_changed(List::Resources)
        .cache(Cacheable::Tools, CacheHint::public(60_000))
        .cache(Cacheable::Contents, CacheHint::private(1000));
    tools::register(&mut registry)?;
    input::register(&mut registry)?;
    resources::register(&mut registry)?;
    prompts::register(&mut registry)?;
    skills::register(&mut registry)?;
    tasks::register(&mut registry)?;
    Ok(registry)
}
