//! Replays the committed fuzz corpora, and the transcripts as seeds, without a fuzzer.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends here, and says why")]
#![expect(clippy::print_stdout, reason = "the last name printed is the input that failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_proto::auth::{binding, discovery_table, granted, redirect, refusal, registration};
use mcp_tests::{fuzz, transcript};

type Target = (&'static str, fn(&[u8]));

/// Every target in `fuzz/fuzz_targets`, and the function that it wraps.
const TARGETS: &[Target] = &[
    ("auth", fuzz::auth),
    ("bridge", fuzz::bridge),
    ("client_http", fuzz::client_http),
    ("client_stdio", fuzz::client_stdio),
    ("headers", fuzz::headers),
    ("http1", fuzz::http1),
    ("http1_client", fuzz::http1_client),
    ("line", fuzz::line),
    ("message", fuzz::message),
    ("pair", fuzz::pair),
    ("pair_http", fuzz::pair_http),
    ("request_state", fuzz::request_state),
    ("server_http", fuzz::server_http),
    ("server_stdio", fuzz::server_stdio),
    ("sse", fuzz::sse),
    ("tasks", fuzz::tasks),
];

/// The target of a feature, which `jwt.rs` replays.
const OF_A_FEATURE: &str = "jwt";

#[test]
fn the_auth_corpus_replays() {
    replay("auth");
}

#[test]
fn the_bridge_corpus_replays() {
    replay("bridge");
}

#[test]
fn the_client_http_corpus_replays() {
    replay("client_http");
}

#[test]
fn the_client_stdio_corpus_replays() {
    replay("client_stdio");
}

#[test]
fn the_http1_corpus_replays() {
    replay("http1");
}

#[test]
fn the_http1_client_corpus_replays() {
    replay("http1_client");
}

#[test]
fn the_headers_corpus_replays() {
    replay("headers");
}

#[test]
fn the_line_corpus_replays() {
    replay("line");
}

#[test]
fn the_message_corpus_replays() {
    replay("message");
}

#[test]
fn the_pair_corpus_replays() {
    replay("pair");
}

#[test]
fn the_pair_http_corpus_replays() {
    replay("pair_http");
}

#[test]
fn the_request_state_corpus_replays() {
    replay("request_state");
}

#[test]
fn the_server_http_corpus_replays() {
    replay("server_http");
}

#[test]
fn the_server_stdio_corpus_replays() {
    replay("server_stdio");
}

#[test]
fn the_sse_corpus_replays() {
    replay("sse");
}

#[test]
fn the_tasks_corpus_replays() {
    replay("tasks");
}

/// Without a fuzzer: what a generator of numbers comes to.
#[test]
fn a_bridge_passes_what_is_sent() {
    let mut numbers = Numbers(1);
    for _ in 0..2000 {
        fuzz::bridge(&numbers.script(200, 0));
    }
}

#[test]
fn a_task_keeps_its_laws_whoever_changes_it() {
    let mut numbers = Numbers(1);
    for count in 0..1200 {
        fuzz::tasks(&numbers.script(240, [0, 32, 96][count % 3]));
    }
}

#[test]
fn a_sign_in_keeps_its_laws_whatever_is_answered() {
    let mut numbers = Numbers(1);
    let mut rows = BTreeSet::new();
    for count in 0..4000 {
        // A zero is the choice that goes on: of many of them flows come to their ends.
        rows.extend(fuzz::auth_rows(&numbers.script(300, [0, 128, 192][count % 3])));
    }
    assert!(rows.len() > 40, "{rows:?}");
}

#[test]
fn the_auth_corpus_takes_every_row_of_the_tables() {
    let inputs = entries(&folder().join("corpus/auth"));
    let taken = inputs.iter().flat_map(|input| fuzz::auth_rows(&fs::read(input).unwrap()));
    let taken: BTreeSet<_> = taken.collect();
    macro_rules! rows {
        ($($name:literal $module:ident)*) => {
            [$($module::TABLE.rows().iter().map(|row| ($name, row.name)).collect::<Vec<_>>()),*]
        };
    }
    let rows = rows! {
        "refusal" refusal "flow" discovery_table "registration" registration "binding" binding
        "iss" redirect "granted" granted
    };
    for row in rows.into_iter().flatten() {
        assert!(taken.contains(&row), "no script takes {row:?}");
    }
}

#[test]
fn what_clients_say_in_transcripts_is_a_seed() {
    let transcripts = transcript::all();
    assert!(!transcripts.is_empty(), "no transcripts");
    // Many transcripts begin alike.
    let (mut conversations, mut lines) = (BTreeSet::new(), BTreeSet::new());
    for transcript in transcripts {
        let bytes = transcript.client_bytes();
        // Some transcripts send megabytes to reach a limit; memory.rs does the same.
        if bytes.len() > 64 * 1024 {
            continue;
        }
        if !conversations.insert(bytes.clone()) {
            continue;
        }
        println!("{}", transcript.name());
        fuzz::server_stdio(&bytes);
        for line in bytes.split(|byte| *byte == b'\n') {
            if lines.insert(line.to_owned()) {
                fuzz::message(line);
            }
        }
    }
}

#[test]
fn every_target_has_a_replay_and_every_replay_a_target() {
    let targets: BTreeSet<String> = entries(&folder().join("fuzz_targets"))
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let replays = TARGETS.iter().map(|(name, _)| *name).chain([OF_A_FEATURE]);
    let replays = replays.map(str::to_owned).collect();
    assert_eq!(targets, replays);
    let corpora: BTreeSet<String> = entries(&folder().join("corpus"))
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(corpora, replays);
}

/// A generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u8 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0.to_be_bytes()[0]
    }

    /// A script, and `zeros` of 256 bytes in it zero.
    fn script(&mut self, length: usize, zeros: u8) -> Vec<u8> {
        let byte = |_| if self.next() < zeros { 0 } else { self.next() };
        (0..length).map(byte).collect()
    }
}

fn replay(target: &str) {
    let (_, run) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let inputs = entries(&folder().join("corpus").join(target));
    assert!(!inputs.is_empty(), "the corpus of {target} is empty");
    for input in inputs {
        println!("{}", input.display());
        run(&fs::read(&input).unwrap());
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// Entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut entries: Vec<PathBuf> = read.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}
