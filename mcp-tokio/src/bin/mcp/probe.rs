//! `mcp probe`: the era, version and capabilities of a server, and how they were detected.

use mcp_tokio::mcp_proto::Era;
use mcp_tokio::mcp_proto::client::Transport;
use mcp_tokio::types::{Implementation, ServerCapabilities};
use mcp_tokio::{Client, ServerInfo};
use serde::Serialize;
use serde_json::json;

use crate::args::Alone;
use crate::failure::{Exit, Failure};
use crate::interrupt::unless_interrupted;
use crate::negotiation_log::{self, NegotiationLog};
use crate::print::{self, Output, rows};
use crate::session::{self, Session};
use crate::target::Target;

pub(crate) async fn run(args: Alone, output: Output) -> Result<Exit, Failure> {
    let target = Target::new(args.url.as_deref(), &args.common)?;
    let client = session::client(&args.common, &target)?;
    let mut session = Session::open(&client, target);
    let connected = unless_interrupted(session.connected());
    let found = if output.is_json() {
        connected.await
    } else {
        // Detection may take as long as the server's timeouts: each step is shown at once.
        NegotiationLog::new(&client, args.common.era).until(connected).await
    };
    let supported = found.as_ref().map(|server| supported(&client, server)).unwrap_or_default();
    let transport = transport(&client);
    session.close().await;

    match found {
        Ok(server) if output.is_json() => {
            print::document(&document(&server, transport, &supported, decisions(&client)));
        }
        Ok(server) => print::text(&format!("\n{}", describe(&server, transport, &supported))),
        Err(failure) if output.is_json() => {
            let error = print::error(&failure);
            print::document(&json!({ "error": error, "decisions": decisions(&client) }));
            return Ok(print::report(&failure));
        }
        Err(failure) => return Err(failure),
    }
    Ok(Exit::Fine)
}

fn decisions(client: &Client) -> Vec<negotiation_log::DecisionDocument> {
    client.decisions().iter().map(negotiation_log::DecisionDocument::new).collect()
}

/// The versions that a server lists; a legacy server only names the one that it selects.
fn supported(client: &Client, server: &ServerInfo) -> Vec<String> {
    let discover = client.verdict().and_then(|verdict| verdict.discover);
    let listed = discover.map(|discover| discover.supported_versions);
    listed.unwrap_or_else(|| vec![server.version.to_string()])
}

/// The transport, unless the address implies it.
fn transport(client: &Client) -> Option<&'static str> {
    let is_old = client.verdict().is_some_and(|verdict| verdict.transport == Transport::HttpSse);
    is_old.then_some("HTTP+SSE (2024-11-05)")
}

/// Findings as a document, for programs.
#[derive(Serialize)]
struct ProbeDocument<'a> {
    server: Option<&'a Implementation>,
    era: &'static str,
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    supported: &'a [String],
    capabilities: &'a ServerCapabilities,
    instructions: Option<&'a str>,
    decisions: Vec<negotiation_log::DecisionDocument>,
}

fn document<'a>(
    server: &'a ServerInfo,
    transport: Option<&'static str>,
    supported: &'a [String],
    decisions: Vec<negotiation_log::DecisionDocument>,
) -> ProbeDocument<'a> {
    ProbeDocument {
        server: server.implementation.as_ref(),
        era: era(server),
        version: server.version.as_str(),
        transport,
        supported,
        capabilities: &server.capabilities,
        instructions: server.instructions.as_deref(),
        decisions,
    }
}

fn era(server: &ServerInfo) -> &'static str {
    match server.era() {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    }
}

fn describe(server: &ServerInfo, transport: Option<&str>, supported: &[String]) -> String {
    let name = server.implementation.as_ref().map_or("does not say".into(), |it| {
        let title = it.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        format!("{} {}{title}", it.name, it.version)
    });
    let mut all = vec![
        ("server", name),
        ("era", era(server).to_owned()),
        ("version", server.version.to_string()),
    ];
    all.extend(transport.map(|transport| ("transport", transport.to_owned())));
    // A modern server need not list its legacy versions: a single version has no information.
    let version = server.version.as_str();
    let others: Vec<_> = supported.iter().map(|it| &**it).filter(|it| *it != version).collect();
    if !others.is_empty() {
        all.push(("also", others.join(", ")));
    }
    let capabilities = capabilities(&server.capabilities);
    all.push(("capabilities", if capabilities.is_empty() { "none".into() } else { capabilities }));
    if let Some(instructions) = &server.instructions {
        all.push(("instructions", instructions.clone()));
    }
    rows(&all)
}

/// A line for each capability, with its settings.
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
        let subscribe = resources.subscribe;
        let changed = resources.list_changed;
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
