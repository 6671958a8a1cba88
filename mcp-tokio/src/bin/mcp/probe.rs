//! `mcp probe`: what a server is, and how that was found out.

use mcp_tokio::mcp_proto::Era;
use mcp_tokio::mcp_proto::client::Decision;
use mcp_tokio::types::{Implementation, ServerCapabilities};
use mcp_tokio::{Client, ServerInfo};
use serde::Serialize;
use serde_json::json;

use crate::args::Alone;
use crate::failure::{Exit, Failure};
use crate::print::{self, Output, rows};
use crate::session::{self, Session};
use crate::target::Target;
use crate::words;

pub(crate) async fn run(args: Alone, output: Output) -> Result<Exit, Failure> {
    let target = Target::new(args.url.as_deref(), &args.common)?;
    let client = session::client(&args.common);
    let mut session = Session::open(&client, target);
    let found = session.connected().await;
    let decisions = session.decisions();
    let supported = found.as_ref().map(|server| supported(&client, server)).unwrap_or_default();
    session.close().await;

    match found {
        Ok(server) if output.is_json() => {
            print::document(&document(&server, &supported, &decisions));
        }
        Ok(server) => {
            print::text(&format!("{}\n{}", describe(&server, &supported), story(&decisions)));
        }
        Err(failure) if output.is_json() => {
            let decisions: Vec<_> = decisions.iter().map(words::Document::new).collect();
            let error = print::error(&failure);
            print::document(&json!({ "error": error, "decisions": decisions }));
            return Ok(print::told(&failure));
        }
        Err(failure) => {
            print::text(&story(&decisions));
            return Err(failure);
        }
    }
    Ok(Exit::Fine)
}

/// The versions that a server says it speaks; a legacy one says no more than which it takes.
fn supported(client: &Client, server: &ServerInfo) -> Vec<String> {
    let discover = client.verdict().and_then(|verdict| verdict.discover);
    let listed = discover.map(|discover| discover.supported_versions);
    listed.unwrap_or_else(|| vec![server.version.to_string()])
}

/// What is found, for programs.
#[derive(Serialize)]
struct Document<'a> {
    server: Option<&'a Implementation>,
    era: &'static str,
    version: &'static str,
    supported: &'a [String],
    capabilities: &'a ServerCapabilities,
    instructions: Option<&'a str>,
    decisions: Vec<words::Document>,
}

fn document<'a>(
    server: &'a ServerInfo,
    supported: &'a [String],
    decisions: &[Decision],
) -> Document<'a> {
    Document {
        server: server.implementation.as_ref(),
        era: era(server),
        version: server.version.as_str(),
        supported,
        capabilities: &server.capabilities,
        instructions: server.instructions.as_deref(),
        decisions: decisions.iter().map(words::Document::new).collect(),
    }
}

fn era(server: &ServerInfo) -> &'static str {
    match server.era() {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    }
}

fn describe(server: &ServerInfo, supported: &[String]) -> String {
    let name = server.implementation.as_ref().map_or("does not say".into(), |it| {
        let title = it.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        format!("{} {}{title}", it.name, it.version)
    });
    let mut all = vec![
        ("server", name),
        ("era", era(server).to_owned()),
        ("version", server.version.to_string()),
    ];
    if server.era() == Era::Modern {
        all.push(("supports", supported.join(", ")));
    }
    let capabilities = capabilities(&server.capabilities);
    all.push(("capabilities", if capabilities.is_empty() { "none".into() } else { capabilities }));
    if let Some(instructions) = &server.instructions {
        all.push(("instructions", instructions.clone()));
    }
    rows(&all)
}

/// One on a line, with what belongs to it.
fn capabilities(has: &ServerCapabilities) -> String {
    let mut lines = Vec::new();
    let mut line = |name: &str, with: &[(bool, &str)]| {
        let with: Vec<_> = with.iter().filter(|(has, _)| *has).map(|(_, what)| *what).collect();
        let with = if with.is_empty() { String::new() } else { format!(" ({})", with.join(", ")) };
        lines.push(format!("{name}{with}"));
    };
    if let Some(tools) = &has.tools {
        line("tools", &[(tools.list_changed, "tells of changes")]);
    }
    if let Some(resources) = &has.resources {
        let (subscribe, changed) = (resources.subscribe, resources.list_changed);
        line("resources", &[(subscribe, "subscriptions"), (changed, "tells of changes")]);
    }
    if let Some(prompts) = &has.prompts {
        line("prompts", &[(prompts.list_changed, "tells of changes")]);
    }
    for (is_there, name) in
        [(has.completions.is_some(), "completions"), (has.logging.is_some(), "logging")]
    {
        if is_there {
            line(name, &[]);
        }
    }
    for name in has.extensions.keys() {
        line(name, &[(true, "extension")]);
    }
    for name in has.experimental.keys() {
        line(name, &[(true, "experimental")]);
    }
    lines.join("\n")
}

/// How it was found out, a line for each step.
fn story(decisions: &[Decision]) -> String {
    let Some(first) = decisions.first() else { return String::new() };
    let sentences: Vec<_> = decisions.iter().map(words::sentence).collect();
    let width = sentences.iter().map(|it| it.chars().count()).max().unwrap_or_default();
    let mut out = format!("{:>8}  {} is sent\n", "0 ms", words::opening(first.step));
    for (decision, sentence) in decisions.iter().zip(sentences) {
        let at = format!("{} ms", words::millis(decision));
        out.extend([format!("{at:>8}  {sentence:width$}  [{}]\n", decision.row)]);
    }
    out
}
