//! A server with something of everything: `everything stdio`.

use mcp_tests::everything;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() != Some("stdio") {
        return Err("usage: everything stdio".into());
    }
    Ok(mcp_tokio::serve_stdio(everything::registry()?).await?)
}
