//! Servers on stdio: one process for each conversation.

use std::io;
use std::process::ExitStatus;

use mcp_proto::client::Config;
use mcp_service::{Client, Command};

use super::observe::{Observed, both, children};
use super::servers::{Doing, Server};
use super::serving::Serving;
use super::{Converse, Outcome, equal, steps};

pub(super) struct Run<D> {
    pub(super) server: &'static Server,
    pub(super) command: Command,
    pub(super) drive: D,
}

impl<D: AsyncFn(Client, Command) -> io::Result<ExitStatus>> Converse for Run<D> {
    fn server(&self) -> &'static Server {
        self.server
    }

    fn serving(&self) -> Option<Serving> {
        None
    }

    /// Afterwards the server ends as it should, and nothing is left.
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
        observed.check(self.server)?;
        let status = status?;
        if self.server.ends_so(doing, status) {
            Ok(())
        } else {
            Err(format!("it ended with {status}").into())
        }
    }
}
