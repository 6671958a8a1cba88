//! Clients of servers that do not serve what they list.

use std::sync::{Arc, Mutex};

use mcp_proto::Json;
use mcp_proto::client::{self, CacheConfig, CacheLimits};
use mcp_proto::ext::skills::{self, SkillError, SkillFiles};
use mcp_proto::server::Cacheable;
use mcp_proto::types::{CacheHint, Implementation, ReadResourceResult, Resource, ResourceContents};
use mcp_service::testing::Pair;
use mcp_service::{Catalog, Registry, SkillCallError};
use serde_json::{Value, json};

use super::{refunds, text};

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";
const EMAIL: &str = "skill://acme/refunds/templates/email.md";

/// The URIs that were read.
type Reads = Arc<Mutex<Vec<String>>>;

#[test]
fn files_are_read_when_they_are_needed() {
    let (registry, reads) = server(valid(), |uri| Some(refunds().contents(uri)?.into()));
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
    assert!(taken(&reads).is_empty());
    let loaded = pair.run(client.read_skill(&skill)).unwrap();
    assert_eq!(taken(&reads), [REFUNDS]);
    pair.run(loaded.read("templates/email.md")).unwrap();
    assert_eq!(taken(&reads), [EMAIL]);
}

#[test]
fn nothing_is_sent_for_a_file_that_is_not_listed() {
    let (registry, reads) = server(valid(), |uri| Some(refunds().contents(uri)?.into()));
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
    let loaded = pair.run(client.read_skill(&skill)).unwrap();
    assert_eq!(taken(&reads), [REFUNDS]);
    for reference in
        ["templates/new.md", "../other/SKILL.md", "skill://other/SKILL.md", "file:///etc/passwd"]
    {
        let error = pair.run(loaded.read(reference)).unwrap_err();
        let expected = SkillError::Unlisted { uri: reference.into() };
        assert!(matches!(&error, SkillCallError::Refused(it) if *it == expected), "{error}");
    }
    assert!(taken(&reads).is_empty());
}

