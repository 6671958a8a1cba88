//! `mcp resource read` and `mcp resource watch`.
//!
//! [Specification: Resources](https://modelcontextprotocol.io/specification/2026-07-28/server/resources)

use std::borrow::Cow;
use std::mem;
use std::time::Duration;

use mcp_tokio::types::{ReadResourceResult, ResourceContents, SubscriptionFilter};
use mcp_tokio::{CallError, Client, Subscription};
use serde::Serialize;
use tokio::time::{sleep, timeout};

use crate::args::Common;
use crate::ask;
use crate::call::contents;
use crate::failure::{Exit, Failure};
use crate::list::get;
use crate::more_args::{ReadArgs, WatchArgs};
use crate::print::{self, Output};
use crate::session;
use crate::target::Target;

/// The time before the next attempt to subscribe.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) async fn read(args: ReadArgs, output: Output) -> Result<Exit, Failure> {
    let (target, uri) = target(&args.words, &args.common)?;
    let client = session::client(&args.common, &target)?;
    ask::user(&client, output);
    let read = async |_| get(client.read_resource(uri), &args.common).await;
    let result = session::with(&client, target, read).await?;
    if output.is_json() {
        print::member("result", &result);
    } else {
        show(&result)?;
    }
    Ok(Exit::Fine)
}

pub(crate) async fn watch(args: WatchArgs, output: Output) -> Result<Exit, Failure> {
    let (target, uri) = target(&args.words, &args.common)?;
    let client = session::watcher(&args.common, &target)?;
    ask::user(&client, output);
    session::with(&client, target, async |_| follow(&client, uri, &args, output).await).await?;
    Ok(Exit::Fine)
}

/// Reads the resource, and reads it again after each change, up to the given number of changes. A
/// server that ends the subscription may stop: the next one is subscribed to.
async fn follow(
    client: &Client,
    uri: &str,
    args: &WatchArgs,
    output: Output,
) -> Result<(), Failure> {
    let mut subscription = subscribe(client, uri, &args.common).await?;
    let mut changes = 0;
    let mut result = get(client.read_resource(uri), &args.common).await?;
    loop {
        if output.is_json() {
            print::member("read", &ReadDocument { uri, result: &result });
        } else {
            show(&result)?;
        }
        if print::has_failed() || args.changes.is_some_and(|limit| changes >= limit) {
            return Ok(());
        }
        if subscription.changed().await.is_some() {
            print::note(&format!("{uri} has changed"));
        } else if let Some(Err(error)) = subscription.ended() {
            return Err(error.into());
        } else {
            print::note("the server has ended the subscription; subscribing again");
            subscription = subscribe_again(client, uri, &args.common).await?;
        }
        changes += 1;
        result = read_again(client, uri, &args.common).await?;
    }
}

/// Reads the resource after a change. An outage of the server, or of the network, does not end the
/// command: the client reports a change after each outage of the subscription.
async fn read_again(
    client: &Client,
    uri: &str,
    common: &Common,
) -> Result<ReadResourceResult, Failure> {
    let mut is_noted = false;
    loop {
        let failure = match get(client.read_resource(uri), common).await {
            Err(failure) if is_outage(&failure) => failure,
            done => return done,
        };
        // A closed client never reads again.
        if timeout(PAUSE, client.closed()).await.is_ok() {
            return Err(failure);
        }
        if !mem::replace(&mut is_noted, true) {
            print::note(&format!("{}; reading again", failure.message));
        }
    }
}

fn is_outage(failure: &Failure) -> bool {
    matches!(failure.exit, Exit::Connection | Exit::Timeout)
}

/// Subscribes, within the time limit.
async fn subscribe(client: &Client, uri: &str, common: &Common) -> Result<Subscription, Failure> {
    let subscription = client.subscribe(SubscriptionFilter::new().resource(uri));
    let late = |_| Err(CallError::TimedOut);
    let subscription = timeout(common.timeout, subscription).await.unwrap_or_else(late)?;
    if subscription.honoured().resource_subscriptions.is_empty() {
        return Err(Failure::new(
            Exit::Protocol,
            format!("the server does not report changes of {uri}"),
        )
        .advice("`mcp probe` shows whether a server has subscriptions at all"));
    }
    Ok(subscription)
}

/// Subscribes to the next server, once there is one. The client delays its attempts to connect.
async fn subscribe_again(
    client: &Client,
    uri: &str,
    common: &Common,
) -> Result<Subscription, Failure> {
    loop {
        sleep(PAUSE).await;
        match subscribe(client, uri, common).await {
            Err(failure) if is_outage(&failure) => {
                print::note(&format!("{}; trying again", failure.message));
            }
            done => return done,
        }
    }
}

/// A result of the resource as a document, for programs.
#[derive(Serialize)]
struct ReadDocument<'a> {
    uri: &'a str,
    result: &'a ReadResourceResult,
}

/// The server, and the URI of the resource.
fn target<'a>(words: &'a [String], common: &Common) -> Result<(Target, &'a str), Failure> {
    let (url, words) = common.split(words);
    let target = Target::new(url, common)?;
    match words {
        [uri] => Ok((target, uri)),
        [] => Err(Failure::usage("which resource? `mcp resources` lists those that there are")),
        [_, other, ..] => Err(Failure::usage(format!("{other:?} is one URI too many"))),
    }
}

/// Shows contents to people, or writes them unchanged: all of them, or nothing.
fn show(result: &ReadResourceResult) -> Result<(), Failure> {
    if !print::is_raw() {
        result.contents.iter().for_each(|part| print::text(&contents(part)));
        return Ok(());
    }
    let parts = result.contents.iter().map(bytes).collect::<Result<Vec<_>, _>>()?;
    print::bytes(&parts.concat());
    Ok(())
}

fn bytes(part: &ResourceContents) -> Result<Cow<'_, [u8]>, Failure> {
    match part {
        ResourceContents::Text(text) => Ok(text.text.as_bytes().into()),
        ResourceContents::Blob(blob) => blob.bytes().map(Cow::from).map_err(|error| {
            Failure::new(Exit::Protocol, format!("the blob of {}: {error}", blob.uri))
        }),
    }
}
