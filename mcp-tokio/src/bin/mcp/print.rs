//! Standard output and standard error.
//!
//! In: text to show. Out: lines for people, or one JSON document per line for programs. Text of
//! servers may contain anything: characters that control a terminal are shown as U+FFFD to people,
//! and are escapes in JSON.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::failure::{Exit, Failure};

/// Format of the output, for people or for programs.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Returns whether the output is for programs.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Reports a failure, with its advice.
    pub(crate) fn failed(self, failure: &Failure) -> Exit {
        if self.json {
            document(&json!({ "error": error(failure) }));
        }
        report(failure)
    }
}

/// The file in place of standard output, if the command line names one.
static FILE: OnceLock<File> = OnceLock::new();

/// Writes standard output to a file. The file keeps its contents until the first write, or until
/// the command has succeeded.
pub(crate) fn into_file(path: &Path) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| {
        Failure::usage(format!("--out: {} cannot be written: {error}", path.display()))
    })?;
    // It is called once.
    let _ = FILE.set(file);
    Ok(())
}

/// The file, which is empty before the first write.
fn empty_file() -> Option<&'static File> {
    static EMPTIED: Once = Once::new();
    let file = FILE.get()?;
    EMPTIED.call_once(|| {
        // Devices and pipes have no contents to remove.
        if file.metadata().is_ok_and(|it| it.is_file())
            && let Err(error) = file.set_len(0)
        {
            let _ = FAILED.set(error);
        }
    });
    Some(file)
}

/// Returns whether contents are written unchanged: no terminal shows them.
pub(crate) fn is_raw() -> bool {
    FILE.get().is_some() || !io::stdout().is_terminal()
}

/// The first error of a write; nothing is written after it.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// The reason why a document could not be written: a blob of a server that is no Base64.
static UNWRITABLE: OnceLock<String> = OnceLock::new();

/// Writes bytes unchanged. [`written`] reports an error.
pub(crate) fn bytes(bytes: &[u8]) {
    if has_failed() {
        return;
    }
    let done = match empty_file() {
        Some(mut file) => write_all(&mut file, bytes),
        None => write_all(&mut io::stdout().lock(), bytes),
    };
    if let Err(error) = done {
        // Another thread may have set it first.
        let _ = FAILED.set(error);
    }
}

