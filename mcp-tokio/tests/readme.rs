//! Test of the README's programs: its client starts its server, and gets an answer.

use std::error::Error;
use std::process::Command;

use mcp_tests::examples;

#[test]
fn the_client_of_the_readme_asks_the_server_of_the_readme() -> Result<(), Box<dyn Error>> {
    let server = examples::path("mcp-tokio", "weather")?;
    let client = examples::path("mcp-tokio", "forecast")?;
    let output = Command::new(client).arg(server).output()?;
    let told = String::from_utf8(output.stderr)?;
    assert!(output.status.success(), "{told}");
    assert_eq!(String::from_utf8(output.stdout)?, "2026-07-28\nRain in Oslo.\n");
    assert_eq!(told, "");
    Ok(())
}
