//! Quoted by `docs/guide/rmcp.md`: what stands beside it is in `tests/interop/servers/rmcp`.

use std::error::Error;

use mcp_service::testing::Pair;
use mcp_tokio::types::{ElicitRequestFormParams, RequestedSchema, StringSchema};
use mcp_tokio::{
    CallToolResult, Context, ErrorData, Handler, Implementation, Interrupt, Negotiation, Progress,
    Registry, UsageError,
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[derive(Deserialize)]
struct Name {
    name: String,
}

fn fixtures() -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("fixtures", "1.0.0"));
    registry.tool("echo", "", |echo: Echo, _| async { echo.message })?;
    registry.tool("progress", "", progress)?;
    registry.tool("ask", "", ask)?;
    Ok(registry)
}

async fn progress(_: Nothing, context: Context) -> &'static str {
    for done in 1..=3 {
        context.progress(Progress::new(done).total(3));
    }
    "done"
}

async fn ask(_: Nothing, context: Context) -> Result<CallToolResult, Interrupt> {
    let fields = RequestedSchema::new().required("name", StringSchema::new());
    let form = ElicitRequestFormParams::new("What is your name?", fields);
    match context.elicit("name", form)?.accepted() {
        Some(Ok(Name { name })) => Ok(CallToolResult::text(format!("hello {name}"))),
        Some(Err(error)) => Err(ErrorData::internal(error.to_string()).into()),
        None => Ok(CallToolResult::text("declined")),
    }
}

#[test]
fn they_do_what_those_of_rmcp_do() -> Result<(), Box<dyn Error>> {
    for negotiation in [Negotiation::Auto, Negotiation::Legacy] {
        let mut pair = Pair::new(fixtures()?).negotiation(negotiation);
        let client = pair.client();
        client.on_form(|form| async move {
            form.accept(&json!({ "name": "Ada" })).map_err(ErrorData::from)
        });
        let (sender, receiver) = std::sync::mpsc::channel();
        let call = client.call_tool("progress", &json!({}));
        let call = call.on_progress(move |at| sender.send(at.progress).unwrap_or_default());
        pair.run(call)?;
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
        for (name, arguments, text) in
            [("echo", json!({ "message": "hi" }), "hi"), ("ask", json!({}), "hello Ada")]
        {
            let answer = pair.run(client.call_tool(name, &arguments))?;
            assert_eq!(answer.content[0].as_text(), Some(text));
        }
    }
    Ok(())
}
