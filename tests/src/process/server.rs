//! A server in a process of its own, and the client's end of it.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::streams::{Kind, Output};
use super::{PROGRAM, SERVER};

/// The longest time that a server may take for all of its test.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Server {
    child: Child,
    input: Option<Box<dyn Write + Send>>,
    output: BufReader<Box<dyn Read + Send>>,
    /// Output of the server if it is a file.
    file: Option<File>,
    errors: JoinHandle<io::Result<String>>,
    /// Dropped when the server has ended in time.
    _watchdog: Sender<()>,
}

impl Server {
    /// A server on pipes.
    pub(super) fn start(name: &str) -> io::Result<Self> {
        Self::on(name, Kind::Pipe.input(b"")?, Kind::Pipe.output()?, false)
    }

    /// A server on pipes that shows its conversation.
    pub(super) fn start_shown(name: &str) -> io::Result<Self> {
        Self::on(name, Kind::Pipe.input(b"")?, Kind::Pipe.output()?, true)
    }

    /// The same, to nobody.
    pub(super) fn start_unwatched(name: &str) -> io::Result<Self> {
        let (input, output) = (Kind::Pipe.input(b"")?, Kind::Pipe.output()?);
        let (_, stderr) = io::pipe()?;
        Self::spawn(
            name,
            input,
            output,
            Command::new(env::current_exe()?).env("MCP_WIRE", "1").stderr(stderr),
        )
    }

    /// A server on pipes with a tool that starts a program.
    pub(super) fn start_with_program(name: &str) -> io::Result<Self> {
        let (input, output) = (Kind::Pipe.input(b"")?, Kind::Pipe.output()?);
        let mut command = Command::new(env::current_exe()?);
        Self::spawn(name, input, output, command.env(PROGRAM, "1").stderr(Stdio::piped()))
    }

    /// A server on these streams, each with the client's end.
    pub(super) fn on(
        name: &str,
        input: (Stdio, Box<dyn Write + Send>),
        output: (Stdio, Output),
        shown: bool,
    ) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.env("MCP_WIRE", if shown { "1" } else { "0" }).stderr(Stdio::piped());
        Self::spawn(name, input, output, &mut command)
    }

    fn spawn(
        name: &str,
        (stdin, input): (Stdio, Box<dyn Write + Send>),
        (stdout, output): (Stdio, Output),
        command: &mut Command,
    ) -> io::Result<Self> {
        let mut child = command.env(SERVER, name).stdin(stdin).stdout(stdout).spawn()?;
        let stderr = child.stderr.take();
        let errors = thread::spawn(move || stderr.map_or(Ok(String::new()), io::read_to_string));
        let watchdog = watch(child.id());
        let (output, file): (Box<dyn Read + Send>, _) = match output {
            Output::Stream(stream) => (stream, None),
            Output::File(file) => (Box::new(io::empty()), Some(file)),
        };
        let (input, output) = (Some(input), BufReader::new(output));
        Ok(Self { child, input, output, file, errors, _watchdog: watchdog })
    }

    pub(super) fn send(&mut self, line: &str) -> io::Result<()> {
        self.send_bytes(format!("{line}\n").as_bytes())
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The client's writing end, for another thread.
    pub(super) fn take_input(&mut self) -> Box<dyn Write + Send> {
        self.input.take().unwrap_or_else(|| Box::new(io::sink()))
    }

    /// The next line.
    pub(super) fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        match line.strip_suffix('\n') {
            Some(line) => Ok(line.to_owned()),
            None => Err(format!("the output ended with {line:?}").into()),
        }
    }

    /// The client does not read any more.
    pub(super) fn close_output(&mut self) {
        self.output = BufReader::new(Box::new(io::empty()));
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: &str) -> io::Result<()> {
        kill(self.child.id(), signal)
    }

    /// Waits for the server to exit, without reading what it writes.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        self.child.wait().map(drop)
    }

    /// The most memory that the server ever had, in bytes; `None` where that is not told.
    pub(super) fn peak_memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
    }

    /// Closes the client's writing end, and expects the server to end well and to say no word
    /// on stderr; returns the lines that were left.
    pub(super) fn end(mut self) -> Result<Vec<String>, Box<dyn Error>> {
        self.input = None;
        self.end_by_itself()
    }

    /// The same with the writing end left open.
    pub(super) fn end_by_itself(self) -> Result<Vec<String>, Box<dyn Error>> {
        let (lines, errors) = self.finish()?;
        if errors.is_empty() { Ok(lines) } else { Err(format!("on stderr: {errors}").into()) }
    }

    /// Closes the client's writing end, and expects the server to end well; returns the lines
    /// that were left, and what is on stderr.
    pub(super) fn end_with_errors(mut self) -> Result<(Vec<String>, String), Box<dyn Error>> {
        self.input = None;
        self.finish()
    }

    fn finish(mut self) -> Result<(Vec<String>, String), Box<dyn Error>> {
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        let status = self.child.wait()?;
        if let Some(mut file) = self.file {
            file.rewind()?;
            file.read_to_string(&mut text)?;
        }
        let errors = self.errors.join().map_err(|_| "stderr could not be read")??;
        if !status.success() {
            return Err(format!("{status}, on stderr: {errors}").into());
        }
        Ok((text.lines().map(str::to_owned).collect(), errors))
    }
}

/// Kills a server that takes too long, so that whoever waits for it fails.
fn watch(pid: u32) -> Sender<()> {
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || {
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = kill(pid, "KILL");
        }
    });
    sender
}

fn kill(pid: u32, signal: &str) -> io::Result<()> {
    let status = Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("the server cannot be signalled")) }
}
