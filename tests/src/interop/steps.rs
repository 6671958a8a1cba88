//! Steps of a client's conversation with a server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_proto::client::{CallError, Change, List, Progress, ServerInfo};
use mcp_proto::types::{
    CallToolResult, ContentBlock, ElicitAction, ElicitResult, ResourceContents, Root,
    SubscriptionFilter,
};
use mcp_proto::{Json, ProtocolVersion};
use mcp_service::{Client, Subscription};
use serde_json::json;

use super::observe::{Observed, meanwhile};
use super::servers::{NOT_FOUND, Offers, Server};
use super::serving::Feature;
use super::{Outcome, equal};

/// Long enough for a server to have begun with a call.
const SHORT: Duration = Duration::from_millis(300);

/// A conversation.
pub(super) struct Steps<'a> {
    client: &'a Client,
    server: &'static Server,
    offers: &'static Offers,
    observed: &'a Observed,
    version: ProtocolVersion,
    lacks: &'a [Feature],
}

/// Sets what a client gives to servers and what it hears of them.
pub(super) fn answer(client: &Client, observed: &Observed) {
    // It is a file URI.
    let _ = client.set_roots(vec![Root::new("file:///interop")]);
    let seen = observed.clone();
    client.on_form(move |form| {
        let accepts = seen.form(form.message);
        async move {
            if !accepts {
                return Ok(ElicitResult::new(ElicitAction::Decline));
            }
            let content = Json::encode(&json!({ "name": "Ada" }));
            content.map(ElicitResult::accept).map_err(|_| mcp_proto::ErrorData::internal("no JSON"))
        }
    });
    let seen = observed.clone();
    client.on_change(move |change| seen.change(change));
    let seen = observed.clone();
    client.on_fault(move |fault| seen.fault(fault));
}

/// Closes while a call runs.
pub(super) async fn close_while_waiting(client: &Client, server: &Server) -> Outcome {
    client.connected().await?;
    let (tool, arguments) = server.offers.wait;
    let waiting = client.call_tool(tool, &Json::parse(arguments)?);
    let closing = async {
        client.call_tool(server.offers.echo, &json!({ "message": "hello" })).await?;
        client.close().await;
        std::future::pending::<Outcome>().await
    };
    match meanwhile(waiting, closing).await {
        Err(Err(CallError::Closed | CallError::Interrupted)) => Ok(()),
        Err(other) => Err(format!("the call came to {other:?}").into()),
        Ok(outcome) => outcome,
    }
}

impl<'a> Steps<'a> {
    pub(super) fn new(
        client: &'a Client,
        server: &'static Server,
        observed: &'a Observed,
        version: ProtocolVersion,
        lacks: &'a [Feature],
    ) -> Self {
        Self { client, server, offers: server.offers, observed, version, lacks }
    }

    fn has(&self, feature: Feature) -> bool {
        !self.lacks.contains(&feature)
    }

    pub(super) async fn take(&self) -> Outcome {
        step("connect", self.connect()).await?;
        step("server", async { self.check_server() }).await?;
        step("list tools", self.list_tools()).await?;
        step("echo", self.echo()).await?;
        step("progress", self.progress()).await?;
        step("resource", self.resource()).await?;
        step("prompt", self.prompt()).await?;
        if self.has(Feature::Input) {
            step("ask", self.ask()).await?;
        }
        step("cancel", self.cancel()).await?;
        step("time out", self.time_out()).await?;
        if self.has(Feature::Changes) {
            step("subscribe", self.subscribe()).await?;
        } else {
            step("touch", self.touch()).await?;
            step("see the touch", self.check_touch()).await?;
        }
        step("error", self.error()).await
    }

    /// Steps between which `restart` starts the server anew: a call that runs comes to an error,
    /// and whoever wants to know of changes is told of those that come after.
    pub(super) async fn outlive(&self, restart: impl FnOnce() -> Outcome) -> Outcome {
        step("connect", self.connect()).await?;
        let mut subscription =
            if self.has(Feature::Changes) { Some(self.listen().await?) } else { None };
        let (tool, arguments) = self.offers.wait;
        let waiting = self.client.call_tool(tool, &Json::parse(arguments)?);
        let restarting = async {
            self.echo().await?;
            restart()?;
            std::future::pending::<Outcome>().await
        };
        match meanwhile(waiting, restarting).await {
            Err(Err(CallError::Connection(_) | CallError::SessionExpired)) => {}
            Err(Err(error)) if self.is_stuck(&error) => {}
            Err(other) => return Err(format!("the call came to {other:?}").into()),
            Ok(outcome) => return outcome,
        }
        match self.client.call_tool(self.offers.echo, &json!({ "message": "hello" })).await {
            // If it fails, it is the one that finds out.
            Ok(_) | Err(CallError::SessionExpired) => {}
            Err(error) if self.is_stuck(&error) => return Ok(()),
            Err(other) => return Err(format!("a call came to {other:?}").into()),
        }
        step("echo", self.echo()).await?;
        if let Some(subscription) = &mut subscription {
            // It takes a while until the server hears of the subscription again.
            let touching = async {
                loop {
                    self.touch().await?;
                    self.progress().await?;
                }
            };
            let heard = step("hear of a touch", self.hear_of_touch(subscription));
            match meanwhile(touching, heard).await {
                Ok(heard) => heard?,
                Err(failed) => return failed,
            }
        }
        step("error", self.error()).await
    }

