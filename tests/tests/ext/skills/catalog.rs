//! The catalog: pages, directories, skills within others.

use std::sync::Arc;

use mcp_proto::UsageError;
use mcp_proto::ext::skills::{SkillCatalog, SkillFiles};

use super::{refunds, text};

#[test]
fn pages_have_every_skill_once() {
    let mut catalog = SkillCatalog::default();
    assert!(catalog.list(None).unwrap().skills.is_empty());
    for at in 0..45 {
        catalog.add(skill(&format!("skill://p/s{at}"), &[])).unwrap();
    }
    let (mut seen, mut sizes, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page = catalog.list(cursor.as_deref()).unwrap();
        sizes.push(page.skills.len());
        seen.extend(page.skills.into_iter().map(|skill| skill.name().to_owned()));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [20, 20, 5]);
    assert_eq!(seen, (0..45).map(|at| format!("s{at}")).collect::<Vec<_>>());
    for cursor in ["0", "1", "19", "020", "+20", "60", "45", "-20", "x", "99999999999999999999"] {
        assert!(catalog.list(Some(cursor)).is_none(), "{cursor}");
    }
}

#[test]
fn a_directory_has_its_children_and_no_more() {
    let mut catalog = SkillCatalog::default();
    catalog.add(Arc::new(refunds())).unwrap();
    catalog
        .add(skill("skill://acme/other", &["a", "a-b", "a.md", "a0", "b/c/d", "b/c/e", "b0"]))
        .unwrap();
    let children = |uri: &str| {
        let page = catalog.directory(uri, None)?;
        assert_eq!(page.next_cursor, None);
        Some(
            page.resources
                .into_iter()
                .map(|it| (it.uri, it.mime_type.unwrap()))
                .collect::<Vec<_>>(),
        )
    };
    let file = |uri: &str, mime_type: &str| (uri.to_owned(), mime_type.to_owned());
    let folder = |uri: &str| (uri.to_owned(), "inode/directory".to_owned());
    assert_eq!(
        children("skill://acme/refunds").unwrap(),
        [
            file("skill://acme/refunds/SKILL.md", "text/markdown"),
            folder("skill://acme/refunds/scripts"),
            folder("skill://acme/refunds/templates"),
        ]
    );
    assert_eq!(
        children("skill://acme/refunds/templates").unwrap(),
        [
            file("skill://acme/refunds/templates/email.md", "text/markdown"),
            folder("skill://acme/refunds/templates/regional"),
        ]
    );
    assert_eq!(
        children("skill://acme").unwrap(),
        [folder("skill://acme/other"), folder("skill://acme/refunds")]
    );
    let names: Vec<String> =
        children("skill://acme/other").unwrap().into_iter().map(|it| it.0).collect();
    let expected = ["SKILL.md", "a", "a-b", "a.md", "a0", "b", "b0"];
    assert_eq!(names, expected.map(|name| format!("skill://acme/other/{name}")));
    for uri in [
        "",
        "skill:",
        "skill:/",
        "skill://",
        "skill://acme/",
        "skill://acme/refunds/",
        "skill://acme/refunds/SKILL.md",
        "skill://acme/refunds/templates/email.md",
        "skill://acme/refunds/templates/",
        "skill://acme/refund",
        "skill://acme/refunds/../refunds",
        "skill://nope",
    ] {
        assert_eq!(children(uri), None, "{uri}");
    }
}

#[test]
fn a_large_directory_has_pages() {
    let mut catalog = SkillCatalog::default();
    let paths: Vec<String> = (0..450).map(|at| format!("{at:03}")).collect();
    catalog.add(skill("skill://a", &paths.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
    let first = catalog.directory("skill://a", None).unwrap();
    let second = catalog.directory("skill://a", first.next_cursor.as_deref()).unwrap();
    let third = catalog.directory("skill://a", second.next_cursor.as_deref()).unwrap();
    let sizes = [&first, &second, &third].map(|page| page.resources.len());
    assert_eq!((sizes, third.next_cursor), ([200, 200, 51], None));
    assert!(catalog.directory("skill://a", Some("7")).is_none());
}

#[test]
fn a_skill_has_the_files_of_those_in_its_directory() {
    let inner = skill("skill://a/b", &["c"]);
    let with = |file: &str| {
        let files =
            [("SKILL.md", text("a", "")), ("b/SKILL.md", text("b", "")), ("b/c", file.into())];
        Arc::new(SkillFiles::new("skill://a", files).unwrap())
    };
    for is_inner_first in [true, false] {
        let add_both = |outer: Arc<SkillFiles>| {
            let mut catalog = SkillCatalog::default();
            let [first, second] =
                if is_inner_first { [inner.clone(), outer] } else { [outer, inner.clone()] };
            catalog.add(first).unwrap();
            catalog.add(second).map(|added| (added.len(), catalog))
        };
        let (added, mut catalog) = add_both(with("")).unwrap();
        assert_eq!(added, usize::from(is_inner_first));
        // A file that both have stays with the one that stays.
        assert_eq!(catalog.remove("skill://a/SKILL.md").unwrap(), ["skill://a/SKILL.md"]);
        assert_eq!(catalog.directory("skill://a/b", None).unwrap().resources.len(), 2);
        assert_eq!(catalog.remove("skill://a/b/SKILL.md").unwrap().len(), 2);
        assert!(catalog.is_empty() && catalog.directory("skill://a", None).is_none());
        assert_eq!(catalog.remove("skill://a/b/SKILL.md"), None);

        let expected = UsageError::NestedSkill {
            file: "skill://a/b/c".into(),
            enclosing: "skill://a/SKILL.md".into(),
        };
        assert_eq!(add_both(with("other")).unwrap_err(), expected);
        assert!(add_both(skill("skill://a", &[])).is_err());
        // The names are no reason to take one for the other.
        assert!(add_both(skill("skill://a/bc", &[])).is_ok());
    }
    let mut catalog = SkillCatalog::default();
    catalog.add(inner.clone()).unwrap();
    let duplicate = UsageError::Duplicate { kind: "skill", name: "skill://a/b/SKILL.md".into() };
    assert_eq!(catalog.add(inner).unwrap_err(), duplicate);
}

/// A skill with these empty files.
fn skill(directory: &str, paths: &[&str]) -> Arc<SkillFiles> {
    let name = directory.rsplit('/').next().unwrap();
    let files = paths.iter().map(|path| (*path, String::new()));
    let files = files.chain([("SKILL.md", text(name, ""))]);
    Arc::new(SkillFiles::new(directory, files).unwrap())
}
