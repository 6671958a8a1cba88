//! Tools whose calls go on as tasks, for clients that can follow them.

use std::time::Duration;

use mcp_proto::types::{
    BooleanSchema, ElicitAction, ElicitRequestFormParams, InputRequest, InputRequests,
    RequestedSchema, StringSchema,
};
use mcp_proto::{ErrorData, UsageError};
use mcp_service::{Context, Handler, Interrupt, Registry, Tasks};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{A_MOMENT, Nothing};

#[derive(Deserialize, JsonSchema)]
struct Greeted {
    /// Whom to greet
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Computation {
    /// The time that it takes
    seconds: f64,
    /// A name for the result
    label: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct File {
    /// The file to delete
    filename: String,
}

pub(super) fn register(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    registry
        .tool("greet", "Greets", |Greeted { name }: Greeted, _| async move {
            format!("Hello, {name}!")
        })?
        .tool("slow_compute", "Takes its time", slow_compute)?
        .tool("failing_job", "Fails after a second", |_: Nothing, context: Context| async move {
            context.sleep(Duration::from_secs(1)).await;
            Err::<String, _>("The job has failed.")
        })?
        .tool(
            "protocol_error_job",
            "Ends with a JSON-RPC error",
            |_: Nothing, context: Context| async move {
                context.sleep(A_MOMENT).await;
                Err::<String, _>(ErrorData::internal("the job cannot go on"))
            },
        )?
        .tool("confirm_delete", "Deletes a file, if the user agrees", confirm_delete)?
        .tool("multi_input", "Asks for two things at once", multi_input)?
        .tool("test_tool_with_task", "Asks for a name, and takes its time", with_task)?;
    for tool in ["slow_compute", "protocol_error_job", "confirm_delete", "multi_input"] {
        registry.tasks(tool, Tasks::Always)?;
    }
    for tool in ["failing_job", "test_tool_with_task"] {
        registry.tasks(tool, Tasks::Required)?;
    }
    Ok(())
}

async fn slow_compute(computation: Computation, context: Context) -> String {
    let Computation { seconds, label } = computation;
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    context.sleep(time).await;
    format!("{} took {seconds} s.", label.as_deref().unwrap_or("It"))
}

async fn confirm_delete(file: File, context: Context) -> Result<String, Interrupt> {
    // After this it is a task, which asks within itself.
    context.sleep(A_MOMENT).await;
    let schema = RequestedSchema::new().required("confirm", BooleanSchema::new());
    let question = format!("Delete {}?", file.filename);
    let answer = context.elicit("confirm", ElicitRequestFormParams::new(question, schema))?;
    Ok(match answer.action {
        ElicitAction::Accept => format!("{} is deleted.", file.filename),
        ElicitAction::Decline | ElicitAction::Cancel => format!("{} is kept.", file.filename),
    })
}

async fn multi_input(_: Nothing, context: Context) -> Result<String, Interrupt> {
    context.sleep(A_MOMENT).await;
    let form = |key: &str| {
        let schema = RequestedSchema::new().required("name", StringSchema::new());
        let form = ElicitRequestFormParams::new(format!("What is the {key} name?"), schema);
        (key.to_owned(), InputRequest::from(form))
    };
    let answers = context.ask(InputRequests::from([form("first"), form("second")]))?;
    Ok(format!("{} answers", answers.len()))
}

async fn with_task(_: Nothing, context: Context) -> Result<String, Interrupt> {
    #[derive(Deserialize)]
    struct Answer {
        name: String,
    }
    let schema = RequestedSchema::new().required("name", StringSchema::new());
    let form = ElicitRequestFormParams::new("What is your name?", schema);
    let answer = context.elicit("user_name", form)?;
    let answer: Option<Answer> = answer.content.and_then(|content| content.decode().ok());
    context.sleep(A_MOMENT).await;
    Ok(format!("Hello, {}!", answer.map_or_else(|| "nobody".to_owned(), |answer| answer.name)))
}
