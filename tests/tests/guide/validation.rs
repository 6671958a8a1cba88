//! Quoted by `docs/guide/server.md` and `docs/guide/client.md`; with the feature `validate`.

use std::error::Error;

use mcp_tokio::schema::ToolSchemas;
use mcp_tokio::types::CallToolResult;
use mcp_tokio::{Client, Context, Handler, Implementation, Registry, Tool, UsageError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use mcp_service::testing::Pair;

#[derive(Deserialize, JsonSchema)]
struct Outlook {
    /// The name of a city.
    #[schemars(length(min = 1))]
    city: String,
    /// Days ahead.
    #[schemars(range(max = 7))]
    days: u8,
}

async fn outlook(outlook: Outlook, _: Context) -> String {
    format!("In {} days the sun shines in {}.", outlook.days, outlook.city)
}

fn validated() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("weather", "1.0.0"));
    registry.tool("outlook", "Tells what is to come", outlook)?.validate("outlook")?;
    Ok(registry)
}

const MISFIT: &str = r"
The arguments do not fit the input schema: /city: expected at least 1 characters; /days: expected at most 7
";

async fn call_checked(client: &Client, tool: &Tool) -> Result<CallToolResult, Box<dyn Error>> {
    let schemas = ToolSchemas::of_peer(tool)?;
    let result = client.call_tool(&tool.name, &json!({ "city": "Oslo", "days": 2 })).await?;
    schemas.check_result(&result)?;
    Ok(result)
}

#[test]
fn arguments_are_checked_against_the_schema() -> Result<(), Box<dyn Error>> {
    let mut pair = Pair::new(validated()?);
    let client = pair.client();
    let wrong = pair.run(client.call_tool("outlook", &json!({ "city": "", "days": 8 })))?;
    assert_eq!(wrong.content[0].as_text(), Some(MISFIT.trim()));
    let tool = pair.run(client.list_tools())?.tools.remove(0);
    let result = pair.run(call_checked(&client, &tool))?;
    assert_eq!(result.content[0].as_text(), Some("In 2 days the sun shines in Oslo."));
    Ok(())
}
