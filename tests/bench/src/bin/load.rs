//! Starts a server, sends it requests of one kind, checks the answers, and prints what they cost.

use std::borrow::Cow;
use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mcp_bench::usage::{cpu_time, peak_memory, resident_memory};
use serde::Deserialize;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage:
load start ERA ROUNDS -- SERVER...          starts it so often, and makes a call each time
load ERA CALLS IN_FLIGHT [--socket] [--message BYTES] [--request KIND] -- SERVER...
ERA is legacy or modern; KIND is echo, read (of a resource), items or report, which are tools.";

const WARM_UP: usize = 300;

/// Progress notifications before an answer of `report`.
const STEPS: usize = 1000;

/// As many calls and their answers fit into a pipe, so that neither side waits for the other.
const MOST_IN_FLIGHT: usize = 100;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"load","version":"1.0"}}}"#,
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{},"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"load","version":"1.0"}"#,
);

fn main() -> Result<()> {
    let mut arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "start") {
        arguments.remove(0);
        return measure_starts(&Options::from_arguments(arguments, &["1"]).ok_or(USAGE)?);
    }
    let options = Options::from_arguments(arguments, &[]).ok_or(USAGE)?;
    let mut server = Server::start(&options)?;
    let process = server.child.id();
    server.open(options.era)?;

    let warm_up = Requests::new(&options, Kind::Echo, 1..1 + WARM_UP, &text(35));
    warm_up.check(&server.exchange(&warm_up, options.in_flight)?)?;

    let (first, message) = (1 + WARM_UP, text(options.message));
    let requests = Requests::new(&options, options.kind, first..first + 1, &message);
    requests.check(&server.exchange(&requests, 1)?)?;
    let first_peak = peak_memory(process)?;

    let ids = first + 1..first + 1 + options.calls;
    let requests = Requests::new(&options, options.kind, ids, &message);
    let (start, cpu) = (Instant::now(), cpu_time(process)?);
    let replies = server.exchange(&requests, options.in_flight)?;
    let (elapsed, cpu) = (start.elapsed(), cpu_time(process)? - cpu);
    requests.check(&replies)?;

    let peak = peak_memory(process)?;
    // What it frees after an answer, it has freed by then.
    thread::sleep(Duration::from_millis(50));
    let resident = resident_memory(process)?;
    server.stop()?;
    let count = options.calls as f64;
    println!("calls_per_s={:.0}", count / elapsed.as_secs_f64());
    println!("cpu_us_per_call={:.2}", cpu.as_secs_f64() * 1e6 / count);
    println!("first_peak_mb={:.1}", first_peak as f64 / 1e6);
    println!("peak_mb={:.1}", peak as f64 / 1e6);
    println!("resident_mb={:.1}", resident as f64 / 1e6);
    Ok(())
}

/// Prints the median of the times from the start of a server to its first answer.
fn measure_starts(options: &Options) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..options.calls {
        let requests = Requests::new(options, Kind::Echo, 1..2, &text(35));
        let start = Instant::now();
        let mut server = Server::start(options)?;
        server.open(options.era)?;
        let replies = server.exchange(&requests, 1)?;
        times.push(start.elapsed());
        requests.check(&replies)?;
        server.stop()?;
    }
    times.sort_unstable();
    println!("start_us={:.0}", times[times.len() / 2].as_secs_f64() * 1e6);
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Echo,
    Read,
    Items,
    Report,
}

impl Kind {
    /// Lines of an answer: its notifications, and the answer.
    fn lines(self) -> usize {
        if self == Self::Report { STEPS + 1 } else { 1 }
    }
}

struct Options {
    era: Era,
    calls: usize,
    in_flight: usize,
    socket: bool,
    message: usize,
    kind: Kind,
    command: Vec<String>,
}

