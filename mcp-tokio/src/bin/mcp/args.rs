//! Command line of `mcp`.
//!
//! In: words. Out: [`Args`], or an error of clap.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use mcp_tokio::types::{LoggingLevel, UnknownLoggingLevel};
use mcp_tokio::{Json, Negotiation, ProtocolVersion};
use serde::de::IgnoredAny;

use crate::bridge::args::{BridgeArgs, HELP_BRIDGE, USAGE_BRIDGE};
use crate::more_args::{
    BenchArgs, CompleteArgs, CompletionsArgs, HELP_BENCH, HELP_COMPLETE, HELP_REPLAY, HELP_REQUEST,
    HELP_TASK, ManArgs, PromptCommand, ReplayArgs, RequestArgs, ResourceCommand, TaskArgs,
    USAGE_BENCH, USAGE_COMPLETE, USAGE_REPLAY, USAGE_REQUEST, USAGE_TASK,
};
use crate::sign_in::SignInArgs;

/// Talks to MCP servers, of every version from 2024-11-05 to 2026-07-28.
#[derive(Parser)]
#[command(name = "mcp", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Do,
}

#[derive(Subcommand)]
pub(crate) enum Do {
    /// Shows the era, version and capabilities of a server, and how they were detected
    #[command(override_usage = USAGE_PROBE, after_help = HELP_PROBE)]
    Probe(Alone),
    /// Lists the tools of a server, with their arguments
    #[command(override_usage = USAGE_TOOLS, after_help = HELP_TOOLS)]
    Tools(ToolsArgs),
    /// Lists the resources of a server, and its resource templates
    #[command(override_usage = USAGE_RESOURCES, after_help = HELP_RESOURCES)]
    Resources(Alone),
    /// Lists the prompts of a server, with their arguments
    #[command(override_usage = USAGE_PROMPTS, after_help = HELP_PROMPTS)]
    Prompts(Alone),
    /// Calls a tool; shows progress and log messages, and asks you for input that the server
    /// requests
    #[command(override_usage = USAGE_CALL, after_help = HELP_CALL)]
    Call(CallArgs),
    /// Follows a task of a server until it has ended, and shows its result; or cancels it
    #[command(override_usage = USAGE_TASK, after_help = HELP_TASK)]
    Task(TaskArgs),
    /// Signs in to a server, in the browser, and stores the credentials for all commands
    #[command(override_usage = USAGE_LOGIN, after_help = HELP_LOGIN)]
    Login(Alone),
    /// Removes the stored credentials for a server
    #[command(override_usage = USAGE_LOGOUT, after_help = HELP_LOGOUT)]
    Logout(Alone),
    /// Reads a resource of a server, or watches it
    #[command(subcommand)]
    Resource(ResourceCommand),
    /// Gets a prompt of a server
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Completes an argument of a prompt or of a resource template
    #[command(override_usage = USAGE_COMPLETE, after_help = HELP_COMPLETE)]
    Complete(CompleteArgs),
    /// Sends a request with any method, and shows its result
    #[command(override_usage = USAGE_REQUEST, after_help = HELP_REQUEST)]
    Request(RequestArgs),
    /// Measures how long calls of a tool take, many at a time
    #[command(override_usage = USAGE_BENCH, after_help = HELP_BENCH)]
    Bench(BenchArgs),
    /// Records a conversation with a server in a file: the detection of its era, and all of its
    /// lists
    #[command(override_usage = USAGE_RECORD, after_help = HELP_RECORD)]
    Record(RecordArgs),
    /// Serves a recorded conversation, or compares a server with it
    #[command(override_usage = USAGE_REPLAY, after_help = HELP_REPLAY)]
    Replay(ReplayArgs),
    /// Writes a script for a shell that completes the arguments of mcp
    Completions(CompletionsArgs),
    /// Writes the manual page, or a page for each command into a folder
    Man(ManArgs),
    /// Serves clients of any era, over stdio or HTTP, by forwarding to a server of any era
    #[command(override_usage = USAGE_BRIDGE, after_help = HELP_BRIDGE)]
    Bridge(BridgeArgs),
}

