//! Runs the program.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use super::scratch::Scratch;
use super::server::SERVER;

/// Result of a run.
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
    finish(command(kind, &and_this(words)).envs(environment.iter().copied()))
}

/// These words, and behind them the server, which is told its kind by a variable of `mcp`.
pub(crate) fn and_this<'a>(words: &[&'a str]) -> Vec<&'a str> {
    static THIS: LazyLock<String> =
        LazyLock::new(|| env::current_exe().unwrap().to_str().unwrap().to_owned());
    [words, &["--env", SERVER, "--", THIS.as_str()]].concat()
}

/// Runs `mcp` with these words.
pub(crate) fn run(words: &[&str]) -> Ran {
    run_in(&[], words)
}

/// Runs `mcp` with these words, and these variables.
pub(crate) fn run_in(environment: &[(&str, &str)], words: &[&str]) -> Ran {
    finish(command("", words).envs(environment.iter().copied()))
}

/// The same, where `mcp` is told that it starts a server, or a browser, of this kind.
pub(crate) fn run_as(kind: &str, environment: &[(&str, &str)], words: &[&str]) -> Ran {
    finish(command(kind, words).envs(environment.iter().copied()))
}

fn command(kind: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    command.args(words).stdin(Stdio::null()).env(SERVER, kind);
    // Nobody's credentials.
    command.env("MCP_CREDENTIALS", "/none");
    for name in ["MCP_TOKEN", "MCP_WIRE"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command. Standard error goes to a file: the end of a pipe would wait for a browser too,
/// which inherits it and may outlive `mcp`.
fn finish(command: &mut Command) -> Ran {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let folder = Scratch::new(&format!("run-{}", RUNS.fetch_add(1, Ordering::Relaxed)));
    let err = folder.write("err", "");
    let output = command.stderr(File::create(&err).unwrap()).output().unwrap();
    Ran {
        exit: output.status.code().unwrap(),
        out: masked(&String::from_utf8(output.stdout).unwrap()),
        err: errors(&fs::read_to_string(&err).unwrap()),
    }
}

fn errors(text: &str) -> String {
    masked(text).replace(env!("CARGO_BIN_EXE_mcp"), "mcp")
}

/// A run that goes on.
pub(crate) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    err: BufReader<ChildStderr>,
}

impl Running {
    /// Starts `mcp` with these words, and behind them two dashes and a server of this kind.
    pub(crate) fn start(kind: &str, words: &[&str]) -> Self {
        Self::of(&mut command(kind, &and_this(words)))
    }

    /// Starts `mcp` with these words, which shows the conversation.
    #[cfg(unix)]
    pub(crate) fn shown(kind: &str, words: &[&str]) -> Self {
        Self::of(command(kind, words).env("MCP_WIRE", "1"))
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    /// The next line on standard output.
    pub(crate) fn out_line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The lines on standard error, up to one that has this in it.
    #[cfg(unix)]
    pub(crate) fn err_until(&mut self, what: &str) {
        let mut line = String::new();
        while !line.contains(what) {
            line.clear();
            assert_ne!(self.err.read_line(&mut line).unwrap(), 0, "{what} does not come");
        }
    }

    /// Presses ^C.
    #[cfg(unix)]
    pub(crate) fn interrupt(&self) {
        interrupt(&self.child);
    }

    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        send(&self.child, rustix::process::Signal::TERM);
    }

    /// Result of the run, from here on.
    #[cfg(unix)]
    pub(crate) fn end(mut self) -> Ran {
        use std::io::Read;

        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).unwrap();
        self.err.read_to_string(&mut err).unwrap();
        // A signal that ends it leaves no code.
        let exit = self.child.wait().unwrap().code().unwrap();
        Ran { exit, out: masked(&out), err: errors(&err) }
    }

    /// The exit code, while nobody reads the standard output, which stays open.
    #[cfg(unix)]
    pub(crate) fn end_unread(mut self) -> i32 {
        std::io::copy(&mut self.err, &mut std::io::sink()).unwrap();
        self.child.wait().unwrap().code().unwrap()
    }

    /// Result of the run, once nobody reads its standard output.
    #[cfg(unix)]
    pub(crate) fn end_without_reader(self) -> Ran {
        use std::io::Read;

        let Self { mut child, out, mut err } = self;
        drop(out);
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        let exit = child.wait().unwrap().code().unwrap();
        Ran { exit, out: String::new(), err: errors(&text) }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
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

/// Interrupts a process, as ^C does.
#[cfg(unix)]
pub(crate) fn interrupt(child: &Child) {
    send(child, rustix::process::Signal::INT);
}

#[cfg(unix)]
fn send(child: &Child, signal: rustix::process::Signal) {
    use rustix::process::{Pid, kill_process};

    let id = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}
