//! The same server on smol, without async-std's runtime: `smol stdio`.

use mcp_async_std::{Config, serve};
use mcp_tests::everything;
use smol::Unblock;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() != Some("stdio") {
        return Err("usage: smol stdio".into());
    }
    let (stdin, stdout) = (Unblock::new(std::io::stdin()), Unblock::new(std::io::stdout()));
    Ok(smol::block_on(serve(everything::registry()?, Config::default(), stdin, stdout))?)
}
