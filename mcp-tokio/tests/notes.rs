//! The example `notes`: its server in virtual time, and its client with its server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

#[path = "../examples/notes/server.rs"]
mod server;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mcp_tests::examples;
use mcp_tokio::mcp_proto::Instant;
use mcp_tokio::testing::Pair;
use mcp_tokio::types::{CompleteRequestParams, CompletionReference, SubscriptionFilter};
use mcp_tokio::{Change, ErrorData, Negotiation};
use serde_json::{Value, json};

const ALL: &str = "notes://all";

#[test]
fn tools_resources_and_prompt_share_the_notes() {
    for mut pair in pairs() {
        add(&mut pair, &["milk", "bread"]);
        let client = pair.client();
        let found = pair.run(client.call_tool("find", &json!({ "text": "of bread" }))).unwrap();
        let expected = json!({ "notes": [{ "title": "bread", "text": "text of bread" }] });
        assert_eq!(found.structured::<Value>().unwrap(), expected);
        let found = pair.run(client.call_tool("find", &json!({}))).unwrap();
        assert_eq!(found.structured::<Value>().unwrap()["notes"].as_array().unwrap().len(), 2);
        pair.run(client.read_resource(ALL)).unwrap();
        pair.run(client.read_resource("notes://note/milk")).unwrap();
        pair.run(client.read_resource("notes://note/tea")).unwrap_err();
        let prompt = pair.run(client.get_prompt("review", &json!({ "title": "milk" }))).unwrap();
        assert!(prompt.messages[0].content.as_text().unwrap().contains("text of milk"));
        for reference in [
            CompletionReference::prompt("review"),
            CompletionReference::resource("notes://note/{title}"),
        ] {
            let begun = CompleteRequestParams::new(reference, "title", "b");
            assert_eq!(pair.run(client.complete(&begun)).unwrap().completion.values, ["bread"]);
        }
    }
}

#[test]
fn note_is_deleted_if_the_user_agrees() {
    for mut pair in pairs() {
        let client = pair.client();
        let sure = Arc::new(AtomicBool::new(false));
        let answer = sure.clone();
        // A legacy server learns once what its client can do.
        client.on_form(move |form| {
            let answer = json!({ "sure": answer.load(Ordering::Relaxed) });
            async move { form.accept(&answer).map_err(ErrorData::from) }
        });
        add(&mut pair, &["milk"]);
        let mut delete = || {
            let deleted =
                pair.run(client.call_tool("delete", &json!({ "title": "milk" }))).unwrap();
            (deleted.content[0].as_text().unwrap().to_owned(), deleted.is_error)
        };
        assert_eq!(delete(), ("It is kept.".into(), false));
        sure.store(true, Ordering::Relaxed);
        assert_eq!(delete(), ("It is deleted.".into(), false));
        assert_eq!(delete(), ("There is no note \"milk\".".into(), true));
    }
}

#[test]
fn export_reports_progress_and_can_be_cancelled() {
    for mut pair in pairs() {
        add(&mut pair, &["a", "b", "c"]);
        let client = pair.client();
        let (sender, receiver) = mpsc::channel();
        let export = || {
            let sender = sender.clone();
            let export = client.call_tool("export", &json!({}));
            export.on_progress(move |it| sender.send(it.message).unwrap_or_default())
        };
        let told = || receiver.try_iter().flatten().collect::<Vec<String>>();
        pair.run(export()).unwrap();
        assert_eq!(told(), ["a", "b", "c"]);
        assert_eq!(pair.now(), Instant::ZERO + Duration::from_secs(3));

        let mut cancelled = export();
        assert!(pair.poll(&mut cancelled).is_pending());
        pair.pass(Duration::from_millis(1500));
        drop(cancelled);
        pair.pass(Duration::from_secs(10));
        assert_eq!(told(), ["a"]);
    }
}

#[test]
fn subscriber_hears_of_changes() {
    for mut pair in pairs() {
        let client = pair.client();
        let filter = SubscriptionFilter::new().resource(ALL);
        let mut changes = pair.run(client.subscribe(filter)).unwrap();
        add(&mut pair, &["milk"]);
        assert_eq!(pair.run(changes.changed()), Some(Change::ResourceUpdated(ALL.into())));
    }
}

#[test]
fn client_of_the_example_uses_its_server() {
    let server = examples::path("mcp-tokio", "notes").unwrap();
    let client = examples::path("mcp-tokio", "notes_client").unwrap();
    let output = Command::new(client).arg(server).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    let printed = String::from_utf8(output.stdout).unwrap();
    for line in [
        "changed: Some(ResourceUpdated(\"notes://all\"))",
        "found: {\"notes\":[{\"text\":\"of rye\",\"title\":\"bread\"}]}",
        "exported: Some(\"milk\")",
        "asked: Delete \"milk\"?",
        "It is deleted.",
    ] {
        assert!(printed.lines().any(|it| it == line), "{line} is not in\n{printed}");
    }
}

/// Both eras, over both transports.
fn pairs() -> impl Iterator<Item = Pair> {
    [Negotiation::Auto, Negotiation::Legacy].into_iter().flat_map(|negotiation| {
        let stream = Pair::new(server::registry().unwrap());
        let http = Pair::over_http(server::registry().unwrap());
        [stream, http].map(|pair| pair.negotiation(negotiation))
    })
}

fn add(pair: &mut Pair, titles: &[&str]) {
    let client = pair.client();
    for title in titles {
        let note = json!({ "title": title, "text": format!("text of {title}") });
        pair.run(client.call_tool("add", &note)).unwrap();
    }
}
