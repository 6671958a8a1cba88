//! `mcp call`: calls a tool, and shows progress and log messages.

use std::time::Duration;

use mcp_service::nearest;
use mcp_tokio::mcp_proto::ErrorCode;
use mcp_tokio::mcp_proto::server::Progress;
use mcp_tokio::types::{CallToolResult, ContentBlock, ResourceContents, Task, TaskStatus, Tool};
use mcp_tokio::{CallError, Client, Json, ServerInfo, Started};
use serde_json::json;

use crate::args::CallArgs;
use crate::arguments;
use crate::ask;
use crate::failure::{Exit, Failure};
use crate::list::all_tools;
use crate::print::{self, Output};
use crate::session;
use crate::target::Target;

pub(crate) async fn run(args: CallArgs, output: Output) -> Result<Exit, Failure> {
    let (url, words) = args.common.split(&args.words);
    let target = Target::new(url, &args.common)?;
    let (tool, words) = split(words, args.args.as_ref())?;
    let client = session::follower(&args.common, &target)?;
    ask::user(&client, output);
    show_logs(&client, output);
    let result = session::with(&client, target, async |server| {
        let tools = all_tools(&client, &server, &args.common).await?;
        let arguments = match (&args.args, find(&tools, tool)?) {
            (Some(arguments), _) => arguments.clone(),
            (None, tool) => arguments::read_all(words, &tool.input_schema)?,
        };
        call(&client, &server, &args, tool, &arguments, output).await
    });
    match result.await? {
        Started::Task(task) => {
            show_id(task.id(), output);
            Ok(Exit::Fine)
        }
        Started::Done(result) => Ok(finish(&result, output)),
    }
}

/// Shows the result of a tool.
pub(crate) fn finish(result: &CallToolResult, output: Output) -> Exit {
    if output.is_json() {
        print::member("result", result);
    } else {
        show(result);
    }
    if result.is_error {
        print::note("mcp: the tool says that it has failed");
        return Exit::Tool;
    }
    Exit::Fine
}

async fn call(
    client: &Client,
    server: &ServerInfo,
    args: &CallArgs,
    tool: &str,
    arguments: &Json,
    output: Output,
) -> Result<Started, Failure> {
    if server.capabilities.logging.is_some() {
        match client.set_log_level(args.log_level).timeout(args.common.timeout).await {
            // The call does not need the method.
            Err(CallError::Error { error, .. }) if error.code == ErrorCode::METHOD_NOT_FOUND => {}
            set => drop(set?),
        }
    }
    let timeout = args.common.timeout;
    let progress = move |progress| show_progress(&progress, output);
    if args.detach {
        let call = client.start_tool(tool, arguments).timeout(timeout);
        return Ok(call.on_progress(progress).await?);
    }
    let call = client.call_tool(tool, arguments).timeout(timeout).max_total(Duration::MAX);
    let call = call.on_progress(progress).on_task(move |task| show_task(&task, output));
    Ok(Started::Done(call.await?))
}

/// The name of a tool, and the words with its arguments.
///
/// Fails without a name, and if there are words as well as the value of `--args`.
pub(crate) fn split<'a>(
    words: &'a [String],
    args: Option<&Json>,
) -> Result<(&'a String, &'a [String]), Failure> {
    let (tool, words) = words
        .split_first()
        .ok_or_else(|| Failure::usage("which tool? `mcp tools` lists those that there are"))?;
    if args.is_some() && !words.is_empty() {
        return Err(Failure::usage("arguments are KEY=VALUE, or JSON behind --args, and not both"));
    }
    Ok((tool, words))
}

pub(crate) fn find<'a>(tools: &'a [Tool], name: &str) -> Result<&'a Tool, Failure> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        Failure::usage(format!("the server has no tool {name:?}")).advice(instead(name, &names))
    })
}

/// A line with the names to use instead.
fn instead(name: &str, names: &[&str]) -> String {
    const WIDTH: usize = 80;

    let list = names.join(", ");
    match (nearest(name, names.iter().copied()), names.len()) {
        (_, 0) => "it has none".into(),
        (_, _) if list.len() <= WIDTH => format!("its tools: {list}"),
        (Some(near), count) => format!("did you mean {near}? `mcp tools` lists all {count}"),
        (None, count) => format!("`mcp tools` lists all {count}"),
    }
}

fn show_progress(progress: &Progress, output: Output) {
    let Progress { progress, total, message, .. } = progress;
    if output.is_json() {
        let about = json!({ "progress": progress, "total": total, "message": message });
        return print::document(&json!({ "progress": about }));
    }
    let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = message.as_ref().map(|it| format!("  {it}")).unwrap_or_default();
    print::note(&format!("progress {progress}{total}{message}"));
}

/// Shows the status of a task.
pub(crate) fn show_task(task: &Task, output: Output) {
    if output.is_json() {
        return print::document(&json!({ "task": task }));
    }
    let message = task.status_message.as_ref().map(|it| format!("  {it}")).unwrap_or_default();
    print::note(&format!("task {}{message}", status(task.status)));
}

fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Working => "working",
        TaskStatus::InputRequired => "needs input",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
        _ => "unknown",
    }
}

/// Shows the id of a task that is not followed.
fn show_id(id: &str, output: Output) {
    if output.is_json() {
        return print::document(&json!({ "task": { "taskId": id } }));
    }
    print::text(id);
}

fn show_logs(client: &Client, output: Output) {
    client.on_log(move |log| {
        if output.is_json() {
            return print::member("log", &log);
        }
        let logger = log.logger.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let text: Option<String> = log.data.decode().ok();
        let text = text.unwrap_or_else(|| log.data.to_string());
        print::note(&format!("{}{logger}: {text}", log.level.as_str()));
    });
}

/// Prints the result of a tool. Structured content is shown only if there is no other content: it
/// is meant for programs, and most tools repeat it as text.
fn show(result: &CallToolResult) {
    for block in &result.content {
        print::text(&words(block));
    }
    if result.content.is_empty()
        && let Some(content) = &result.structured_content
    {
        print::text(content.as_str());
    }
}

pub(crate) fn words(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => binary("image", Some(&image.mime_type), &image.data),
        ContentBlock::Audio(audio) => binary("audio", Some(&audio.mime_type), &audio.data),
        ContentBlock::ResourceLink(link) => format!("[resource {} {}]", link.uri, link.name),
        ContentBlock::Resource(embedded) => contents(&embedded.resource),
        ContentBlock::Other(json) => json.to_string(),
        _ => "[content]".into(),
    }
}

pub(crate) fn contents(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::Text(text) => text.text.clone(),
        ResourceContents::Blob(blob) => binary(&blob.uri, blob.mime_type.as_ref(), &blob.blob),
    }
}

/// Description of binary content in place of its Base64; `--json` has the content.
fn binary(what: &str, mime_type: Option<&String>, base64: &str) -> String {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = (base64.len() / 4 * 3).saturating_sub(padding);
    let mime_type = mime_type.map(|it| format!(" {it}")).unwrap_or_default();
    format!("[{what}{mime_type}, {bytes} bytes]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tool_lists_few_tools_or_names_the_nearest() {
        let many: Vec<_> = (10..43).map(|it| format!("tool-{it}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        for (name, names, advice) in [
            ("echo", &[][..], "it has none"),
            ("ecko", &["echo", "add"], "its tools: echo, add"),
            ("tool42", &many, "did you mean tool-42? `mcp tools` lists all 33"),
            ("nope", &many, "`mcp tools` lists all 33"),
        ] {
            assert_eq!(instead(name, names), advice);
        }
    }
}
