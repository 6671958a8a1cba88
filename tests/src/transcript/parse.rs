//! Text to transcript. Errors name the file and the line.

use std::fmt;

use mcp_proto::Json;
use mcp_proto::server::{Change, InputRequired, Notification, Progress};
use mcp_proto::types::{LoggingLevel, LoggingMessageNotificationParams};

use super::client;
use super::http;
use super::http_client;
use super::settings::{Settings, duration, json, list, number};
use super::value::{Act, Answer, Content, Input, Line, Role, Transcript};

/// Why a text is not a transcript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    name: String,
    line: usize,
    message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.name, self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

pub(super) type Result<T> = std::result::Result<T, String>;

impl Transcript {
    /// Reads the text of a transcript; `name` is that of its file.
    pub fn parse(name: &str, text: &str) -> std::result::Result<Self, ParseError> {
        let role = Role::Server(Settings::default());
        let mut transcript = Self { name: name.into(), role, lines: Vec::new() };
        let mut count = 0;
        for (at, text) in text.lines().enumerate() {
            count = at + 1;
            let error = |message| ParseError { name: name.into(), line: count, message };
            let content = transcript.line(text).map_err(error)?;
            transcript.lines.push(Line { number: count, text: text.into(), content });
        }
        let error =
            |message: &str| ParseError { name: name.into(), line: count, message: message.into() };
        if transcript.comments().next().is_none() {
            return Err(error("a transcript begins with a comment that says what it shows"));
        }
        if transcript.steps().is_empty() {
            return Err(error("nothing happens here"));
        }
        Ok(transcript)
    }

    fn line(&mut self, text: &str) -> Result<Content> {
        let begun = self.lines.iter().any(|line| !matches!(line.content, Content::Remark));
        if text.trim().is_empty() || text.starts_with('#') {
            return Ok(Content::Remark);
        }
        let (mark, line) = text.split_once(' ').unwrap_or((text, ""));
        let (incoming, strings, outgoing) = match &self.role {
            Role::Server(_) => ("C>", "C*", "S>"),
            Role::Client(_) => ("S>", "S*", "C>"),
            Role::Http(_) => ("1>", "1*", "1<"),
            Role::HttpClient(_) => ("1<", "1<", "1>"),
        };
        match mark {
            "=" if begun => Err("settings stand before all else".into()),
            "=" => self.set(line).map(|()| Content::Remark),
            "@" => duration(line).map(|time| Content::Input(Input::Elapse(time))),
            "!" => match self.input(line)? {
                Some(input) => Ok(Content::Input(input)),
                None => output(begun),
            },
            _ if self.speaks_http() && http::is_mark(mark) => {
                let input = if self.plays_client() {
                    http_client::came(mark, line)?.map(Input::Answer)
                } else {
                    http::sent(mark, line)?.map(Input::Http)
                };
                input.map_or_else(|| output(begun), |input| Ok(Content::Input(input)))
            }
            _ if mark == incoming => {
                Ok(Content::Input(Input::Bytes([line.as_bytes(), b"\n"].concat())))
            }
            _ if mark == strings => bytes(line).map(|bytes| Content::Input(Input::Bytes(bytes))),
            _ if mark == outgoing => output(begun),
            _ => Err(format!("a line begins with one of: # = {incoming} {strings} {outgoing} @ !")),
        }
    }

    fn set(&mut self, setting: &str) -> Result<()> {
        if let Some(role) = setting.strip_prefix("role ") {
            if self.lines.iter().any(|line| line.text.starts_with('=')) {
                return Err("the role stands before the other settings".into());
            }
            self.role = match role {
                "server" => Role::Server(Settings::default()),
                "client" => Role::Client(client::Settings::default()),
                _ => return Err("a role is server or client".into()),
            };
            return Ok(());
        }
        if let Some(transport) = setting.strip_prefix("transport ") {
            let is_other = |text: &str| text.starts_with('=') && !text.starts_with("= role ");
            if self.lines.iter().any(|line| is_other(&line.text)) {
                return Err("the transport stands before the other settings".into());
            }
            match (transport, self.plays_client()) {
                ("stdio", _) => {}
                ("http", true) => self.role = Role::HttpClient(http_client::Settings::default()),
                ("http", false) => self.role = Role::Http(http::Settings::default()),
                _ => return Err("a transport is stdio or http".into()),
            }
            return Ok(());
        }
        match &mut self.role {
            Role::Server(settings) => settings.set(setting),
            Role::Client(settings) => settings.set(setting),
            Role::Http(settings) => settings.set(setting),
            Role::HttpClient(settings) => settings.set(setting),
        }
    }
}

