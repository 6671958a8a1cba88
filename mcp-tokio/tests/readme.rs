//! What the README shows runs: its client starts its server, and is answered.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_client_of_the_readme_asks_the_server_of_the_readme() -> Result<(), Box<dyn Error>> {
    let output = Command::new(example("forecast")?).arg(example("weather")?).output()?;
    let told = String::from_utf8(output.stderr)?;
    assert!(output.status.success(), "{told}");
    assert_eq!(String::from_utf8(output.stdout)?, "2026-07-28\nRain in Oslo.\n");
    assert_eq!(told, "");
    Ok(())
}

/// Where `cargo test` puts an example: beside the folder of this test.
fn example(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let test = std::env::current_exe()?;
    let folder = test.parent().and_then(|deps| deps.parent()).ok_or("no target folder")?;
    let file = folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    if !file.exists() {
        return Err(format!("run `cargo build -p mcp-tokio --example {name}` first").into());
    }
    Ok(file)
}
