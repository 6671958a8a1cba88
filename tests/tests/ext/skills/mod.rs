//! Skills: the rules of entries, frontmatter, what is read, and what is refused.

mod catalog;
mod clients;
mod entries;
mod folders;
mod frontmatter;
mod servers;

use mcp_proto::Json;
use mcp_proto::client::Negotiation;
use mcp_proto::ext::skills::{Skill, SkillFiles};
use serde_json::Value;

const BOTH: [Negotiation; 2] = [Negotiation::Auto, Negotiation::Legacy];

/// The text of a `SKILL.md`, with these lines after the description.
fn text(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Does it\n{more}---\n\nBody.\n")
}

/// A skill with a few files.
fn refunds() -> SkillFiles {
    let files = [
        ("SKILL.md", text("refunds", "license: MIT\n")),
        ("templates/email.md", "Dear customer\n".into()),
        ("templates/regional/eu.md", "Within 14 days\n".into()),
        ("scripts/total one.py", "print(1)\n".into()),
    ];
    SkillFiles::new("skill://acme/refunds", files).unwrap()
}

/// An entry as a server might send it.
fn entry(value: &Value) -> Result<Skill, String> {
    Json::encode(value).unwrap().decode().map_err(|error| error.to_string())
}
