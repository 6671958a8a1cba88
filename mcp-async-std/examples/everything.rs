//! A server with something of everything: `everything stdio`.

use mcp_tests::everything;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() != Some("stdio") {
        return Err("usage: everything stdio".into());
    }
    let registry = everything::registry()?;
    Ok(async_std::task::block_on(mcp_async_std::serve_stdio(registry))?)
}
