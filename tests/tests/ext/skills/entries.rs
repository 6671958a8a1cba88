//! Entries: the rules that each breaks alone, and files that are held against them.

use mcp_proto::Json;
use mcp_proto::ext::skills::{
    GetSkillResult, ListSkillsResult, MAX_BYTES, MAX_FILES, SkillDigest, SkillError, SkillFile,
    SkillFiles,
};
use serde_json::{Value, json};

use super::{entry, refunds, text};

#[test]
fn an_entry_is_read_as_it_was_written() {
    let skill = refunds().skill().clone();
    let written = Json::encode(&skill).unwrap();
    assert_eq!(written.decode::<mcp_proto::ext::skills::Skill>().unwrap(), skill);
    let value: Value = written.decode().unwrap();
    assert_eq!(
        value["frontmatter"],
        json!({"name": "refunds", "description": "Does it", "license": "MIT"})
    );
    let uris: Vec<&str> = value["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap())
        .collect();
    assert_eq!(
        uris,
        [
            "skill://acme/refunds/SKILL.md",
            "skill://acme/refunds/scripts/total%20one.py",
            "skill://acme/refunds/templates/email.md",
            "skill://acme/refunds/templates/regional/eu.md",
        ]
    );
    assert_eq!((skill.name(), skill.directory()), ("refunds", "skill://acme/refunds"));

    let mut dynamic = value;
    dynamic["resources"] = json!("dynamic");
    dynamic["_meta"] = json!({"io.modelcontextprotocol.skills/a": 1});
    let skill = entry(&dynamic).unwrap();
    assert_eq!(skill.files(), None);
    assert_eq!(Json::encode(&skill).unwrap().decode::<Value>().unwrap(), dynamic);
}

/// A server's mistake costs a request, and not the result.
#[test]
fn a_time_that_is_no_number_of_milliseconds_is_none() {
    let skill: Value = Json::encode(refunds().skill()).unwrap().decode().unwrap();
    let times = [
        (json!(1500), Some(1500)),
        (json!(1500.5), Some(1500)),
        (json!(-1), Some(0)),
        (json!("1500"), Some(0)),
        (json!(null), Some(0)),
    ];
    for (time, read) in times {
        let list = json!({"skills": [skill], "ttlMs": time});
        let list: ListSkillsResult = Json::encode(&list).unwrap().decode().unwrap();
        let got = json!({"skill": skill, "ttlMs": time});
        let got: GetSkillResult = Json::encode(&got).unwrap().decode().unwrap();
        assert_eq!((list.ttl_ms, got.ttl_ms), (read, read), "{time}");
    }
    let list: ListSkillsResult = Json::parse(r#"{"skills":[]}"#).unwrap().decode().unwrap();
    assert_eq!(list.ttl_ms, None);
}

#[test]
fn a_digest_is_that_of_the_bytes() {
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(SkillDigest::of(b"").to_string(), empty);
    assert_eq!(SkillDigest::parse(empty), Some(SkillDigest::of(b"")));
    let upper = empty.to_uppercase();
    for text in [
        "",
        "sha256:",
        empty.strip_prefix("sha256:").unwrap(),
        empty.strip_suffix('5').unwrap(),
        &format!("{empty}0"),
        &upper,
        &empty.replace('e', "E"),
        &empty.replace("sha256", "sha512"),
        &empty.replace('e', "g"),
    ] {
        assert_eq!(SkillDigest::parse(text), None, "{text}");
    }
}

/// A valid entry, in which a rule is broken.
fn broken(change: impl FnOnce(&mut Value)) -> Result<(), String> {
    let mut value: Value = Json::encode(refunds().skill()).unwrap().decode().unwrap();
    change(&mut value);
    entry(&value).map(drop)
}

#[test]
fn a_size_in_another_notation_is_read() {
    let size = |it: &mut Value| {
        let size = it["resources"][1]["size"].as_f64().unwrap();
        it["resources"][1]["size"] = json!(size);
    };
    assert_eq!(broken(size), Ok(()));
}

#[test]
fn an_entry_that_breaks_a_rule_cannot_be_read() {
    assert_eq!(broken(|_| {}), Ok(()));
    for member in ["uri", "frontmatter", "resources"] {
        assert!(broken(|it| drop(it.as_object_mut().unwrap().remove(member))).is_err(), "{member}");
        for wrong in [json!(null), json!(7), json!("x"), json!([1]), json!({})] {
            assert!(broken(|it| it[member] = wrong.clone()).is_err(), "{member}: {wrong}");
        }
    }
    for (field, wrong) in [
        ("name", json!(null)),
        ("name", json!("")),
        ("name", json!(["refunds"])),
        ("name", json!("Refunds")),
        ("name", json!("refund")),
        ("description", json!(null)),
        ("description", json!("")),
        ("description", json!(7)),
    ] {
        assert!(broken(|it| it["frontmatter"][field] = wrong.clone()).is_err(), "{field}: {wrong}");
    }
    for (member, wrong) in [
        ("size", json!(-1)),
        ("size", json!(1.5)),
        ("size", json!("9")),
        ("size", json!(null)),
        ("digest", json!("sha256:00")),
        ("digest", json!(null)),
        ("digest", json!(["x"])),
        ("uri", json!(null)),
    ] {
        assert!(
            broken(|it| it["resources"][1][member] = wrong.clone()).is_err(),
            "{member}: {wrong}"
        );
    }
    let twice = broken(|it| it["resources"][1] = it["resources"][2].clone());
    assert!(twice.unwrap_err().contains("twice"));
    let incomplete = broken(|it| drop(it["resources"].as_array_mut().unwrap().remove(0)));
    assert!(incomplete.unwrap_err().contains("no SKILL.md"));
}

#[test]
fn a_file_cannot_be_outside_of_its_directory() {
    for uri in [
        "skill://acme/other/a.md",
        "skill://acme/refunds",
        "skill://acme/refunds/",
        "skill://acme/refunds2/a.md",
        "skill://acme/refunds/../other/a.md",
        "skill://acme/refunds/./a.md",
        "skill://acme/refunds/a/../../b",
        "skill://acme/refunds/%2e%2e/a.md",
        "skill://acme/refunds/%2E./a.md",
        "skill://acme/refunds/a%2fb",
        "skill://acme/refunds/a%5cb",
        "skill://acme/refunds/a\\b",
        "skill://acme/refunds/a%00",
        "skill://acme/refunds/a%0a",
        "skill://acme/refunds/a%",
        "skill://acme/refunds/a%4",
        "skill://acme/refunds/a%zz",
        "skill://acme/refunds/a%ff",
        "skill://acme/refunds//a",
        "skill://acme/refunds/a/",
        "skill://acme/refunds/a b",
        "skill://acme/refunds/a?b",
        "skill://acme/refunds/a#b",
        "skill://acme/refunds/a\n",
        "skill://acme/refunds/<a>",
        "SKILL://acme/refunds/a",
        "other://acme/refunds/a",
        "/etc/passwd",
        "",
    ] {
        let refused = broken(|it| it["resources"][1]["uri"] = json!(uri));
        assert!(refused.unwrap_err().contains("outside"), "{uri:?}");
    }
    let long = format!("skill://acme/refunds/{}", "a".repeat(3000));
    assert!(broken(|it| it["resources"][1]["uri"] = json!(long)).is_err());
    for uri in [
        "skill://acme/refunds/ä.md",
        "skill://acme/refunds/a%C3%A4",
        "skill://acme/refunds/.a/..b/c:@!$",
    ] {
        assert_eq!(broken(|it| it["resources"][1]["uri"] = json!(uri)), Ok(()), "{uri}");
    }
}

#[test]
fn the_uri_of_a_skill_has_its_name() {
    let of = |uri: &str, name: &str| {
        let file = SkillFile::of(uri, b"");
        entry(&json!({
            "uri": uri,
            "frontmatter": {"name": name, "description": "d"},
            "resources": [{"uri": uri, "digest": file.digest.to_string(), "size": 0}],
        }))
    };
    let longest = "a".repeat(64);
    for (uri, name) in [
        ("skill://a/SKILL.md", "a"),
        ("skill://acme/billing/a-1/SKILL.md", "a-1"),
        ("github://owner/repo/skills/refunds/SKILL.md", "refunds"),
        ("file:///srv/refunds/SKILL.md", "refunds"),
        (&format!("skill://{longest}/SKILL.md"), &longest),
    ] {
        assert!(of(uri, name).is_ok(), "{uri}: {:?}", of(uri, name));
    }
    let too_long = "a".repeat(65);
    for (uri, name) in [
        ("skill://a/skill.md", "a"),
        ("skill://a/b.md", "a"),
        ("skill://aSKILL.md", "a"),
        ("skill:///SKILL.md", ""),
        ("skill:///a/SKILL.md", "a"),
        ("skill://SKILL.md", ""),
        ("skill:a/SKILL.md", "a"),
        ("://a/SKILL.md", "a"),
        ("1s://a/SKILL.md", "a"),
        ("skill://x:80/a/SKILL.md", "a"),
        ("skill://u@x/a/SKILL.md", "a"),
        ("skill://x y/a/SKILL.md", "a"),
        ("skill://x//a/SKILL.md", "a"),
        ("skill://../a/SKILL.md", "a"),
        ("skill://%2e%2e/a/SKILL.md", "a"),
        ("github://../a/SKILL.md", "a"),
        ("github://%2E./a/SKILL.md", "a"),
        ("skill://x/../a/SKILL.md", "a"),
        ("skill://x/%2e%2E/a/SKILL.md", "a"),
        ("skill://x/a/SKILL.md?x", "a"),
        ("skill://x/a/SKILL.md#x", "a"),
        ("skill://x/a%2fb/c/SKILL.md", "c"),
        ("skill://x/A/SKILL.md", "A"),
        ("skill://x/-a/SKILL.md", "-a"),
        ("skill://x/a-/SKILL.md", "a-"),
        ("skill://x/a--b/SKILL.md", "a--b"),
        ("skill://x/a_b/SKILL.md", "a_b"),
        ("skill://x/ä/SKILL.md", "ä"),
        ("skill://x/a/SKILL.md", "b"),
        (&format!("skill://{too_long}/SKILL.md"), &too_long),
    ] {
        assert!(of(uri, name).is_err(), "{uri}");
    }
}

#[test]
fn a_skill_has_a_bounded_number_of_files_and_bytes() {
    let of = |count: usize, size: u64| {
        let digest = SkillDigest::of(b"").to_string();
        let uri = |at: usize| match at {
            0 => "skill://a/SKILL.md".into(),
            at => format!("skill://a/{at}"),
        };
        let files: Vec<Value> = (0..count)
            .map(|at| json!({"uri": uri(at), "digest": digest, "size": if at == 0 { size } else { 0 }}))
            .collect();
        let frontmatter = json!({"name": "a", "description": "d"});
        entry(&json!({"uri": uri(0), "frontmatter": frontmatter, "resources": files}))
    };
    assert!(of(MAX_FILES, MAX_BYTES).is_ok());
    assert!(of(MAX_FILES + 1, 0).unwrap_err().contains("513 files"));
    assert!(of(1, MAX_BYTES + 1).unwrap_err().contains("16777217 bytes"));
    assert!(of(1, u64::MAX).is_err());
    // The sum does not wrap around.
    let digest = SkillDigest::of(b"").to_string();
    let file = |uri: &str| json!({"uri": uri, "digest": digest, "size": u64::MAX});
    assert!(
        entry(&json!({
            "uri": "skill://a/SKILL.md",
            "frontmatter": {"name": "a", "description": "d"},
            "resources": [file("skill://a/SKILL.md"), file("skill://a/b")],
        }))
        .is_err()
    );
}

#[test]
fn only_what_is_listed_is_verified() {
    let files = refunds();
    let skill = files.skill();
    let bytes = text("refunds", "license: MIT\n");
    let file = skill.verify(skill.uri(), bytes.clone()).unwrap();
    assert_eq!(
        (file.uri(), file.text(), file.bytes().len()),
        (skill.uri(), Some(&*bytes), bytes.len())
    );
    let email = "skill://acme/refunds/templates/email.md";
    assert!(skill.verify(email, "Dear customer\n").is_ok());

    let unlisted = |uri: &str| SkillError::Unlisted { uri: uri.into() };
    for uri in [
        "skill://acme/refunds/new.md",
        "skill://acme/refunds/templates/./email.md",
        "templates/email.md",
        "",
    ] {
        assert_eq!(skill.verify(uri, "Dear customer\n"), Err(unlisted(uri)));
    }
    assert_eq!(
        skill.verify(email, "Dear customer\n\n"),
        Err(SkillError::SizeMismatch { uri: email.into(), expected: 14, found: 15 })
    );
    assert_eq!(
        skill.verify(email, "Dear Customer\n"),
        Err(SkillError::DigestMismatch { uri: email.into() })
    );
    let mut value: Value = Json::encode(skill).unwrap().decode().unwrap();
    value["resources"] = json!("dynamic");
    let dynamic = entry(&value).unwrap();
    assert_eq!(dynamic.verify(skill.uri(), bytes), Err(SkillError::Dynamic));
    assert_eq!(dynamic.resolve("SKILL.md"), Err(SkillError::Dynamic));
}

#[test]
fn frontmatter_is_compared_field_by_field() {
    let yaml = "a: 1\nb: [1, {c: 1.0}]\nd: \"\"\ne: ~\nf: 123456789012345678901\ng: 1.10\nh: -0\n";
    let bytes = text("x", yaml);
    let listed = SkillFile::of("skill://x/SKILL.md", bytes.as_bytes());
    let held = |change: &dyn Fn(&mut Value)| {
        let mut frontmatter = json!({
            "name": "x", "description": "Does it", "a": 1, "b": [1, {"c": 1}], "d": "", "e": null,
            "g": 1.1, "h": 0,
        });
        change(&mut frontmatter);
        let text = frontmatter.to_string();
        // A number that no double holds.
        let text = text.replacen('{', "{\"f\":123456789012345678901,", 1);
        let text = text
            .replace("\"f\":123456789012345678901,\"other\":1,", "\"f\":123456789012345678902,");
        let entry = format!(
            r#"{{"uri":"skill://x/SKILL.md","frontmatter":{text},"resources":[{}]}}"#,
            Json::encode(&listed).unwrap()
        );
        let skill: mcp_proto::ext::skills::Skill = Json::parse(entry).unwrap().decode().unwrap();
        skill.verify("skill://x/SKILL.md", bytes.clone()).map(drop)
    };
    assert_eq!(held(&|_| {}), Ok(()));
    assert_eq!(held(&|it| it["a"] = json!(1.0)), Ok(()));
    let differs = |field: &str| Err(SkillError::FrontmatterMismatch { field: field.into() });
    for (field, other) in [
        ("description", json!("Does something else")),
        ("a", json!(2)),
        ("a", json!("1")),
        ("a", json!(true)),
        ("a", json!(1.000_000_1)),
        ("b", json!([1])),
        ("b", json!([1, {"c": 2}])),
        ("b", json!([1, {"c": 1, "d": 1}])),
        ("b", json!([1, {"d": 1}])),
        ("b", json!([{"c": 1}, 1])),
        ("b", json!({"0": 1})),
        ("d", json!(null)),
        ("d", json!([])),
        ("e", json!("")),
        ("e", json!(false)),
        ("g", json!(1.2)),
        ("h", json!(1)),
        ("new", json!(1)),
    ] {
        assert_eq!(held(&|it| it[field] = other.clone()), differs(field), "{field}: {other}");
    }
    assert_eq!(held(&|it| drop(it.as_object_mut().unwrap().remove("e"))), differs("e"));
}

#[test]
fn integers_that_no_double_holds_are_compared_by_their_digits() {
    let bytes = text("x", "f: 123456789012345678901\n");
    let held = |number: &str| {
        let entry = format!(
            r#"{{"uri":"skill://x/SKILL.md","frontmatter":{{"name":"x","description":"Does it","f":{number}}},"resources":[{}]}}"#,
            Json::encode(&SkillFile::of("skill://x/SKILL.md", bytes.as_bytes())).unwrap()
        );
        let skill: mcp_proto::ext::skills::Skill = Json::parse(entry).unwrap().decode().unwrap();
        skill.verify("skill://x/SKILL.md", bytes.clone()).is_ok()
    };
    assert!(held("123456789012345678901"));
    assert!(!held("123456789012345678902"));
    assert!(!held("1.23456789012345678902e20"));
}

#[test]
fn a_member_that_stands_twice_is_no_frontmatter() {
    let bytes = text("x", "a: 1\n");
    let entry = format!(
        r#"{{"uri":"skill://x/SKILL.md","frontmatter":{{"name":"x","description":"Does it","a":2,"a":1}},"resources":[{}]}}"#,
        Json::encode(&SkillFile::of("skill://x/SKILL.md", bytes.as_bytes())).unwrap()
    );
    let skill: mcp_proto::ext::skills::Skill = Json::parse(entry).unwrap().decode().unwrap();
    assert!(skill.verify("skill://x/SKILL.md", bytes).is_err());
}

#[test]
fn a_reference_means_a_listed_file() {
    let files = refunds();
    let skill = files.skill();
    for (reference, path) in [
        ("SKILL.md", "SKILL.md"),
        ("templates/email.md", "templates/email.md"),
        ("./templates/email.md", "templates/email.md"),
        ("templates/../templates/./email.md", "templates/email.md"),
        ("scripts/total one.py", "scripts/total%20one.py"),
        ("scripts/total%20one.py", "scripts/total%20one.py"),
        ("skill://acme/refunds/templates/email.md", "templates/email.md"),
    ] {
        let uri = format!("skill://acme/refunds/{path}");
        assert_eq!(skill.resolve(reference).map(|file| &*file.uri), Ok(&*uri), "{reference}");
    }
    for reference in [
        "",
        ".",
        "templates",
        "templates/",
        "..",
        "../refunds/SKILL.md",
        "templates/../../refunds/SKILL.md",
        "/SKILL.md",
        "/etc/passwd",
        "skill://other/refunds/SKILL.md",
        "skill://acme/refunds/./SKILL.md",
        "file:///etc/passwd",
        "https://example.com/SKILL.md",
        "templates\\email.md",
    ] {
        let unlisted = Err(SkillError::Unlisted { uri: reference.into() });
        assert_eq!(skill.resolve(reference), unlisted, "{reference}");
    }
}

#[test]
fn files_of_a_server_keep_the_rules() {
    let of = |directory: &str, files: &[(&str, &str)]| {
        SkillFiles::new(directory, files.iter().map(|(path, text)| (*path, (*text).to_owned())))
    };
    let own = &*text("a", "");
    assert!(of("skill://a", &[("SKILL.md", own)]).is_ok());
    assert_eq!(of("skill://a", &[]).unwrap_err(), SkillError::NoSkillFile);
    assert_eq!(of("skill://a", &[("skill.md", own)]).unwrap_err(), SkillError::NoSkillFile);
    for path in ["", "/", "/a", "a/", "a//b", "../a", "a/../b", ".", "a\\b", "a\nb", "a\0"] {
        let error = of("skill://a", &[("SKILL.md", own), (path, "")]).unwrap_err();
        assert_eq!(error, SkillError::OutsideFile { uri: path.into() });
    }
    let twice = of("skill://a", &[("SKILL.md", own), ("b", ""), ("b", "")]);
    assert_eq!(twice.unwrap_err(), SkillError::DuplicateFile { uri: "skill://a/b".into() });
    let both = of("skill://a", &[("SKILL.md", own), ("b", ""), ("b/c", "")]).unwrap_err();
    assert!(matches!(both, SkillError::InvalidUri { .. }), "{both}");
    for directory in [
        "skill://a/",
        "skill://",
        "skill:a",
        "a",
        "",
        "skill://x y/a",
        "file:///a",
        "skill://a/b/../a",
    ] {
        assert!(of(directory, &[("SKILL.md", own)]).is_err(), "{directory}");
    }
    let other = of("skill://b", &[("SKILL.md", own)]).unwrap_err();
    assert_eq!(other, SkillError::NameMismatch { directory: "b".into(), name: "a".into() });
    let nameless = of("skill://a", &[("SKILL.md", "---\ndescription: d\n---\n")]).unwrap_err();
    assert_eq!(nameless, SkillError::MissingField { field: "name" });
    let numbered = of("skill://7", &[("SKILL.md", "---\nname: 7\ndescription: d\n---\n")]);
    assert_eq!(numbered.unwrap_err(), SkillError::MissingField { field: "name" });
    let many = (0..MAX_FILES).map(|at| (format!("{at}"), String::new()));
    let many = many.chain([("SKILL.md".to_owned(), own.to_owned())]);
    assert_eq!(
        SkillFiles::new("skill://a", many).unwrap_err(),
        SkillError::TooManyFiles { files: MAX_FILES + 1 }
    );
    let large = [("SKILL.md", own.as_bytes().to_vec()), ("b", vec![0; 16 * 1024 * 1024])];
    assert!(matches!(SkillFiles::new("skill://a", large), Err(SkillError::TooManyBytes { .. })));
}