#[test]
fn other_contents_than_listed_are_refused() {
    let own = text("refunds", "license: MIT\n");
    let same_size = own.replace("Body", "Evil");
    let other = |contents: Vec<ResourceContents>| ReadResourceResult::new(contents);
    let of = |text: &str| ResourceContents::text(REFUNDS, text);
    for (result, expected) in [
        (other(vec![of(&same_size)]), "another digest"),
        (other(vec![of(&format!("{own}more"))]), "bytes instead of"),
        (other(vec![of("")]), "0 bytes instead of"),
        (other(vec![]), "something else"),
        (other(vec![of(&own), of(&own)]), "something else"),
        (other(vec![of(&own), ResourceContents::text(EMAIL, "more")]), "something else"),
        (other(vec![ResourceContents::text(EMAIL, own.clone())]), "something else"),
        (other(vec![ResourceContents::blob_from_bytes(REFUNDS, b"other")]), "5 bytes instead of"),
    ] {
        let (registry, _) = server(valid(), move |_| Some(result.clone().into()));
        let mut pair = Pair::new(registry);
        let client = pair.client();
        let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
        let error = pair.run(client.read_skill(&skill)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    // Bytes are bytes, however they are sent.
    let bytes = ResourceContents::blob_from_bytes(REFUNDS, own.as_bytes());
    let (registry, _) = server(valid(), move |_| Some(vec![bytes.clone()].into()));
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
    assert_eq!(pair.run(client.read_skill(&skill)).unwrap().text(), own);
}

#[test]
fn a_file_that_differs_from_its_entry_is_refused() {
    let (registry, _) = server(valid(), |uri| {
        let contents = refunds().contents(uri)?;
        let evil = ResourceContents::text(uri, "Evil customer\n");
        Some(if uri == EMAIL { evil.into() } else { contents.into() })
    });
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
    let loaded = pair.run(client.read_skill(&skill)).unwrap();
    let error = pair.run(loaded.read("templates/email.md")).unwrap_err();
    let expected = SkillError::DigestMismatch { uri: EMAIL.into() };
    assert!(matches!(&error, SkillCallError::Refused(it) if *it == expected), "{error}");
}

/// Entries are never kept, and files are.
#[test]
fn updated_skill_is_read_although_its_old_files_are_kept() {
    let files = |more: &str| {
        let files = [("SKILL.md", text("a", more)), ("b.md", format!("b {more}"))];
        SkillFiles::new("skill://a", files).unwrap()
    };
    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    registry.cache(Cacheable::Contents, CacheHint::public(60_000));
    registry.skill(files("")).unwrap();
    let catalog = Catalog::from(registry);
    let config = client::Config::new(Implementation::new("host", "1.0.0"));
    let config = config.cache(CacheConfig::memory(CacheLimits::default()));
    let mut pair = Pair::new(catalog.clone()).client_config(config);
    let client = pair.client();
    let reads = |pair: &Pair| pair.wire().matches(r#""method":"resources/read""#).count();
    for (more, expected) in [("", 2), ("", 2), ("license: MIT\n", 4), ("license: MIT\n", 4)] {
        catalog
            .update(|registry| {
                registry.remove_skill("skill://a/SKILL.md");
                registry.skill(files(more)).map(|_| ())
            })
            .unwrap();
        let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
        let loaded = pair.run(client.read_skill(&skill)).unwrap();
        assert_eq!(loaded.text(), text("a", more));
        let file = pair.run(loaded.read("b.md")).unwrap();
        assert_eq!(file.text().unwrap(), format!("b {more}"));
        assert_eq!(reads(&pair), expected);
    }
}

/// A file that the server does not let be kept is not from the cache.
#[test]
fn a_file_that_differs_is_read_again_only_if_it_may_be_kept() {
    for (ttl_ms, expected) in [(0, 1), (60_000, 2)] {
        let evil = ResourceContents::text(REFUNDS, "Evil");
        let (mut registry, reads) = server(valid(), move |_| Some(evil.clone().into()));
        registry.cache(Cacheable::Contents, CacheHint::public(ttl_ms));
        let mut pair = Pair::new(registry);
        let client = pair.client();
        let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
        let error = pair.run(client.read_skill(&skill)).unwrap_err();
        let SkillCallError::Refused(SkillError::SizeMismatch { .. }) = error else {
            panic!("{error}");
        };
        assert_eq!(taken(&reads).len(), expected, "{ttl_ms}");
    }
}

#[test]
fn other_frontmatter_than_listed_is_refused() {
    let mut entry = valid();
    entry["frontmatter"]["description"] = json!("Something harmless");
    let (registry, _) = server(entry, |uri| Some(refunds().contents(uri)?.into()));
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
    let error = pair.run(client.read_skill(&skill)).unwrap_err();
    let expected = SkillError::FrontmatterMismatch { field: "description".into() };
    assert!(matches!(&error, SkillCallError::Refused(it) if *it == expected), "{error}");
}

#[test]
fn a_skill_that_changes_is_not_loaded() {
    let mut entry = valid();
    entry["resources"] = json!("dynamic");
    let (registry, reads) = server(entry, |uri| Some(refunds().contents(uri)?.into()));
    let mut pair = Pair::new(registry);
    let client = pair.client();
    let skill = pair.run(client.list_skills()).unwrap().skills.remove(0);
    let error = pair.run(client.read_skill(&skill)).unwrap_err();
    assert!(matches!(error, SkillCallError::Refused(SkillError::Dynamic)), "{error}");
    assert!(taken(&reads).is_empty());
}

#[test]
fn entries_that_break_a_rule_are_left_out_and_reported() {
    let mut outside = valid();
    outside["resources"][1]["uri"] = json!("skill://acme/refunds/%2e%2e/other/SKILL.md");
    let entries = json!([outside, valid(), {"uri": "x"}, 7]);
    let mut pair = Pair::new(listing(json!({ "skills": entries })));
    let client = pair.client();
    let rejected = Arc::new(Mutex::new(Vec::new()));
    let theirs = rejected.clone();
    client.on_entry_rejected(move |listing, index, reason| {
        theirs.lock().unwrap().push((listing, index, reason.to_owned()));
    });
    assert_eq!(pair.run(client.list_skills()).unwrap().skills.len(), 1);
    let rejected = rejected.lock().unwrap();
    let places: Vec<_> = rejected.iter().map(|(listing, index, _)| (*listing, *index)).collect();
    assert_eq!(places, [0, 2, 3].map(|index| (client::Listing::Skills, index)));
    assert!(rejected[0].2.contains("outside of the skill's directory"), "{}", rejected[0].2);
}

#[test]
fn the_entry_of_another_skill_is_refused() {
    let (registry, _) = server(valid(), |_| None);
    let mut pair = Pair::new(registry);
    let error = pair.run(pair.client().get_skill("skill://acme/credit/SKILL.md")).unwrap_err();
    assert!(matches!(error, SkillCallError::OtherResource { .. }), "{error}");
}

#[test]
fn a_directory_without_end_ends() {
    let mut registry = listing(json!({"skills": []}));
    let page = || async {
        let child = Resource::new("skill://a/b", "b");
        Json::encode(&json!({"resources": [child], "nextCursor": "again"})).unwrap()
    };
    registry.method("resources/directory/read", move |_: Json, _| page()).unwrap();
    let mut pair = Pair::new(registry);
    let error = pair.run(pair.client().read_directory("skill://a")).unwrap_err();
    assert!(matches!(error, SkillCallError::TooManyPages), "{error}");
}

fn valid() -> Value {
    Json::encode(refunds().skill()).unwrap().decode().unwrap()
}

/// A server with this result of `skills/list`.
fn listing(result: Value) -> Registry {
    let mut registry = Registry::new(Implementation::new("shop", "1.0.0"));
    let settings = Json::parse(r#"{"directoryRead":true}"#).unwrap();
    registry.extension(skills::ID, settings).unwrap();
    let list = move |_: Json, _| {
        let result = Json::encode(&result).unwrap();
        async { result }
    };
    registry.method("skills/list", list).unwrap();
    registry
}

/// A server with this entry, whose files are what `read` says.
fn server(
    entry: Value,
    read: impl Fn(&str) -> Option<Contents> + Clone + Send + Sync + 'static,
) -> (Registry, Reads) {
    let reads = Reads::default();
    let mut registry = listing(json!({ "skills": [entry] }));
    let get = move |_: Json, _| {
        let result = Json::encode(&json!({ "skill": entry })).unwrap();
        async { result }
    };
    registry.method("skills/get", get).unwrap();
    for uri in [REFUNDS, EMAIL] {
        let (reads, read) = (reads.clone(), read.clone());
        let handler = move |uri: String, _| {
            let contents = read(&uri);
            reads.lock().unwrap().push(uri);
            async { contents.unwrap().0 }
        };
        registry.resource(Resource::new(uri, "file"), handler).unwrap();
    }
    (registry, reads)
}

/// What a server answers to a read.
struct Contents(ReadResourceResult);

impl From<ReadResourceResult> for Contents {
    fn from(result: ReadResourceResult) -> Self {
        Self(result)
    }
}

impl From<Vec<ResourceContents>> for Contents {
    fn from(contents: Vec<ResourceContents>) -> Self {
        Self(ReadResourceResult::new(contents))
    }
}

impl From<ResourceContents> for Contents {
    fn from(contents: ResourceContents) -> Self {
        vec![contents].into()
    }
}

fn taken(reads: &Reads) -> Vec<String> {
    std::mem::take(&mut *reads.lock().unwrap())
}
