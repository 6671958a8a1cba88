//! A client of the official conformance suite; `tests/conformance/run` runs it.

use std::time::Duration;

use mcp_async_std::connect_http;
use mcp_tests::conformance::Scenario;

/// The suite ends the shell that runs this, and not this.
const LIMIT: Duration = Duration::from_secs(25);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    async_std::task::block_on(async {
        let scenario = Scenario::of_suite()?;
        let client = scenario.client();
        async_std::future::timeout(LIMIT, async {
            connect_http(&client, scenario.server()?).await?;
            let played = scenario.play(&client).await;
            client.close().await;
            played
        })
        .await?
    })
}
