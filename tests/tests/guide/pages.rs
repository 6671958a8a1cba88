//! Tests that the pages are true: code, names, numbers, links.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_proto::Limits;

/// Folders of quoted code: `cargo test` or `.ci/run` compiles and runs all of it.
const SOURCES: [&str; 9] = [
    "mcp-proto/examples",
    "mcp-tokio/examples",
    "mcp-tokio/examples/integrations/src/bin",
    "mcp-tokio/examples/redis_tasks",
    "mcp-async-std/examples",
    "tests/bench/src/bin",
    "tests/tests/guide",
    "tests/interop/rmcp/src",
    "tests/interop/servers/rmcp/src",
];

/// Folders of quoted files that a script or a test runs, with their language.
const FILES: [(&str, &str, &str); 5] = [
    ("apache", "tests/proxies", "conf"),
    ("caddy", "tests/proxies", "Caddyfile"),
    ("dockerfile", "tests/platforms", "Dockerfile"),
    ("json", "tests/interop/hosts/files", "json"),
    ("nginx", "tests/proxies", "conf"),
];

/// Names of items that have another name where they are exported again.
const ALIASES: [(&str, &str); 2] =
    [("HttpConfig", "http::Config"), ("ClientConfig", "client::Config")];

/// First segments of other crates' paths.
const OTHERS: [&str; 8] = [
    "axum",
    "serde_json",
    "std",
    "tokio",
    "ServerHandler",
    "ServerCapabilities",
    "ClientHandler",
    "ClientLifecycleMode",
];

#[test]
fn every_block_of_code_is_a_quote() {
    let sources: Vec<String> =
        SOURCES.iter().flat_map(|folder| files(folder, "rs")).map(|file| read(&file)).collect();
    let is_of_a_file = |block: &Block| {
        let of_language = FILES.iter().filter(|(language, ..)| *language == block.language);
        let mut texts = of_language
            .flat_map(|(_, folder, end)| named(folder, |name| name.ends_with(end)))
            .map(|file| read(&file));
        texts.any(|text| has(&text, &block.lines))
    };
    let mut wrong = Vec::new();
    for page in pages() {
        for block in blocks(&read(&page)) {
            let quoted = match &*block.language {
                "rust" | "text" => sources.iter().any(|source| has(source, &block.lines)),
                "json" => {
                    sources.iter().any(|source| has(source, &block.lines)) || is_of_a_file(&block)
                }
                "apache" | "caddy" | "dockerfile" | "nginx" => is_of_a_file(&block),
                "sh" => block.lines.iter().all(|line| is_command(line)),
                // A dependency is said as it is for a stranger, who has no workspace.
                "toml" => true,
                _ => false,
            };
            if !quoted {
                wrong.push(format!("{}:{}: ```{}", page.display(), block.line, block.language));
            }
        }
    }
    assert!(wrong.is_empty(), "no quotes from what is run:\n{}", wrong.join("\n"));
}

