//! The check of `tests/coverage.md`, which lists the tests of each known bug: every case has a row,
//! every test in a row exists, and every test with the number of a case is in its row.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A series of numbered cases.
struct Series {
    /// The letter of its rows: `T12`.
    letter: char,
    /// The words before the number in the name of a test.
    words: &'static [&'static str],
    /// The letter directly before the digits; may be empty.
    mark: &'static str,
    /// The number of digits in the name of a test.
    digits: usize,
    /// The number of its cases.
    count: usize,
}

/// The bugs of other implementations (`t012_…`), and what fails in connections that live on
/// (`second_hour_05_…`), both for authorization (`auth_a05_…`, `auth_s05_…`), for tasks
/// (`task_t05_…`), for HTTP+SSE (`sse_e5_…`), and for ways to a server (`net_n5_…`).
const SERIES: [Series; 7] = [
    Series { letter: 'T', words: &[], mark: "t", digits: 3, count: 126 },
    Series { letter: 'H', words: &["second", "hour"], mark: "", digits: 2, count: 28 },
    Series { letter: 'A', words: &["auth"], mark: "a", digits: 2, count: 50 },
    Series { letter: 'S', words: &["auth"], mark: "s", digits: 2, count: 20 },
    Series { letter: 'K', words: &["task"], mark: "t", digits: 2, count: 17 },
    Series { letter: 'E', words: &["sse"], mark: "e", digits: 1, count: 8 },
    Series { letter: 'N', words: &["net"], mark: "n", digits: 1, count: 6 },
];

/// A letter and a number.
type Case = (char, usize);

/// Folders with tests, from the root of the workspace.
const FOLDERS: [&str; 7] = [
    "mcp-proto/src",
    "mcp-proto/service/src",
    "mcp-tokio/src",
    "mcp-tokio/tests",
    "mcp-async-std/src",
    "tests/src",
    "tests/tests",
];

#[test]
fn every_case_has_a_row_that_says_something() {
    let rows = rows();
    for Series { letter, count, .. } in SERIES {
        let numbers = rows.keys().filter(|case| case.0 == letter).map(|case| case.1);
        assert!(numbers.eq(1..=count), "the rows of {letter} are not 1 to {count}");
    }
    for ((letter, number), places) in &rows {
        let tested = !names(places).is_empty();
        assert!(tested || places.starts_with("not yet: "), "{letter}{number}: {places}");
    }
}

#[test]
fn every_place_exists() {
    let tests = tests();
    for ((letter, number), places) in rows() {
        for name in names(&places) {
            assert!(tests.contains(&name), "no test `{name}`, which {letter}{number} names");
        }
    }
}

#[test]
fn every_test_with_a_number_is_listed() {
    let rows = rows();
    for test in tests() {
        for case in cases(&test) {
            let listed = rows.get(&case).is_some_and(|places| names(places).contains(&test));
            assert!(listed, "`{test}` is not in the row of {}{}", case.0, case.1);
        }
    }
}

/// The cases, and the text that stands behind each.
fn rows() -> BTreeMap<Case, String> {
    let text = fs::read_to_string(root().join("tests/coverage.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(cell) = cells.get(1) else { continue };
        let case = SERIES.iter().find_map(|series| {
            Some((series.letter, cell.strip_prefix(series.letter)?.parse().ok()?))
        });
        if let (Some(case), Some(places)) = (case, cells.get(3)) {
            assert!(rows.insert(case, (*places).to_owned()).is_none(), "two rows of {cell}");
        }
    }
    rows
}

/// Words between backticks.
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
        } else if let Some(name) =
            line.trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ")
        {
            let name = name.split(['(', '<']).next().unwrap_or_default();
            // Inside of a macro the mark may be written by the macro.
            if marked || !cases(name).is_empty() {
                names.push(name.to_owned());
            }
            marked = false;
        }
    }
    names
}

/// The cases that the last part of a name begins with: `t101_t102_…`, `t006-…`, `second_hour_05_…`.
fn cases(name: &str) -> Vec<Case> {
    let last = name.rsplit(['/', ':']).next().unwrap_or_default();
    let words: Vec<&str> = last.split(['-', '_']).collect();
    for Series { letter, words: prefix, mark, digits, .. } in SERIES {
        let Some(rest) = words.strip_prefix(prefix) else { continue };
        let number = |word: &&str| {
            let found = word.strip_prefix(mark).filter(|found| found.len() == digits)?;
            found.parse().ok()
        };
        let numbers: Vec<usize> = rest.iter().map_while(number).collect();
        if !numbers.is_empty() {
            return numbers.into_iter().map(|number| (letter, number)).collect();
        }
    }
    Vec::new()
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
