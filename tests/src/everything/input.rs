//! Tools that ask the user, the model, or for roots: in both eras.

use std::sync::Arc;

use mcp_proto::server::InputRequired;
use mcp_proto::types::{
    BooleanSchema, ClientCapabilities, CreateMessageRequestParams, CreateMessageResult,
    ElicitAction, ElicitRequestFormParams, ElicitResult, EnumOption, InputRequest, InputRequests,
    LegacyTitledEnumSchema, Number, NumberSchema, NumberType, RequestedSchema, Role,
    SamplingMessage, SamplingMessageContentBlock, StringSchema, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use mcp_proto::{ErrorData, Json, UsageError};
use mcp_service::{Context, Handler, Interrupt, Registry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Nothing;
use super::seal::Seal;

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    /// The prompt to send to the LLM
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// The message to show the user
    message: String,
}

pub(super) fn register(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    let seal = Arc::new(Seal::new()?);
    registry
        .tool("test_sampling", "Asks the model", |asked: Prompt, context: Context| async move {
            let answer = context.create_message("sampling", question(&asked.prompt, 100))?;
            Ok::<_, Interrupt>(format!("LLM response: {}", said(&answer)))
        })?
        .tool("test_elicitation", "Asks the user", elicitation)?
        .tool("test_elicitation_sep1034_defaults", "Shows a form with defaults", defaults)?
        .tool("test_elicitation_sep1330_enums", "Shows a form with choices", enums)?
        .tool(
            "test_missing_capability",
            "Needs a model",
            |_: Nothing, context: Context| async move {
                let answer = context.create_message("sampling", question("Are you there?", 100))?;
                Ok::<_, Interrupt>(said(&answer))
            },
        )?
        .tool(
            "test_streaming_elicitation",
            "Asks the user",
            |_: Nothing, context: Context| async move {
                let answer = context.elicit("name", form("What is your name?", "name"))?;
                Ok::<_, Interrupt>(described(&answer))
            },
        )?
        .tool("test_input_required_result_elicitation", "Asks for a name", greet)?
        .tool(
            "test_input_required_result_sampling",
            "Asks the model",
            |_: Nothing, context: Context| async move {
                let asked = question("What is the capital of France?", 100);
                Ok::<_, Interrupt>(said(&context.create_message("capital_question", asked)?))
            },
        )?
        .tool(
            "test_input_required_result_list_roots",
            "Asks for roots",
            |_: Nothing, context: Context| async move {
                let roots = context.list_roots("client_roots")?.roots;
                let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
                Ok::<_, Interrupt>(format!("Roots: {}", uris.join(", ")))
            },
        )?
        .tool("test_input_required_result_capabilities", "Asks for what there is", capabilities)?;
    let confirm = || {
        let schema = RequestedSchema::new().required("ok", BooleanSchema::new());
        InputRequired::new("confirm", ElicitRequestFormParams::new("Please confirm", schema))
    };
    for name in
        ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]
    {
        let seal = seal.clone();
        registry.tool(name, "Keeps a sealed state", move |_: Nothing, context: Context| {
            let seal = seal.clone();
            async move {
                match (seal.note(&context)?, given(&context, "confirm")) {
                    (Some(_), true) => Ok("state-ok"),
                    _ => Err(seal.ask(&context, confirm(), "confirm")),
                }
            }
        })?;
    }
    let several = seal.clone();
    registry
        .tool(
            "test_input_required_result_multiple_inputs",
            "Asks for three things",
            move |_: Nothing, context| {
                let seal = several.clone();
                async move { multiple_inputs(&seal, &context) }
            },
        )?
        .tool(
            "test_input_required_result_multi_round",
            "Asks twice",
            move |_: Nothing, context| {
                let seal = seal.clone();
                async move { multi_round(&seal, &context) }
            },
        )?;
    Ok(())
}

async fn elicitation(asked: Message, context: Context) -> Result<String, Interrupt> {
    let text = |about: &str| StringSchema::new().description(about);
    let schema = RequestedSchema::new()
        .required("username", text("User's response"))
        .required("email", text("User's email address"));
    let answer = context.elicit("user", ElicitRequestFormParams::new(asked.message, schema))?;
    let given = answer.content.as_ref().map_or("{}", Json::as_str);
    Ok(format!("User response: {}: {given}", action(&answer)))
}

async fn defaults(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let mut name = StringSchema::new().description("User name");
    name.default = Some("John Doe".into());
    let mut age = NumberSchema::new().description("User age");
    age.r#type = NumberType::Integer;
    age.default = Some(30.into());
    let mut score = NumberSchema::new().description("User score");
    score.default = Number::from_f64(95.5);
    let mut status = UntitledSingleSelectEnumSchema::new(texts(&["active", "inactive", "pending"]));
    status.default = Some("active".into());
    let mut verified = BooleanSchema::new().description("Verification status");
    verified.default = Some(true);
    let schema = RequestedSchema::new()
        .optional("name", name)
        .optional("age", age)
        .optional("score", score)
        .optional("status", status)
        .optional("verified", verified);
    let form = ElicitRequestFormParams::new("Please check the defaults", schema);
    let answer = context.elicit("defaults", form)?;
    Ok(format!("Elicitation completed: {}", described(&answer)))
}

