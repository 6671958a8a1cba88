//! `mcp tools --strict`: the schemas of tools that some hosts reject.
//!
//! In: the tools of a server. Out: each finding with its tool, its place and a remedy, and the exit
//! code. The rules are those of [`PortabilityRule`](mcp_tokio::schema::PortabilityRule).

use mcp_tokio::schema::check_portability;
use mcp_tokio::types::Tool;
use serde::Serialize;
use serde_json::json;

use crate::failure::Exit;
use crate::print::{self, Output};

/// A place of a tool that breaks a rule.
#[derive(Serialize)]
struct Finding<'a> {
    tool: &'a str,
    /// A JSON Pointer into the tool.
    path: String,
    rule: &'static str,
    message: String,
}

/// Reports the findings of all tools.
pub(crate) fn check(tools: &[Tool], output: Output) -> Exit {
    let findings: Vec<_> = tools.iter().flat_map(of_tool).collect();
    if output.is_json() {
        print::document(&json!({ "findings": findings }));
    } else if findings.is_empty() {
        print::text(&format!("no findings in {} tools", tools.len()));
    } else {
        let lines = findings
            .iter()
            .map(|Finding { tool, path, message, .. }| format!("{tool} {path}: {message}\n"));
        print::text(&lines.collect::<String>());
    }
    if findings.is_empty() { Exit::Fine } else { Exit::Schema }
}

fn of_tool(tool: &Tool) -> Vec<Finding<'_>> {
    let input = ("/inputSchema", &tool.input_schema);
    let output = tool.output_schema.as_ref().map(|schema| ("/outputSchema", schema));
    let mut findings = Vec::new();
    for (member, schema) in [input].into_iter().chain(output) {
        findings.extend(check_portability(schema).into_iter().map(|finding| Finding {
            tool: &tool.name,
            path: format!("{member}{}", finding.path),
            rule: finding.rule.name(),
            message: finding.rule.to_string(),
        }));
    }
    findings
}
