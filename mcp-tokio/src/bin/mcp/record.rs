//! `mcp record`: a conversation in a file.
//!
//! Over standard input and output the file is a transcript in the format of `tests/transcripts`,
//! from the client's side. It includes the commands of the client; the author of a test adds the
//! client's reports. Over HTTP the file has the lines of the connections. It numbers connections,
//! as they appear outside of the client, where a transcript numbers requests.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_tokio::{Client, HttpClientConfig, ServerInfo};
use serde_json::json;

use crate::args::{Common, RecordArgs};
use crate::ask;
use crate::failure::{Exit, Failure};
use crate::list::{offered, templates};
use crate::print::{self, Output};
use crate::refusals;
use crate::session;
use crate::target::Target;

pub(crate) async fn run(args: RecordArgs, output: Output) -> Result<Exit, Failure> {
    let (url, words) = match args.words.split_first() {
        Some((url, words)) if !args.common.names_server() => (Some(url.to_string_lossy()), words),
        _ => (None, args.words.as_slice()),
    };
    let target = Target::new(url.as_deref(), &args.common)?;
    let [path] = words else {
        return Err(Failure::usage("which file?")
            .advice("it comes last: mcp record <URL> <FILE>, or mcp record <FILE> -- <COMMAND>"));
    };
    // Before there is a file: a failure leaves none.
    let client = session::client(&args.common, &target)?;
    ask::decline(&client);
    let file = Transcript::create(path, args.force, &target).map_err(|error| {
        let name = path.display();
        if error.kind() == io::ErrorKind::AlreadyExists {
            return Failure::usage(format!("{name} is there already"))
                .advice("--force writes over it");
        }
        Failure::usage(format!("{name} cannot be written: {error}"))
    })?;

    let (lines, masks) = (file.clone(), HeaderMasks::new(&target));
    client.on_wire(move |line| {
        refusals::read(line);
        lines.write(&masks.masked(line));
    });
    let done = session::with(&client, target, async |server| {
        all(&client, &server, &file, &args.common).await
    });
    let done = done.await;
    // The conversation up to a failure is kept.
    let count = file.finish();
    done?;
    let count = count.map_err(|error| {
        Failure::usage(format!("{} cannot be written: {error}", path.display()))
    })?;

    if output.is_json() {
        print::document(&json!({ "file": path.to_string_lossy(), "lines": count }));
    } else {
        print::text(&format!("{count} lines in {}", path.display()));
    }
    Ok(Exit::Fine)
}

/// Requests all lists that the server offers, one after the other.
async fn all(
    client: &Client,
    server: &ServerInfo,
    file: &Transcript,
    common: &Common,
) -> Result<(), Failure> {
    let has = &server.capabilities;
    let tools = || {
        file.act("! list tools tools");
        client.list_tools()
    };
    offered(server, has.tools.is_some(), tools, common).await?;
    let resources = || {
        file.act("! list resources resources");
        client.list_resources()
    };
    if offered(server, has.resources.is_some(), resources, common).await?.is_some() {
        file.act("! list templates templates");
        templates(client, common).await?;
    }
    let prompts = || {
        file.act("! list prompts prompts");
        client.list_prompts()
    };
    offered(server, has.prompts.is_some(), prompts, common).await?;
    file.act("! close");
    Ok(())
}

/// The headers of the command line and of a file of servers: most of them are credentials.
struct HeaderMasks(Option<Box<HttpClientConfig>>);

impl HeaderMasks {
    fn new(target: &Target) -> Self {
        Self(match target {
            Target::Http(config) => Some(config.clone()),
            Target::Command(_) => None,
        })
    }

    /// The line, without the value of such a header.
    fn masked<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let header = |config: &HttpClientConfig| {
            let (start, _) = line.split_once(':')?;
            let (_, name) = start.split_once("> ")?;
            config.has_field(name).then(|| format!("{start}: ***").into())
        };
        self.0.as_deref().and_then(header).unwrap_or(line.into())
    }
}

/// The file, shared with the client's thread.
#[derive(Clone)]
struct Transcript {
    lines: Arc<Mutex<Lines>>,
    /// True if the commands of the client are recorded.
    has_acts: bool,
}

struct Lines {
    file: BufWriter<File>,
    count: usize,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
}

impl Transcript {
    /// Fails if the file exists, unless `force` is set.
    fn create(path: &Path, force: bool, target: &Target) -> io::Result<Self> {
        let file = if force { File::create(path) } else { File::create_new(path) };
        let mut file = BufWriter::new(file?);
        let name = target.name();
        let has_acts = matches!(target, Target::Command(_));
        if has_acts {
            writeln!(file, "# What {name} says to a client that asks for all lists.")?;
            writeln!(file, "= role client\n")?;
        } else {
            writeln!(
                file,
                "# What {name} says to a client that asks for all lists, as it was on the"
            )?;
            writeln!(
                file,
                "# connections: 1> and 1< are the lines of the client and of the server on the first.\n"
            )?;
        }
        let lines = Lines { file, count: 0, failed: None };
        Ok(Self { lines: Arc::new(Mutex::new(lines)), has_acts })
    }

    /// Writes a command of the client, if commands are recorded.
    fn act(&self, line: &str) {
        if self.has_acts {
            self.write(line);
        }
    }

    fn write(&self, line: &str) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.failed.is_none() {
            lines.failed = writeln!(lines.file, "{line}").err();
            lines.count += 1;
        }
    }

    /// Flushes the file. Returns the number of lines.
    fn finish(&self) -> io::Result<usize> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.failed.take() {
            Some(error) => Err(error),
            None => lines.file.flush().map(|()| lines.count),
        }
    }
}