    /// Returns whether a server refuses a session that it does not know in a way that no client
    /// understands.
    fn is_stuck(&self, error: &CallError) -> bool {
        let unknown = self.server.unknown_session;
        let is_of_it = if let CallError::Unauthorized(unauthorized) = error {
            unauthorized.status == unknown
        } else {
            matches!(error, CallError::Error { status: Some(status), .. } | CallError::Http { status }
                if *status == unknown)
        };
        unknown != NOT_FOUND && is_of_it
    }

    /// A verdict that was stored is tried by the first call, and what comes after that knows.
    async fn connect(&self) -> Outcome {
        self.client.connected().await?;
        self.client.list_prompts().await?;
        Ok(self.client.ping().await?)
    }

    async fn list_tools(&self) -> Outcome {
        let names = self.tool_names().await?;
        let has = |name: &&str| names.iter().any(|listed| listed == name);
        let Offers { tools, echo, ask, touch, .. } = self.offers;
        // Some are listed only for a client that gives input.
        let ask = self.has(Feature::Input).then_some(ask);
        for tool in [echo, touch].into_iter().chain(ask).chain(*tools) {
            equal(tool, &has(tool), &true)?;
        }
        if !tools.is_empty() {
            equal("tools", &names.len(), &tools.len())?;
        }
        Ok(())
    }

    fn check_server(&self) -> Outcome {
        let ServerInfo { version, implementation, .. } =
            self.client.server().ok_or("it is not known")?;
        equal("version", &version, &self.version)?;
        let name = implementation.map(|implementation| implementation.name);
        equal("name", &name.as_deref(), &Some(self.server.name))?;
        equal("verdict", &self.client.verdict().map(|verdict| verdict.version), &Some(version))
    }

    async fn echo(&self) -> Outcome {
        let message = "hello, \u{1f30d}\n";
        let said = self.call(self.offers.echo, &json!({ "message": message })).await?;
        equal("said", &said, &format!("{}{message}", self.offers.echoes))
    }

