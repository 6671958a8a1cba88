//! A server whose resource changes, and that knows where it is.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, process, thread};

use mcp_tokio::types::{Resource, ResourceContents};
use mcp_tokio::{
    Change, Context, Handler, HttpConfig, Implementation, Interrupt, Registry, UsageError,
    serve_http_until,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::sleep;

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

/// A pantry that ends soon after its first reading: by SIGTERM if it is polite.
#[cfg(unix)]
pub(crate) fn mortal(is_polite: bool) -> Result<Registry<Handler>, UsageError> {
    use rustix::process::{Signal, getpid, kill_process};

    let mut registry = Registry::new(Implementation::new("pantry", "1.0.0"));
    registry.subscribe().resource(Resource::new("pantry://jars", "jars"), move |uri, _| {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            if is_polite {
                kill_process(getpid(), Signal::TERM).unwrap();
            } else {
                process::exit(1);
            }
        });
        async move { ResourceContents::text(uri, "1 jar") }
    })?;
    Ok(registry)
}

/// A pantry over HTTP that stops after its first reading, and is back after a second.
pub(crate) fn over_http() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut listener = Some(listener);
            loop {
                let bound = listener.take().unwrap_or_else(|| TcpListener::bind(address).unwrap());
                bound.set_nonblocking(true).unwrap();
                let bound = tokio::net::TcpListener::from_std(bound).unwrap();
                let was_read = Arc::new(Notify::new());
                let (registry, config) = (once(was_read.clone()).unwrap(), HttpConfig::default());
                serve_http_until(bound, registry, config, was_read.notified()).await.unwrap();
                sleep(Duration::from_secs(1)).await;
            }
        });
    });
    format!("http://{address}/mcp")
}

/// A pantry that says when it was read.
fn once(was_read: Arc<Notify>) -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("pantry", "1.0.0"));
    registry.subscribe().resource(Resource::new("pantry://jars", "jars"), move |uri, _| {
        let was_read = was_read.clone();
        async move {
            was_read.notify_one();
            ResourceContents::text(uri, "1 jar")
        }
    })?;
    Ok(registry)
}
