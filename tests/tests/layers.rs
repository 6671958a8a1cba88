//! Rules of the source tree: permitted imports, and the places of things.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends here, and says why"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The layers of `mcp-proto`, top to bottom. A module imports from its own row and from those
/// below it.
const LAYERS: &[&[&str]] = &[
    &["internals"],
    &["stdio"],
    &["stream", "http", "bridge"],
    &["server", "client", "auth"],
    &["negotiate"],
    &["meta"],
    &[
        "types",
        "request_state",
        "challenge",
        "url",
        "change",
        "ext",
        "progress",
        "trace",
        "headers",
        "schema",
        "resource_server",
        "scopes",
    ],
    &["message", "frame", "machine"],
    &["json", "budget", "deadlines", "seq_map", "decision_table"],
    &["limits", "error", "time", "version"],
];

/// Modules that know less than their row would let them.
const NARROWER: &[(&str, &[&str])] = &[
    ("frame", &["json", "limits", "time"]),
    ("machine", &["time"]),
    (
        "client",
        &[
            "meta",
            "types",
            "version",
            "challenge",
            "change",
            "ext",
            "progress",
            "trace",
            "message",
            "machine",
            "json",
            "deadlines",
            "seq_map",
            "decision_table",
            "limits",
            "error",
            "time",
        ],
    ),
    ("request_state", &["message", "json", "error", "time"]),
    ("auth", &["url", "challenge", "scopes", "json", "decision_table", "error", "time"]),
];

/// The crates, by their folders.
const CRATES: &[&str] = &["mcp-proto", "mcp-proto/service", "mcp-tokio", "mcp-async-std"];

/// Items that the machines never use, whatever the features. Atomics count bytes and name things.
const IMPURE: &[&str] = &[
    "Mutex",
    "RwLock",
    "Condvar",
    "OnceLock",
    "LazyLock",
    "mpsc",
    "std::thread::",
    "std::process",
    "std::env",
    "std::net",
    "std::fs",
    "catch_unwind",
];

const MAX_LINES: usize = 450;

/// Files that import each other in a circle, with the reason. A registry holds handlers; a handler
/// is given a context, which reaches the catalog with the registry and the port of the session. A
/// function around handlers is given that context too.
const CIRCLE: &[&str] = &[
    "catalog.rs",
    "checks/nothing.rs",
    "context.rs",
    "handler.rs",
    "input.rs",
    "middleware/mod.rs",
    "service_mailbox.rs",
    "registry.rs",
    "session/mod.rs",
];

/// Structs with their rooms and files, and the reason for each file beside the first.
const OWNERS: &[(&str, &str, &str, &str)] = &[
    ("Server", "mcp-proto/src/server/", "machine.rs", ""),
    ("Server", "mcp-proto/src/server/", "binding.rs", "only the bindings need these verbs"),
    ("Server", "mcp-proto/src/server/", "legacy/machine.rs", "the era goes with its folder"),
    ("Client", "mcp-proto/src/client/", "mod.rs", ""),
    (
        "Client",
        "mcp-proto/src/client/",
        "commands.rs",
        "the commands of the application ask all owners",
    ),
    ("Client", "mcp-proto/src/client/", "receive.rs", "so does the way of a message in"),
    ("Client", "mcp-proto/src/client/", "connect.rs", "so do the changes of `Conn`"),
    ("Client", "mcp-proto/src/client/", "follow.rs", "the extension goes with its file"),
    ("ClientCore", "mcp-proto/src/client/", "client_core.rs", ""),
    ("Client", "mcp-proto/src/http/client/", "mod.rs", ""),
    ("Client", "mcp-proto/src/http/client/", "send.rs", "the way of a message out asks all owners"),
    ("Client", "mcp-proto/src/http/client/", "receive.rs", "so does the way of an answer in"),
    ("Client", "mcp-proto/src/http/client/", "authorize.rs", "the feature goes with its file"),
    (
        "Client",
        "mcp-proto/src/http/client/",
        "sse2024/post.rs",
        "the transport goes with its folder",
    ),
    (
        "Client",
        "mcp-proto/src/http/client/",
        "sse2024/stream.rs",
        "the transport goes with its folder",
    ),
    ("Exchange", "mcp-proto/src/http/server/exchange/", "mod.rs", ""),
    (
        "Exchange",
        "mcp-proto/src/http/server/exchange/",
        "post.rs",
        "the steps of a body ask all parts",
    ),
    ("Exchange", "mcp-proto/src/http/server/exchange/", "scopes.rs", "so does the check of scopes"),
    ("Exchange", "mcp-proto/src/http/server/exchange/", "visit.rs", "so does a visit"),
    ("Connection", "mcp-proto/src/http/server/connection/", "mod.rs", ""),
    ("Connection", "mcp-proto/src/http/server/connection/", "visit.rs", "a visit asks all parts"),
    ("Bridge", "mcp-proto/src/bridge/", "machine.rs", ""),
    (
        "Bridge",
        "mcp-proto/src/bridge/",
        "events.rs",
        "the way of the server's messages asks all owners",
    ),
    ("Bridge", "mcp-proto/src/bridge/", "cancellations.rs", "so does the end of a call"),
    ("Bridge", "mcp-proto/src/bridge/", "rounds.rs", "so does input of both eras"),
    (
        "Bridge",
        "mcp-proto/src/bridge/",
        "early_inputs.rs",
        "so does input before a session is open",
    ),
    ("Bridge", "mcp-proto/src/bridge/", "subscriptions.rs", "so do subscriptions across eras"),
    ("Bridge", "mcp-proto/src/bridge/", "resources.rs", "so do the bridge's own subscriptions"),
    ("Bridge", "mcp-proto/src/bridge/", "missed_changes.rs", "so do the changes after a gap"),
];