    async fn progress(&self) -> Outcome {
        let (tool, arguments) = self.offers.progress;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        let call = self.client.call_tool(tool, &Json::parse(arguments)?);
        let call = call.on_progress(move |Progress { progress, total, .. }| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push((progress, total));
        });
        text(&call.await?)?;
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let all = vec![(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))];
        equal("progress", &seen, &if self.has(Feature::Progress) { all } else { vec![] })
    }

    async fn resource(&self) -> Outcome {
        let resources = self.client.list_resources().await?.resources;
        equal("is listed", &resources.is_empty(), &false)?;
        self.client.list_resource_templates().await?;
        self.check_resource(self.offers.holds[0]).await
    }

    async fn prompt(&self) -> Outcome {
        let (name, arguments) = self.offers.prompt;
        let prompts = self.client.list_prompts().await?.prompts;
        equal("is listed", &prompts.iter().any(|prompt| prompt.name == name), &true)?;
        let prompt = self.client.get_prompt(name, &Json::parse(arguments)?).await?;
        let said: Outcome<Vec<_>> =
            prompt.messages.iter().map(|message| block(&message.content)).collect();
        equal("said", &said?, &vec![self.offers.says])
    }

    async fn ask(&self) -> Outcome {
        let [question, accepted, declined] = self.offers.asks;
        for (accepts, answer) in [(true, accepted), (false, declined)] {
            self.observed.accept_forms(accepts);
            let said = self.call(self.offers.ask, &json!({})).await?;
            contains(&said, answer)?;
            equal("forms", &self.observed.take_forms(), &vec![question.to_owned()])?;
        }
        Ok(())
    }

    async fn cancel(&self) -> Outcome {
        let (tool, arguments) = self.offers.wait;
        let waiting = self.client.call_tool(tool, &Json::parse(arguments)?).on_progress(|_| ());
        // The call has begun when one after it was answered.
        match meanwhile(waiting, self.echo()).await {
            Ok(echoed) => echoed?,
            Err(early) => return Err(format!("it came to {early:?}").into()),
        }
        self.cancelled(1).await;
        self.echo().await
    }

    async fn time_out(&self) -> Outcome {
        let (tool, arguments) = self.offers.wait;
        let call = self.client.call_tool(tool, &Json::parse(arguments)?).timeout(SHORT);
        equal("it", &call.await.err(), &Some(CallError::TimedOut))?;
        self.cancelled(2).await;
        self.echo().await
    }

    /// Waits until the server has heard as often that a call is cancelled, if it does.
    async fn cancelled(&self, times: usize) {
        if self.server.cancels && self.has(Feature::Cancellation) {
            self.observed.cancelled(times).await;
        }
    }

    async fn subscribe(&self) -> Outcome {
        let mut subscription = self.listen().await?;
        step("touch", self.touch()).await?;
        self.hear_of_touch(&mut subscription).await?;
        self.check_touch().await?;

        drop(subscription);
        let updated = Change::ResourceUpdated(self.offers.resource.to_owned());
        let before = self.observed.count(&updated);
        step("touch again", self.touch()).await?;
        self.echo().await?;
        equal("updates after the end", &self.observed.count(&updated), &before)
    }

    async fn listen(&self) -> Outcome<Subscription> {
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = true;
        filter.resource_subscriptions.push(self.offers.resource.to_owned());
        let subscription = self.client.subscribe(filter.clone()).await?;
        equal("honoured", subscription.honoured(), &filter)?;
        Ok(subscription)
    }

    async fn hear_of_touch(&self, subscription: &mut Subscription) -> Outcome {
        let Offers { touched, resource, .. } = *self.offers;
        let mut expected = vec![Change::ResourceUpdated(resource.to_owned())];
        expected.extend(touched.map(|_| Change::ListChanged(List::Tools)));
        while !expected.is_empty() {
            eprintln!("waits for {expected:?}");
            let change = subscription.changed().await.ok_or("it has ended")?;
            expected.retain(|expected| *expected != change);
        }
        Ok(())
    }

    async fn check_touch(&self) -> Outcome {
        let Offers { touched, holds, .. } = *self.offers;
        self.check_resource(holds[1]).await?;
        if let Some(touched) = touched {
            let is_there = self.tool_names().await?.iter().any(|name| name == touched);
            equal(touched, &is_there, &true)?;
        }
        Ok(())
    }

    async fn touch(&self) -> Outcome {
        self.call(self.offers.touch, &json!({})).await.map(drop)
    }

    async fn error(&self) -> Outcome {
        match self.client.read_resource("test://nothing").await {
            Err(CallError::Error { .. }) => Ok(()),
            other => Err(format!("it came to {other:?}").into()),
        }
    }

    async fn tool_names(&self) -> Outcome<Vec<String>> {
        let tools = self.client.list_tools().await?.tools;
        Ok(tools.into_iter().map(|tool| tool.name).collect())
    }

    async fn check_resource(&self, holds: &str) -> Outcome {
        let contents = self.client.read_resource(self.offers.resource).await?.contents;
        let [ResourceContents::Text(contents)] = contents.as_slice() else {
            return Err(format!("it holds {contents:?}").into());
        };
        equal("uri", &contents.uri.as_str(), &self.offers.resource)?;
        contains(&contents.text, holds)
    }

    async fn call(&self, tool: &str, arguments: &serde_json::Value) -> Outcome<String> {
        text(&self.client.call_tool(tool, arguments).await?)
    }
}

/// A step that says its name if it fails.
async fn step(name: &str, step: impl Future<Output = Outcome>) -> Outcome {
    eprintln!("{name}");
    step.await.map_err(|error| format!("{name}: {error}").into())
}

/// All text of a result, which must not be an error.
fn text(result: &CallToolResult) -> Outcome<String> {
    equal("is an error", &result.is_error, &false)?;
    result.content.iter().map(block).collect()
}

fn block(block: &ContentBlock) -> Outcome<&str> {
    let ContentBlock::Text(content) = block else { return Err(format!("it is {block:?}").into()) };
    Ok(&content.text)
}

fn contains(text: &str, part: &str) -> Outcome {
    if text.contains(part) { Ok(()) } else { Err(format!("{text:?} has no {part:?}").into()) }
}
