//! A client of the official conformance suite; `tests/conformance/run` runs it.

use std::time::Duration;

use mcp_tests::conformance::Scenario;
use mcp_tokio::connect_http;

/// The suite ends the shell that runs this, and not this.
const LIMIT: Duration = Duration::from_secs(25);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Scenario::of_suite()?;
    let client = scenario.client();
    tokio::time::timeout(LIMIT, async {
        connect_http(&client, scenario.server()?).await?;
        let played = scenario.play(&client).await;
        client.close().await;
        played
    })
    .await?
}
