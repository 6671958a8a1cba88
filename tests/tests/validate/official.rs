//! The official cases of JSON Schema.

use std::fs;
use std::path::Path;

use mcp_proto::types::Tool;
use mcp_service::schema::ToolSchemas;
use serde_json::{Value, json};

use crate::json;

#[test]
fn second_hour_17_official_cases_of_2020_12() {
    assert!(run("draft2020-12", None) > 800);
}

#[test]
fn second_hour_17_official_cases_of_draft_07() {
    assert!(run("draft7", Some("http://json-schema.org/draft-07/schema#")) > 200);
}

/// Runs the cases of a folder, and returns how many there were.
fn run(folder: &str, dialect: Option<&str>) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/json-schema").join(folder);
    let (mut count, mut wrong) = (0, Vec::new());
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read(file.unwrap().path()).unwrap();
        for mut group in serde_json::from_slice::<Vec<Value>>(&text).unwrap() {
            let mut schema = group["schema"].take();
            if let (Some(dialect), Some(members)) = (dialect, schema.as_object_mut()) {
                members.insert("$schema".to_owned(), json!(dialect));
            }
            let title = group["description"].as_str().unwrap().to_owned();
            let compiled = ToolSchemas::of(&Tool::new("t", json(&schema)));
            let compiled = match compiled {
                Ok(compiled) => compiled,
                // Cases with a schema elsewhere, which is never fetched.
                Err(error) if error.to_string().contains("http://localhost:1234/") => continue,
                Err(error) => {
                    wrong.push(format!("{title}: {error}"));
                    continue;
                }
            };
            for case in group["tests"].as_array().unwrap() {
                count += 1;
                let checked = compiled.check_arguments(&json(&case["data"]));
                if checked.is_ok() != case["valid"].as_bool().unwrap() {
                    wrong.push(format!("{title}: {}: {checked:?}", case["description"]));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    count
}