fn output(begun: bool) -> Result<Content> {
    if begun { Ok(Content::Output) } else { Err("an output needs an input before it".into()) }
}

impl Transcript {
    /// Reads the input of a `!` line; `None` if it is a report of the machine.
    fn input(&self, event: &str) -> Result<Option<Input>> {
        match &self.role {
            Role::Http(settings) => match http::act(event)? {
                Some(act) => Ok(Some(Input::Http(act))),
                None if http::is_report(event) => Ok(None),
                None => Ok(act(&settings.server, event)?.map(Input::Server)),
            },
            Role::HttpClient(_) => http_client::input(event),
            _ if event == "eof" => Ok(Some(Input::Eof)),
            Role::Server(settings) => Ok(act(settings, event)?.map(Input::Server)),
            Role::Client(_) => Ok(client::act(event)?.map(Input::Client)),
        }
    }
}

/// Reads the act of a `!` line on a server.
fn act(settings: &Settings, event: &str) -> Result<Option<Act>> {
    let (verb, all) = event.split_once(' ').unwrap_or((event, ""));
    let (call, rest) = all.split_once(' ').unwrap_or((all, ""));
    let name = call.to_owned();
    let answer = |answer| Act::Answer { call: name.clone(), answer };
    let notify = |notification| Act::Notify { call: name.clone(), notification };
    let act = match verb {
        "held" | "cancelled" | "timed-out" | "cut-off" | "dropped" | "refused" | "notified"
        | "pong" | "no-pong" | "input" | "no-input" | "peer-fault" | "closed" => return Ok(None),
        "publish" => Act::Publish(all.split(", ").map(change).collect::<Result<_>>()?),
        "declare" => {
            settings.clone().set(all)?;
            Act::Declare(all.into())
        }
        "release" | "ask" | "fail" | "crash" | "progress" | "log" | "notify" if call.is_empty() => {
            return Err(format!("`{verb}` needs the name of a held call"));
        }
        "release" if rest.is_empty() => answer(Answer::Release(None)),
        "release" => answer(Answer::Release(Some(json(rest)?))),
        "ask" => answer(Answer::Ask(ask(rest)?)),
        "fail" => answer(Answer::Fail),
        "crash" if rest.is_empty() => answer(Answer::Crash(None)),
        "crash" => {
            let code = rest.parse().map_err(|_| format!("`{rest}` is not a code"))?;
            answer(Answer::Crash(Some(code)))
        }
        "progress" => notify(Notification::Progress(progress(rest)?)),
        "log" => notify(Notification::Log(log(rest)?)),
        "notify" => {
            let (method, params) = rest.split_once(' ').ok_or("a method and its params")?;
            notify(Notification::Other { method: method.into(), params: json(params)? })
        }
        "ping" => Act::Ping { name, timeout: duration(rest)? },
        "session-log" => Act::NotifySession(Notification::Log(log(all)?)),
        "session-notify" => {
            let params = json(rest)?;
            Act::NotifySession(Notification::Other { method: name, params })
        }
        "request" => {
            let (timeout, request) = rest.split_once(' ').ok_or("a time and a request")?;
            let request = json(request)?.decode().map_err(|error| error.to_string())?;
            Act::RequestInput { name, timeout: duration(timeout)?, request }
        }
        _ => return Err(format!("no event `{verb}`")),
    };
    Ok(Some(act))
}

fn change(text: &str) -> Result<Change> {
    match text.strip_prefix("resource ") {
        Some(uri) => Ok(Change::ResourceUpdated(uri.into())),
        None => list(text).map(Change::ListChanged),
    }
}

/// Requests by key, and a state in quotes perhaps.
fn ask(text: &str) -> Result<InputRequired> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let mut next = || values.next().transpose().map_err(|error| error.to_string());
    let (requests, state) = (next()?, next()?);
    let mut required = InputRequired::default();
    if let Some(requests) = requests {
        required.requests = requests.decode().map_err(|error| error.to_string())?;
    }
    if let Some(state) = state {
        required.state = Some(state.decode().map_err(|error| error.to_string())?);
    }
    Ok(required)
}

fn log(text: &str) -> Result<LoggingMessageNotificationParams> {
    let (level, data) = text.split_once(' ').ok_or("a log message is a level and its data")?;
    let level = LoggingLevel::from_name(level).ok_or_else(|| format!("no level `{level}`"))?;
    Ok(LoggingMessageNotificationParams::new(level, json(data)?))
}