/// Writes and flushes bytes, also to a pipe or terminal that another program has made non-blocking,
/// such as a parent that runs on Node.
fn write_all(out: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(5);

    loop {
        let written = match bytes {
            [] => out.flush().map(|()| 0),
            bytes => out.write(bytes),
        };
        match written {
            Ok(_) if bytes.is_empty() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether a write has failed, for commands that would write without end.
pub(crate) fn has_failed() -> bool {
    FAILED.get().is_some()
}

/// Returns the exit code if the whole output is written. A reader that is gone is no failure, and
/// the output of an interrupted command is incomplete anyway.
pub(crate) fn written(exit: Exit) -> Result<Exit, Failure> {
    empty_file();
    if let Some(error) = UNWRITABLE.get() {
        let message = format!("the server's answer cannot be written as JSON: {error}");
        return Err(Failure::new(Exit::Protocol, message));
    }
    match FAILED.get() {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe && exit != Exit::Interrupted => {
            Err(unwritten(error))
        }
        Some(_) | None => Ok(exit),
    }
}

/// The failure of a write to standard output.
pub(crate) fn unwritten(error: &io::Error) -> Failure {
    Failure::usage(format!("the output cannot be written: {error}"))
}

/// Writes text for people.
pub(crate) fn text(text: &str) {
    let text = clean(text);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    bytes(format!("{text}{end}").as_bytes());
}

/// Writes a document for programs.
pub(crate) fn document(document: &impl Serialize) {
    match serde_json::to_string(document) {
        Ok(text) => bytes(format!("{}\n", one_line(&text)).as_bytes()),
        Err(error) => {
            // The first one is reported.
            let _ = UNWRITABLE.set(error.to_string());
        }
    }
}

/// Writes a document with one member, whose JSON is not decoded: numbers keep their digits.
pub(crate) fn member(name: &str, value: &impl Serialize) {
    document(&BTreeMap::from([(name, value)]));
}

/// JSON on one line: without blanks and line ends between tokens. Characters that control a
/// terminal or begin text in a direction, which only strings have then, are escaped: a terminal may
/// show the line.
pub(crate) fn one_line(json: &str) -> String {
    let (mut is_string, mut is_escaped) = (false, false);
    let keeps = |c: &char| {
        let keeps = is_string || !c.is_ascii_whitespace();
        if is_escaped {
            is_escaped = false;
        } else if *c == '"' {
            is_string = !is_string;
        } else {
            is_escaped = is_string && *c == '\\';
        }
        keeps
    };
    let mut line = String::with_capacity(json.len());
    for c in json.chars().filter(keeps) {
        if c.is_control() || is_directional(c) {
            line.extend([format!("\\u{:04x}", u32::from(c))]);
        } else {
            line.push(c);
        }
    }
    line
}

/// Text whose further lines are marked: a server could begin them like lines of `mcp`.
pub(crate) fn marked(text: &str) -> String {
    text.replace("\r\n", "\n").trim_end_matches('\n').replace('\n', "\n   | ")
}

/// Reports a failure to people.
pub(crate) fn report(failure: &Failure) -> Exit {
    if failure.exit == Exit::Interrupted && io::stderr().is_terminal() {
        // The terminal has echoed the key, perhaps in the middle of a line.
        note("");
    }
    note(&format!("mcp: {}", failure.message));
    if let Some(advice) = &failure.advice {
        note(&format!("     {advice}"));
    }
    failure.exit
}

/// A failure for programs.
pub(crate) fn error(failure: &Failure) -> serde_json::Value {
    let Failure { exit, message, advice } = failure;
    json!({ "exit": *exit as u8, "kind": exit.name(), "message": message, "advice": advice })
}

/// Writes a line for people to standard error, at once: servers may write to it as well. The
/// further lines of a text with several are [`marked`].
pub(crate) fn note(line: &str) {
    notes(&[line]);
}

/// Writes several lines at once, as [`note`] does one.
pub(crate) fn notes(lines: &[impl AsRef<str>]) {
    let lines = lines.iter().map(|line| clean(&marked(line.as_ref())) + "\n");
    let _ = write_all(&mut io::stderr(), lines.collect::<String>().as_bytes());
}

/// Returns whether a user can be asked.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Text without characters that control a terminal, or begin text in a direction, by which a URL
/// can look like another one.
pub(crate) fn clean(text: &str) -> String {
    let is_safe = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_directional(c));
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if is_safe(c) { c } else { '\u{fffd}' }).collect()
}

/// Returns whether a character begins or ends text in a direction.
fn is_directional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Rows with a name and a value, in two columns; a value may have several lines.
pub(crate) fn rows(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default() + 2;
    let mut out = String::new();
    for (name, value) in rows {
        let mut name = *name;
        for line in value.lines() {
            out.push_str(format!("{name:width$}{line}").trim_end());
            out.push('\n');
            name = "";
        }
    }
    out
}

/// Text with indented lines.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        out.extend([&" ".repeat(by), line, "\n"]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_for_people_controls_nothing() {
        for (text, expected) in [
            ("\u{1b}[2J\u{9b}m\r\u{7}", "\u{fffd}[2J\u{fffd}m\u{fffd}\u{fffd}"),
            ("https://a/\u{202e}cba", "https://a/\u{fffd}cba"),
            ("a\r\n\tb\n", "a\n\tb\n"),
            ("\u{200f}שלום é", "\u{200f}שלום é"),
        ] {
            assert_eq!(clean(text), expected);
        }
    }

    #[test]
    fn further_lines_of_a_text_are_marked() {
        assert_eq!(marked("a\r\nmcp: b\n\n"), "a\n   | mcp: b");
    }

    #[test]
    fn json_on_one_line_keeps_its_strings() {
        for (json, expected) in [
            ("{\r\n  \"a b\" : [1,\t2 ]\n}", r#"{"a b":[1,2]}"#),
            (r#"[ "\\", "\" x" , " \\\"" ]"#, r#"["\\","\" x"," \\\""]"#),
            (r#" " \ud83d " "#, r#"" \ud83d ""#),
            ("\"\u{9b}31m \u{7f}\"", r#""\u009b31m \u007f""#),
            ("\"a\u{202e}b\u{200f}\"", "\"a\\u202eb\u{200f}\""),
        ] {
            assert_eq!(one_line(json), expected);
        }
    }
}
