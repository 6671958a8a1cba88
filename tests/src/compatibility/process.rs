//! The cells over real pipes, for an adapter.
//!
//! In: how the adapter connects a client to a command. Out: a test for each cell. The program
//! starts itself, with an environment variable that says which server to be.

use std::env;
use std::error::Error;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use mcp_proto::Instant;
use mcp_service::{Client, Command, Drive, Stderr};

use super::{Cell, Met, ServerKind, Tell, answer};

/// Environment variable with the name of the server to run.
const SERVER: &str = "MCP_TEST_SERVER";

/// As long as a server has to be silent to be taken for a silent one. One that would answer has
/// more than enough, and the few that never do are not waited for.
const PROBE: Duration = Duration::from_secs(20);
const PROBE_OF_SILENT: Duration = Duration::from_millis(200);

/// Connects a client to a command, has [`meet`](super::meet) said, and closes the client.
pub type Connect = fn(&Client, Command) -> Met;

/// Is a server, if this process was started for that.
pub fn serve() -> Option<io::Result<()>> {
    let wanted = env::var(SERVER).ok()?;
    let kind = ServerKind::ALL.into_iter().find(|kind| wanted == format!("{kind:?}"));
    kind.map(serve_as)
}

/// The tests of one way to connect a client.
pub fn over_pipes(name: &str, connect: Connect) -> Vec<Trial> {
    let trial = |cell: Cell| {
        let name = format!("{name}::compatibility::pipes::{}", cell.name());
        Trial::test(name, move || run(cell, connect).map_err(Failed::from))
    };
    Cell::all().map(trial).collect()
}

fn run(cell: Cell, connect: Connect) -> Result<(), Box<dyn Error>> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = told.clone();
    let hear = move |line: &str| {
        hears.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    };
    let command = Command::new(env::current_exe()?)
        .env(SERVER, format!("{:?}", cell.server))
        .stderr(Stderr::lines(hear));
    let is_silent = cell.server == ServerKind::Silent;
    let probe_timeout = if is_silent { PROBE_OF_SILENT } else { PROBE };
    let mut config = cell.config();
    config.probe_timeout = probe_timeout;
    let client = Client::new(config);
    answer(&client);
    let met = connect(&client, command);
    let told = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(cell.check(&met, &told)?)
}

/// Serves on standard input and output. No handler waits for anything, so that neither a clock nor
/// a waker is needed.
fn serve_as(kind: ServerKind) -> io::Result<()> {
    let tell: Tell = Arc::new(|line| eprintln!("{line}"));
    let mut server = kind.start(&tell).map_err(io::Error::other)?;
    let (mut input, mut buffer) = (io::stdin().lock(), vec![0; 64 * 1024]);
    loop {
        write(&mut *server)?;
        if server.is_closed() {
            return Ok(());
        }
        let count = input.read(&mut buffer)?;
        let Some(data) = buffer.get(..count).filter(|data| !data.is_empty()) else {
            return Ok(());
        };
        server.handle_bytes(Instant::ZERO, data.to_vec().into());
    }
}

fn write(server: &mut dyn Drive) -> io::Result<()> {
    let mut output = io::stdout().lock();
    server.turn(Instant::ZERO, Waker::noop());
    while !server.output().is_empty() {
        let count = output.write(server.output())?;
        server.handle_written(count);
    }
    output.flush()
}