/// A command without other arguments than its server.
#[derive(clap::Args)]
pub(crate) struct Alone {
    /// The URL of the server, if it is to be reached over HTTP
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct ToolsArgs {
    /// Reports parts of the schemas that some hosts reject, in place of the list
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) alone: Alone,
}

#[derive(clap::Args)]
pub(crate) struct CallArgs {
    /// The URL of the server, unless a command follows; the tool; its arguments
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// All arguments, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) args: Option<Json>,
    /// The least severe log messages to show: debug, info, notice, warning, error, critical, alert,
    /// emergency
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level)]
    pub(crate) log_level: LoggingLevel,
    /// Shows the id of a task that the server creates for the call, and does not wait for its
    /// result
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct RecordArgs {
    /// The URL of the server, unless a command follows; the file
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<PathBuf>,
    /// Overwrites an existing file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments that all commands have.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// Starts the server with this command, and talks to it over its standard input and output
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) program: Vec<OsString>,
    /// Writes JSON: one document on one line; `call` writes a line for each event
    #[arg(long)]
    pub(crate) json: bool,
    /// auto, legacy (only `initialize`), modern (only `server/discover`), or one version such as
    /// 2025-11-25
    #[arg(long, value_name = "ERA", default_value = "auto", value_parser = era)]
    pub(crate) era: Negotiation,
    /// The time limit of each request; waiting for your input does not count, and progress restarts
    /// it
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// A header of each HTTP request; may be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) header: Vec<(String, String)>,
    /// The variable with the bearer token for a URL; by default `MCP_TOKEN`, if that is set
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) bearer_env: Option<String>,
    #[command(flatten)]
    pub(crate) sign_in: SignInArgs,
    /// Sets a variable of the started server, or, without a value, passes on the one of this name;
    /// may be repeated
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = variable)]
    pub(crate) env: Vec<Variable>,
    /// Passes all variables on to the started server, including secrets; by default it gets HOME,
    /// LOGNAME, PATH, SHELL, TERM and USER (on Windows, their counterparts)
    #[arg(long)]
    pub(crate) inherit_env: bool,
    /// The folder in which the server is started
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
    /// A file that lists servers, such as `.mcp.json`, `.cursor/mcp.json`, `.vscode/mcp.json`,
    /// `.gemini/settings.json`, `claude_desktop_config.json`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The server in the file of --config, if the file has several or disables it
    #[arg(long, value_name = "NAME", requires = "config")]
    pub(crate) server: Option<String>,
    /// A folder, or a file:// URI, for the server's requests for roots; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Vec<String>,
    /// Writes standard output to this file, and overwrites an existing one
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Hides the standard error of the started server
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Common {
    /// The URL and the words after it. The URL is the first word, unless a command or a file names
    /// the server.
    pub(crate) fn split<'a>(&self, words: &'a [String]) -> (Option<&'a str>, &'a [String]) {
        match words.split_first() {
            Some((url, words)) if !self.names_server() => (Some(url), words),
            _ => (None, words),
        }
    }

    /// Returns whether a command or a file names the server.
    pub(crate) fn names_server(&self) -> bool {
        !self.program.is_empty() || self.config.is_some()
    }
}

/// A variable; without a value, it has the value that it has in this program.
#[derive(Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

impl Do {
    /// The options that all commands for servers have.
    pub(crate) fn common(&self) -> Option<&Common> {
        Some(match self {
            Self::Probe(args)
            | Self::Resources(args)
            | Self::Prompts(args)
            | Self::Login(args)
            | Self::Logout(args) => &args.common,
            Self::Tools(args) => &args.alone.common,
            Self::Call(args) => &args.common,
            Self::Task(args) => &args.common,
            Self::Resource(command) => command.common(),
            Self::Prompt(PromptCommand::Get(args)) => &args.common,
            Self::Complete(args) => &args.common,
            Self::Request(args) => &args.common,
            Self::Bench(args) => &args.common,
            Self::Record(args) => &args.common,
            Self::Replay(args) => &args.common,
            Self::Bridge(args) => &args.alone.common,
            Self::Completions(_) | Self::Man(_) => return None,
        })
    }
}

