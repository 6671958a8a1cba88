//! The application behind a client: what it does, and what it is told, by the names of a
//! transcript.

use std::collections::BTreeMap;
use std::fmt::Display;

use mcp_proto::client::{
    CallError, CallId, CallOptions, Client, ClientEvent, ConnectError, InputId, InputReply,
    SubscriptionId, Undelivered,
};
use mcp_proto::{Binding, Instant, Json, UsageError};

use super::super::play::Output;
use super::act::Act;
use super::show;

type Called = Result<CallId, UsageError>;

/// Calls, inputs and subscriptions of the application that have not ended.
#[derive(Debug, Default)]
pub(in super::super) struct Application {
    /// Calls that have had no response, by name.
    calls: BTreeMap<CallId, String>,
    /// All calls that there were.
    known: BTreeMap<String, CallId>,
    /// Inputs that nobody has given, with the calls that need them.
    inputs: BTreeMap<InputId, (String, InputReply, Option<CallId>)>,
    /// Inputs that were given, by name.
    given: BTreeMap<InputId, String>,
    /// Number of inputs so far.
    asked: usize,
    /// Subscriptions that have not ended, by name.
    subscriptions: BTreeMap<SubscriptionId, String>,
    /// All subscriptions that there were.
    known_subscriptions: BTreeMap<String, SubscriptionId>,
}

impl Application {
    pub(in super::super) fn act(
        &mut self,
        now: Instant,
        client: &mut impl Binding<Machine = Client>,
        act: Act,
        out: &mut Output,
    ) {
        match act {
            Act::Open => out.broken("the player opens the connection"),
            Act::Call { name, method, params, options } => {
                let call = client.with(now, |client| client.call(now, method, params, options));
                self.called(name, call, out);
            }
            Act::Start { name, params, options } => {
                let call = client.with(now, |client| client.start_tool(now, params, options));
                self.called(name, call, out);
            }
            Act::Follow { name, task_id, options } => {
                let call = client.with(now, |client| client.follow_task(now, task_id, options));
                self.called(name, call, out);
            }
            Act::Detach(name) => match self.known.get(&name) {
                Some(call) => {
                    let detached = client.with(now, |client| client.leave_task(now, *call));
                    refused(&name, detached.err(), out);
                }
                None => out.broken(&format!("there was no call `{name}`")),
            },
            Act::List { name, listing, options } => {
                let call = client.with(now, |client| client.list(now, listing, options));
                self.called(name, call, out);
            }
            Act::Ping { name, options } => {
                let call = client.with(now, |client| client.ping(now, options));
                self.called(name, call, out);
            }
            Act::Level { name, level } => {
                let call = client
                    .with(now, |client| client.set_log_level(now, level, CallOptions::default()));
                self.called(name, call, out);
            }
            Act::Cancel(name) => match self.known.get(&name) {
                Some(call) => {
                    let cancelled = client.with(now, |client| client.cancel(now, *call));
                    refused(&name, cancelled.err(), out);
                }
                None => out.broken(&format!("there was no call `{name}`")),
            },
            Act::Answer { input, answer } => {
                let id = self.inputs.iter().find(|(_, (name, ..))| *name == input);
                match id.map(|(id, _)| *id).and_then(|id| self.inputs.remove(&id)) {
                    Some((name, reply, _)) => {
                        self.given.insert(reply.id(), name);
                        client.with(now, |client| client.answer(now, reply, answer));
                    }
                    None => out.broken(&format!("no input `{input}` is asked for")),
                }
            }
            Act::Subscribe { name, filter } => {
                match client.with(now, |client| client.subscribe(now, filter)) {
                    Ok(subscription) => {
                        self.known_subscriptions.insert(name.clone(), subscription);
                        self.subscriptions.insert(subscription, name);
                    }
                    Err(error) => refused(&name, Some(error), out),
                }
            }
            Act::Unsubscribe(name) => match self.known_subscriptions.get(&name) {
                Some(id) => {
                    let ended = client.with(now, |client| client.unsubscribe(now, *id));
                    refused(&name, ended.err(), out);
                }
                None => out.broken(&format!("there was no subscription `{name}`")),
            },
            Act::Roots(roots) => {
                let set = client.with(now, |client| client.set_roots(now, roots));
                refused("roots", set.err(), out);
            }
            Act::Capabilities(capabilities) => {
                client.with(now, |client| client.set_capabilities(capabilities));
            }
            Act::Notify { method, params } => {
                let sent = client.with(now, |client| client.notify(now, method.clone(), params));
                refused(&method, sent.err(), out);
            }
            Act::Store => match client.machine().verdict().map(|verdict| Json::encode(&verdict)) {
                Some(Ok(verdict)) => out.push(format!("! stored {verdict}")),
                _ => out.push("! stored nothing".into()),
            },
            Act::Close => client.with(now, |client| client.close(now)),
        }
    }

    fn called(&mut self, name: String, call: Called, out: &mut Output) {
        match call {
            Ok(call) => {
                self.known.insert(name.clone(), call);
                self.calls.insert(call, name);
            }
            Err(error) => refused(&name, Some(error), out),
        }
    }