/// Functions of more than 60 lines: a table with a row for each error.
const LONG_FUNCTIONS: &[&str] =
    &["mcp-proto/src/auth/error.rs fmt", "mcp-proto/src/error/pages.rs subject"];

#[test]
fn imports_point_down() {
    let root = root().join("mcp-proto/src");
    let exports = root_exports(&root.join("lib.rs"));
    let mut wrong = Vec::new();
    for file in sources(&root) {
        let path = module_path(&root, &file);
        let Some(module) = path.first() else { continue };
        for import in imports(&file, &path) {
            let import = exports.get(&import).unwrap_or(&import);
            if !may_import(module, import) {
                wrong.push(format!("{}: {module} imports {import}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that run up:\n{}", wrong.join("\n"));
}

#[test]
fn every_module_has_a_layer_and_every_layer_its_modules() {
    let root = root().join("mcp-proto/src");
    let modules: BTreeSet<String> = sources(&root)
        .iter()
        .filter_map(|file| module_path(&root, file).first().cloned())
        .collect();
    let layers = LAYERS.iter().flat_map(|row| row.iter().map(|name| (*name).to_owned())).collect();
    assert_eq!(modules, layers);
}

#[test]
fn the_machines_are_pure() {
    for file in sources(&root().join("mcp-proto/src")) {
        let text = without_comments(&read(&file));
        for word in IMPURE {
            assert!(!text.contains(word), "{word} in {}", relative(&file));
        }
    }
}

/// An import through a facade counts as one of the file that defines the name.
#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let houses = CRATES.iter().map(|name| House::read(&root().join(name).join("src")));
    let arrows: Vec<_> = houses.flat_map(|house| house.circles()).collect();
    let found: BTreeSet<_> = arrows.into_iter().flat_map(|(from, to)| [from, to]).collect();
    let expected = CIRCLE.iter().map(|file| format!("mcp-proto/service/src/{file}")).collect();
    assert_eq!(found, expected, "files that import each other in a circle");
}

/// A file owns its data: the verbs of a struct stand in one file. Traits are their users' affair.
#[test]
fn verbs_of_a_struct_stand_in_its_file() {
    for (name, room, ..) in OWNERS {
        let sources = sources(&root().join(room));
        let found = sources.iter().filter(|file| has_verbs_of(&read(file), name));
        let found: BTreeSet<String> = found.map(|file| relative(file)).collect();
        let rows = OWNERS.iter().filter(|(other, home, ..)| (other, home) == (name, room));
        let expected = rows.map(|(_, _, file, _)| format!("{room}{file}")).collect();
        assert_eq!(found, expected, "files with an `impl {name}`");
    }
}

/// Returns whether a text has an `impl` of a struct that is not one of a trait.
fn has_verbs_of(text: &str, name: &str) -> bool {
    let text = without_comments(text);
    text.lines().filter_map(|line| line.strip_prefix("impl")).any(|header| {
        let generic =
            header.starts_with('<').then(|| header.split_once("> ").unwrap_or_default().1);
        let target = generic.unwrap_or(header).trim_start();
        target
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with([' ', '<']) && !rest.contains(" for "))
    })
}

/// Adapters only implement the trait `Runtime`: the code for all runtimes stands in
/// `mcp_service::runtime`. An adapter implements the trait.
#[test]
fn adapters_are_small() {
    const MAX_LINES: usize = 520;

    for adapter in ["mcp-tokio", "mcp-async-std"] {
        let src = root().join(adapter).join("src");
        let files = sources(&src).into_iter().filter(|file| {
            !["bin", "http2", "tower"].iter().any(|folder| file.starts_with(src.join(folder)))
        });
        let lines: usize = files.map(|file| read(&file).lines().count()).sum();
        assert!(
            lines <= MAX_LINES,
            "{adapter} has {lines} lines without its program and what needs hyper"
        );
    }
}

/// The compiler names the feature of a missing item only if the item is exported by name.
#[test]
fn adapters_export_items_behind_a_feature_by_name() {
    let text = read(&root().join("mcp-proto/service/src/exports.rs"));
    let (exports, by_name) = text.split_once("macro_rules! export_behind_features").unwrap();
    assert_eq!(items_behind_features(exports), items_behind_features(by_name));
    for adapter in ["mcp-tokio", "mcp-async-std"] {
        let own = read(&root().join(adapter).join("src/lib.rs"));
        assert!(own.contains("mcp_service::export_behind_features!();"), "{adapter}");
    }
}

/// Pairs of a feature and an item that `pub use` exports with it. Adapters always have `schemars`.
fn items_behind_features(text: &str) -> BTreeSet<(String, String)> {
    let gated = text.split("#[cfg(feature = \"").skip(1);
    let statements = gated.filter_map(|rest| rest.split_once(';')?.0.split_once("\")]"));
    let pairs = statements.flat_map(|(feature, statement)| {
        let names = statement.rsplit("::").next().unwrap_or_default();
        let names = names.split(['{', '}', ',']).map(str::trim).filter(|name| !name.is_empty());
        names.map(|name| (feature.to_owned(), name.to_owned())).collect::<Vec<_>>()
    });
    pairs.filter(|(feature, _)| feature != "schemars").collect()
}

/// Tests need what they test, and not the other way round.
#[test]
fn only_testing_knows_testing() {
    let root = root().join("mcp-proto/service/src");
    for file in sources(&root) {
        let path = module_path(&root, &file);
        // An adapter exports it with all other names.
        let may_know = ["testing", "exports"];
        let may = path.first().is_some_and(|module| may_know.contains(&&**module));
        let knows = imports(&file, &path).iter().any(|import| import == "testing");
        assert!(may || !knows, "{} imports testing", relative(&file));
    }
}

#[test]
fn verbs_of_the_client_are_written_once() {
    let sources = |folder| sources(&root().join(folder));
    let verbs: BTreeSet<String> = sources("mcp-proto/src/client")
        .iter()
        .flat_map(|file| public_verbs(file))
        // The inputs and outputs of a transport.
        .filter(|verb| !verb.starts_with("handle_") && !verb.starts_with("poll_"))
        .collect();
    assert!(["call", "notify", "subscribe", "close"].iter().all(|verb| verbs.contains(*verb)));
    let bindings = ["mcp-proto/src/http/client", "mcp-proto/service/src/client"];
    let stream = root().join("mcp-proto/src/stream.rs");
    for file in bindings.into_iter().flat_map(sources).chain([stream]) {
        for verb in public_verbs(&file) {
            assert!(!verbs.contains(&verb), "{}: `{verb}` forwards", relative(&file));
        }
    }
}

/// The public methods of a file that change something.
fn public_verbs(file: &Path) -> Vec<String> {
    let text = without_comments(&read(file)).split_whitespace().collect::<Vec<_>>().join(" ");
    let methods = text.split("pub fn ").skip(1).filter_map(|method| method.split_once('('));
    let verbs = methods.filter(|(_, arguments)| arguments.trim_start().starts_with("&mut self"));
    verbs.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn functions_are_short() {
    let mut found = BTreeSet::new();
    for file in CRATES.iter().flat_map(|name| sources(&root().join(name).join("src"))) {
        let text = read(&file);
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines: Vec<_> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some((before, after)) = line.split_once("fn ") else { continue };
            let indent = before.len() - before.trim_start().len();
            let is_head =
                before.trim_start().chars().all(|c| c.is_ascii_lowercase() || "() ".contains(c));
            let end = format!("{}}}", " ".repeat(indent));
            let length =
                lines[at..].iter().position(|line| *line == end).map_or(0, |last| last + 1);
            if is_head && !line.ends_with([';', '}']) && length > 60 {
                let name = after.split(['(', '<']).next().unwrap();
                found.insert(format!("{} {name}", relative(&file)));
            }
        }
    }
    let expected = LONG_FUNCTIONS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(found, expected, "functions of more than 60 lines");
}

#[test]
fn files_are_small() {
    for file in crate_sources() {
        let lines = read(&file).lines().count();
        assert!(lines <= MAX_LINES, "{} has {lines} lines", relative(&file));
    }
}

#[test]
fn each_runtime_stays_in_its_adapter() {
    for (runtime, home) in
        [("tokio", "mcp-tokio"), ("async-std", "mcp-async-std"), ("smol", "mcp-async-std")]
    {
        for name in CRATES {
            let manifest = read(&root().join(name).join("Cargo.toml"));
            let depends = manifest.lines().any(|line| {
                let key = line.split(['=', '.']).next().unwrap_or_default();
                let table = line.trim().trim_matches(['[', ']']);
                key.trim().trim_matches('"') == runtime
                    || table.ends_with(&format!("dependencies.{runtime}"))
                    || line.contains(&format!("package = \"{runtime}\""))
            });
            assert_eq!(depends, *name == home, "{runtime} in {name}/Cargo.toml");
        }
    }
}

#[test]
fn nothing_is_left_to_do() {
    let words = ["todo!", "unimplemented!", "#[ignore"];
    for folder in CRATES.iter().copied().chain(["tests", "fuzz"]) {
        for file in sources(&root().join(folder)) {
            // This file names what it looks for.
            if file.ends_with("tests/layers.rs") {
                continue;
            }
            let text = read(&file);
            for word in words {
                assert!(!text.contains(word), "{word} in {}", relative(&file));
            }
        }
    }
}

#[test]
fn the_reader_of_imports_reads_all_forms() {
    let text = "use crate::a::{B, c};\nuse crate::{d, e::{F, g}, h as i};\n\
                fn f() { crate::j::k(super::l::m) } // crate::no\n\
                use super::{n, super::o};\nlet s = pub(in crate) x;\n/* crate::no */";
    let here = ["top".to_owned(), "inner".to_owned()];
    let found: BTreeSet<String> = paths(text, &here).iter().map(|path| path.join("::")).collect();
    // A `super` in a group is read twice.
    let expected = ["a::B", "a::c", "d", "e::F", "e::g", "h", "j::k", "top::n", "o", "top::o"];
    let expected = expected.into_iter().chain(["top::l::m"]).map(str::to_owned);
    assert_eq!(found, expected.collect());
}

fn may_import(module: &str, import: &str) -> bool {
    let row = |name: &str| LAYERS.iter().position(|row| row.contains(&name));
    if module == import {
        return true;
    }
    if let Some((_, allowed)) = NARROWER.iter().find(|(name, _)| *name == module) {
        return allowed.contains(&import);
    }
    matches!((row(module), row(import)), (Some(from), Some(to)) if from <= to)
}

/// The module of the crate behind each name that `lib.rs` exports from one.
fn root_exports(lib: &Path) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in read(lib).split(';') {
        let Some((_, path)) = statement.split_once("pub use ") else { continue };
        let Some((module, names)) = path.split_once("::") else { continue };
        for name in names.split([',', '{', '}']) {
            exports.insert(name.trim().to_owned(), module.trim().to_owned());
        }
    }
    exports
}

/// The modules directly below the crate that a file names.
fn imports(file: &Path, module: &[String]) -> Vec<String> {
    let found = paths(&read(file), module);
    found.into_iter().filter_map(|path| path.into_iter().next()).collect()
}

/// The paths in a text that start at the crate, or at a module above that of the text.
fn paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let text = without_comments(text);
    let mut found = Vec::new();
    for (at, keyword) in text.match_indices("crate::").chain(text.match_indices("super::")) {
        let before = text.get(..at).unwrap().chars().next_back();
        // A visibility is no import.
        if text.get(..at).unwrap().ends_with("pub(in ") {
            continue;
        }
        // A `super` that follows another is read with the first; `$crate` is of a macro's user.
        if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
            continue;
        }
        let base = if keyword == "crate::" { &[] } else { parent(module) };
        collect(text.get(at + keyword.len()..).unwrap(), base, &mut found);
    }
    found
}