fn progress(rest: &str) -> Result<Progress> {
    let (numbers, message) = match rest.split_once('"') {
        Some((numbers, message)) => {
            let message = message.strip_suffix('"').ok_or("the message ends with a quote")?;
            (numbers, Some(message.to_owned()))
        }
        None => (rest, None),
    };
    let mut numbers = numbers
        .split_whitespace()
        .map(|word| word.parse::<f64>().map_err(|_| format!("`{word}` is not a number")));
    let mut progress = Progress::new(numbers.next().ok_or("progress is a call and a number")??);
    progress.total = numbers.next().transpose()?;
    progress.message = message;
    Ok(progress)
}

/// The bytes of `"…" * 3 "…"`.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (piece, after) = string(rest)?;
        rest = after.trim_start();
        let mut times = 1;
        if let Some(after) = rest.strip_prefix('*') {
            let (word, after) = after.trim_start().split_once(' ').unwrap_or((after.trim(), ""));
            times = number(word)?;
            rest = after.trim_start();
        }
        all.extend(piece.repeat(times));
    }
    Ok(all)
}

/// The bytes of the string at the beginning, and what follows it.
fn string(text: &str) -> Result<(Vec<u8>, &str)> {
    let mut rest = text.strip_prefix('"').ok_or("bytes stand in quotes")?.chars();
    let mut bytes = Vec::new();
    loop {
        match rest.next().ok_or("the quote is not closed")? {
            '"' => return Ok((bytes, rest.as_str())),
            '\\' => bytes.push(escape(&mut rest)?),
            plain => bytes.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn escape(rest: &mut std::str::Chars<'_>) -> Result<u8> {
    Ok(match rest.next() {
        Some('n') => b'\n',
        Some('r') => b'\r',
        Some('t') => b'\t',
        Some('\\') => b'\\',
        Some('"') => b'"',
        Some('x') => {
            let digits: String = rest.by_ref().take(2).collect();
            u8::from_str_radix(&digits, 16).map_err(|_| format!("`\\x{digits}` is no byte"))?
        }
        _ => return Err("the escapes are \\n \\r \\t \\\\ \\\" \\xNN".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Transcript::parse("x.mcp", text).unwrap_err().to_string()
    }

    #[test]
    fn bytes_are_what_they_are_written_as() {
        let text = "# x\nC> {}\nC* \"\\xEF\\\\\\\"é\" \"ab\" * 3 \"\\r\\n\"\n";
        let transcript = Transcript::parse("x.mcp", text).unwrap();
        assert_eq!(transcript.client_bytes(), b"{}\n\xEF\\\"\xC3\xA9ababab\r\n");
    }

    #[test]
    fn adjacent_bytes_are_one_step() {
        let text = "# x\nC> a\n# y\nC* \"b\"\nS> c\nC> d\n@ 0s\nC> e\n! closed\n";
        let transcript = Transcript::parse("x.mcp", text).unwrap();
        let lengths: Vec<usize> =
            transcript.steps().iter().map(|step| step.outputs.len()).collect();
        assert_eq!(lengths, [1, 0, 0, 1]);
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            ("# x\nhello\n", "x.mcp:2: a line begins with one of: # = C> C* S> @ !"),
            ("# x\n\nS> {}\n", "x.mcp:3: an output needs an input before it"),
            ("# x\n! eof\n= era auto\n", "x.mcp:3: settings stand before all else"),
            ("# x\n= era old\n", "x.mcp:2: an era is auto, legacy-only or modern-only"),
            ("# x\n= limit max 1\n", "x.mcp:2: no limit `max`"),
            ("# x\n! explode a\n", "x.mcp:2: no event `explode`"),
            ("# x\n! release\n", "x.mcp:2: `release` needs the name of a held call"),
            ("# x\n! ask\n", "x.mcp:2: `ask` needs the name of a held call"),
            (
                "# x\n! publish tools tools\n",
                "x.mcp:2: no list `tools tools` changes: tools, prompts, resources do",
            ),
            ("# x\n! declare tools x\n", "x.mcp:2: the fixture has no `x`"),
            ("# x\n! log a loud 1\n", "x.mcp:2: no level `loud`"),
            ("# x\n= cache notes public 1\n", "x.mcp:2: nobody caches `notes`"),
            ("# x\n= completion greet\n", "x.mcp:2: a completion is of a prompt or a template"),
            ("# x\n@ 5\n", "x.mcp:2: `5` is not a duration, such as 30s, 1.5s, 20ms"),
            ("# x\nC* \"\\q\"\n", "x.mcp:2: the escapes are \\n \\r \\t \\\\ \\\" \\xNN"),
            ("# x\nC* \"a\n", "x.mcp:2: the quote is not closed"),
            ("# x\n", "x.mcp:1: nothing happens here"),
            ("! eof\n", "x.mcp:1: a transcript begins with a comment that says what it shows"),
        ] {
            assert_eq!(error(text), expected);
        }
    }
}
