//! Frontmatter: YAML as JSON, and what is no frontmatter.

use mcp_proto::Bytes;
use mcp_proto::ext::skills::{FrontmatterError, SkillError, SkillFiles};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn values_are_those_of_the_core_schema() {
    for (yaml, expected) in [
        ("a", json!("a")),
        ("\"1\"", json!("1")),
        ("'yes'", json!("yes")),
        ("yes", json!("yes")),
        ("No", json!("No")),
        ("2026-01-01", json!("2026-01-01")),
        ("12:30:45", json!("12:30:45")),
        ("1_000", json!("1_000")),
        ("1.2.3", json!("1.2.3")),
        ("e5", json!("e5")),
        ("1e", json!("1e")),
        (".", json!(".")),
        ("+", json!("+")),
        ("0x", json!("0x")),
        ("0xZ", json!("0xZ")),
        ("null", json!(null)),
        ("~", json!(null)),
        ("", json!(null)),
        ("true", json!(true)),
        ("FALSE", json!(false)),
        ("tRue", json!("tRue")),
        ("7", json!(7)),
        ("+7", json!(7)),
        ("-7", json!(-7)),
        ("017", json!(17)),
        ("0", json!(0)),
        ("0x1F", json!(31)),
        ("0o17", json!(15)),
        ("1.50", json!(1.5)),
        (".5", json!(0.5)),
        ("-.5", json!(-0.5)),
        ("5.", json!(5.0)),
        ("1e3", json!(1e3)),
        ("1.5E-3", json!(0.0015)),
        ("!!str 5", json!("5")),
        ("&anchor 5", json!(5)),
        ("[a, 1, {b: [~]}]", json!(["a", 1, {"b": [null]}])),
        ("\n  - a\n  - b: 1\n    c: 2\n  -\n    - d", json!(["a", {"b": 1, "c": 2}, ["d"]])),
        ("|\n  one\n  two\n", json!("one\ntwo\n")),
        (">-\n  one\n  two", json!("one two")),
        ("a # comment", json!("a")),
        ("\"a\\u00e4\\n\\\"\"", json!("aä\n\"")),
        ("{}", json!({})),
        ("[]", json!([])),
        ("{1: a, true: b}", json!({"1": "a", "true": "b"})),
    ] {
        assert_eq!(field(yaml).as_ref(), Ok(&expected), "{yaml:?}");
    }
}

#[test]
fn what_is_no_json_or_has_no_bound_is_refused() {
    let deep = format!("{}{}", "[".repeat(32), "]".repeat(32));
    let deeper = "[".repeat(10_000);
    let long = format!("0x{}", "f".repeat(40));
    for (yaml, reason) in [
        (".inf", "infinite"),
        ("-.INF", "infinite"),
        (".nan", "infinite"),
        ("1e999", "too large"),
        (&long, "too long"),
        ("!!int 5", "tags"),
        ("!x 5", "tags"),
        ("!!set {a}", "tags"),
        ("!<tag:yaml.org,2002:binary> aGk=", "tags"),
        ("[&a [b], *a]", "aliases"),
        ("*a", "parsed"),
        ("{a: 1, a: 2}", "twice"),
        ("{a: 1, \"a\": 2}", "twice"),
        ("1\nx: 2", "twice"),
        ("{[a]: 1}", "scalar"),
        ("{{a: 1}: 1}", "scalar"),
        ("\n  ? [a]\n  : 1", "scalar"),
        ("a\n...\ny: 1", "document"),
        (&deep, "deep"),
        (&deeper, ""),
        ("[a", "parsed"),
        ("\"a", "parsed"),
        ("a: b", "parsed"),
        ("@a", "parsed"),
    ] {
        let error = field(yaml).expect_err(yaml);
        assert!(error.contains(reason), "{yaml:.40}: {error}");
    }
    let laughs: Vec<String> = (1..30)
        .map(|level| (level, level - 1))
        .map(|(level, of)| format!("l{level}: &l{level} [*l{of}, *l{of}, *l{of}]\n"))
        .collect();
    let laughs = format!("l0: &l0 [lol]\n{}", laughs.concat());
    assert!(parsed(format!("---\nname: a\ndescription: d\n{laughs}---\n")).is_err());
}

