//! The server of `async_std_everything` on smol, without any part of async-std:
//!
//! ```sh
//! cargo run -p mcp-async-std --example smol -- stdio
//! ```

use mcp_async_std::serve_stdio;
use mcp_tests::everything;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() != Some("stdio") {
        return Err("usage: smol stdio".into());
    }
    Ok(smol::block_on(serve_stdio(everything::registry()?))?)
}
