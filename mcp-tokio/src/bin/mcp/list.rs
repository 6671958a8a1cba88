//! `mcp tools`, `mcp resources`, `mcp prompts`: the lists of a server, all pages.

use std::collections::BTreeMap;

use mcp_tokio::mcp_proto::ErrorCode;
use mcp_tokio::types::{Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool};
use mcp_tokio::{Call, CallError, Client, ServerInfo};
use serde::Serialize;

use crate::args::{Alone, Common, ToolsArgs};
use crate::arguments::{self, Argument};
use crate::ask;
use crate::failure::{Exit, Failure};
use crate::print::{self, Output, indented};
use crate::session;
use crate::strict;
use crate::target::Target;

pub(crate) async fn tools(args: ToolsArgs, output: Output) -> Result<Exit, Failure> {
    let ToolsArgs { strict, alone } = args;
    let common = &alone.common;
    let tools = connected(&alone, async |client, server| all_tools(client, server, common).await);
    let tools = tools.await?;
    if strict {
        return Ok(strict::check(&tools, output));
    }
    if output.is_json() {
        print::document(&BTreeMap::from([("tools", tools)]));
    } else {
        show("tools", tools.iter().map(of_tool));
    }
    Ok(Exit::Fine)
}

pub(crate) async fn resources(args: Alone, output: Output) -> Result<Exit, Failure> {
    let common = &args.common;
    let lists = connected(&args, async |client, server| {
        let is_declared = server.capabilities.resources.is_some();
        let list = offered(server, is_declared, || client.list_resources(), common).await?;
        let Some(list) = list else { return Ok((Vec::new(), Vec::new())) };
        Ok((list.resources, templates(client, common).await?))
    });
    let (resources, templates) = lists.await?;
    if output.is_json() {
        print::document(&Resources { resources, resource_templates: templates });
    } else {
        let templates = templates.iter().map(of_template);
        show("resources", resources.iter().map(of_resource).chain(templates));
    }
    Ok(Exit::Fine)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resources {
    resources: Vec<Resource>,
    resource_templates: Vec<ResourceTemplate>,
}

pub(crate) async fn prompts(args: Alone, output: Output) -> Result<Exit, Failure> {
    let common = &args.common;
    let prompts =
        connected(&args, async |client, server| all_prompts(client, server, common).await);
    let prompts = prompts.await?;
    if output.is_json() {
        print::document(&BTreeMap::from([("prompts", prompts)]));
    } else {
        show("prompts", prompts.iter().map(of_prompt));
    }
    Ok(Exit::Fine)
}

/// All prompts; none if the server does not declare prompts.
pub(crate) async fn all_prompts(
    client: &Client,
    server: &ServerInfo,
    common: &Common,
) -> Result<Vec<Prompt>, Failure> {
    let is_declared = server.capabilities.prompts.is_some();
    let list = offered(server, is_declared, || client.list_prompts(), common).await?;
    Ok(list.map(|list| list.prompts).unwrap_or_default())
}

/// All tools; none if the server does not declare tools.
pub(crate) async fn all_tools(
    client: &Client,
    server: &ServerInfo,
    common: &Common,
) -> Result<Vec<Tool>, Failure> {
    let is_declared = server.capabilities.tools.is_some();
    let list = offered(server, is_declared, || client.list_tools(), common).await?;
    Ok(list.map(|list| list.tools).unwrap_or_default())
}

/// All templates; none if the server does not know the method.
pub(crate) async fn templates(
    client: &Client,
    common: &Common,
) -> Result<Vec<ResourceTemplate>, Failure> {
    let list = if_known(client.list_resource_templates(), common).await?;
    Ok(list.map(|list| list.resource_templates).unwrap_or_default())
}

/// A list; `None` if the server offers none. A server that declares nothing at all is asked: it may
/// have refused `server/discover`.
pub(crate) async fn offered<R>(
    server: &ServerInfo,
    is_declared: bool,
    list: impl FnOnce() -> Call<R>,
    common: &Common,
) -> Result<Option<R>, Failure> {
    if is_declared {
        get(list(), common).await.map(Some)
    } else if server.capabilities == ServerCapabilities::default() {
        if_known(list(), common).await
    } else {
        Ok(None)
    }
}

/// A list; `None` if the server does not know the method.
async fn if_known<R>(list: Call<R>, common: &Common) -> Result<Option<R>, Failure> {
    match list.timeout(common.timeout).await {
        Err(CallError::Error { error, .. }) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Ok(None)
        }
        list => Ok(Some(list?)),
    }
}

/// A list, within the time limit.
pub(crate) async fn get<R>(list: Call<R>, common: &Common) -> Result<R, Failure> {
    Ok(list.timeout(common.timeout).await?)
}

async fn connected<T>(
    args: &Alone,
    f: impl AsyncFnOnce(&Client, &ServerInfo) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let target = Target::new(args.url.as_deref(), &args.common)?;
    let client = session::client(&args.common, &target)?;
    // Some servers list tools with elicitation only for clients that support it.
    ask::decline(&client);
    session::with(&client, target, async |server| f(&client, &server).await).await
}

fn show(what: &str, entries: impl Iterator<Item = String>) {
    let entries: Vec<_> = entries.collect();
    if entries.is_empty() {
        return print::text(&format!("no {what}"));
    }
    print::text(&entries.join("\n"));
}

fn of_tool(tool: &Tool) -> String {
    let annotations = tool.annotations.clone().unwrap_or_default();
    let title = tool.title.as_ref().or(annotations.title.as_ref());
    let mut marks = String::new();
    for (hint, mark) in [
        (annotations.read_only_hint, " [reads only]"),
        (annotations.destructive_hint, " [destructive]"),
        (annotations.idempotent_hint, " [idempotent]"),
    ] {
        if hint == Some(true) {
            marks.push_str(mark);
        }
    }
    let head = head(&tool.name, title, &marks);
    entry(head, tool.description.as_ref(), &arguments::of_schema(&tool.input_schema))
}

fn of_resource(resource: &Resource) -> String {
    let Resource { uri, name, title, description, mime_type, .. } = resource;
    entry(place(uri, name, title.as_ref(), mime_type.as_ref()), description.as_ref(), &[])
}

fn of_template(template: &ResourceTemplate) -> String {
    let ResourceTemplate { uri_template, name, title, description, mime_type, .. } = template;
    entry(place(uri_template, name, title.as_ref(), mime_type.as_ref()), description.as_ref(), &[])
}

fn of_prompt(prompt: &Prompt) -> String {
    let arguments: Vec<_> = prompt.arguments.iter().map(Argument::of_prompt).collect();
    let head = head(&prompt.name, prompt.title.as_ref(), "");
    entry(head, prompt.description.as_ref(), &arguments)
}

fn place(uri: &str, name: &str, title: Option<&String>, mime_type: Option<&String>) -> String {
    let mime_type = mime_type.map(|it| format!(" [{it}]")).unwrap_or_default();
    head(uri, Some(title.map_or(name, |title| title)), &mime_type)
}

/// The first line of an entry. A line feed in a name would begin an entry that there is not.
fn head(name: &str, title: Option<impl AsRef<str>>, marks: &str) -> String {
    let title = title.map(|title| format!("  {}", title.as_ref())).unwrap_or_default();
    format!("{name}{title}{marks}").replace('\n', "\u{fffd}") + "\n"
}

fn entry(head: String, description: Option<&String>, arguments: &[Argument]) -> String {
    let mut out = head;
    if let Some(description) = description {
        out.push_str(&indented(description, 2));
    }
    out.push_str(&indented(&arguments::table(arguments), 4));
    out
}
