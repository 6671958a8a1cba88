//! Servers over HTTP: one process for all conversations, which ends when it is told to.

use std::cell::RefCell;
use std::io;

use mcp_proto::client::Config;
use mcp_service::{Client, HttpClientConfig};

use super::mode::Mode;
use super::observe::{Observed, both, children};
use super::process::Process;
use super::servers::{Doing, Server};
use super::serving::{Feature, Serving};
use super::steps::Steps;
use super::{Converse, Expected, Outcome, config, equal, steps};

pub(super) struct Run<D> {
    server: &'static Server,
    serving: Serving,
    process: RefCell<Process>,
    observed: Observed,
    /// True if clients ask for what a server says by itself.
    listens: bool,
    drive: D,
}

impl<D: AsyncFn(Client, HttpClientConfig) -> io::Result<()>> Run<D> {
    /// Starts the server.
    pub(super) fn start(
        server: &'static Server,
        serving: Serving,
        command: &[String],
        drive: D,
    ) -> Outcome<Self> {
        let observed = Observed::default();
        let process = RefCell::new(Process::start(command, &observed)?);
        Ok(Self { server, serving, process, observed, listens: true, drive })
    }

    /// All that a mode is about; then the server is ended.
    pub(super) async fn end(mut self, mode: &Mode) -> Outcome {
        self.listens = !matches!(mode, Mode::Deaf);
        if matches!(mode, Mode::Restarted) {
            self.outlive(mode).await?;
        } else {
            self.all(mode).await?;
        }
        self.process.into_inner().end()?;
        equal("processes left", &children()?, &vec![])?;
        self.observed.check(self.server)
    }

    /// A conversation in which the server is started anew.
    async fn outlive(&self, mode: &Mode) -> Outcome {
        let Expected::Connected(version) = mode.expected(self.server, Some(self.serving)) else {
            return Err("it is not connected".into());
        };
        let lacks = Feature::lacking(self.server, Some(self.serving), version, mode);
        let steps = async |client: &_, observed: &_| {
            let restart = || self.process.borrow_mut().restart(&self.observed);
            Steps::new(client, self.server, observed, version, &lacks).outlive(restart).await
        };
        self.converse(config(), Doing::Something, steps).await
    }
}

impl<D: AsyncFn(Client, HttpClientConfig) -> io::Result<()>> Converse for Run<D> {
    fn server(&self) -> &'static Server {
        self.server
    }

    fn serving(&self) -> Option<Serving> {
        Some(self.serving)
    }

    /// Afterwards the server is still there.
    async fn converse(
        &self,
        config: Config,
        doing: Doing,
        steps: impl AsyncFnOnce(&Client, &Observed) -> Outcome,
    ) -> Outcome {
        let client = Client::new(config);
        steps::answer(&client, &self.observed);
        let mut place = HttpClientConfig::parse(self.process.borrow().url())?;
        place.listens = self.listens;
        let (driven, outcome) = both((self.drive)(client.clone(), place), async {
            let outcome = steps(&client, &self.observed).await;
            client.close().await;
            outcome
        })
        .await;
        outcome?;
        // That there was no connection has been looked at.
        if !matches!(doing, Doing::Unopened) {
            driven?;
        }
        equal("has ended", &self.process.borrow_mut().has_ended()?, &false)
    }
}
