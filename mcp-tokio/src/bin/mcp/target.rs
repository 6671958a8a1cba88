//! The server that a command line names.
//!
//! In: the command line. Out: a [`Target`], or a failure.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

use mcp_tokio::{Command, HttpClientConfig, Stderr, Url};

use crate::args::{Common, Variable};
use crate::failure::Failure;
use crate::print;
use crate::secret_variable;
use crate::servers_file::{self, Entry};

/// A server to be connected.
pub(crate) enum Target {
    Http(Box<HttpClientConfig>),
    Command(Command),
}

/// The command with the variables of the command line.
fn with_environment(mut command: Command, common: &Common) -> Result<Command, Failure> {
    if common.inherit_env {
        // The server would print its conversation to the same standard error once more.
        command = command.inherit_env().env("MCP_WIRE", "0");
    }
    for Variable { name, value } in &common.env {
        let value = value.as_ref().map(OsString::from).or_else(|| env::var_os(name));
        command = command.env(
            name,
            value
                .ok_or_else(|| Failure::usage(format!("--env: the variable {name} is not set")))?,
        );
    }
    Ok(command)
}

impl Target {
    /// The server at the URL, the one that the command starts, or the one in the file of
    /// `--config`. Fails unless the command line names exactly one of the three.
    pub(crate) fn new(url: Option<&str>, common: &Common) -> Result<Self, Failure> {
        if let Some(file) = &common.config {
            return match url {
                Some(url) => Err(Failure::usage(format!(
                    "there are two servers, {:?} and that of --config: leave one out",
                    without_secrets(url)
                ))),
                None => Self::of_file(file, common),
            };
        }
        match (url, common.program.split_first()) {
            (None, Some((program, arguments))) => {
                fits_command(common)?;
                Self::started(Command::new(program).args(arguments), common)
            }
            (Some(url), None) => {
                fits_url(common)?;
                let token = token(common)?;
                let url = parsed(url).map_err(|failure| {
                    failure.advice(
                        "a command that starts a server comes behind two dashes, at the end",
                    )
                })?;
                let config = at(url, common, token, common.header.iter())?;
                Ok(Self::Http(Box::new(config)))
            }
            (Some(url), Some(_)) => Err(Failure::usage(format!(
                "there are two servers, {:?} and the command behind the dashes: leave one out",
                without_secrets(url)
            ))),
            (None, None) => Err(Failure::usage("which server? Give a URL, or -- and a command")),
        }
    }

    /// The server in a file, with the options of the command line added.
    fn of_file(file: &Path, common: &Common) -> Result<Self, Failure> {
        if !common.program.is_empty() {
            return Err(Failure::usage(
                "there are two servers, that of --config and the command behind the dashes: leave \
                 one out",
            ));
        }
        let (name, entry) = servers_file::read(file, common.server.as_deref())?;
        match entry {
            Entry::Command(_) => fits_command(common)?,
            Entry::Http { .. } => fits_url(common)?,
        }
        // `MCP_TOKEN` is a token for the URL of the command line.
        let token = named_token(common)?;
        Self::of_entry(entry, common, token).map_err(|failure| of_server(file, &name, failure))
    }