#[test]
fn every_name_is_one_of_the_api() {
    let api = ["mcp-proto", "mcp-service", "mcp-tokio", "mcp-async-std"];
    let api = api.map(|name| read(&root().join(format!("tests/api/{name}.txt"))));
    // What is generic is spoken of without its parameters.
    let parameters = ["<H>::", "<R>::", "<mcp_service::Handler>::", " "];
    let api = parameters.iter().fold(api.concat(), |api, parameter| api.replace(parameter, "::"));
    let known = |name: &str| {
        let aliased = |(alias, own): &(&str, &str)| Some([own, name.strip_prefix(alias)?].concat());
        let name = ALIASES.iter().find_map(aliased).unwrap_or(name.into());
        // What an adapter exports is another crate's.
        let name = ["mcp_tokio::", "mcp_async_std::"]
            .iter()
            .find_map(|it| name.strip_prefix(it))
            .unwrap_or(&name);
        let wanted = format!("::{name}");
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        api.split(&wanted).skip(1).any(ends)
    };
    let mut wrong = Vec::new();
    for page in pages() {
        for name in names(&read(&page)) {
            if !known(&name) {
                wrong.push(format!("{}: {name}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "nothing of this name is public:\n{}", wrong.join("\n"));
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in
            text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
        {
            if link.starts_with("https://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let has_anchor =
                || anchor.is_empty() || headings(&read(&target)).any(|heading| heading == anchor);
            if !target.exists() || !has_anchor() {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "no such file or heading:\n{}", wrong.join("\n"));
}

#[test]
fn the_table_of_limits_has_every_limit_and_its_default() {
    let text = read(&root().join("docs/guide/security.md"));
    let told: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter(|(name, _)| !name.contains("::"))
        .filter_map(|(name, rest)| Some((name, rest.split_once(" |")?.0)))
        .collect();
    let defaults = format!("{:?}", Limits::default());
    let defaults = defaults.strip_prefix("Limits { ").unwrap().strip_suffix(" }").unwrap();
    let defaults: Vec<(&str, String)> = defaults
        .split(", ")
        .map(|field| field.split_once(": ").unwrap())
        .map(|(name, value)| (name, spelled(name, value)))
        .collect();
    let defaults: Vec<(&str, &str)> =
        defaults.iter().map(|(name, value)| (*name, &**value)).collect();
    assert_eq!(told, defaults);
}

/// A default as the table has it.
fn spelled(name: &str, value: &str) -> String {
    if let Some(millis) = value.strip_suffix("ms") {
        return format!("{millis} ms");
    }
    let Ok(number) = value.parse::<u64>() else {
        let seconds: u64 = value.strip_suffix('s').unwrap().parse().unwrap();
        return match (seconds / 3600, seconds / 60) {
            (1, _) => "1 h".into(),
            (_, minutes @ 2..) => format!("{minutes} min"),
            _ => format!("{seconds} s"),
        };
    };
    let digits = |number: u64| match (number / 1000, number % 1000) {
        (0, number) => number.to_string(),
        (thousands @ 1..10, rest) => format!("{thousands}{rest:03}"),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    };
    match (name.ends_with("_bytes"), number / 1024, number / 1024 / 1024) {
        (true, _, mib @ 1..) => format!("{mib} MiB"),
        (true, kib @ 1.., _) => format!("{kib} KiB"),
        _ => digits(number),
    }
}

/// A fenced block of a page.
struct Block {
    language: String,
    /// Line number of its fence.
    line: usize,
    lines: Vec<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let (mut blocks, mut open) = (Vec::new(), None::<Block>);
    for (at, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                open = Some(Block { language: language.into(), line: at + 1, lines: Vec::new() });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.lines.push(line.into());
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Returns whether the lines stand in a text, one after the other, perhaps further to the right.
fn has(source: &str, lines: &[String]) -> bool {
    let source: Vec<&str> = source.lines().collect();
    !lines.is_empty()
        && source.windows(lines.len()).any(|window| {
            let indent = window[0].len().saturating_sub(lines[0].len());
            window.iter().zip(lines).all(|(there, line)| {
                let blank = " ".repeat(indent);
                there
                    .strip_prefix(&*blank)
                    .map_or(there.is_empty() && line.is_empty(), |there| there == line)
            })
        })
}

/// Returns whether a line can be typed: of an example it is known whether there is one. A command
/// of `mcp`, and of a host, is one that a script runs.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| word.contains('='));
    let program = words.next();
    let script = match program {
        Some("mcp") => Some("tests/interop/cli/run"),
        Some("claude" | "gemini" | "codex" | "opencode") => Some("tests/interop/hosts/run"),
        _ => None,
    };
    if let Some(script) = script {
        let command = format!(" {} ", words.next().unwrap_or_default());
        return read(&root().join(script)).contains(&command);
    }
    if program == Some("npx") {
        let script = read(&root().join("tests/interop/inspector/run"));
        let mut options = line.split_whitespace().filter(|word| word.starts_with("--"));
        return line.starts_with("npx @modelcontextprotocol/inspector ")
            && options.all(|option| script.contains(option));
    }
    if program != Some("cargo") {
        return line.starts_with('#')
            || line.starts_with("curl ")
            || line.starts_with("tests/")
            || line.starts_with("target/");
    }
    let value = |option| line.split_whitespace().skip_while(|word| *word != option).nth(1);
    match (value("-p"), value("--example")) {
        (Some(package), Some(example)) => {
            let place = root().join(package).join("examples").join(example);
            place.with_extension("rs").exists() || place.join("main.rs").exists()
        }
        (Some(package), None) => root().join(package).exists(),
        (None, example) => example.is_none(),
    }
}

/// The paths in a page, such as `Pair::over_http`, without arguments.
fn names(page: &str) -> Vec<String> {
    let prose = page.split("```").step_by(2);
    let spans = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
    let is_path = |span: &&str| {
        span.contains("::")
            && !OTHERS.iter().any(|other| span.starts_with(other))
            && span.chars().all(|c| c.is_alphanumeric() || matches!(c, ':' | '_'))
    };
    spans.filter(is_path).map(String::from).collect()
}

/// The anchors that GitHub gives to the headings of a page.
fn headings(page: &str) -> impl Iterator<Item = String> {
    page.lines().filter(|line| line.starts_with('#')).map(|line| {
        let heading = line.trim_start_matches('#').trim();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    })
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files("docs/guide", "md");
    let folders = ["", "mcp-proto", "mcp-proto/service", "mcp-tokio"];
    pages.extend(folders.map(|folder| root().join(folder).join("README.md")));
    pages
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    named(folder, |name| Path::new(name).extension().is_some_and(|it| it == extension))
}

fn named(folder: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_wanted))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
