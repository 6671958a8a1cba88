//! The server of `everything` behind axum, next to another route:
//!
//! ```sh
//! cargo run -p mcp-tokio --features tower --example axum -- --listen 127.0.0.1:8000
//! ```

mod hyper_serve;

use axum::Router;
use axum::routing::get;
use mcp_tests::everything::{Place, registry};
use mcp_tokio::{HttpService, stop_signal};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Place { listen, config } = Place::parse(std::env::args().skip(1))?;
    let listener = TcpListener::bind(listen).await?;
    let stopped = stop_signal()?;
    eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);

    let (path, limits) = (config.path.clone(), config.server.limits.clone());
    let mcp = HttpService::new(registry()?, config);
    let app = Router::new()
        .route("/", get(async || "An MCP server is at another path."))
        .route_service(&path, mcp.clone());
    // Streams of events end when the service is told so, and `serve` waits for them.
    let stop = async {
        stopped.await;
        mcp.shutdown();
    };
    // Not `axum::serve`, which waits for slow clients for ever.
    hyper_serve::serve(listener, app, &limits, stop).await;
    // Handlers that are cancelled at the end run once more.
    mcp.finish().await;
    Ok(())
}
