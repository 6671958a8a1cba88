//! A client of ours with the servers of the official SDKs, for the `interop` examples of the
//! adapters.
//!
//! In: the words that `tests/interop/servers/install` prints about a server, a `Mode`, and how an
//! adapter runs a client with a command. Out: `Ok` if the server was connected as its row in
//! `servers` says, took all steps, ended as it should and left nothing behind; or what was wrong.
//!
//! Nothing here knows a runtime, and nothing sleeps: a server that never answers is a run that
//! never ends, which is for `tests/interop/servers/run` to end.

mod mode;
mod observe;
mod servers;
mod steps;

use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::process::ExitStatus;

use mcp_proto::client::{Config, Verdict};
use mcp_proto::service::{Client, Command};
use mcp_proto::types::Implementation;

use mode::{Expected, Mode};
use observe::{Observed, both, children};
use servers::{Doing, Server};
use steps::Steps;

/// What a step comes to.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "interop NAME ERA COMMAND... -- \
                     auto|legacy|VERSION|stored|stale|busy";

/// The program: takes its arguments as `install` prints them, then `--` and a mode. `drive` runs
/// a client with a command in a task of its own until the server has ended.
pub async fn run(
    arguments: impl Iterator<Item = String>,
    drive: impl AsyncFn(Client, Command) -> io::Result<ExitStatus>,
) -> Outcome {
    let words: Vec<String> = arguments.collect();
    let [name, era, program, arguments @ .., dashes, mode] = words.as_slice() else {
        return Err(USAGE.into());
    };
    if dashes != "--" {
        return Err(USAGE.into());
    }
    let server = Server::find(name, era).ok_or("this server is not in the table")?;
    let command = Command::new(program).args(arguments);
    Run { server, command, drive }.all(&mode.parse()?).await
}

/// Conversations with one server.
struct Run<D> {
    server: &'static Server,
    command: Command,
    drive: D,
}

impl<D: AsyncFn(Client, Command) -> io::Result<ExitStatus>> Run<D> {
    async fn all(&self, mode: &Mode) -> Outcome {
        let expected = mode.expected(self.server);
        let mut config = config();
        config.negotiation = mode.negotiation();
        match mode {
            Mode::Fresh(_) => {}
            Mode::Stored => config.verdict = Some(self.verdict().await?),
            Mode::Stale => config.verdict = Some(mode::stale(self.server)?),
            Mode::Busy => {
                let steps =
                    async |client: &_, _: &_| steps::close_while_waiting(client, self.server).await;
                return self.converse(config, Doing::Something, steps).await;
            }
        }
        match expected {
            Expected::Connected(_) => {
                let steps = async |client: &_, observed: &_| {
                    Steps::new(client, self.server, observed, expected).take().await
                };
                self.converse(config, self.server.at_the_end(), steps).await
            }
            Expected::Fails(is_right) => {
                let steps = async |client: &Client, _: &_| match client.connected().await {
                    Err(error) if is_right(&error) => Ok(()),
                    other => Err(format!("connected as {other:?}").into()),
                };
                self.converse(config, Doing::Unopened, steps).await
            }
        }
    }

    /// What a first client of the server finds out, stored and read again.
    async fn verdict(&self) -> Outcome<Verdict> {
        let mut stored = String::new();
        self.converse(config(), self.server.at_the_end(), async |client, _| {
            client.connected().await?;
            stored = serde_json::to_string(&client.verdict().ok_or("there is no verdict")?)?;
            Ok(())
        })
        .await?;
        Ok(serde_json::from_str(&stored)?)
    }

    /// A conversation, after which the server ends as it should and nothing is left.
    async fn converse(
        &self,
        config: Config,
        doing: Doing,
        steps: impl AsyncFnOnce(&Client, &Observed) -> Outcome,
    ) -> Outcome {
        let observed = Observed::default();
        let client = Client::new(config);
        steps::answer(&client, &observed);
        let command = self.command.clone().stderr(observed.stderr());
        let (status, outcome) = both((self.drive)(client.clone(), command), async {
            let outcome = steps(&client, &observed).await;
            client.close().await;
            outcome
        })
        .await;
        outcome?;
        equal("processes left", &children()?, &vec![])?;
        equal("faults", &observed.faults(), &vec![])?;
        let unexpected = observed.unexpected(self.server);
        equal("on standard error", &unexpected, &vec![])?;
        let status = status?;
        if self.server.ends_so(doing, status) {
            Ok(())
        } else {
            Err(format!("it ended with {status}").into())
        }
    }
}

fn config() -> Config {
    Config::new(Implementation::new("interop", env!("CARGO_PKG_VERSION")))
}

/// Fails unless both are the same.
fn equal<T: PartialEq + Debug>(what: &str, is: &T, should: &T) -> Outcome {
    if is == should {
        return Ok(());
    }
    Err(format!("{what}: {is:?}, should be {should:?}").into())
}
