//! `docs/tables.md` and `ARCHITECTURE.md` are equal to the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mcp_proto::auth::{
    binding, discovery_table, grant_kind, granted, redirect, refusal, registration,
};
use mcp_proto::bridge;
use mcp_proto::client::{probe, recovery, task};
use mcp_proto::http::client::{answer, resume};
use mcp_proto::http::status;
use mcp_proto::message::draw_methods;
use mcp_proto::negotiate;
use mcp_proto::server::task as task_of_server;

#[test]
fn shows_the_negotiation_table() {
    assert_eq!(shown("<!-- negotiation table: negotiate::TABLE -->\n"), negotiate::TABLE.draw());
}

#[test]
fn shows_the_table_of_methods() {
    assert_eq!(shown("<!-- method table: message::draw_methods() -->\n"), draw_methods());
}

#[test]
fn shows_the_probe_table() {
    assert_eq!(shown("<!-- probe table: client::probe::TABLE -->\n"), probe::TABLE.draw());
}

#[test]
fn shows_the_table_of_answers() {
    assert_eq!(shown("<!-- answer table: http::client::answer::TABLE -->\n"), answer::TABLE.draw());
}

#[test]
fn shows_the_table_of_streams_that_break() {
    assert_eq!(shown("<!-- resume table: http::client::resume::TABLE -->\n"), resume::TABLE.draw());
}

#[test]
fn shows_the_table_of_statuses() {
    assert_eq!(shown("<!-- status table: http::status::TABLE -->\n"), status::TABLE.draw());
}

#[test]
fn shows_the_recovery_table() {
    assert_eq!(shown("<!-- recovery table: client::recovery::TABLE -->\n"), recovery::TABLE.draw());
}

#[test]
fn shows_the_table_of_tasks() {
    assert_eq!(shown("<!-- follow table: client::task::TABLE -->\n"), task::TABLE.draw());
}

#[test]
fn shows_the_tables_of_the_bridge() {
    assert_eq!(shown("<!-- bridge table: bridge::TABLE -->\n"), bridge::TABLE.draw());
    assert_eq!(shown("<!-- bridge errors: bridge::ERRORS -->\n"), bridge::ERRORS.draw());
}

#[test]
fn shows_the_tables_of_authorization() {
    for (mark, table) in [
        ("<!-- refusal table: auth::refusal::TABLE -->\n", refusal::TABLE.draw()),
        ("<!-- flow table: auth::discovery_table::TABLE -->\n", discovery_table::TABLE.draw()),
        ("<!-- grant table: auth::grant_kind::TABLE -->\n", grant_kind::TABLE.draw()),
        ("<!-- binding table: auth::binding::TABLE -->\n", binding::TABLE.draw()),
        ("<!-- client table: auth::registration::TABLE -->\n", registration::TABLE.draw()),
        ("<!-- iss table: auth::redirect::TABLE -->\n", redirect::TABLE.draw()),
        ("<!-- token table: auth::granted::TABLE -->\n", granted::TABLE.draw()),
    ] {
        assert_eq!(shown(mark), table);
    }
}

#[test]
fn shows_the_tables_of_tasks() {
    assert_eq!(
        shown("<!-- task table: server::task::step::TABLE -->\n"),
        task_of_server::step::TABLE.draw()
    );
    let methods = "<!-- task requests: server::task::method::TABLE -->\n";
    assert_eq!(shown(methods), task_of_server::method::TABLE.draw());
}

/// A map that fits in a pocket: it names files, and all of them are there.
#[test]
fn map_is_short_and_names_files_that_exist() {
    let text = include_str!("../../ARCHITECTURE.md");
    assert!(text.len() <= 14 * 1024, "{} bytes", text.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in
        ["mcp-proto/src", "mcp-proto/service", "mcp-tokio/src", "mcp-async-std/src", "tests"]
    {
        list(&root.join(folder), &mut files);
    }
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "_-/.".contains(c);
    let named = text.split(|c| !is_of_path(c)).filter(|word| is_rust(Path::new(word)));
    let named: BTreeSet<&str> = named.collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        let end = format!("/{}", name.trim_start_matches("src/"));
        assert!(files.iter().any(|file| file.ends_with(&end)), "{name} is not there");
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Lists the files in a folder, with forward slashes.
fn list(folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, files);
        } else {
            files.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
}

/// Text between a mark and the next end.
fn shown(mark: &str) -> &'static str {
    let text = include_str!("../../docs/tables.md");
    let rest = text.split_once(mark).map_or("no mark", |(_, rest)| rest);
    rest.split_once("<!-- end -->").map_or(rest, |(shown, _)| shown)
}
