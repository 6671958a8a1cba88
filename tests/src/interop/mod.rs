//! A client of ours with the servers of the official SDKs, for the `interop` and `interop_http`
//! examples of the adapters.
//!
//! In: the words that `tests/interop/servers/install` prints about a server, a `Mode`, and how an
//! adapter runs a client. Out: `Ok` if the server was connected as its row in `servers` says, took
//! all steps, ended as it should and left nothing behind; or what was wrong.
//!
//! Nothing here knows a runtime, and nothing sleeps but while a server starts: one that never
//! answers is a run that never ends, which is for `tests/interop/servers/run` to end.

mod http;
mod mode;
mod observe;
mod process;
mod servers;
mod serving;
mod stdio;
mod steps;

use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::process::ExitStatus;

use mcp_proto::client::{Config, Verdict};
use mcp_proto::types::Implementation;
use mcp_service::{Client, Command, HttpClientConfig};

use mode::{Expected, Mode};
use observe::Observed;
use servers::{Doing, Server};
use serving::{Feature, Serving};
use steps::Steps;

/// Result of a step.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "interop NAME ERA COMMAND... -- MODE, or \
                     interop_http NAME ERA SERVING COMMAND... -- MODE; MODE is \
                     auto|legacy|VERSION|stored|stale|busy, over HTTP also restarted|deaf";

/// The program over stdio: takes its arguments as `install` prints them, then `--` and a mode.
/// `drive` runs a client with a command in a task of its own until the server has ended.
///
/// Fails with what was wrong.
pub async fn run(
    arguments: impl Iterator<Item = String>,
    drive: impl AsyncFn(Client, Command) -> io::Result<ExitStatus>,
) -> Outcome {
    let words: Vec<String> = arguments.collect();
    let [name, era, program, arguments @ .., dashes, mode] = words.as_slice() else {
        return Err(USAGE.into());
    };
    let server = find(name, era, dashes)?;
    let command = Command::new(program).args(arguments);
    stdio::Run { server, command, drive }.all(&mode.parse()?).await
}

/// The program over HTTP: takes its arguments as `install --http` prints them, then `--` and a
/// mode. `drive` runs a client over HTTP in a task of its own until it is closed.
///
/// Fails with what was wrong.
pub async fn run_http(
    arguments: impl Iterator<Item = String>,
    drive: impl AsyncFn(Client, HttpClientConfig) -> io::Result<()>,
) -> Outcome {
    let words: Vec<String> = arguments.collect();
    let [name, era, serving, command @ .., dashes, mode] = words.as_slice() else {
        return Err(USAGE.into());
    };
    let server = find(name, era, dashes)?;
    http::Run::start(server, serving.parse()?, command, drive)?.end(&mode.parse()?).await
}

fn find(name: &str, era: &str, dashes: &str) -> Outcome<&'static Server> {
    if dashes != "--" {
        return Err(USAGE.into());
    }
    Server::find(name, era).ok_or("this server is not in the table".into())
}

/// Conversations with one server, one after the other.
trait Converse {
    fn server(&self) -> &'static Server;

    /// Way in which it is served over HTTP; `None` on stdio.
    fn serving(&self) -> Option<Serving>;

    /// A conversation, after which all is as it should be.
    async fn converse(
        &self,
        config: Config,
        doing: Doing,
        steps: impl AsyncFnOnce(&Client, &Observed) -> Outcome,
    ) -> Outcome;

    /// All that a mode is about, over whatever there is.
    async fn all(&self, mode: &Mode) -> Outcome {
        let server = self.server();
        let expected = mode.expected(server, self.serving());
        let mut config = config();
        config.negotiation = mode.negotiation();
        match mode {
            Mode::Fresh(_) | Mode::Deaf => {}
            Mode::Stored => config.verdict = Some(self.verdict().await?),
            Mode::Stale => config.verdict = Some(mode::stale(server)?),
            Mode::Busy => {
                let steps =
                    async |client: &_, _: &_| steps::close_while_waiting(client, server).await;
                return self.converse(config, Doing::Something, steps).await;
            }
            Mode::Restarted => return Err("that is a mode over HTTP".into()),
        }
        match expected {
            Expected::Connected(version) => {
                let lacks = Feature::lacking(server, self.serving(), version, mode);
                let steps = async |client: &_, observed: &_| {
                    Steps::new(client, server, observed, version, &lacks).take().await
                };
                self.converse(config, server.at_the_end(), steps).await
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

    /// Verdict of a first client of the server, stored and read again.
    async fn verdict(&self) -> Outcome<Verdict> {
        let mut stored = String::new();
        self.converse(config(), self.server().at_the_end(), async |client, _| {
            client.connected().await?;
            stored = serde_json::to_string(&client.verdict().ok_or("there is no verdict")?)?;
            Ok(())
        })
        .await?;
        Ok(serde_json::from_str(&stored)?)
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
