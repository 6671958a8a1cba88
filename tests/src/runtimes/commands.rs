//! Clients of servers in processes of their own, which are scripts for `/bin/sh` here.
//!
//! Nothing here sleeps: each wait is for a line that a server writes, or for its end.

use std::future::{Future, poll_fn};
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::{env, fs, io, process};

use libtest_mimic::{Failed, Trial};
use mcp_proto::client::{CallError, Config, ConnectError, Restart};
use mcp_proto::types::Implementation;
use mcp_proto::{Duration, UsageError};
use mcp_service::{Client, CloseCause, Command, ConnectFailure, Stderr};

use super::Suite;
use crate::http::Check;
use crate::http_client::{Connecting, Running};
use crate::process::SERVER;

type Named = (&'static str, fn(Suite) -> Check);

const CHECKS: &[Named] = &[
    ("a_program_that_does_not_serve_is_named", a_program_that_does_not_serve_is_named),
    ("client_that_was_driven_starts_no_server", client_that_was_driven_starts_no_server),
    (
        "second_hour_09_the_exit_of_a_server_is_reported",
        second_hour_09_the_exit_of_a_server_is_reported,
    ),
    ("second_hour_09_a_closed_client_says_so", second_hour_09_a_closed_client_says_so),
    (
        "second_hour_09_a_server_is_started_again_with_the_next_call",
        second_hour_09_a_server_is_started_again_with_the_next_call,
    ),
    (
        "second_hour_09_a_server_that_cannot_be_started_again_fails_the_call",
        second_hour_09_a_server_that_cannot_be_started_again_fails_the_call,
    ),
    ("calls_fail_while_an_ended_server_exits", calls_fail_while_an_ended_server_exits),
    (
        "close_while_an_ended_server_exits_starts_none",
        close_while_an_ended_server_exits_starts_none,
    ),
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
    let closed = client.closed();
    let error = (suite.connect_command)(client, command).err().ok_or("it is connected")?;
    let unreached = error.get_ref().and_then(|inner| inner.downcast_ref::<ConnectFailure>());
    let unreached = unreached.ok_or_else(|| error.to_string())?;
    assert_eq!(unreached.error, ConnectError::Closed);
    assert_eq!(unreached.exit.and_then(|exit| exit.code()), Some(3));
    let text = "sh: the connection has ended before the server was known (exit status: 3)";
    assert_eq!(error.to_string(), text);
    let mut closed = pin!(closed);
    let closed = closed.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(closed) = closed else { return Err("it is not closed".into()) };
    assert_eq!(closed.cause, CloseCause::Connect(ConnectError::Closed));
    assert_eq!(closed.exit.and_then(|exit| exit.code()), Some(3));
    Ok(())
}

fn client_that_was_driven_starts_no_server(suite: Suite) -> Check {
    let client = client();
    let ends = Command::new("sh").args(["-c", "exit 3"]);
    (suite.connect_command)(client.clone(), ends).err().ok_or("it is connected")?;
    let missing = Command::new("/nowhere/mcp-server");
    let error = (suite.connect_command)(client, missing).err().ok_or("it is connected")?;
    let usage = error.get_ref().and_then(|inner| inner.downcast_ref::<UsageError>());
    assert_eq!(usage, Some(&UsageError::AlreadyConnected), "{error}");
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

fn second_hour_09_the_exit_of_a_server_is_reported(suite: Suite) -> Check {
    let (pid, pids) = mpsc::channel();
    let stderr = Stderr::lines(move |line| drop(pid.send(line.to_owned())));
    let client = client();
    let waiters = [client.closed(), client.closed()];
    let given = client.clone();
    let script = move |connecting: Connecting| {
        let said = async move {
            connecting.await?;
            let pid = received(&pids).await?;
            process::Command::new("kill").args(["-KILL", &pid]).status()?;
            for closed in waiters {
                let closed = closed.await;
                assert_eq!(closed.cause, CloseCause::Ended);
                assert_eq!(closed.exit.and_then(|exit| exit.signal()), Some(9), "{closed}");
            }
            // Later it is still known.
            assert_eq!(given.closed().await.cause, CloseCause::Ended);
            assert!(given.list_tools().await.is_err(), "there is no server");
            Ok(())
        };
        Box::pin(said) as Running
    };
    (suite.with_command)(client, server(suite)?.stderr(stderr), Box::new(script))
}

fn second_hour_09_a_closed_client_says_so(suite: Suite) -> Check {
    let client = client();
    let given = client.clone();
    let script = move |connecting: Connecting| {
        let said = async move {
            connecting.await?;
            given.close().await;
            let closed = given.closed().await;
            assert_eq!(closed.cause, CloseCause::Requested);
            assert_eq!(closed.exit.and_then(|exit| exit.code()), Some(0), "{closed}");
            Ok(())
        };
        Box::pin(said) as Running
    };
    (suite.with_command)(client, server(suite)?.stderr(Stderr::Null), Box::new(script))
}

fn second_hour_09_a_server_is_started_again_with_the_next_call(suite: Suite) -> Check {
    let (pid, pids) = mpsc::channel();
    let stderr = Stderr::lines(move |line| drop(pid.send(line.to_owned())));
    let client = restarting();
    let lost = Event::default();
    let loses = lost.clone();
    client.on_disconnect(move |_| loses.notify());
    let given = client.clone();
    let script = move |connecting: Connecting| {
        let said = async move {
            connecting.await?;
            let first = received(&pids).await?;
            process::Command::new("kill").args(["-KILL", &first]).status()?;
            poll_fn(|context| lost.poll(context)).await;
            assert!(!given.list_tools().await?.tools.is_empty());
            let second = received(&pids).await?;
            assert_ne!(first, second);
            // The first one is not left behind as a zombie either.
            let kill = process::Command::new("kill").args(["-0", &first]).output()?;
            assert!(!kill.status.success(), "the first server is not reaped");
            given.close().await;
            let closed = given.closed().await;
            assert_eq!(closed.cause, CloseCause::Requested);
            assert_eq!(closed.exit.and_then(|exit| exit.code()), Some(0), "{closed}");
            Ok(())
        };
        Box::pin(said) as Running
    };
    (suite.with_command)(client, server(suite)?.stderr(stderr), Box::new(script))
}

fn calls_fail_while_an_ended_server_exits(suite: Suite) -> Check {
    let script = |client: Client, _| async move {
        let closed = client.closed();
        // The first call notices the end; the second one comes after it.
        for _ in 0..2 {
            assert_eq!(client.list_tools().await.err(), Some(CallError::Closed));
        }
        assert!(is_pending(closed), "the server has exited already");
        Ok(())
    };
    with_slow_exit(suite, client(), script)
}

fn close_while_an_ended_server_exits_starts_none(suite: Suite) -> Check {
    let client =
        Client::new(Config::new(Implementation::new("test", "1")).restart(Restart::Always));
    let lost = Event::default();
    let loses = lost.clone();
    client.on_disconnect(move |_| loses.notify());
    let script = |client: Client, pids: mpsc::Receiver<String>| async move {
        poll_fn(|context| lost.poll(context)).await;
        client.close().await;
        assert!(pids.try_recv().is_err(), "another server was started");
        Ok(())
    };
    with_slow_exit(suite, client, script)
}

/// Kills a server whose launcher closes its output then, and ignores SIGTERM; runs a script
/// meanwhile.
fn with_slow_exit<F>(
    suite: Suite,
    client: Client,
    script: impl FnOnce(Client, mpsc::Receiver<String>) -> F + 'static,
) -> Check
where
    F: Future<Output = Check> + 'static,
{
    const LAUNCHER: &str = r#"
        trap '' TERM
        sh -c 'echo $$ >&2; exec "$0"' "$0"
        exec sleep 100 >&-
    "#;
    let (pid, pids) = mpsc::channel();
    // The shell may write that the server was killed.
    let is_pid = |line: &str| line.parse::<u32>().is_ok();
    let stderr = Stderr::lines(move |line| {
        if is_pid(line) {
            pid.send(line.to_owned()).unwrap_or_default();
        }
    });
    let command = Command::new("sh").args(["-c", LAUNCHER]).arg(env::current_exe()?);
    let command = command.env(SERVER, suite.name).stderr(stderr).grace(Duration::from_millis(300));
    let given = client.clone();
    let script = move |connecting: Connecting| {
        let said = async move {
            connecting.await?;
            process::Command::new("kill").args(["-KILL", &received(&pids).await?]).status()?;
            script(given, pids).await
        };
        Box::pin(said) as Running
    };
    (suite.with_command)(client, command, Box::new(script))
}

fn is_pending(future: impl Future) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

/// The next value, without blocking: on a runtime of one thread its sender is another task.
async fn received<T>(values: &mpsc::Receiver<T>) -> Result<T, mpsc::TryRecvError> {
    poll_fn(|context| match values.try_recv() {
        Err(mpsc::TryRecvError::Empty) => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        received => Poll::Ready(received),
    })
    .await
}

fn second_hour_09_a_server_that_cannot_be_started_again_fails_the_call(suite: Suite) -> Check {
    let folder = env::temp_dir().join(format!("mcp-restart-{}-{}", suite.name, process::id()));
    fs::create_dir(&folder)?;
    let client = restarting();
    let lost = Event::default();
    let loses = lost.clone();
    client.on_disconnect(move |_| loses.notify());
    let (pid, pids) = mpsc::channel();
    let stderr = Stderr::lines(move |line| drop(pid.send(line.to_owned())));
    let command = server(suite)?.stderr(stderr).current_dir(&folder);
    let given = client.clone();
    let script = move |connecting: Connecting| {
        let said = async move {
            connecting.await?;
            fs::remove_dir(&folder)?;
            process::Command::new("kill").args(["-KILL", &received(&pids).await?]).status()?;
            poll_fn(|context| lost.poll(context)).await;
            let error = given.list_tools().await.err().ok_or("it was started")?;
            assert_eq!(error, CallError::Connect(ConnectError::Closed));
            given.close().await;
            assert_eq!(given.closed().await.cause, CloseCause::Requested);
            Ok(())
        };
        Box::pin(said) as Running
    };
    (suite.with_command)(client, command, Box::new(script))
}

/// A client whose server is started again with the next call.
fn restarting() -> Client {
    Client::new(Config::new(Implementation::new("test", "1")).restart(Restart::OnCall))
}

/// This program as a server, which first writes its process id to stderr.
fn server(suite: Suite) -> io::Result<Command> {
    let command = Command::new("sh").args(["-c", "echo $$ >&2; exec \"$0\""]);
    Ok(command.arg(env::current_exe()?).env(SERVER, suite.name))
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
