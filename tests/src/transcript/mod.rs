//! Golden conversations: what one side sends, and all that the other says to it.
//!
//! A transcript is a text file in `tests/transcripts/`; `cargo test --test transcripts` plays each
//! as a test of its name. The first comment says what the conversation shows. It is the server that
//! is played, unless the first setting is `= role client`; see [below](#the-client).
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
//! | `! crash a` | it ends with the JSON-RPC error -32603, or with the code behind the name |
//! | `! ask a {…} "s"` | it asks for the input of these requests, by key; a state may follow |
//! | `! progress a 1` | it reports progress; a total and a message in quotes may follow |
//! | `! log a warning "x"` | it sends a log message, whose data is any JSON |
//! | `! notify a method {…}` | it sends this notification |
//! | `! publish tools, resource file:///a` | these have changed: the lists `tools`, `prompts`, `resources`, or a resource |
//! | `! declare tools echo` | the server is another one from here on: a setting of what is offered |
//! | `! ping p 5s` | the client is pinged, and has so long to answer |
//! | `! session-log warning "x"` | a log message about no request |
//! | `! session-notify method {…}` | a notification about no request; over HTTP to the session that was seen last |
//! | `! request q 5s {…}` | the client is asked for input about no request, and has so long to answer |
//!
//! A participle comes out. The machine reports:
//!
//! | output | meaning |
//! |---|---|
//! | `! held a` | a call has reached a handler that waits |
//! | `! held a with {…} "s"` | it has reached it with these answers, by key, and this state |
//! | `! cancelled a` | the client cancelled the call; its reason in quotes may follow |
//! | `! timed-out a` | `Limits::handler_timeout` has passed |
//! | `! cut-off a` | the connection has ended, and `Limits::drain` has passed |
//! | `! dropped a` | nobody waited for the answer that the handler gave |
//! | `! refused a: why` | the machine did not take what was to be told; `publish` and a ping have no call |
//! | `! notified method {…}` | a notification has reached its handler |
//! | `! input q {…}` | the client has given the input; `! no-input q: why` if it has not |
//! | `! pong p` | the client has answered the ping; `! no-pong p` if it did not in time |
//! | `! peer-fault step: why` | something was dropped; the text is that of `ProtocolError` |
//! | `! closed` | the connection has closed |
//!
//! # Order
//!
//! An input and the outputs after it belong together: these must come out, in this order, and
//! nothing else. `C` lines with no output between them are one batch of bytes (`@ 0s` separates
//! them where that matters), and the handlers answer when all of it is read. The result therefore
//! does not depend on how the bytes are split, which the player checks. It plays each transcript
//! with the batches whole, in single bytes, in chunks of seven, and in random chunks.
//!
//! # The server
//!
//! It is called `fixture`, version `1.0.0`, and has the first six of these tools:
//!
//! | tool | what it does |
//! |---|---|
//! | `echo` | returns its argument `message` as text, or `isError` without one |
//! | `hold` | does not return until it is told to; its argument `as` is what `!` lines call it |
//! | `fail` | returns `isError` |
//! | `crash` | ends with a JSON-RPC error, of its argument `code` if there is one |
//! | `raw` | returns its arguments as the result |
//! | `peer` | returns what it knows of the client |
//! | `mirror` | returns its arguments as text; `region`, `at.count` and `dry` are repeated in headers `Region`, `Count`, `Dry` |
//! | `numbers`, `choice`, `thing` | like `raw`, with an output schema of an array, of anything, of an object |
//!
//! Entries that a setting adds:
//!
//! | kind | name | what it does |
//! |---|---|---|
//! | resource | `text`, `blob` | `note:///text` and `note:///blob`; returns a text, two bytes |
//! | resource | `hints` | `note:///hints`; returns a text that may be kept for 5 s, by anyone |
//! | template | `note` | `note:///{name}`; returns its variables |
//! | template | `path` | `note:///{+path}{?lines*}`; returns its variables |
//! | template | `hold` | `hold:///{as}`; does not return until it is told to |
//! | prompt | `greet` | returns its arguments, of which it needs `name` |
//! | prompt | `hold` | does not return until it is told to; it needs `as` |
//! | completion | | completes `3` to the numbers 1 to 3; does not return of itself for other values, which are what `!` lines call it |
//! | method, fallback | | returns its parameters; with one called `as` it does not return until it is told to |
//!
//! # Settings
//!
//! | setting | meaning |
//! |---|---|
//! | `= role server` | who is played: `server` (default) or `client` |
//! | `= era auto` | the `EraPolicy`: `auto` (default), `legacy-only` or `modern-only` |
//! | `= tools echo hold` | the tools, in this order; `none` is none |
//! | `= resources text`, `= templates note`, `= prompts greet` | the same of the others, default none |
//! | `= completion prompt greet`, `= completion template note` | what has arguments that are completed |
//! | `= method custom/a`, `= fallback` | a method that no specification has; all of them |
//! | `= notification method` | a notification that has a handler |
//! | `= logging`, `= subscribe` | `Registry::logging`, `Registry::subscribe` |
//! | `= list-changed tools prompts resources` | the lists that may change |
//! | `= cache tools public 60000` | `Registry::cache` of `discover`, `tools`, `prompts`, `resources`, `templates` or `contents`, in milliseconds |
//! | `= extension name {…}`, `= experimental name {…}` | what is declared beside |
//! | `= page-size 2` | how many entries a page of a list has |
//! | `= instructions text` | what `initialize` and `server/discover` tell the model |
//! | `= limit drain 5s` | a field of `Limits`: a number, or a duration |
//!
//! # The client
//!
//! With `= role client` the two sides change places: `S>` lines and `S* "bytes"` go in, `C>` lines
//! must come out. The client is called `fixture`, version `1.0.0`. Calls and subscriptions have the
//! names that `!` lines give them; inputs that a server needs are `i1`, `i2` and so on. These go
//! in:
//!
//! | input | meaning |
//! |---|---|
//! | `! open` | the server is there, for the first time or anew |
//! | `! eof` | the server closes its end |
//! | `! call a tools/call {…}` | a call; without parameters it has `{}` |
//! | `! start a {…}` | a call of a tool, whose response may be a task |
//! | `! follow a id` | the task with this id is followed |
//! | `! detach a` | the task of a call is not followed any more |
//! | `! list a tools` | all pages of `tools`, `prompts`, `resources` or `templates` |
//! | `! ping a` | a sign of life is asked for |
//! | `! level a warning` | the least severe log messages that are wanted |
//! | `! cancel a` | the response to a call is not wanted any more |
//! | `! answer i1 {…}` | an input is given |
//! | `! refuse i1 -32603` | it is refused, with this code and the message `refused` |
//! | `! subscribe s {…}`, `! unsubscribe s` | a subscription, by its filter |
//! | `! roots file:///a file:///b` | the roots are these |
//! | `! capabilities {…}` | the client supports this from here on |
//! | `! notify method {…}` | the client sends this notification |
//! | `! store` | the verdict is stored |
//! | `! close` | the application is done |
//!
//! Calls, tasks that are followed, lists and pings may have options behind them: `timeout 5s`,
//! `max-total 1s`, `no-reset`, `progress`, `level warning`. These come out:
//!
//! | output | meaning |
//! |---|---|
//! | `! connected 2026-07-28 name 1.0 {…} "x"` | the version; as far as they are known, who the server is, what it supports, and how to use it |
//! | `! disconnected: why` | there is no connection any more; the text is that of `ConnectError` |
//! | `! reopen` | the server is to be started anew |
//! | `! responded a {…}` | the result of a call |
//! | `! failed a: why` | it has none; the text is that of `CallError` |
//! | `! progressed a 1 3 "x"` | how far it is; a total and a message may follow |
//! | `! task a working "x"` | the task of a call has another status, or another message, which may follow |
//! | `! asked i1 of a method {…}` | an input is needed; a legacy server does not say of which call |
//! | `! ask-cancelled i1` | it is not needed any more |
//! | `! logged warning "x" by "y"` | a log message, and its logger if it has one |
//! | `! subscribed s {…}` | a subscription has begun, and this is honoured |
//! | `! changed s tools` | something has changed, as in `! publish`; without a subscription it has no name |
//! | `! ended s`, `! ended s: why` | a subscription has ended, or has not begun |
//! | `! completed x` | the user is done with what a URL asked for |
//! | `! notified method {…}` | a notification that the specification does not have |
//! | `! peer-fault step: why` | something was dropped; the text is that of `ProtocolError` |
//! | `! refused a: why` | the machine did not take a command; the text is that of `UsageError` |
//! | `! stored {…}` | the verdict that is stored |
//! | `! closed`, `! closed: why` | the connection has closed; the text is that of `ConnectError` |
//!
//! | setting | meaning |
//! |---|---|
//! | `= negotiation auto` | the `Negotiation`: `auto` (default), `legacy`, or a version, which is pinned |
//! | `= verdict 2026-07-28`, `= verdict {…}` | a stored verdict: a version, or the whole as JSON |
//! | `= capabilities {…}` | what the client supports, default nothing |
//! | `= probe-timeout 5s`, `= initialize-timeout 60s` | the fields of `Config` |
//! | `= follow-tasks` | calls of tools follow their tasks |
//! | `= restart never` | the `Restart` policy: `never` (default), `on-call` or `always` |
//! | `= limit max_pages 2` | a field of `Limits` |
//!
//! # HTTP
//!
//! With `= transport http` as the first setting the server is one over HTTP, and clients talk to it
//! on numbered connections. `1> …` is sent on the first connection, and `1< …` comes back on it.
//!
//! ```text
//! # A modern call has an answer in JSON.
//! = transport http
//!
//! 1> POST
//! 1> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{…}}
//! 1< 200 application/json
//! 1< {"jsonrpc":"2.0","id":1,"result":{…}}
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `1> POST /mcp HTTP/1.1` | a request begins; path and version may be left out |
//! | `1> Name: value`, `1> -Name` | a field of its head; one that is left out |
//! | `1> {…}`, `1> "bytes"` | its body, up to a field `Transfer-Encoding` with its length |
//! | `1* "bytes" * 3` | exactly these bytes, of no request that a decent client would send |
//! | `1< 200 application/json` | a response: its status and media type |
//! | `1< Name: value` | a field, but for those that every response of its kind has |
//! | `1< {…}` | its body |
//! | `1< event 1-2: {…}` | a message on a stream of events, with its id if it has one |
//! | `1< event 1-0:` | an event with an id and without data |
//! | `1< retry: 1000`, `1< :`, `1< end` | when to come back; a sign of life; the end of the stream |
//! | `1< cut off` | the connection closed before that |
//! | `1< 100`, `1< closed` | the body may be sent; the connection has closed |
//!
//! A request has the fields that a decent client sends, unless it names them: `Host`,
//! `Content-Type`, `Accept`, `Content-Length`. A modern head also mirrors its body. A legacy head
//! has the session and its version: those that were opened on this connection, or else opened last.
//! Session ids count up from 1. Requests that follow one another on one connection are pipelined;
//! their bytes are split in all ways, and the handlers answer when all of it is read.
//!
//! | input | meaning |
//! |---|---|
//! | `! eof 1` | the client closes its end of a connection |
//! | `! disconnect 1` | writing to it fails |
//! | `! shutdown` | the server is to stop |
//! | `! close-stream a` | the client of a call is to come back later |
//! | `! count` | `! counted 1 sessions, 0 listeners` comes out |
//!
//! | output | meaning |
//! |---|---|
//! | `! disconnected a` | the client of a call is gone, and with it the call |
//! | `! lost 3` | so many messages had to go before their client came |
//! | `! limit-reached max_sessions 1` | a limit was reached so many times since the last report |
//!
//! | setting | meaning |
//! |---|---|
//! | `= path /a` | the path of the endpoint |
//! | `= sessions on` | what legacy clients get: `on` (default), `stateless`, `off` |
//! | `= allowed-hosts a b`, `= allowed-origins a b` | what is allowed beside the default |
//! | `= authorize` | each request needs a bearer token, which is the name of the principal; `mallory` is refused |
//! | `= peer 1 192.0.2.1` | the address of the client on the first connection; default unknown |
//! | `= behind-proxy` | addresses are not those of clients |
//!
//! # A client over HTTP
//!
//! With `= role client` and `= transport http` the two sides change places here as well. The
//! requests of the client come out, and the answer to each goes in. Requests have numbers in the
//! order in which the client opens them.
//!
//! ```text
//! # A modern call has an answer in JSON.
//! = role client
//! = transport http
//! = verdict 2026-07-28
//!
//! ! open
//! ! connected 2026-07-28
//! ! call a tools/call {"name":"x"}
//! 1> POST
//! 1> MCP-Protocol-Version: 2026-07-28
//! 1> Mcp-Method: tools/call
//! 1> Mcp-Name: x
//! 1> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{…}}
//! 1< 200 application/json
//! 1< {"jsonrpc":"2.0","id":1,"result":{…}}
//! ! responded a {…}
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `1> POST` | a request, with its target if that is not `/mcp` |
//! | `1> Name: value` | a field, but for `Accept` and `Content-Type`, which are as they must be |
//! | `1> {…}` | its body |
//! | `1> closed` | the client does not want the rest of the answer |
//! | `1< 200 application/json` | an answer: its status and media type |
//! | `1< Name: value` | a field |
//! | `1< {…}`, `1< "bytes"` | some of its body |
//! | `1< event 1-2: {…}`, `1< event: {…}`, `1< event 1-0:` | an event, with its id if it has one, and without data |
//! | `1< retry: 1000`, `1< :` | when to come back; a sign of life |
//! | `1< ...` | the rest is yet to come |
//! | `1< end` | the end of the answer; needed after events and after `...` |
//! | `1< cut off` | there is no connection, or it broke |
//!
//! The lines of one answer that follow one another are one input; its body is split in all ways.
//!
//! | input | meaning |
//! |---|---|
//! | `! field Authorization: x` | every request has this field from here on |
//! | those of a client | but for `! eof` |
//!
//! | output | meaning |
//! |---|---|
//! | `! tool-rejected x: why` | a tool is left out of its list; the text is that of `PlanError` |
//! | `! unauthorized: 401`, `! unauthorized s: 401` | a stream outside of calls, or an answer, waits for other credentials |
//! | `! undelivered notifications/x: why`, `! undelivered i1: why`, `! undelivered: why` | a message without a response was not accepted: a notification, an input, another answer |
//! | `! no-stream: why` | the server has no stream for the GET |
//! | `! failed a: why [400]` | the status of a JSON-RPC error, if it is not 200 |
//! | `! finished` | all is over; it follows `! closed`, and a DELETE perhaps |
//!
//! | setting | meaning |
//! |---|---|
//! | `= url https://a/b` | where the server is; default `http://localhost/mcp` |
//! | `= field Name: value` | a field of every request |
//! | `= trusts-endpoint-origin http://a` | another origin that the endpoint of HTTP+SSE may name |
//! | `= sse known` | a verdict of this process says that the server is one of HTTP+SSE |
//! | `= listens off` | a legacy server is not asked, with a GET, for what it says by itself |
//! | `= random 255` | the first byte of whatever is random; default 0 |
//!
//! # From the field
//!
//! With `MCP_WIRE=1` in its environment, a driver prints its conversation to stderr in this
//! format: `C>`, `S>`, `@` and `!` lines. What went wrong there becomes a test here by pasting,
//! with its tools replaced by those above, and with the names of the calls that the machine
//! reports.

mod chunks;
mod client;
mod fixture;
mod http;
mod http_client;
mod parse;
mod play;
mod player;
mod settings;
mod value;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use parse::ParseError;
pub use play::Failure;
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

/// The rows of a table that comments of these transcripts name: `# row: TABLE/NAME`.
pub fn rows_of(table: &str, is_about: impl Fn(&Transcript) -> bool) -> BTreeSet<String> {
    let transcripts = all();
    let comments = transcripts.iter().filter(|it| is_about(it)).flat_map(Transcript::comments);
    let rows = comments.filter_map(|comment| comment.strip_prefix("row: ")?.split_once('/'));
    rows.filter(|(of, _)| *of == table).map(|(_, name)| name.to_owned()).collect()
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