fn parent(module: &[String]) -> &[String] {
    module.split_last().map_or(&[], |(_, parent)| parent)
}

/// Reads what follows `crate::` or `super::`: a path, or a group of paths.
fn collect(rest: &str, base: &[String], found: &mut Vec<Vec<String>>) {
    if let Some(rest) = rest.strip_prefix("super::") {
        return collect(rest, parent(base), found);
    }
    if let Some(group) = rest.strip_prefix('{') {
        for item in items(group) {
            collect(item.trim(), base, found);
        }
        return;
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let named = [base, &[name.to_owned()]].concat();
    match rest.strip_prefix("::") {
        // The scope of a `pub(in super::super)`.
        None if name == "super" => {}
        Some(rest) if !name.is_empty() => collect(rest, &named, found),
        _ => found.push(if name.is_empty() || name == "self" { base.to_vec() } else { named }),
    }
}

/// The files of a crate by their modules, and what each imports.
struct House {
    files: BTreeMap<Vec<String>, PathBuf>,
    /// The paths that a file names: those that it only hands on, and the others.
    names: BTreeMap<Vec<String>, [BTreeSet<Vec<String>>; 2]>,
}

impl House {
    fn read(root: &Path) -> Self {
        let (mut files, mut names) = (BTreeMap::new(), BTreeMap::new());
        for file in sources(root) {
            let module = module_path(root, &file);
            let text = read(&file);
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let rooted = rooted(text, &module);
            names.insert(
                module.clone(),
                rooted.map(|text| paths(&text, &module).into_iter().collect()),
            );
            files.insert(module, file);
        }
        Self { files, names }
    }

    /// The module whose file defines what a path names; `None` if it is of no file.
    fn definer(&self, path: &[String], depth: usize) -> Option<Vec<String>> {
        let known = (0..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end]))?;
        let (module, rest) = path.split_at(known);
        let Some(name) = rest.first().filter(|_| depth > 0) else { return Some(module.to_vec()) };
        let known = self.names.get(module)?.iter().flatten();
        let source = known
            .filter(|path| path.last() == Some(name) && **path != [module, &rest[..1]].concat())
            .find_map(|path| self.definer(path, depth - 1));
        Some(source.unwrap_or_else(|| module.to_vec()))
    }

    /// The imports that are part of a circle.
    fn circles(&self) -> Vec<(String, String)> {
        let mut edges: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
        for (module, [_, names]) in &self.names {
            let used = names.iter().filter_map(|path| self.definer(path, 4));
            let used = used.filter(|other| other != module && !other.is_empty());
            edges.insert(module, used.collect());
        }
        let reach = |from: &Vec<String>| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = next.pop() {
                for other in edges.get(&module).into_iter().flatten() {
                    if seen.insert(other.clone()) {
                        next.push(other.clone());
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<_, _> = edges.keys().map(|module| (*module, reach(module))).collect();
        let mut arrows = Vec::new();
        for (from, used) in &edges {
            for to in used.iter().filter(|to| reached[to].contains(*from)) {
                arrows.push((relative(&self.files[*from]), relative(&self.files[to])));
            }
        }
        arrows
    }
}

/// The statements of a text that hand names on, and the rest of it; names of its own submodules are
/// rooted at the crate.
fn rooted(text: &str, module: &[String]) -> [String; 2] {
    let here = module.iter().fold("crate::".to_owned(), |path, name| path + name + "::");
    let text = without_comments(text).replace("self::", &here);
    let child = |line: &str| Some(line.strip_suffix(';')?.rsplit_once("mod ")?.1.to_owned());
    let children: Vec<String> = text.lines().filter_map(child).collect();
    let [mut handed_on, mut rest] = [String::new(), String::new()];
    for statement in text.split_inclusive(';') {
        let is_public = statement.contains("pub use ") || statement.contains(") use ");
        let out = if is_public { &mut handed_on } else { &mut rest };
        match statement.split_once("use ") {
            Some((before, path)) if children.iter().any(|child| path.starts_with(child)) => {
                out.extend([before, "use ", &here, path]);
            }
            _ => out.push_str(statement),
        }
    }
    [handed_on, rest]
}

/// The items of a group, up to the brace that closes it.
fn items(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                items.push(group.get(start..at).unwrap());
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    items
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((code, comment)) = rest.split_once("/*") {
        out.push_str(code);
        rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The path of the module that a file holds; empty for `lib.rs`.
fn module_path(root: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(root).unwrap().with_extension("");
    let mut parts: Vec<String> =
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    parts
}

fn crate_sources() -> Vec<PathBuf> {
    CRATES.iter().flat_map(|name| sources(&root().join(name).join("src"))).collect()
}

/// The Rust files below a folder, sorted; build output is none of them.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.map(|entry| entry.unwrap().path()) {
            let skipped = ["target", "node_modules"].iter().any(|name| path.ends_with(name));
            if path.is_dir() && !skipped {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "no sources in {}", folder.display());
    files
}

fn relative(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
