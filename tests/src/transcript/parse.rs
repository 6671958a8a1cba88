//! Text to transcript. Errors name the file and the line.

use std::fmt;
use std::time::Duration;

use mcp_proto::{EraPolicy, Json, Limits};

use super::fixture::Tool;
use super::value::{Answer, Content, Input, Line, Settings, Transcript};

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

type Result<T> = std::result::Result<T, String>;

impl Transcript {
    /// Reads the text of a transcript; `name` is that of its file.
    pub fn parse(name: &str, text: &str) -> std::result::Result<Self, ParseError> {
        let settings = Settings {
            era_policy: EraPolicy::Auto,
            tools: Tool::ALL.to_vec(),
            page_size: None,
            instructions: None,
            limits: Limits::default(),
        };
        let mut transcript = Self { name: name.into(), settings, lines: Vec::new() };
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
        if text == "C>" {
            return Ok(Content::Input(Input::Bytes(b"\n".to_vec())));
        }
        match text.split_once(' ') {
            Some(("=", _)) if begun => Err("settings stand before all else".into()),
            Some(("=", setting)) => self.settings.set(setting).map(|()| Content::Remark),
            Some(("C>", line)) => {
                Ok(Content::Input(Input::Bytes([line.as_bytes(), b"\n"].concat())))
            }
            Some(("C*", strings)) => {
                bytes(strings).map(|bytes| Content::Input(Input::Bytes(bytes)))
            }
            Some(("@", time)) => duration(time).map(|time| Content::Input(Input::Elapse(time))),
            Some(("!", event)) => match input(event)? {
                Some(input) => Ok(Content::Input(input)),
                None => output(begun),
            },
            Some(("S>", _)) => output(begun),
            _ => Err("a line begins with one of: # = C> C* S> @ !".into()),
        }
    }
}

fn output(begun: bool) -> Result<Content> {
    if begun { Ok(Content::Output) } else { Err("an output needs an input before it".into()) }
}

impl Settings {
    fn set(&mut self, setting: &str) -> Result<()> {
        let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
        match name {
            "era" => {
                self.era_policy = match value {
                    "auto" => EraPolicy::Auto,
                    "legacy-only" => EraPolicy::LegacyOnly,
                    "modern-only" => EraPolicy::ModernOnly,
                    _ => return Err("an era is auto, legacy-only or modern-only".into()),
                }
            }
            "tools" if value == "none" => self.tools.clear(),
            "tools" => self.tools = value.split_whitespace().map(tool).collect::<Result<_>>()?,
            "page-size" => self.page_size = Some(number(value)?),
            "instructions" => self.instructions = Some(value.into()),
            "limit" => match value.split_once(' ') {
                Some((field, value)) => self.limit(field, value)?,
                None => return Err("a limit has a name and a value".into()),
            },
            _ => return Err(format!("no setting `{name}`")),
        }
        Ok(())
    }

    fn limit(&mut self, field: &str, value: &str) -> Result<()> {
        let limits = &mut self.limits;
        match field {
            "max_line_bytes" => limits.max_line_bytes = number(value)?,
            "max_depth" => limits.max_depth = number(value)?,
            "max_in_flight" => limits.max_in_flight = number(value)?,
            "max_in_flight_bytes" => limits.max_in_flight_bytes = number(value)?,
            "max_token_bytes" => limits.max_token_bytes = number(value)?,
            "max_client_bytes" => limits.max_client_bytes = number(value)?,
            "handler_timeout" => limits.handler_timeout = duration(value)?,
            "drain" => limits.drain = duration(value)?,
            _ => return Err(format!("no limit `{field}`")),
        }
        Ok(())
    }
}

/// What a `!` line does to the machine; `None` if it is what the machine reports.
fn input(event: &str) -> Result<Option<Input>> {
    let (verb, rest) = event.split_once(' ').unwrap_or((event, ""));
    let (call, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let answer = |answer| {
        if call.is_empty() {
            return Err(format!("`{verb}` needs the name of a held call"));
        }
        Ok(Some(Input::Answer { call: call.into(), answer }))
    };
    match verb {
        "eof" => Ok(Some(Input::Eof)),
        "release" if rest.is_empty() => answer(Answer::Release(None)),
        "release" => {
            let result = Json::parse(rest.to_owned()).map_err(|error| error.to_string())?;
            answer(Answer::Release(Some(result)))
        }
        "fail" => answer(Answer::Fail),
        "crash" => answer(Answer::Crash),
        "progress" => progress(call, rest).map(Some),
        "held" | "cancelled" | "timed-out" | "cut-off" | "dropped" | "refused" | "peer-fault"
        | "closed" => Ok(None),
        _ => Err(format!("no event `{verb}`")),
    }
}

fn progress(call: &str, rest: &str) -> Result<Input> {
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
    let progress = numbers.next().ok_or("progress is a call and a number")??;
    let total = numbers.next().transpose()?;
    Ok(Input::Progress { call: call.into(), progress, total, message })
}

fn tool(name: &str) -> Result<Tool> {
    let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name);
    tool.ok_or_else(|| format!("no tool `{name}`"))
}

fn number(text: &str) -> Result<usize> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// A number and its unit, `s` or `ms`.
fn duration(text: &str) -> Result<Duration> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').unwrap_or_default(), 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is not a duration, such as 30s, 1.5s, 20ms"))
}

/// The bytes of `"…" * 3 "…"`.
fn bytes(text: &str) -> Result<Vec<u8>> {
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
