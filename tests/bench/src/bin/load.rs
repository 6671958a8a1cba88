//! Starts a server, calls its tool `echo`, checks the answers, and prints what they cost.

use std::borrow::Cow;
use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use mcp_bench::usage::{cpu_time, peak_memory};
use serde::Deserialize;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str =
    "usage: load legacy|modern CALLS IN_FLIGHT [--socket] [--message BYTES] -- SERVER...";

const WARM_UP: usize = 300;

/// As many calls and their answers fit into a pipe, so that neither side waits for the other.
const MOST_IN_FLIGHT: usize = 100;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"load","version":"1.0"}}}"#,
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{},"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"load","version":"1.0"}}"#,
);

fn main() -> Result<()> {
    let options = Options::from_arguments(env::args().skip(1)).ok_or(USAGE)?;
    let mut server = Server::start(&options)?;
    let process = server.child.id();
    server.open(options.era)?;

    let message = text(35);
    let warm_up = Calls::new(options.era, 1..1 + WARM_UP, &message);
    let replies = server.exchange(&warm_up, options.in_flight)?;
    warm_up.check(&replies, &message)?;

    let message = text(options.message);
    let calls = Calls::new(options.era, 1 + WARM_UP..1 + WARM_UP + options.calls, &message);
    let (start, cpu) = (Instant::now(), cpu_time(process)?);
    let replies = server.exchange(&calls, options.in_flight)?;
    let (elapsed, cpu) = (start.elapsed(), cpu_time(process)? - cpu);
    calls.check(&replies, &message)?;

    let peak = peak_memory(process)?;
    server.stop()?;
    let count = options.calls as f64;
    println!("calls_per_s={:.0}", count / elapsed.as_secs_f64());
    println!("cpu_us_per_call={:.2}", cpu.as_secs_f64() * 1e6 / count);
    println!("peak_mb={:.1}", peak as f64 / 1e6);
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

struct Options {
    era: Era,
    calls: usize,
    in_flight: usize,
    socket: bool,
    message: usize,
    command: Vec<String>,
}

impl Options {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let era = match arguments.next()?.as_str() {
            "legacy" => Era::Legacy,
            "modern" => Era::Modern,
            _ => return None,
        };
        let calls = arguments.next()?.parse().ok()?;
        let in_flight = arguments.next()?.parse().ok()?;
        let (mut socket, mut message) = (false, 35);
        loop {
            match arguments.next()?.as_str() {
                "--socket" => socket = true,
                "--message" => message = arguments.next()?.parse().ok()?,
                "--" => break,
                _ => return None,
            }
        }
        let command: Vec<String> = arguments.collect();
        let valid = calls > 0 && (1..=MOST_IN_FLIGHT).contains(&in_flight) && !command.is_empty();
        valid.then_some(Self { era, calls, in_flight, socket, message, command })
    }
}

struct Server {
    child: Child,
    input: File,
    output: File,
}

impl Server {
    fn start(options: &Options) -> Result<Self> {
        let (stdin, input) = channel(options.socket)?;
        let (output, stdout) = channel(options.socket)?;
        let child = Command::new(&options.command[0])
            .args(&options.command[1..])
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self { child, input: input.into(), output: output.into() })
    }

    fn open(&mut self, era: Era) -> Result<()> {
        if era == Era::Legacy {
            writeln!(self.input, "{INITIALIZE}")?;
            self.read_lines(&mut Vec::new())?;
            writeln!(self.input, "{INITIALIZED}")?;
        } else {
            let params = format!("{{{META}}}");
            writeln!(
                self.input,
                r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{params}}}"#,
            )?;
            self.read_lines(&mut Vec::new())?;
        }
        Ok(())
    }

    /// Makes the calls, with so many of them unanswered, and returns the replies.
    fn exchange(&mut self, calls: &Calls, in_flight: usize) -> Result<Vec<u8>> {
        let mut replies = Vec::new();
        let (mut sent, mut answered) = (0, 0);
        while answered < calls.ids.len() {
            let until = calls.ids.len().min(answered + in_flight);
            if sent < until {
                self.input.write_all(calls.lines(sent..until))?;
                sent = until;
            }
            answered += self.read_lines(&mut replies)?;
        }
        Ok(replies)
    }

    /// Reads until a line has ended; returns how many have.
    fn read_lines(&mut self, read: &mut Vec<u8>) -> Result<usize> {
        let mut chunk = [0; 64 * 1024];
        loop {
            let count = self.output.read(&mut chunk)?;
            if count == 0 {
                return Err("the server closed its output".into());
            }
            read.extend_from_slice(&chunk[..count]);
            let ended = memchr::memchr_iter(b'\n', &chunk[..count]).count();
            if ended > 0 {
                return Ok(ended);
            }
        }
    }

    /// Ends the server's input and expects that it has nothing to complain about.
    fn stop(self) -> Result<()> {
        drop(self.input);
        let ended = self.child.wait_with_output()?;
        if !ended.stderr.is_empty() {
            return Err(format!("on stderr: {}", String::from_utf8_lossy(&ended.stderr)).into());
        }
        if ended.status.success() { Ok(()) } else { Err(ended.status.to_string().into()) }
    }
}

/// Two ends: to read from and to write to.
fn channel(socket: bool) -> io::Result<(OwnedFd, OwnedFd)> {
    if socket {
        UnixStream::pair().map(|(reader, writer)| (reader.into(), writer.into()))
    } else {
        io::pipe().map(|(reader, writer)| (reader.into(), writer.into()))
    }
}

/// Lines that call the tool, one per id.
struct Calls {
    ids: Range<usize>,
    text: Vec<u8>,
    /// Where in `text` each line ends.
    ends: Vec<usize>,
}

impl Calls {
    fn new(era: Era, ids: Range<usize>, message: &str) -> Self {
        let meta = if era == Era::Modern { format!("{META},") } else { String::new() };
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for id in ids.clone() {
            let params =
                format!(r#"{{{meta}"name":"echo","arguments":{{"message":"{message}"}}}}"#);
            text.extend_from_slice(
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
                    .as_bytes(),
            );
            text.push(b'\n');
            ends.push(text.len());
        }
        Self { ids, text, ends }
    }

    fn lines(&self, lines: Range<usize>) -> &[u8] {
        let start = if lines.start == 0 { 0 } else { self.ends[lines.start - 1] };
        &self.text[start..self.ends[lines.end - 1]]
    }

    /// That each was answered once, with its message.
    fn check(&self, replies: &[u8], message: &str) -> Result<()> {
        let mut seen = vec![false; self.ids.len()];
        for line in replies.split_inclusive(|byte| *byte == b'\n') {
            let reply: Reply = serde_json::from_slice(line)?;
            let call = reply.id.checked_sub(self.ids.start).and_then(|call| seen.get_mut(call));
            match call {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(format!("an answer to {} that nobody waits for", reply.id).into()),
            }
            if !matches!(&reply.result.content[..], [content] if content.text == message) {
                return Err(format!("the answer to {} is not its message", reply.id).into());
            }
        }
        if seen.contains(&false) { Err("a call without an answer".into()) } else { Ok(()) }
    }
}

#[derive(Deserialize)]
struct Reply<'a> {
    id: usize,
    #[serde(borrow)]
    result: CallResult<'a>,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

fn text(length: usize) -> String {
    "Pack my box with five dozen jugs. ".chars().cycle().take(length).collect()
}
