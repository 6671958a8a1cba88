//! A server with something of everything: `everything stdio`, `everything http --listen
//! 127.0.0.1:8000`.

use mcp_tests::everything::{Transport, registry};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Transport::parse(std::env::args().skip(1))? {
        Transport::Stdio => mcp_tokio::serve_stdio(registry()?).await?,
        Transport::Http { listen, config } => {
            let listener = TcpListener::bind(listen).await?;
            eprintln!("listening on http://{}{}", listener.local_addr()?, config.path);
            mcp_tokio::serve_http(listener, registry()?, *config).await?;
        }
    }
    Ok(())
}
