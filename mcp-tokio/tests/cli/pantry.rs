//! A server whose resource changes, and that knows where it is.

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_tokio::types::{Resource, ResourceContents};
use mcp_tokio::{Change, Context, Handler, Implementation, Interrupt, Registry, UsageError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

pub(crate) fn registry() -> Result<Registry<Handler>, UsageError> {
    let jars = AtomicU32::new(1);
    let mut registry = Registry::new(Implementation::new("pantry", "1.0.0"));
    registry
        .subscribe()
        .resource(Resource::new("pantry://jars", "jars"), move |uri, context: Context| {
            // One more each time, which is told.
            let text = format!("{} jars", jars.fetch_add(1, Ordering::Relaxed));
            async move {
                let _ = context.publish(&Change::ResourceUpdated("pantry://jars".into()));
                ResourceContents::text(uri, text)
            }
        })?
        .tool("here", "Names its folder", |_: Nothing, _| async {
            env::current_dir().unwrap().display().to_string()
        })?
        .tool("where", "Names the roots", |_: Nothing, context: Context| async move {
            let roots = context.list_roots("roots")?.roots;
            let uris = roots.into_iter().map(|root| root.uri);
            Ok::<_, Interrupt>(uris.collect::<Vec<_>>().join(" "))
        })?;
    Ok(registry)
}
