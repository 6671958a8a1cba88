//! `tests/coverage.md` says where each known bug of other implementations is tested; this checks
//! that it says so of all of them, and that it tells the truth.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How many there are.
const CASES: usize = 126;

/// Where tests are, from the root of the workspace.
const FOLDERS: [&str; 5] =
    ["mcp-proto/src", "mcp-tokio/src", "mcp-async-std/src", "tests/src", "tests/tests"];

#[test]
fn every_case_has_a_row_that_says_something() {
    let rows = rows();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), (1..=CASES).collect::<Vec<_>>());
    for (case, places) in &rows {
        let tested = !names(places).is_empty();
        assert!(tested || places.starts_with("not yet: "), "T{case}: {places}");
    }
}

#[test]
fn every_place_exists() {
    let tests = tests();
    for (case, places) in rows() {
        for name in names(&places) {
            assert!(tests.contains(&name), "T{case} names `{name}`, which does not exist");
        }
    }
}

#[test]
fn every_test_with_a_number_is_listed() {
    let rows = rows();
    for test in tests() {
        for case in numbers(&test) {
            let listed = rows.get(&case).is_some_and(|places| names(places).contains(&test));
            assert!(listed, "`{test}` is not in the row of T{case}");
        }
    }
}

/// The cases, and the text that stands behind each.
fn rows() -> BTreeMap<usize, String> {
    let text = fs::read_to_string(root().join("tests/coverage.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let case = cells.get(1).and_then(|cell| cell.strip_prefix('T')?.parse().ok());
        if let (Some(case), Some(places)) = (case, cells.get(3)) {
            assert!(rows.insert(case, (*places).to_owned()).is_none(), "T{case} stands twice");
        }
    }
    rows
}

/// What stands between backticks.
fn names(places: &str) -> Vec<String> {
    places.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// All transcripts, as `folder/name`, and all functions of tests, as `path/to/file.rs::name`.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    let transcripts = root().join("tests/transcripts");
    for file in files(&transcripts, "mcp") {
        tests.insert(relative(&file.with_extension(""), &transcripts));
    }
    for folder in FOLDERS {
        for file in files(&root().join(folder), "rs") {
            let path = relative(&file, &root());
            for function in functions(&fs::read_to_string(&file).unwrap()) {
                tests.insert(format!("{path}::{function}"));
            }
        }
    }
    tests
}

/// The names of the functions that are tests.
fn functions(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(name) = line.trim_start_matches("async ").strip_prefix("fn ") {
            let name = name.split(['(', '<']).next().unwrap_or_default();
            // Inside of a macro the mark may be written by the macro.
            if marked || !numbers(name).is_empty() {
                names.push(name.to_owned());
            }
            marked = false;
        }
    }
    names
}

/// The cases that the last part of a name begins with: `t101_t102_…` or `t006-…`.
fn numbers(name: &str) -> Vec<usize> {
    let last = name.rsplit(['/', ':']).next().unwrap_or_default();
    let case = |word: &str| {
        let digits = word.strip_prefix('t').filter(|digits| digits.len() == 3)?;
        digits.parse().ok()
    };
    last.split(['-', '_']).map_while(case).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files
}

fn relative(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
