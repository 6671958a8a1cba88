//! Runs the program.

use std::env;
use std::process::{Command, Stdio};

use super::server::SERVER;

/// What came of a run.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Ran {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `mcp` with these words, and behind them two dashes and a server of this kind.
pub(crate) fn with_server(kind: &str, words: &[&str]) -> Ran {
    with_server_in(&[], kind, words)
}

/// The same, with these variables.
pub(crate) fn with_server_in(environment: &[(&str, &str)], kind: &str, words: &[&str]) -> Ran {
    let this = env::current_exe().unwrap();
    let words = [words, &["--", this.to_str().unwrap()]].concat();
    finish(command(kind, &words).envs(environment.iter().copied()))
}

/// Runs `mcp` with these words.
pub(crate) fn run(words: &[&str]) -> Ran {
    run_in(&[], words)
}

/// Runs `mcp` with these words, and these variables.
pub(crate) fn run_in(environment: &[(&str, &str)], words: &[&str]) -> Ran {
    finish(command("", words).envs(environment.iter().copied()))
}

fn command(kind: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    command.args(words).stdin(Stdio::null()).env(SERVER, kind);
    for name in ["MCP_TOKEN", "MCP_WIRE"] {
        command.env_remove(name);
    }
    command
}

fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes| masked(&String::from_utf8(bytes).unwrap());
    Ran {
        exit: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr).replace(env!("CARGO_BIN_EXE_mcp"), "mcp"),
    }
}

/// Without times: `12 ms` is `N ms`, and what is before it is one blank.
fn masked(text: &str) -> String {
    let line = |line: &str| {
        let line = match line.split_once(" ms  ") {
            Some((time, rest)) if time.trim().parse::<u64>().is_ok() => format!(" N ms  {rest}"),
            _ => line.to_owned(),
        };
        let mut parts = line.split("\"ms\":");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |line, part| {
            format!("{line}\"ms\":0{}", part.trim_start_matches(|it: char| it.is_ascii_digit()))
        }) + "\n"
    };
    text.lines().map(line).collect()
}