/// Reads the command line. The tip of clap to put two dashes before an unknown option is left out:
/// what comes behind them starts a server.
pub(crate) fn parse() -> Result<Args, clap::Error> {
    Args::try_parse().map_err(|mut error| {
        if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
            tips.retain(|tip| !tip.to_string().starts_with("to pass "));
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
        error
    })
}

/// Returns whether the words of an invalid command line ask for JSON.
pub(crate) fn wants_json(words: impl Iterator<Item = OsString>) -> bool {
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// The message of an error in a command line, on one line and without advice.
pub(crate) fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

fn era(text: &str) -> Result<Negotiation, String> {
    Ok(match text {
        "auto" => Negotiation::Auto,
        "legacy" => Negotiation::Legacy,
        "modern" => Negotiation::Pinned(ProtocolVersion::LATEST_MODERN),
        version => Negotiation::Pinned(ProtocolVersion::from_name(version).ok_or_else(|| {
            let known: Vec<_> = ProtocolVersion::ALL.iter().map(|it| it.as_str()).collect();
            format!("it is auto, legacy, modern, or one of {}", known.join(", "))
        })?),
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let duration = seconds.ok_or("it is a number of seconds, such as 2.5")?;
    if duration.is_zero() { Err("it is more than 0".into()) } else { Ok(duration) }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("it is a name, a colon and a value")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn variable(text: &str) -> Result<Variable, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    if name.is_empty() {
        return Err("it is the name of a variable, or NAME=VALUE".into());
    }
    Ok(Variable { name: name.to_owned(), value })
}

fn level(text: &str) -> Result<LoggingLevel, String> {
    text.parse().map_err(|error: UnknownLoggingLevel| error.to_string())
}

pub(crate) fn object(text: &str) -> Result<Json, String> {
    let json = Json::parse(text.to_owned()).map_err(|error| {
        // serde_json names the place.
        let place = serde_json::from_str::<IgnoredAny>(text).err();
        place.map_or_else(|| error.to_string(), |place| format!("it is no JSON: {place}"))
    })?;
    match json.decode() {
        Ok(serde_json::Value::Object(_)) => Ok(json),
        _ => Err("it is a JSON object, such as {\"key\":1}".into()),
    }
}

const AFTER_HELP: &str = "\
A server is a URL, or a command after two dashes at the end, or an entry of a file:
  mcp probe https://mcp.example.com/mcp
  mcp tools -- npx -y @modelcontextprotocol/server-everything
  mcp call http://127.0.0.1:8000/mcp add a=1 b=2
  mcp resource read file:///notes.txt --config .mcp.json --server files

Exit codes:
    0  success
    1  the tool has failed, a call of `bench` has failed, or the task was cancelled
    2  the command line is wrong, such as an unknown option, tool or argument; or the output cannot
       be written
    3  there is no connection, the server could not be started, or it has ended
    4  the server supports no common version, refuses the client, or is not an MCP server
    5  the server has answered with a JSON-RPC error
    6  the server has not answered in time
    7  the server requires authorization
    8  a schema breaks a rule of `tools --strict`
    9  an answer differs from that of a recording
  130  interrupted by ^C or SIGTERM: requests in flight are cancelled, and the connection is closed;
       a second signal does not wait for this

With --json the last line is the error: {\"error\":{\"exit\":7,\"kind\":\"unauthorized\",\"message\":…}}.
MCP_WIRE=1 in the environment shows the conversation on standard error. A started server does not
inherit this variable, so that it does not show the same lines; --env MCP_WIRE=1 passes it on.";

const USAGE_PROBE: &str = "mcp probe [OPTIONS] <URL>
       mcp probe [OPTIONS] -- <COMMAND>...";
const USAGE_TOOLS: &str = "mcp tools [OPTIONS] <URL>
       mcp tools [OPTIONS] -- <COMMAND>...";
const USAGE_RESOURCES: &str = "mcp resources [OPTIONS] <URL>
       mcp resources [OPTIONS] -- <COMMAND>...";
const USAGE_PROMPTS: &str = "mcp prompts [OPTIONS] <URL>
       mcp prompts [OPTIONS] -- <COMMAND>...";

const HELP_PROBE: &str = "\
Each step of the decision has its time since the start, and the name of its row in the decision
table in docs/tables.md of mcp-proto.

With --json: {\"server\",\"era\",\"version\",\"supported\",\"capabilities\",\"instructions\",\"decisions\"}, where
a decision is {\"ms\",\"step\",\"outcome\",\"row\",\"then\"}; \"transport\" is added for HTTP+SSE. After a
failure {\"error\",\"decisions\"}.";

const HELP_TOOLS: &str = "\
With --strict each line has the tool, the place in the tool and the remedy. The exit code is 8 if
there is a line. Reported are:
  nullable-member        null as a type of a member that is not required
  non-standard-format    a format that JSON Schema 2020-12 does not name
  missing-properties     an object without properties
  single-use-definition  a definition with one reference, unless the type is recursive
  default-dialect        $schema with the dialect 2020-12

With --json: {\"tools\":[…]}, as the specification defines them; with --strict {\"findings\":[…]}, each
{\"tool\",\"path\",\"rule\",\"message\"}.";
const HELP_RESOURCES: &str = "\
With --json: {\"resources\":[…],\"resourceTemplates\":[…]}, as the specification defines them.";
const HELP_PROMPTS: &str = "With --json: {\"prompts\":[…]}, as the specification defines them.";

const USAGE_CALL: &str = "mcp call [OPTIONS] <URL> <TOOL> [KEY=VALUE]...
       mcp call [OPTIONS] <TOOL> [KEY=VALUE]... -- <COMMAND>...";

const HELP_CALL: &str = "\
A VALUE that is JSON (a number, true, false, null, an array, an object) and fits the input schema of
the tool is sent as JSON. Otherwise it is sent as a string, if a string fits. Without a terminal the
requests of the server for input are declined.

A server may make a task of the call. `mcp call` polls the task until it has ended, and ^C cancels
the task. `mcp task` follows a task that was left with --detach.

With --json a line is one of {\"progress\"}, {\"log\"}, {\"asked\"}, {\"task\"}. The last line is
{\"result\"} or {\"error\"}, or with --detach {\"task\"}. A request for input is {\"message\",\"action\"},
and {\"content\"} if a form was sent.";

const USAGE_LOGIN: &str = "mcp login [OPTIONS] <URL>";
const USAGE_LOGOUT: &str = "mcp logout [OPTIONS] <URL>";

const HELP_LOGIN: &str = "\
Credentials are files in $XDG_CONFIG_HOME/mcp/credentials, by default ~/.config/mcp/credentials, on
Windows %APPDATA%\\mcp\\credentials, or in the folder that MCP_CREDENTIALS names. Every command uses
and refreshes them, unless there is a token (--bearer-env, MCP_TOKEN) or --header Authorization.
BROWSER in the environment names the program that shows the page.

With --json: {\"url\",\"server\"}.";
const HELP_LOGOUT: &str = "With --json: {\"url\",\"removed\"}.";

const USAGE_RECORD: &str = "mcp record [OPTIONS] <URL> <FILE>
       mcp record [OPTIONS] <FILE> -- <COMMAND>...";

const HELP_RECORD: &str = "\
Over standard input and output the file is a transcript in the format of the project's own tests:
C> and S> are lines of the client and of the server, @ is passed time, ! is an action or an event.
Over HTTP it is a log: 1> and 1< are lines of heads and bodies on the first connection. Strings
under keys and headers that look secret are masked, and so are all headers of --header and of a
file. Free text is not masked: check the file before you share it.

With --json: {\"file\",\"lines\"}.";
