//! mcp-server stdio | http [WORKERS] | tower
//!
//! The tools to measure on mcp-tokio: over stdio, on its own HTTP stack (on one thread, or on a
//! runtime with so many), or as a tower service behind hyper. Messages may have any size.

use std::error::Error;
use std::future::{Future, pending};
use std::time::Duration;

use hyper_util::service::TowerToHyperService;
use mcp_bench::listening::{listen, serve_hyper};
use mcp_bench::tools::{Echo, ITEMS, RESOURCE, Report, TEXT, more_tools};
use mcp_tokio::mcp_proto::Limits;
use mcp_tokio::types::{Resource, ResourceContents};
use mcp_tokio::{
    Change, Config, Context, Handler, HttpConfig, HttpService, Implementation, List, Registry,
    Structured, UsageError, serve_http, serve_stdio_with,
};
use tokio::runtime::Builder;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => {
            let mut config = Config::default();
            lift(&mut config.limits);
            let registry = registry()?;
            on_one_thread(async { Ok(serve_stdio_with(registry, config).await?) })
        }
        ["http"] => on_one_thread(serve(http_registry()?)),
        ["http", workers] => {
            let mut runtime = Builder::new_multi_thread();
            let runtime = runtime.worker_threads(workers.parse()?).enable_all().build()?;
            let registry = http_registry()?;
            runtime.block_on(async { tokio::spawn(serve(registry)).await? })
        }
        ["tower"] => on_one_thread(async {
            let service = HttpService::new(http_registry()?, http_config());
            let service = TowerToHyperService::new(service);
            Ok(serve_hyper(listen().await?, service).await?)
        }),
        _ => Err("usage: mcp-server stdio | http [WORKERS] | tower".into()),
    }
}

/// The tools and the resource that `rmcp-server` has too.
fn registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("mcp-server", "0.0.0"));
    registry.tool("echo", "Echoes its message", |echo: Echo, _| async { echo.message })?;
    registry.tool("report", "Reports progress", |report: Report, context: Context| async move {
        for step in 1..=report.count.unwrap_or(1) {
            context.progress(f64::from(step));
        }
        report.message
    })?;
    registry.tool("items", "Lists items", |_: Echo, _| async { Structured(&*ITEMS) })?;
    for number in 0..more_tools() {
        let name = format!("tool-{number}");
        registry.tool(&name, "Echoes its message", |echo: Echo, _| async { echo.message })?;
    }
    registry.resource(Resource::new(RESOURCE, "text"), |uri, _| async {
        ResourceContents::text(uri, TEXT.clone())
    })?;
    Ok(registry)
}

/// The same, and two tools that are measured over HTTP only.
fn http_registry() -> Result<Registry<Handler>, UsageError> {
    let mut registry = registry()?;
    registry.list_changed(List::Tools);
    registry.tool("wait", "Never answers", |_: Echo, _| pending::<String>())?;
    registry.tool("publish", "Publishes a change", |echo: Echo, context: Context| async move {
        context.publish(&Change::ListChanged(List::Tools)).map(|()| echo.message)
    })?;
    Ok(registry)
}

async fn serve(registry: Registry<Handler>) -> Outcome {
    Ok(serve_http(listen().await?, registry, http_config()).await?)
}

fn on_one_thread(server: impl Future<Output = Outcome>) -> Outcome {
    Builder::new_current_thread().enable_all().build()?.block_on(server)
}

fn http_config() -> HttpConfig {
    let mut config = HttpConfig::default();
    lift(&mut config.server.limits);
    config
}

/// Room for long messages, and for many idle connections while valgrind watches.
fn lift(limits: &mut Limits) {
    limits.max_line_bytes = usize::MAX;
    limits.max_in_flight_bytes = usize::MAX;
    limits.connection_idle_timeout = Duration::from_secs(60 * 60);
    limits.keep_alive = Duration::from_secs(60 * 60);
}
