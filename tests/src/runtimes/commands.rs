//! Clients of servers in processes of their own, which are scripts for `/bin/sh` here.
//!
//! Nothing here sleeps: each wait is for a line that a server writes, or for its end.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use libtest_mimic::{Failed, Trial};
use mcp_proto::client::ConnectError;
use mcp_proto::service::{Client, Command, Stderr, Unreached};
use mcp_proto::types::Implementation;

use super::Suite;
use crate::http::Check;
use crate::http_client::{Connecting, Running};

type Named = (&'static str, fn(Suite) -> Check);

const CHECKS: &[Named] = &[
    ("a_program_that_does_not_serve_is_named", a_program_that_does_not_serve_is_named),
    (
        "second_hour_24_a_dropped_connect_kills_the_server",
        second_hour_24_a_dropped_connect_kills_the_server,
    ),
];

pub(super) fn trials(suite: Suite) -> Vec<Trial> {
    let trial = |(name, check): &Named| {
        let (name, check) = (format!("{}::commands::{name}", suite.name), *check);
        Trial::test(name, move || check(suite).map_err(Failed::from))
    };
    CHECKS.iter().map(trial).collect()
}

fn a_program_that_does_not_serve_is_named(suite: Suite) -> Check {
    let client = client();
    let command = Command::new("sh").args(["-c", "exit 3", "secret"]);
    let error = (suite.connect_command)(client, command).err().ok_or("it is connected")?;
    let unreached = error.get_ref().and_then(|inner| inner.downcast_ref::<Unreached>());
    let unreached = unreached.ok_or_else(|| error.to_string())?;
    assert_eq!(unreached.error, ConnectError::Closed);
    assert_eq!(unreached.exit.and_then(|exit| exit.code()), Some(3));
    let text = "sh: the connection has ended before the server was known (exit status: 3)";
    assert_eq!(error.to_string(), text);
    Ok(())
}

fn second_hour_24_a_dropped_connect_kills_the_server(suite: Suite) -> Check {
    let (begun, gone) = (Event::default(), Event::default());
    // The function is dropped at the end of the pipe, which the server and its child share.
    let (begins, ends) = (begun.clone(), OnDrop(gone.clone()));
    let stderr = Stderr::lines(move |_| {
        let _ = &ends;
        begins.notify();
    });
    let command = Command::new("sh").args(["-c", "sleep 100 & echo begun >&2; wait"]);
    let script = |mut connecting: Connecting| {
        let said = async move {
            poll_fn(|context| {
                assert!(connecting.as_mut().poll(context).is_pending(), "it is no server");
                begun.poll(context)
            })
            .await;
            drop(connecting);
            poll_fn(|context| gone.poll(context)).await;
            Ok(())
        };
        Box::pin(said) as Running
    };
    (suite.with_command)(client(), command.stderr(stderr), Box::new(script))
}

fn client() -> Client {
    Client::new(Implementation::new("test", "1"))
}

/// Something that happens once.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn notify(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 = Some(context.waker().clone());
        if state.0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// An event that happens when this is dropped.
struct OnDrop(Event);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify();
    }
}