    /// All servers of a file that can be used, at least one; the failures of the others are
    /// reported. Options for one server, such as its token, apply to none of them.
    pub(crate) fn all(file: &Path, common: &Common) -> Result<Vec<(String, Self)>, Failure> {
        let of_one = [
            ("--header", !common.header.is_empty()),
            ("--bearer-env", common.bearer_env.is_some()),
            ("--client-id", common.sign_in.client_id.is_some()),
            ("--env", !common.env.is_empty()),
            ("--cwd", common.cwd.is_some()),
        ];
        if let Some((option, _)) = of_one.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::usage(format!(
                "{option} is for one server, and the file may name several"
            ))
            .advice("put it into the file, or choose a server with --server"));
        }
        let (mut targets, mut failures) = (Vec::new(), Vec::new());
        for (name, entry) in servers_file::read_all(file)? {
            let target = entry.and_then(|entry| {
                let target = Self::of_entry(entry, common, None);
                target.map_err(|failure| of_server(file, &name, failure))
            });
            match target {
                Ok(target) => targets.push((name, target)),
                Err(failure) => failures.push(failure),
            }
        }
        // Without any server, the last failure is that of the command.
        let last = if targets.is_empty() { failures.pop() } else { None };
        for failure in &failures {
            print::report(failure);
        }
        last.map_or(Ok(targets), Err)
    }

    fn of_entry(entry: Entry, common: &Common, token: Option<String>) -> Result<Self, Failure> {
        match entry {
            Entry::Command(command) => Self::started(command, common),
            Entry::Http { url, headers } => {
                let fields = headers.iter().chain(&common.header);
                at(parsed(&url)?, common, token, fields).map(|config| Self::Http(Box::new(config)))
            }
        }
    }

    fn started(command: Command, common: &Common) -> Result<Self, Failure> {
        let stderr = if common.quiet {
            Stderr::Null
        } else if io::stderr().is_terminal() {
            // Escapes of the server would control the terminal.
            Stderr::lines(print::note)
        } else {
            Stderr::Inherit
        };
        let mut command = with_environment(command.stderr(stderr), common)?;
        if common.cwd.is_some() {
            command.current_dir.clone_from(&common.cwd);
        }
        Ok(Self::Command(command))
    }

    /// The advice about a URL that ends like those of HTTP with SSE, the transport of 2024-11-05.
    pub(crate) fn url_advice(&self) -> Option<String> {
        let Self::Http(config) = self else { return None };
        let url = config.url.as_str();
        let base = url.split(['?', '#']).next()?.trim_end_matches('/').strip_suffix("/sse")?;
        Some(format!(
            "/sse is the usual path of the transport HTTP+SSE, which Streamable HTTP replaced in \
             2025-03-26: try {base}/mcp"
        ))
    }

    /// Its name for a file, without parts that may be secret: arguments and queries.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Http(config) => {
                let url = config.url.as_str();
                url.split('?').next().unwrap_or_default().to_owned()
            }
            Self::Command(command) => command.program.display().to_string(),
        }
    }
}

/// Refuses options that only a server at a URL has.
fn fits_command(common: &Common) -> Result<(), Failure> {
    let given =
        [("--header", !common.header.is_empty()), ("--bearer-env", common.bearer_env.is_some())];
    fits(given, "a URL").map_err(|failure| {
        failure.advice("a server that is started here gets its credentials by --env")
    })
}

/// Refuses options that only a server that is started here has.
fn fits_url(common: &Common) -> Result<(), Failure> {
    let given = [
        ("--env", !common.env.is_empty()),
        ("--inherit-env", common.inherit_env),
        ("--cwd", common.cwd.is_some()),
    ];
    fits(given, "a server that is started here")
}

/// Refuses options that are given for another kind of server.
fn fits<const N: usize>(options: [(&str, bool); N], kind: &str) -> Result<(), Failure> {
    match options.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::usage(format!("{option} is for {kind}"))),
        None => Ok(()),
    }
}

/// The failure of a server in a file, whose name it begins with.
fn of_server(file: &Path, name: &str, failure: Failure) -> Failure {
    let message = format!("{}: the server {name:?}: {}", file.display(), failure.message);
    Failure { message, ..failure }
}

fn parsed(url: &str) -> Result<Url, Failure> {
    Url::parse(url).map_err(|error| {
        Failure::usage(format!("{:?} is not the URL of a server: {error}", without_secrets(url)))
    })
}

fn at<'a>(
    url: Url,
    common: &Common,
    token: Option<String>,
    fields: impl Iterator<Item = &'a (String, String)>,
) -> Result<HttpClientConfig, Failure> {
    let mut config = HttpClientConfig::new(url);
    config.connect_timeout = config.connect_timeout.min(common.timeout);
    if let Some(token) = token {
        config = config.field("Authorization", &format!("Bearer {token}")).map_err(|_| {
            Failure::usage("the token has characters that no token has, such as a line feed")
        })?;
    }
    for (name, value) in fields {
        config = config.field(name, value).map_err(Failure::usage)?;
    }
    // A token of the command line has priority over a sign-in.
    if !config.has_field("Authorization")
        && let Some(sign_in) = common.sign_in.sign_in()?
    {
        config = config.sign_in(sign_in);
    }
    Ok(config)
}

/// A possible URL without its query, and without the name and the password before its host.
fn without_secrets(url: &str) -> String {
    let (url, query) = match url.split_once('?') {
        Some((url, _)) => (url, "?***"),
        None => (url, ""),
    };
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://***@{host}{query}"),
        _ => format!("{url}{query}"),
    }
}

fn token(common: &Common) -> Result<Option<String>, Failure> {
    if let Some(token) = named_token(common)? {
        return Ok(Some(token));
    }
    let is_set = env::var_os("MCP_TOKEN").is_some_and(|token| !token.is_empty());
    is_set.then(|| secret_variable::read("MCP_TOKEN")).transpose()
}

/// The token in the variable that `--bearer-env` names.
fn named_token(common: &Common) -> Result<Option<String>, Failure> {
    common.bearer_env.as_deref().map(secret_variable::read).transpose()
}