#[test]
fn a_fault_is_told_with_its_line() {
    let error = parsed("---\nname: a\ndescription: d\nx: .inf\n---\n").unwrap_err();
    assert!(
        matches!(error, SkillError::Frontmatter(FrontmatterError::Yaml { line: 4, .. })),
        "{error}"
    );
    let error = parsed("---\nname: a\nx: [a\n---\n").unwrap_err();
    assert!(
        matches!(error, SkillError::Frontmatter(FrontmatterError::Yaml { line: 3.., .. })),
        "{error}"
    );
}

#[test]
fn frontmatter_stands_between_two_lines() {
    let inner = "name: a\ndescription: d\n";
    for text in [
        format!("---\n{inner}---\n"),
        format!("---\n{inner}---"),
        format!("--- \t\n{inner}---  \nBody\n---\nmore"),
        format!("---\r\n{}---\r\nBody", inner.replace('\n', "\r\n")),
    ] {
        assert!(parsed(text.clone()).is_ok(), "{text:?}");
    }
    let long = format!("x: {}\n", "a".repeat(64 * 1024));
    for (text, expected) in [
        (String::new(), FrontmatterError::Missing),
        (inner.into(), FrontmatterError::Missing),
        (format!("\n---\n{inner}---\n"), FrontmatterError::Missing),
        (format!("\u{feff}---\n{inner}---\n"), FrontmatterError::Missing),
        (format!("----\n{inner}---\n"), FrontmatterError::Missing),
        (format!("--- a\n{inner}---\n"), FrontmatterError::Missing),
        ("---".into(), FrontmatterError::Missing),
        (format!("---\n{inner}"), FrontmatterError::Unclosed),
        (format!("---\n{inner} ---\n"), FrontmatterError::Unclosed),
        (format!("---\n{inner}--- a\n"), FrontmatterError::Unclosed),
        (format!("---\n{inner}----\n"), FrontmatterError::Unclosed),
        (format!("---\n{inner}{long}---\n"), FrontmatterError::Unclosed),
    ] {
        assert_eq!(
            parsed(text.clone()).unwrap_err(),
            SkillError::Frontmatter(expected),
            "{text:.30}"
        );
    }
    let bytes = Bytes::from_static(b"---\nname: a\ndescription: \xff\n---\n");
    let error = SkillFiles::new("skill://a", [("SKILL.md", bytes)]).unwrap_err();
    assert_eq!(error, SkillError::Frontmatter(FrontmatterError::NotUtf8));
    for yaml in ["", "[]", "a", "~", "# nothing", "- name: a"] {
        let error = parsed(format!("---\n{yaml}\n---\n")).unwrap_err();
        assert!(error.to_string().contains("must be a mapping"), "{yaml}: {error}");
    }
}

proptest! {
    /// JSON is YAML: every value is read as it is.
    #[test]
    fn json_is_read_as_itself(value in value()) {
        let yaml = value.to_string();
        prop_assert_eq!(field(&yaml), Ok(value), "{}", yaml);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = [b"---\nname: a\ndescription: d\n", &*bytes, b"\n---\n"].concat();
        let _ = SkillFiles::new("skill://a", [("SKILL.md", text)]);
        let _ = SkillFiles::new("skill://a", [("SKILL.md", bytes)]);
    }

    #[test]
    fn no_yaml_panics(yaml in "[-?:,\\[\\]{}#&*!|>'\"%@` \n\t~a01.e<=]{0,60}") {
        let _ = field(&yaml);
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[ -~äöü\n\t]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[ -~]{0,8}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// The field `x` with this value.
fn field(yaml: &str) -> Result<Value, String> {
    let text = format!("---\nname: a\ndescription: d\nx: {yaml}\n---\n");
    let files = parsed(text).map_err(|error| error.to_string())?;
    let frontmatter: Value = files.skill().frontmatter().decode().unwrap();
    Ok(frontmatter["x"].clone())
}

fn parsed(text: impl Into<String>) -> Result<SkillFiles, SkillError> {
    SkillFiles::new("skill://a", [("SKILL.md", text.into())])
}
