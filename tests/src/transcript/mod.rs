//! Golden conversations: what a client sends, and all that the server says to it.
//!
//! A transcript is a text file in `tests/transcripts/`; `cargo test --test transcripts` plays each
//! as a test of its name. The first comment says what the conversation shows.
//!
//! ```text
//! # A client cancels a call, and gets no answer to it.
//! = limit drain 5s
//!
//! C> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{…}}
//! S> {"jsonrpc":"2.0","id":1,"result":{…}}
//! C> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hold","arguments":{"as":"a"}}}
//! ! held a
//! @ 1.5s
//! C> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
//! ! cancelled a
//! ```
//!
//! # Lines
//!
//! | line | meaning |
//! |---|---|
//! | `# text` | a comment; blank lines are ignored as well |
//! | `= name value` | a setting, before all else; see below |
//! | `C> text` | the client sends this line and a newline |
//! | `C* "bytes" * 3 "more"` | the client sends exactly these bytes, with no newline added; strings follow one another, each perhaps repeated, and know `\n \r \t \\ \" \xNN` |
//! | `S> text` | the server sends exactly this line |
//! | `@ 1.5s` | time passes |
//! | `! verb …` | something happens outside of the wire; the verb says which way |
//!
//! An imperative goes in. Someone acts:
//!
//! | input | meaning |
//! |---|---|
//! | `! eof` | the client closes its end |
//! | `! release a` | the handler of the held call `a` returns the text `released` |
//! | `! release a {…}` | it returns this result |
//! | `! fail a` | it returns a result with `isError` |
//! | `! crash a` | it ends with the JSON-RPC error -32603 |
//! | `! progress a 1` | it reports progress; a total and a message in quotes may follow |
//!
//! A participle comes out. The machine reports:
//!
//! | output | meaning |
//! |---|---|
//! | `! held a` | a call of the tool `hold` has reached its handler |
//! | `! cancelled a` | the client cancelled the call; its reason in quotes may follow |
//! | `! timed-out a` | `Limits::handler_timeout` has passed |
//! | `! cut-off a` | the connection has ended, and `Limits::drain` has passed |
//! | `! dropped a` | nobody waited for the answer that the handler gave |
//! | `! refused a: why` | the machine did not take the progress that the handler reported |
//! | `! peer-fault rung: why` | something was dropped; the text is that of `ProtocolError` |
//! | `! closed` | the connection has closed |
//!
//! # Order
//!
//! An input and the outputs after it belong together: these must come out, in this order, and
//! nothing else. `C` lines with no output between them are one batch of bytes (`@ 0s` separates
//! them where that matters), and the handlers answer when all of it is read: so the result does
//! not depend on how the bytes are split, which is what the player checks. It plays each
//! transcript with the batches whole, in single bytes, in chunks of seven, and in random chunks.
//!
//! # The server
//!
//! It is called `fixture`, version `1.0.0`, and has these tools:
//!
//! | tool | what it does |
//! |---|---|
//! | `echo` | returns its argument `message` as text, or `isError` without one |
//! | `hold` | does not return until it is told to; its argument `as` is what `!` lines call it |
//! | `fail` | returns `isError` |
//! | `crash` | ends with a JSON-RPC error, of its argument `code` if there is one |
//! | `raw` | returns its arguments as the result |
//! | `peer` | returns what it knows of the client |
//!
//! # Settings
//!
//! | setting | meaning |
//! |---|---|
//! | `= era auto` | the `EraPolicy`: `auto` (default), `legacy-only` or `modern-only` |
//! | `= tools echo hold` | the tools, in this order; default all, `none` is none |
//! | `= page-size 2` | how many tools a page of `tools/list` has |
//! | `= instructions text` | what `initialize` and `server/discover` tell the model |
//! | `= limit drain 5s` | a field of `Limits`: a number, or a duration |
//!
//! # From the field
//!
//! With `MCP_WIRE=1` in its environment, a driver prints its conversation to stderr in this
//! format: `C>`, `S>`, `@` and `!` lines. What went wrong there becomes a test here by pasting, with
//! its tools replaced by those above, and with the names of the calls that the machine reports.

mod fixture;
mod parse;
mod player;
mod value;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use parse::ParseError;
pub use player::Failure;
pub use value::Transcript;

impl Transcript {
    /// Reads a file of the folder of transcripts.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let name = path.strip_prefix(folder()).unwrap_or(path).display().to_string();
        let name = name.replace('\\', "/");
        let text = fs::read_to_string(path)
            .map_err(|error| LoadError::Unreadable { name: name.clone(), error })?;
        Self::parse(&name, &text).map_err(LoadError::Malformed)
    }
}

/// The folder of the transcripts.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts")
}

/// The files in the folder of transcripts, sorted.
pub fn files() -> io::Result<Vec<PathBuf>> {
    let (mut folders, mut files) = (vec![folder()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "mcp") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// All transcripts.
///
/// # Panics
///
/// If one of them cannot be read: the test that asked for them cannot go on.
pub fn all() -> Vec<Transcript> {
    let load = || -> Result<Vec<Transcript>, Box<dyn std::error::Error>> {
        files()?.iter().map(|path| Ok(Transcript::load(path)?)).collect()
    };
    #[expect(clippy::panic, reason = "tests end here, and say why")]
    load().unwrap_or_else(|error| panic!("{error}"))
}

/// Why a transcript could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file could not be read.
    Unreadable {
        /// Its name.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// It is not a transcript.
    Malformed(ParseError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { name, error } => write!(f, "{name}: {error}"),
            Self::Malformed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { error, .. } => Some(error),
            Self::Malformed(error) => Some(error),
        }
    }
}
