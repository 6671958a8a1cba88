//! Prompts: plain, with arguments that can be completed, with more than text, and one that asks.

use mcp_proto::UsageError;
use mcp_proto::types::{
    CompleteRequestParams, CompletionReference, ContentBlock, Prompt, PromptMessage,
    ResourceContents, Role,
};
use mcp_service::{Context, Handler, Interrupt, Registry};
use schemars::JsonSchema;
use serde::Deserialize;

use super::resources::beginning;
use super::{Nothing, PIXEL, input};

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embed {
    /// URI of the resource to embed
    resource_uri: String,
}

const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";

pub(super) fn register(registry: &mut Registry<Handler>) -> Result<(), UsageError> {
    registry
        .prompt(
            Prompt::new("test_simple_prompt").description("A prompt without arguments"),
            |_: Nothing, _| async { user("This is a simple prompt for testing.") },
        )?
        .prompt(
            Prompt::of::<Two>(WITH_ARGUMENTS)?.description("A prompt with two arguments"),
            |Two { arg1, arg2 }: Two, _| async move {
                user(&format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))
            },
        )?
        .completion(
            CompletionReference::prompt(WITH_ARGUMENTS),
            |asked: CompleteRequestParams, _| async move {
                match &*asked.argument.name {
                    "arg1" => beginning(&asked, &["testValue1", "testValue2", "production"]),
                    _ => Vec::new(),
                }
            },
        )?
        .prompt(
            Prompt::of::<Embed>("test_prompt_with_embedded_resource")?
                .description("A prompt with a resource"),
            |embed: Embed, _| async {
                let text = "Embedded resource content for testing.";
                let text = ResourceContents::text(embed.resource_uri, text);
                let resource = ContentBlock::resource(text.mime_type("text/plain"));
                vec![
                    PromptMessage::new(Role::User, resource),
                    user("Please process the embedded resource above."),
                ]
            },
        )?
        .prompt(
            Prompt::new("test_prompt_with_image").description("A prompt with an image"),
            |_: Nothing, _| async {
                let image = ContentBlock::image(PIXEL, "image/png");
                let image = PromptMessage::new(Role::User, image);
                vec![image, user("Please analyze the image above.")]
            },
        )?
        .prompt(
            Prompt::new("test_input_required_result_prompt").description("A prompt that asks"),
            asking,
        )?;
    Ok(())
}

async fn asking(_: Nothing, context: Context) -> Result<PromptMessage, Interrupt> {
    let form = input::form("What context should the prompt use?", "context");
    let answer = context.elicit("user_context", form)?;
    let context = input::text_of(&answer, "context").unwrap_or_else(|| "none".into());
    Ok(user(&format!("Use this context: {context}")))
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::new(Role::User, ContentBlock::text(text))
}
