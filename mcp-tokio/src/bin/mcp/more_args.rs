//! Arguments of the commands that read, watch, complete, send raw requests, measure and replay.
//!
//! In: words. Out: a struct for each of these commands, and the texts of their help.

use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::Shell;
use mcp_tokio::Json;

use crate::args::{Common, object};

#[derive(Subcommand)]
pub(crate) enum ResourceCommand {
    /// Reads a resource: prints text, and writes bytes to a file or a pipe
    #[command(override_usage = USAGE_READ, after_help = HELP_READ)]
    Read(ReadArgs),
    /// Reads a resource, and reads it again whenever the server reports a change
    #[command(override_usage = USAGE_WATCH, after_help = HELP_WATCH)]
    Watch(WatchArgs),
}

#[derive(Subcommand)]
pub(crate) enum PromptCommand {
    /// Gets a prompt, and shows its messages
    #[command(override_usage = USAGE_GET, after_help = HELP_GET)]
    Get(GetArgs),
}

#[derive(clap::Args)]
pub(crate) struct ReadArgs {
    /// The URL of the server, unless a command follows; the URI of the resource
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct WatchArgs {
    /// The URL of the server, unless a command follows; the URI of the resource
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Ends after this number of changes; by default only ^C ends it
    #[arg(long, value_name = "NUMBER")]
    pub(crate) changes: Option<u64>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct TaskArgs {
    /// The URL of the server; the id of the task if a command or a file names the server
    #[arg(value_name = "URL|ID", allow_hyphen_values = true)]
    pub(crate) first: Option<String>,
    // Two arguments and no list: options may follow an id that begins like an option.
    /// The id of the task, after a URL
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    pub(crate) second: Option<String>,
    /// Asks the server to cancel the task, and does not wait for its end
    #[arg(long)]
    pub(crate) cancel: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct GetArgs {
    /// The URL of the server, unless a command follows; the prompt; its arguments
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct CompleteArgs {
    /// The URL of the server, unless a command follows; the prompt or the URI template; the
    /// argument with its value so far; the values of other arguments
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct RequestArgs {
    /// The URL of the server, unless a command follows; the method; its parameters
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// All parameters, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) params: Option<Json>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// The URL of the server, unless a command follows; the tool; its arguments
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// All arguments, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    pub(crate) args: Option<Json>,
    /// The number of measured calls
    #[arg(long, value_name = "NUMBER", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) calls: u32,
    /// The number of calls in flight at a time
    #[arg(long, value_name = "NUMBER", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) in_flight: u32,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// The recording; then the URL of a server to compare with it
    #[arg(value_name = "WORDS", required = true)]
    pub(crate) words: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// A folder for a page of the program and a page of each command
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

impl ResourceCommand {
    pub(crate) fn common(&self) -> &Common {
        match self {
            Self::Read(args) => &args.common,
            Self::Watch(args) => &args.common,
        }
    }
}

const USAGE_READ: &str = "mcp resource read [OPTIONS] <URL> <URI>
       mcp resource read [OPTIONS] <URI> -- <COMMAND>...";
const HELP_READ: &str = "\
Contents are written unchanged to a file (--out) or a pipe, without a line feed at the end. On a
terminal text is printed, and binary contents are described by their size.

With --json: {\"result\"}, as the specification defines it.";

const USAGE_WATCH: &str = "mcp resource watch [OPTIONS] <URL> <URI>
       mcp resource watch [OPTIONS] <URI> -- <COMMAND>...";
const HELP_WATCH: &str = "\
If the server ends, it is started or connected to again. The resource is then read again, because
it may have changed meanwhile.

With --json a line is {\"read\":{\"uri\",\"result\"}}: the first at once, then one for each change.";

const USAGE_GET: &str = "mcp prompt get [OPTIONS] <URL> <PROMPT> [KEY=VALUE]...
       mcp prompt get [OPTIONS] <PROMPT> [KEY=VALUE]... -- <COMMAND>...";
const HELP_GET: &str = "With --json: {\"result\"}, as the specification defines it.";

pub(crate) const USAGE_COMPLETE: &str = "\
mcp complete [OPTIONS] <URL> <PROMPT|URI-TEMPLATE> <ARGUMENT=PREFIX> [KEY=VALUE]...
       mcp complete [OPTIONS] <PROMPT|URI-TEMPLATE> <ARGUMENT=PREFIX> [KEY=VALUE]... -- <COMMAND>...";
pub(crate) const HELP_COMPLETE: &str = "\
A word that contains :// is a URI template, any other word is a prompt. Each line of output is one
proposed value.

With --json: {\"result\"}, as the specification defines it.";

pub(crate) const USAGE_TASK: &str = "mcp task [OPTIONS] <URL> <ID>
       mcp task [OPTIONS] <ID> -- <COMMAND>...";
pub(crate) const HELP_TASK: &str = "\
The id was printed by `mcp call --detach` or by another client. If the task needs input, you are
asked for it. ^C does not cancel the task.

With --json a line is one of {\"task\"}, {\"asked\"}. The last line is {\"result\"} or {\"error\"}.";

pub(crate) const USAGE_REQUEST: &str = "\
mcp request [OPTIONS] <URL> <METHOD> [KEY=VALUE]...
       mcp request [OPTIONS] <METHOD> [KEY=VALUE]... -- <COMMAND>...";
pub(crate) const HELP_REQUEST: &str = "\
A VALUE that is not JSON is sent as a string. The result is shown unchanged, as a JSON document on
one line; with --json it is in {\"result\"}. The client adds the `_meta` of the era.";

pub(crate) const USAGE_BENCH: &str = "mcp bench [OPTIONS] <URL> <TOOL> [KEY=VALUE]...
       mcp bench [OPTIONS] <TOOL> [KEY=VALUE]... -- <COMMAND>...";
pub(crate) const HELP_BENCH: &str = "\
One call comes first and is not measured. The exit code is 1 if a call has failed.

With --json: {\"calls\",\"failed\",\"in_flight\",\"seconds\",\"per_second\",\"latency_ms\"}, where
latency_ms has the times from a call to its answer: {\"min\",\"p50\",\"p90\",\"p99\",\"max\"}.";

pub(crate) const USAGE_REPLAY: &str = "\
mcp replay [OPTIONS] <FILE>
       mcp replay [OPTIONS] <FILE> <URL>
       mcp replay [OPTIONS] <FILE> -- <COMMAND>...";
pub(crate) const HELP_REPLAY: &str = "\
A recording is a file of `mcp record`, or the output of MCP_WIRE=1. Without a server, `mcp replay`
acts as the recorded server on standard input and output: a request gets the recorded answer to the
same method and parameters; several answers are sent in the recorded order. With a server the
recorded requests are sent again, in the recorded version. If an answer differs, its differences are
shown by place, and the exit code is 9. The _meta of parameters and results is not compared, and
neither are ends of subscriptions.

With --json: {\"compared\",\"differences\"}, where a difference is {\"request\",\"path\",\"recorded\",\"found\"}.";
