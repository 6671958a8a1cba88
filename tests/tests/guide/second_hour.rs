//! Failures of servers: calls that are repeated, their delays, and the view of the application.

use std::error::Error;

use mcp_proto::{Duration, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{Context, Handler, Registry};
use mcp_tokio::types::CallToolResult;
use mcp_tokio::{CallError, Client, ClientConfig, Implementation, Restart};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn Error>>;

#[derive(Deserialize, JsonSchema)]
struct Seat {
    seat: u32,
}

/// A theatre that takes 10 s to book a seat.
fn theatre() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("theatre", "1.0.0"));
    registry.tool("book", "Books a seat", |Seat { seat }: Seat, context: Context| async move {
        context.sleep(Duration::from_secs(10)).await;
        format!("booked {seat}")
    })?;
    Ok(registry)
}

fn told(result: &CallToolResult) -> &str {
    result.content.first().and_then(|block| block.as_text()).unwrap_or_default()
}

async fn book(client: &Client, seat: &Value) -> Result<(), CallError> {
    match client.call_tool("book", &seat).await {
        Ok(result) => eprintln!("{}", told(&result)),
        Err(error) if error.may_have_been_executed() => eprintln!("look at your bookings: {error}"),
        Err(error) => eprintln!("nothing was booked: {error}"),
    }
    Ok(())
}

#[test]
fn a_program_is_started_again() -> Outcome {
    let config = ClientConfig::new(Implementation::new("app", "1.0.0")).restart(Restart::OnCall);
    let mut pair = Pair::new(theatre()?).client_config(config);
    let client = pair.client();
    pair.run(client.connected())?;
    let mut call = client.call_tool("book", &json!({ "seat": 1 }));
    assert!(pair.poll(&mut call).is_pending());
    pair.pass(Duration::from_secs(5));
    pair.cut();
    assert_eq!(pair.run(call), Err(CallError::Interrupted));
    pair.run(book(&client, &json!({ "seat": 2 })))?;
    assert_eq!(pair.starts(), 2);
    Ok(())
}