async fn enums(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let options = |values: [(&str, &str); 3]| {
        values.into_iter().map(|(value, title)| EnumOption::new(value, title)).collect::<Vec<_>>()
    };
    let first =
        [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
    let choices =
        [("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")];
    let legacy = [("opt1", "Option One"), ("opt2", "Option Two"), ("opt3", "Option Three")];
    let plain = || texts(&["option1", "option2", "option3"]);
    let schema = RequestedSchema::new()
        .optional("untitledSingle", UntitledSingleSelectEnumSchema::new(plain()))
        .optional("titledSingle", TitledSingleSelectEnumSchema::new(options(first)))
        .optional("legacyEnum", LegacyTitledEnumSchema::new(options(legacy)))
        .optional("untitledMulti", UntitledMultiSelectEnumSchema::new(plain()))
        .optional("titledMulti", TitledMultiSelectEnumSchema::new(options(choices)));
    let answer = context.elicit("enums", ElicitRequestFormParams::new("Please choose", schema))?;
    Ok(format!("Elicitation completed: {}", described(&answer)))
}

async fn greet(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let answer = context.elicit("user_name", form("What is your name?", "name"))?;
    Ok(match text_of(&answer, "name") {
        Some(name) => format!("Hello, {name}!"),
        None => "Hello, stranger!".into(),
    })
}

/// Asks for whatever the client declares.
async fn capabilities(_: Nothing, context: Context) -> Result<String, Interrupt> {
    let declared: ClientCapabilities = context.peer().capabilities.decode().unwrap_or_default();
    let mut requests = InputRequests::new();
    if declared.elicitation.is_some_and(|elicitation| elicitation.accepts_form()) {
        requests.insert("user_name".into(), form("What is your name?", "name").into());
    }
    if declared.sampling.is_some() {
        requests.insert("greeting".into(), question("Generate a greeting", 50).into());
    }
    if declared.roots.is_some() {
        requests.insert("client_roots".into(), InputRequest::list_roots());
    }
    let answers = context.ask(requests)?;
    Ok(format!("Answered: {}", answers.into_keys().collect::<Vec<_>>().join(", ")))
}

fn multiple_inputs(seal: &Seal, context: &Context) -> Result<String, Interrupt> {
    let keys = ["user_name", "greeting", "client_roots"];
    if seal.note(context)?.is_some() && keys.iter().all(|key| given(context, key)) {
        return Ok(format!("Answered: {}", keys.join(", ")));
    }
    let required = InputRequired::new("user_name", form("What is your name?", "name"))
        .and("greeting", question("Generate a greeting", 50))
        .and("client_roots", InputRequest::list_roots());
    Err(seal.ask(context, required, "several"))
}

/// Each round's answer travels in the state of the next.
fn multi_round(seal: &Seal, context: &Context) -> Result<String, Interrupt> {
    let answer = |key| {
        let response = context.input().and_then(|input| input.responses.get(key))?;
        Some(
            response
                .elicit()
                .map_err(|_| ErrorData::invalid_params(format!("`{key}` is no answer"))),
        )
    };
    let name = seal.note(context)?.filter(|note| !note.is_empty());
    match (name, answer("step1"), answer("step2")) {
        (Some(name), _, Some(color)) => {
            let color = text_of(&color?, "color").unwrap_or_else(|| "no color".into());
            Ok(format!("{name} likes {color}"))
        }
        (None, Some(name), _) => {
            let name = text_of(&name?, "name").unwrap_or_else(|| "Nobody".into());
            let required = form("Step 2: What is your favorite color?", "color");
            Err(seal.ask(context, InputRequired::new("step2", required), &name))
        }
        (Some(name), _, None) => {
            let required = form("Step 2: What is your favorite color?", "color");
            Err(seal.ask(context, InputRequired::new("step2", required), &name))
        }
        (None, None, _) => {
            let required = form("Step 1: What is your name?", "name");
            Err(seal.ask(context, InputRequired::new("step1", required), ""))
        }
    }
}

fn given(context: &Context, key: &str) -> bool {
    context.input().is_some_and(|input| input.responses.contains_key(key))
}

/// A form with one text.
pub(super) fn form(message: &str, field: &str) -> ElicitRequestFormParams {
    let schema = RequestedSchema::new().required(field, StringSchema::new());
    ElicitRequestFormParams::new(message, schema)
}

/// A field of a form that was accepted.
pub(super) fn text_of(answer: &ElicitResult, field: &str) -> Option<String> {
    let content: Value = answer.accepted()?.ok()?;
    Some(content.get(field)?.as_str()?.to_owned())
}

fn question(text: &str, max_tokens: u64) -> CreateMessageRequestParams {
    let message = SamplingMessage::new(Role::User, SamplingMessageContentBlock::text(text));
    CreateMessageRequestParams::new(vec![message], max_tokens)
}

fn said(answer: &CreateMessageResult) -> String {
    let texts = answer.content.blocks().iter().filter_map(|block| {
        let SamplingMessageContentBlock::Text(text) = block else { return None };
        Some(&*text.text)
    });
    texts.collect::<Vec<_>>().join(" ")
}

fn described(answer: &ElicitResult) -> String {
    let content = answer.content.as_ref().map_or("{}", Json::as_str);
    format!("action={}, content={content}", action(answer))
}

fn action(answer: &ElicitResult) -> &'static str {
    match answer.action {
        ElicitAction::Accept => "accept",
        ElicitAction::Decline => "decline",
        ElicitAction::Cancel => "cancel",
    }
}

fn texts(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}
