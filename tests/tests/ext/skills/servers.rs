//! Servers with skills, as their clients see them.

use mcp_proto::client::{CallError, Negotiation};
use mcp_proto::ext::skills::{self, SkillFiles};
use mcp_proto::server::ListEntry;
use mcp_proto::types::{Implementation, Resource, ResourceContents};
use mcp_proto::{ErrorCode, Json, UsageError};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Registry, SkillCallError};
use serde_json::{Value, json};

use super::{BOTH, refunds, text};

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";

#[test]
fn a_skill_is_listed_loaded_and_read_in_both_eras() {
    for negotiation in BOTH {
        let mut pair = Pair::new(shop()).negotiation(negotiation);
        let client = pair.client();
        let list = pair.run(client.list_skills()).unwrap();
        assert_eq!(list.skills, [refunds().skill().clone()]);
        assert_eq!(pair.run(client.get_skill(REFUNDS)).unwrap(), list.skills[0]);
        let settings = client.server().unwrap().extension(skills::ID).cloned();
        assert_eq!(settings.unwrap().as_str(), r#"{"directoryRead":true}"#);
        assert!(client.server().unwrap().capabilities.resources.is_some());

        let loaded = pair.run(client.read_skill(&list.skills[0])).unwrap();
        assert_eq!(loaded.text(), text("refunds", "license: MIT\n"));
        let email = pair.run(loaded.read("templates/email.md")).unwrap();
        assert_eq!(email.text(), Some("Dear customer\n"));
        let script = pair.run(loaded.read("scripts/total one.py")).unwrap();
        assert_eq!(script.uri(), "skill://acme/refunds/scripts/total%20one.py");
        let children = pair.run(client.read_directory("skill://acme/refunds/templates")).unwrap();
        let names: Vec<&str> = children.iter().map(|child| &*child.name).collect();
        assert_eq!(names, ["email.md", "regional"]);
    }
}

#[test]
fn results_have_what_the_era_wants() {
    for negotiation in BOTH {
        let is_modern = negotiation == Negotiation::Auto;
        let mut pair = Pair::new(shop()).negotiation(negotiation);
        let client = pair.client();
        let list: Value = pair.run(client.call("skills/list", &json!({}))).unwrap();
        let get: Value = pair.run(client.call("skills/get", &json!({"uri": REFUNDS}))).unwrap();
        let uri = json!({"uri": "skill://acme"});
        let directory: Value = pair.run(client.call("resources/directory/read", &uri)).unwrap();
        let kept = |of: &Value| (of.get("ttlMs").cloned(), of.get("cacheScope").cloned());
        for result in [&list, &get] {
            let expected =
                if is_modern { (Some(json!(0)), Some(json!("private"))) } else { (None, None) };
            assert_eq!(kept(result), expected);
            assert_eq!(result.get("nextCursor"), None);
        }
        assert_eq!(kept(&directory), (None, None));
        for result in [&list, &get, &directory] {
            assert_eq!(result.get("resultType"), is_modern.then(|| json!("complete")).as_ref());
        }
    }
}

#[test]
fn the_resource_of_a_skill_has_its_name_and_description() {
    let mut pair = Pair::new(shop());
    let resources = pair.run(pair.client().list_resources()).unwrap().resources;
    let resource = resources.iter().find(|resource| resource.uri == REFUNDS).unwrap();
    assert_eq!((&*resource.name, resource.description.as_deref()), ("refunds", Some("Does it")));
    assert_eq!(resource.mime_type.as_deref(), Some("text/markdown"));
    assert_eq!(resources.len(), 4);
    let read = pair.run(pair.client().read_resource(REFUNDS)).unwrap();
    let ResourceContents::Text(contents) = &read.contents[0] else { panic!("{read:?}") };
    assert_eq!(contents.mime_type.as_deref(), Some("text/markdown"));
}

#[test]
fn bytes_that_are_no_text_go_as_base64() {
    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    let files = [("SKILL.md", text("a", "").into_bytes()), ("b", vec![0xff, 0]), ("c", Vec::new())];
    registry.skill(SkillFiles::new("skill://a", files).unwrap()).unwrap();
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let skill = pair.run(client.get_skill("skill://a/SKILL.md")).unwrap();
    let loaded = pair.run(client.read_skill(&skill)).unwrap();
    let file = pair.run(loaded.read("b")).unwrap();
    assert_eq!((&file.bytes()[..], file.text()), (&[0xff, 0][..], None));
    assert_eq!(pair.run(loaded.read("c")).unwrap().text(), Some(""));
}

#[test]
fn what_is_not_served_is_invalid_params() {
    let mut pair = Pair::new(shop());
    let client = pair.client();
    for (method, params) in [
        ("skills/get", json!({"uri": "skill://acme/nope/SKILL.md"})),
        ("skills/get", json!({"uri": "skill://acme/refunds"})),
        ("skills/get", json!({"uri": "skill://acme/refunds/templates/email.md"})),
        ("skills/get", json!({})),
        ("skills/get", json!({"uri": 7})),
        ("skills/list", json!({"cursor": "x"})),
        ("skills/list", json!({"cursor": 20})),
        ("resources/directory/read", json!({"uri": "skill://nope"})),
        ("resources/directory/read", json!({"uri": REFUNDS})),
        ("resources/directory/read", json!({"uri": "skill://acme", "cursor": "9"})),
        ("resources/directory/read", json!({})),
        ("resources/read", json!({"uri": "skill://acme/refunds/nope.md"})),
        ("resources/read", json!({"uri": "skill://acme/refunds/templates"})),
    ] {
        match pair.run(client.call::<Json>(method, &params)) {
            Err(CallError::Error { error, .. }) => {
                assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{method} {params}");
            }
            other => panic!("{method} {params}: {other:?}"),
        }
    }
}

#[test]
fn a_server_without_skills_is_asked_nothing() {
    let mut pair = Pair::new(Registry::new(Implementation::new("shop", "1.0.0")));
    let client = pair.client();
    let undeclared = |error: SkillCallError| matches!(error, SkillCallError::Undeclared);
    assert!(undeclared(pair.run(client.list_skills()).unwrap_err()));
    assert!(undeclared(pair.run(client.get_skill(REFUNDS)).unwrap_err()));
    assert!(undeclared(pair.run(client.read_directory("skill://acme")).unwrap_err()));
    assert_eq!(pair.wire().matches("skills/").count(), 0);

    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    registry.extension(skills::ID, Json::EMPTY_OBJECT).unwrap();
    let mut pair = Pair::new(registry);
    let client = pair.client();
    assert!(undeclared(pair.run(client.read_directory("skill://acme")).unwrap_err()));
}

#[test]
fn skills_come_and_go_while_the_server_runs() {
    let catalog = Catalog::from(shop());
    let mut pair = Pair::new(catalog.clone());
    let client = pair.client();
    let names = |pair: &mut Pair| {
        let skills = pair.run(client.list_skills()).unwrap().skills;
        skills.iter().map(|skill| skill.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut pair), ["refunds"]);
    let hello = || SkillFiles::new("skill://hello", [("SKILL.md", text("hello", ""))]).unwrap();
    catalog.edit(|registry| registry.skill(hello())).unwrap();
    assert_eq!(names(&mut pair), ["refunds", "hello"]);
    let twice = catalog.edit(|registry| registry.skill(hello()));
    assert!(matches!(twice, Err(UsageError::Duplicate { kind: "skill", .. })));
    assert!(catalog.update(|registry| Ok(registry.remove_skill(REFUNDS))).unwrap());
    assert!(!catalog.update(|registry| Ok(registry.remove_skill(REFUNDS))).unwrap());
    assert_eq!(names(&mut pair), ["hello"]);
    assert!(pair.run(client.read_resource(REFUNDS)).is_err());
    assert!(pair.run(client.get_skill(REFUNDS)).is_err());
    assert!(
        catalog.update(|registry| Ok(registry.remove_skill("skill://hello/SKILL.md"))).unwrap()
    );
    assert_eq!(names(&mut pair), [""; 0]);
    catalog.edit(|registry| registry.skill(hello())).unwrap();
    assert_eq!(names(&mut pair), ["hello"]);
}

#[test]
fn skills_whose_resources_are_hidden_are_not_served() {
    let hidden = "skill://acme/refunds/templates/email.md";
    for negotiation in BOTH {
        let catalog = Catalog::from(shop());
        let mut pair = Pair::new(catalog.clone()).negotiation(negotiation);
        let client = pair.client();
        let names = |pair: &mut Pair, directory: &str| -> Vec<String> {
            let children = pair.run(client.read_directory(directory)).unwrap_or_default();
            children.into_iter().map(|child| child.name).collect()
        };
        catalog.edit(|shop| shop.only_for(ListEntry::resource(hidden), |_| false)).unwrap();
        assert_eq!(names(&mut pair, "skill://acme/refunds/templates"), ["regional"]);
        assert_eq!(pair.run(client.list_skills()).unwrap().skills.len(), 1);
        catalog.edit(|shop| shop.disable(ListEntry::resource(REFUNDS))).unwrap();
        assert_eq!(pair.run(client.list_skills()).unwrap().skills.len(), 0);
        assert!(pair.run(client.get_skill(REFUNDS)).is_err());
        assert_eq!(names(&mut pair, "skill://acme/refunds"), ["scripts", "templates"]);
        catalog.edit(|shop| shop.enable(&ListEntry::resource(REFUNDS))).unwrap();
        assert_eq!(pair.run(client.list_skills()).unwrap().skills.len(), 1);
    }
}

#[test]
fn a_skill_that_cannot_be_added_changes_nothing() {
    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    let uri = "skill://acme/refunds/templates/email.md";
    let contents = |uri: String, _| async move { ResourceContents::text(uri, "mine") };
    registry.resource(Resource::new(uri, "mine"), contents).unwrap();
    let refused = registry.skill(refunds()).map(drop);
    assert_eq!(refused, Err(UsageError::Duplicate { kind: "resource", name: uri.into() }));
    let mut pair = Pair::new(registry.clone());
    let resources = pair.run(pair.client().list_resources()).unwrap().resources;
    assert_eq!(resources.len(), 1);
    assert_eq!(pair.client().server().unwrap().extension(skills::ID), None);

    registry.method("skills/get", |_: Json, _| async { Json::EMPTY_OBJECT }).unwrap();
    registry.remove_resource(uri);
    let refused = registry.skill(refunds()).map(drop);
    assert_eq!(refused, Err(UsageError::Duplicate { kind: "method", name: "skills/get".into() }));
}

fn shop() -> Registry {
    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    registry.skill(refunds()).unwrap();
    registry
}
