//! `mcp prompt get` and `mcp complete`.
//!
//! [Specification: Prompts](https://modelcontextprotocol.io/specification/2026-07-28/server/prompts)

use std::collections::BTreeMap;

use mcp_service::nearest;
use mcp_tokio::types::{
    CompleteRequestParams, CompletionContext, CompletionReference, GetPromptResult, Role,
};
use mcp_tokio::{Client, ServerInfo};

use crate::args::Common;
use crate::arguments;
use crate::ask;
use crate::call::words as text_of;
use crate::failure::{Exit, Failure};
use crate::list;
use crate::more_args::{CompleteArgs, GetArgs};
use crate::print::{self, Output, indented};
use crate::session;
use crate::target::Target;

pub(crate) async fn get(args: GetArgs, output: Output) -> Result<Exit, Failure> {
    let (url, words) = args.common.split(&args.words);
    let target = Target::new(url, &args.common)?;
    let (name, words) = words
        .split_first()
        .ok_or_else(|| Failure::usage("which prompt? `mcp prompts` lists those that there are"))?;
    let arguments = pairs(words)?;
    let client = session::client(&args.common, &target)?;
    ask::user(&client, output);
    let result = session::with(&client, target, async |server| {
        check(&client, &server, &args.common, name, &arguments).await?;
        list::get(client.get_prompt(name, &arguments), &args.common).await
    });
    let result = result.await?;
    if output.is_json() {
        print::member("result", &result);
    } else {
        show(&result);
    }
    Ok(Exit::Fine)
}

pub(crate) async fn complete(args: CompleteArgs, output: Output) -> Result<Exit, Failure> {
    let (url, words) = args.common.split(&args.words);
    let target = Target::new(url, &args.common)?;
    let [owner, argument, others @ ..] = words else {
        return Err(Failure::usage(
            "which argument? It comes after the prompt or the URI template",
        )
        .advice("an example: mcp complete <URL> greet name=A"));
    };
    let reference = if owner.contains("://") {
        CompletionReference::resource(owner)
    } else {
        CompletionReference::prompt(owner)
    };
    let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
    let mut params = CompleteRequestParams::new(reference, name, value);
    let arguments = pairs(others)?;
    if !arguments.is_empty() {
        let mut context = CompletionContext::default();
        context.arguments = arguments;
        params.context = Some(context);
    }
    let client = session::client(&args.common, &target)?;
    ask::decline(&client);
    let result = session::with(&client, target, async |_| {
        list::get(client.complete(&params), &args.common).await
    });
    let result = result.await?;
    if output.is_json() {
        print::member("result", &result);
        return Ok(Exit::Fine);
    }
    for value in &result.completion.values {
        // A line is one value.
        print::text(&(value.replace('\n', "\u{fffd}") + "\n"));
    }
    if result.completion.has_more {
        let total = result.completion.total.map(|total| format!(", {total} in all"));
        print::note(&format!("there are more{}", total.unwrap_or_default()));
    }
    Ok(Exit::Fine)
}

/// Checks that the server has the prompt, and the prompt has the arguments.
async fn check(
    client: &Client,
    server: &ServerInfo,
    common: &Common,
    name: &str,
    arguments: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let prompts = list::all_prompts(client, server, common).await?;
    let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) else {
        let names = prompts.iter().map(|prompt| prompt.name.as_str());
        let advice = match nearest(name, names) {
            Some(near) => format!("did you mean {near}?"),
            None => "`mcp prompts` lists those that there are".into(),
        };
        return Err(Failure::usage(format!("the server has no prompt {name:?}")).advice(advice));
    };
    let has = |key: &str| prompt.arguments.iter().any(|argument| argument.name == key);
    let unknown = arguments.keys().find(|key| !has(key));
    let missing =
        prompt.arguments.iter().find(|it| it.required && !arguments.contains_key(&it.name));
    let wrong = match (unknown, missing) {
        (Some(key), _) => format!("the prompt has no argument {key:?}"),
        (None, Some(argument)) => format!("the prompt needs the argument {:?}", argument.name),
        (None, None) => return Ok(()),
    };
    let names = prompt
        .arguments
        .iter()
        .map(|it| format!("{}{}", it.name, if it.required { " (required)" } else { "" }));
    let names = names.collect::<Vec<_>>().join(", ");
    let has = if names.is_empty() { "no arguments" } else { &names };
    Err(Failure::usage(wrong).advice(format!("the prompt has {has}")))
}

/// Arguments that are texts.
fn pairs(words: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pairs = arguments::pairs(words, "argument", || "arguments are KEY=VALUE".to_owned())?;
    Ok(pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

fn show(result: &GetPromptResult) {
    for message in &result.messages {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        print::text(&format!("{role}:\n{}", indented(&text_of(&message.content), 2)));
    }
}
