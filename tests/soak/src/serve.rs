//! `soak serve` and `soak stdio`: a server of ours, with the tools that the servers in
//! `tests/interop/servers` have.
//!
//! In, over HTTP: lines on standard input, `mode ERA SERVING` and `version N`. Out: `listening on
//! URL` on standard error, again after each change of mode, since that is a restart: another
//! listener, and no session survives. The process goes on, so that what it holds on to shows in its
//! memory.
//!
//! The tool `echo` appends its message to the file that the variable ECHOES names: who counts
//! executions reads it there.

use std::env;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_tokio::types::{
    ElicitRequestFormParams, RequestedSchema, Resource, ResourceContents, StringSchema,
};
use mcp_tokio::{
    Catalog, Change, Config, Context, EraPolicy, Handler, HttpConfig, Implementation, Interrupt,
    List, Progress, Registry, Sessions, UsageError, serve_http_until, serve_stdio_with,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::COUNTER;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
    /// The time that it takes, in milliseconds.
    #[serde(default)]
    delay: u64,
    /// The moment at which the process ends, relative to the execution: `before` or `after`.
    #[serde(default)]
    crash: Option<String>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

/// Serves over HTTP until its input ends.
pub async fn http(era: &str, serving: &str, version: &str) -> Result<(), Box<dyn Error>> {
    let version = Arc::new(AtomicU64::new(version.parse()?));
    let catalog = Catalog::from(registry(&version)?);
    let mut stop = listen(&catalog, era, serving).await?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match *line.split(' ').collect::<Vec<_>>() {
            ["mode", era, serving] => {
                // Who waited for the one before is told to end.
                let _ = stop.send(());
                stop = listen(&catalog, era, serving).await?;
            }
            ["version", number] => {
                version.store(number.parse()?, Ordering::SeqCst);
                catalog.publish(&Change::ResourceUpdated(COUNTER.into()))?;
            }
            _ => return Err(format!("no command: {line}").into()),
        }
    }
    Ok(())
}

/// Serves on standard input and output.
pub async fn stdio(era: &str) -> Result<(), Box<dyn Error>> {
    let mut config = Config::default();
    config.era_policy = policy(era)?;
    Ok(serve_stdio_with(registry(&Arc::default())?, config).await?)
}

async fn listen(
    catalog: &Catalog,
    era: &str,
    serving: &str,
) -> Result<oneshot::Sender<()>, Box<dyn Error>> {
    let mut config = HttpConfig::default();
    config.server.era_policy = policy(era)?;
    config.sessions = match serving {
        "sessions" => Sessions::Stateful,
        "stateless" => Sessions::Stateless,
        _ => return Err(format!("no way to serve: {serving}").into()),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel();
    let serving = serve_http_until(listener, catalog.clone(), config, async {
        // An error is the end of the process.
        let _ = stopped.await;
    });
    tokio::spawn(serving);
    eprintln!("listening on http://{address}/mcp");
    Ok(stop)
}

fn policy(era: &str) -> Result<EraPolicy, String> {
    match era {
        "dual" => Ok(EraPolicy::Auto),
        "legacy" => Ok(EraPolicy::LegacyOnly),
        "modern" => Ok(EraPolicy::ModernOnly),
        _ => Err(format!("no era: {era}")),
    }
}

fn registry(version: &Arc<AtomicU64>) -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("soak", "1.0.0"));
    registry.list_changed(List::Tools).list_changed(List::Prompts).subscribe();
    registry.tool("echo", "Executes something once", echo)?;
    registry.tool("progress", "Reports progress", progress)?;
    registry.tool("wait", "Waits", |_: Nothing, context: Context| async move {
        context.sleep(Duration::from_secs(60)).await;
        "waited"
    })?;
    registry.tool("ask", "Asks for a name", ask)?;
    let touched = version.clone();
    registry.tool("touch", "Changes the counter", move |_: Nothing, context: Context| {
        touched.fetch_add(1, Ordering::SeqCst);
        let published = context.publish(&Change::ResourceUpdated(COUNTER.into()));
        async move { published.map(|()| "touched").map_err(|error| error.to_string()) }
    })?;
    let version = version.clone();
    registry.resource(Resource::new(COUNTER, "counter"), move |uri: String, _| {
        let version = version.load(Ordering::SeqCst);
        async move { ResourceContents::text(uri, version.to_string()) }
    })?;
    Ok(registry)
}

async fn echo(echo: Echo, context: Context) -> Result<String, String> {
    if echo.crash.as_deref() == Some("before") {
        std::process::exit(1);
    }
    if let Some(file) = env::var_os("ECHOES") {
        let file = OpenOptions::new().append(true).create(true).open(file);
        // One write, so that lines of several processes do not mix.
        let line = format!("{}\n", echo.message);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| error.to_string())?;
    }
    if echo.crash.is_some() {
        std::process::exit(1);
    }
    if echo.delay > 0 {
        context.sleep(Duration::from_millis(echo.delay)).await;
    }
    Ok(echo.message)
}

async fn progress(_: Nothing, context: Context) -> &'static str {
    for done in 1..=3 {
        context.progress(Progress::new(done).total(3));
        context.sleep(Duration::from_millis(15)).await;
    }
    "done"
}

async fn ask(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let fields = RequestedSchema::new().required("name", StringSchema::new());
    let form = ElicitRequestFormParams::new("What is your name?", fields);
    Ok(match context.elicit("name", form)?.accepted::<Name>() {
        Some(Ok(Name { name })) => format!("hello {name}"),
        _ => "declined".into(),
    })
}
