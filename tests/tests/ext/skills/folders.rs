//! Skills from folders: what is read, and what never is.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use mcp_service::read_skill_folder;

use super::text;

#[test]
fn a_folder_is_a_skill() {
    let folder = folder("plain", "refunds");
    fs::create_dir_all(folder.join("templates/regional")).unwrap();
    fs::write(folder.join("templates/regional/eu ä.md"), "14 days").unwrap();
    fs::create_dir(folder.join(".git")).unwrap();
    fs::write(folder.join(".git/config"), "secret").unwrap();
    fs::write(folder.join(".env"), "secret").unwrap();
    let uris = |prefix: &str| {
        let files = read_skill_folder(&folder, prefix).unwrap();
        files.skill().files().unwrap().iter().map(|file| file.uri.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        uris(""),
        ["skill://refunds/SKILL.md", "skill://refunds/templates/regional/eu%20%C3%A4.md"]
    );
    assert_eq!(uris("acme/billing")[0], "skill://acme/billing/refunds/SKILL.md");
    for prefix in ["/", "a/", "..", "a//b", "a b"] {
        assert!(read_skill_folder(&folder, prefix).is_err(), "{prefix}");
    }
    let files = read_skill_folder(folder.join("templates/.."), "").unwrap();
    assert_eq!(files.skill().name(), "refunds");
}

#[test]
fn a_folder_that_is_no_skill_is_refused() {
    let of = |test: &str, change: fn(&Path)| {
        let folder = folder(test, "refunds");
        change(&folder);
        let error = read_skill_folder(&folder, "").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        error.to_string()
    };
    let error = of("none", |folder| fs::remove_file(folder.join("SKILL.md")).unwrap());
    assert!(error.contains("no SKILL.md"), "{error}");
    let error =
        of("other", |folder| fs::write(folder.join("SKILL.md"), text("other", "")).unwrap());
    assert!(error.contains("must have the name of its skill"), "{error}");
    let error = of("large", |folder| {
        File::create(folder.join("large")).unwrap().set_len(16 * 1024 * 1024 + 1).unwrap();
    });
    assert!(error.contains("at most 16777216"), "{error}");
    let error = of("many", |folder| {
        (0..512).for_each(|at| fs::write(folder.join(format!("{at}")), "").unwrap());
    });
    assert!(error.contains("513 files"), "{error}");
    let error = of("deep", |folder| {
        fs::create_dir_all(folder.join(["d"; 17].join("/"))).unwrap();
    });
    assert!(error.contains("nested too deep"), "{error}");
    let missing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skills-missing");
    let error = read_skill_folder(&missing, "").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with(&format!("{}: ", missing.display())), "{error}");
}

#[cfg(unix)]
#[test]
fn links_are_never_followed() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let secret = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skills-secret");
    fs::create_dir_all(&secret).unwrap();
    fs::write(secret.join("key"), "secret").unwrap();
    let refused = |test: &str, change: &dyn Fn(&Path)| {
        let folder = folder(test, "refunds");
        change(&folder);
        let error = read_skill_folder(&folder, "").unwrap_err();
        assert!(error.to_string().contains("it is a link, or no regular file"), "{error}");
    };
    refused("file", &|folder| symlink(secret.join("key"), folder.join("key")).unwrap());
    refused("folder", &|folder| symlink(&secret, folder.join("keys")).unwrap());
    refused("dangling", &|folder| symlink(folder.join("nowhere"), folder.join("key")).unwrap());
    refused("inside", &|folder| symlink(folder.join("SKILL.md"), folder.join("copy")).unwrap());
    refused("socket", &|folder| drop(UnixListener::bind(folder.join("socket")).unwrap()));
    refused("skill", &|folder| {
        fs::rename(folder.join("SKILL.md"), secret.join("SKILL.md")).unwrap();
        symlink(secret.join("SKILL.md"), folder.join("SKILL.md")).unwrap();
    });
    // The folder itself is what the application names.
    let plain = folder("linked", "refunds");
    let link = plain.parent().unwrap().join("link");
    symlink(&plain, &link).unwrap();
    assert_eq!(read_skill_folder(&link, "").unwrap().skill().name(), "refunds");
}

/// A new folder of a skill.
fn folder(test: &str, name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("skills-{test}"));
    let _ = fs::remove_dir_all(&place);
    let folder = place.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text(name, "")).unwrap();
    folder
}