impl Options {
    /// `more` is inserted after the second argument.
    fn from_arguments(mut arguments: Vec<String>, more: &[&str]) -> Option<Self> {
        let at = arguments.len().min(2);
        arguments.splice(at..at, more.iter().map(|&argument| argument.to_owned()));
        let mut arguments = arguments.into_iter();
        let era = match arguments.next()?.as_str() {
            "legacy" => Era::Legacy,
            "modern" => Era::Modern,
            _ => return None,
        };
        let calls = arguments.next()?.parse().ok()?;
        let in_flight = arguments.next()?.parse().ok()?;
        let (mut socket, mut message, mut kind) = (false, 35, Kind::Echo);
        loop {
            match arguments.next()?.as_str() {
                "--socket" => socket = true,
                "--message" => message = arguments.next()?.parse().ok()?,
                "--request" => {
                    kind = match arguments.next()?.as_str() {
                        "echo" => Kind::Echo,
                        "read" => Kind::Read,
                        "items" => Kind::Items,
                        "report" => Kind::Report,
                        _ => return None,
                    }
                }
                "--" => break,
                _ => return None,
            }
        }
        let command: Vec<String> = arguments.collect();
        let valid = calls > 0 && (1..=MOST_IN_FLIGHT).contains(&in_flight) && !command.is_empty();
        valid.then_some(Self { era, calls, in_flight, socket, message, kind, command })
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
            let params = format!(r#"{{"_meta":{{{META}}}}}"#);
            writeln!(
                self.input,
                r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{params}}}"#,
            )?;
            self.read_lines(&mut Vec::new())?;
        }
        Ok(())
    }

    /// Sends the requests, with so many of them unanswered, and returns the lines of the answers.
    fn exchange(&mut self, requests: &Requests, in_flight: usize) -> Result<Vec<u8>> {
        let mut replies = Vec::new();
        let (mut sent, mut lines) = (0, 0);
        while lines < requests.ids.len() * requests.kind.lines() {
            let answered = lines / requests.kind.lines();
            let until = requests.ids.len().min(answered + in_flight);
            if sent < until {
                self.input.write_all(requests.lines(sent..until))?;
                sent = until;
            }
            lines += self.read_lines(&mut replies)?;
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

/// Lines with requests, one per id.
struct Requests {
    kind: Kind,
    message: String,
    ids: Range<usize>,
    text: Vec<u8>,
    /// End of each line in `text`.
    ends: Vec<usize>,
}

impl Requests {
    fn new(options: &Options, kind: Kind, ids: Range<usize>, message: &str) -> Self {
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for id in ids.clone() {
            let token = format!(r#""progressToken":{id}"#);
            let meta = match (options.era, kind) {
                (Era::Legacy, Kind::Report) => format!(r#""_meta":{{{token}}},"#),
                (Era::Legacy, _) => String::new(),
                (Era::Modern, Kind::Report) => format!(r#""_meta":{{{META},{token}}},"#),
                (Era::Modern, _) => format!(r#""_meta":{{{META}}},"#),
            };
            let echo = format!(r#""message":"{message}""#);
            let (method, params) = match kind {
                Kind::Echo => ("tools/call", format!(r#""name":"echo","arguments":{{{echo}}}"#)),
                Kind::Items => ("tools/call", format!(r#""name":"items","arguments":{{{echo}}}"#)),
                Kind::Report => (
                    "tools/call",
                    format!(r#""name":"report","arguments":{{{echo},"count":{STEPS}}}"#),
                ),
                Kind::Read => ("resources/read", r#""uri":"bench:///text""#.to_owned()),
            };
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{meta}{params}}}}}"#,
            );
            text.extend_from_slice(request.as_bytes());
            text.push(b'\n');
            ends.push(text.len());
        }
        Self { kind, message: message.to_owned(), ids, text, ends }
    }

    fn lines(&self, lines: Range<usize>) -> &[u8] {
        let start = if lines.start == 0 { 0 } else { self.ends[lines.start - 1] };
        &self.text[start..self.ends[lines.end - 1]]
    }

    /// That each was answered once, with what it asked for.
    fn check(&self, replies: &[u8]) -> Result<()> {
        let (mut seen, mut notifications) = (vec![false; self.ids.len()], 0);
        for line in replies.split_inclusive(|byte| *byte == b'\n') {
            let reply: Reply = serde_json::from_slice(line)?;
            let (Some(id), Some(result)) = (reply.id, reply.result) else {
                notifications += 1;
                continue;
            };
            let request = id.checked_sub(self.ids.start).and_then(|request| seen.get_mut(request));
            match request {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(format!("an answer to {id} that nobody waits for").into()),
            }
            let is_its = match (self.kind, &result.content[..], &result.contents[..]) {
                (Kind::Echo | Kind::Report, [content], []) => content.text == self.message,
                (Kind::Items, [content], []) => content.text.len() > 2_000_000,
                (Kind::Read, [], [contents]) => contents.text.len() == 1_000_000,
                _ => false,
            };
            if !is_its {
                return Err(format!("the answer to {id} is not what it asked for").into());
            }
        }
        if seen.contains(&false) {
            return Err("a request without an answer".into());
        }
        let expected = self.ids.len() * (self.kind.lines() - 1);
        let wrong = format!("{notifications} notifications");
        if notifications == expected { Ok(()) } else { Err(wrong.into()) }
    }
}

#[derive(Deserialize)]
struct Reply<'a> {
    id: Option<usize>,
    #[serde(borrow)]
    result: Option<CallResult<'a>>,
}

/// Of a tool, or of a resource that was read.
#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow, default)]
    content: Vec<Content<'a>>,
    #[serde(borrow, default)]
    contents: Vec<Content<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

fn text(length: usize) -> String {
    "Pack my box with five dozen jugs. ".chars().cycle().take(length).collect()
}