    /// An event, as a line.
    pub(in super::super) fn event(&mut self, event: ClientEvent, out: &mut Output) -> String {
        match event {
            ClientEvent::Connected(server) => show::connected(&server),
            ClientEvent::Disconnected(error) => {
                format!("! disconnected: {}", why(&CallError::Connect(error)))
            }
            ClientEvent::Reopen => "! reopen".into(),
            ClientEvent::Response { call, result } => {
                if self.inputs.values().any(|(_, _, needed_by)| *needed_by == Some(call)) {
                    out.broken("a call ended whose input is asked for");
                }
                match (self.calls.remove(&call), result) {
                    (Some(name), Ok(result)) => format!("! responded {name} {result}"),
                    (Some(name), Err(error)) => format!("! failed {name}: {}", why(&error)),
                    (None, _) => "! broken: a call has two responses".into(),
                }
            }
            ClientEvent::Progress { call, progress } => {
                show::progressed(self.call_name(call), &progress)
            }
            ClientEvent::Task { call, task } => show::task(self.call_name(call), &task),
            ClientEvent::Input(input) => {
                self.asked += 1;
                let name = format!("i{}", self.asked);
                let line = show::asked(&name, input.call.map(|call| self.call_name(call)), &input);
                self.inputs.insert(input.reply.id(), (name, input.reply, input.call));
                line
            }
            ClientEvent::InputCancelled { input } => match self.inputs.remove(&input) {
                Some((name, ..)) => format!("! ask-cancelled {name}"),
                None => "! broken: an unknown input is cancelled".into(),
            },
            ClientEvent::Log(message) => show::logged(&message),
            ClientEvent::Subscribed { subscription, honoured } => {
                let honoured = Json::encode(&honoured).unwrap_or(Json::EMPTY_OBJECT);
                format!("! subscribed {} {honoured}", self.subscription_name(subscription))
            }
            ClientEvent::Changed { subscription, change } => {
                let name = subscription.map(|subscription| self.subscription_name(subscription));
                show::changed(name, &change)
            }
            ClientEvent::SubscriptionEnded { subscription, cause } => {
                match (self.subscriptions.remove(&subscription), cause) {
                    (Some(name), Ok(())) => format!("! ended {name}"),
                    (Some(name), Err(error)) => format!("! ended {name}: {}", why(&error)),
                    (None, _) => "! broken: a subscription ended twice".into(),
                }
            }
            ClientEvent::ElicitationComplete { elicitation_id } => {
                format!("! completed {elicitation_id}")
            }
            ClientEvent::Notification { method, params } => {
                format!("! notified {method} {params}")
            }
            ClientEvent::Undelivered { message, error } => {
                let name = match message {
                    Undelivered::Notification { method } => Some(method),
                    Undelivered::Answer { input } => {
                        input.and_then(|input| self.given.get(&input)).cloned()
                    }
                    other => Some(format!("{other:?}")),
                };
                let name = name.map(|name| format!(" {name}")).unwrap_or_default();
                format!("! undelivered{name}: {}", why(&error))
            }
            ClientEvent::Unauthorized { subscription, unauthorized } => {
                let name = subscription.map(|subscription| self.subscription_name(subscription));
                let name = name.map(|name| format!(" {name}")).unwrap_or_default();
                format!("! unauthorized{name}: {}", unauthorized.status)
            }
            ClientEvent::NoStream { error } => format!("! no-stream: {}", why(&error)),
            ClientEvent::PeerFault(error) => format!("! peer-fault {error}"),
            ClientEvent::ToolRejected { tool, reason } => {
                format!("! tool-rejected {tool}: {reason}")
            }
            ClientEvent::Closed(error) => {
                let why = error.map(|error| format!(": {}", why(&CallError::Connect(error))));
                format!("! closed{}", why.unwrap_or_default())
            }
            other @ (ClientEvent::Forwarded { .. } | _) => format!("! broken: {other:?}"),
        }
    }

    fn call_name(&self, call: CallId) -> &str {
        self.calls.get(&call).map_or("an unknown call", String::as_str)
    }

    fn subscription_name(&self, subscription: SubscriptionId) -> &str {
        self.subscriptions.get(&subscription).map_or("an unknown subscription", String::as_str)
    }

    /// After the end nothing is open.
    pub(in super::super) fn check_end(&self, out: &mut Output) {
        let open: [(&dyn Display, usize); 3] = [
            (&"a call has no response", self.calls.len()),
            (&"an input is asked for", self.inputs.len()),
            (&"a subscription is open", self.subscriptions.len()),
        ];
        for (what, count) in open {
            if count > 0 {
                out.broken(&format!("{what} after the end"));
            }
        }
    }
}

pub(in super::super) fn refused(what: &str, error: Option<UsageError>, out: &mut Output) {
    if let Some(error) = error {
        out.push(format!("! refused {what}: {error}"));
    }
}

/// Why there is no result: what the error says, and the HTTP status that an error of the server
/// came with, if it is not 200.
fn why(error: &CallError) -> String {
    if let CallError::Error { error, status: Some(status) } = error
        && *status != 200
    {
        return format!("{error} [{status}]");
    }
    if let CallError::Unauthorized(unauthorized)
    | CallError::Connect(ConnectError::Unauthorized(unauthorized)) = error
    {
        let message = unauthorized.message.as_deref().map(|message| format!(": {message}"));
        return format!("unauthorized [{}]{}", unauthorized.status, message.unwrap_or_default());
    }
    error.to_string()
}
