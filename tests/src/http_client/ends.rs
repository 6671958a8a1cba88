//! Checks of ends, in time or early: of calls, connections, sessions and clients.

use std::future::{Future, poll_fn};
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use mcp_proto::client::CallError;
use mcp_proto::types::CallToolResult;
use serde_json::json;

use super::calls::text;
use super::{ALL, ASKING, ERAS, LEGACY, MODERN, Named, Proxy, Site};
use crate::http::{Check, Stop};

/// As long as a check has.
const LONG: Duration = Duration::from_secs(30);
/// The state of a socket in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";

pub(super) const CHECKS: &[Named] = &[
    ("a_call_that_is_dropped_is_cancelled", ASKING, a_call_that_is_dropped_is_cancelled),
    ("a_call_has_its_time_and_no_more", ASKING, a_call_has_its_time_and_no_more),
    ("a_cut_connection_fails_a_modern_call", MODERN, a_cut_connection_fails_a_modern_call),
    ("a_cut_connection_is_resumed_in_a_session", LEGACY, a_cut_connection_is_resumed_in_a_session),
    ("a_server_may_be_started_again", ALL, a_server_may_be_started_again),
    ("the_end_of_a_client_ends_its_calls", ERAS, the_end_of_a_client_ends_its_calls),
    ("peers_of_connections_are_probed", ERAS, peers_of_connections_are_probed),
];

fn a_call_that_is_dropped_is_cancelled(site: Site) -> Check {
    let server = site.server()?;
    let cancelled = server.cancelled.clone();
    site.meet(&site.client(), server.address, |client| async move {
        let started = Stop::default();
        let starts = started.clone();
        let call = client.call_tool("wait", &()).on_progress(move |_| starts.now());
        assert!(unless(started, call).await.is_none());
        cancelled.await;
        // All others go on.
        client.call_tool("echo", &json!({ "message": "a" })).await?;
        Ok(())
    })?;
    server.end()
}

fn a_call_has_its_time_and_no_more(site: Site) -> Check {
    let server = site.server()?;
    let cancelled = server.cancelled.clone();
    site.meet(&site.client(), server.address, |client| async move {
        // On a busy machine the time may be over before the call is sent.
        let has_begun = Arc::new(AtomicBool::new(false));
        while !has_begun.load(Ordering::Relaxed) {
            let begins = has_begun.clone();
            let call = client.call_tool("wait", &()).timeout(Duration::from_millis(100));
            let late = call.on_progress(move |_| begins.store(true, Ordering::Relaxed)).await;
            assert_eq!(late.err(), Some(CallError::TimedOut));
        }
        cancelled.await;
        Ok(())
    })?;
    server.end()
}

fn a_cut_connection_fails_a_modern_call(site: Site) -> Check {
    let server = site.server()?;
    let (proxy, cancelled) = (Proxy::start(server.address)?, server.cancelled.clone());
    let (address, proxy) = (proxy.address, Arc::new(proxy));
    site.meet(&site.client(), address, |client| async move {
        let cuts = proxy.clone();
        let call = client.call_tool("wait", &()).on_progress(move |_| cuts.cut());
        let Err(CallError::Connection(reason)) = call.await else {
            return Err("the call has not failed".into());
        };
        assert!(!reason.is_empty());
        cancelled.await;
        client.call_tool("echo", &json!({ "message": "a" })).await?;
        Ok(())
    })?;
    server.end()
}

fn a_cut_connection_is_resumed_in_a_session(site: Site) -> Check {
    let server = site.server()?;
    let (proxy, gate) = (Proxy::start(server.address)?, server.gate.clone());
    let (address, proxy) = (proxy.address, Arc::new(proxy));
    site.meet(&site.client(), address, |client| async move {
        let cuts = proxy.clone();
        let call = client.call_tool("wait", &()).on_progress(move |_| {
            cuts.cut();
            gate.now();
        });
        assert_eq!(text(&call.await?), "waited");
        Ok(())
    })?;
    server.end()
}

fn a_server_may_be_started_again(site: Site) -> Check {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let first = site.server_at(listener.try_clone()?)?;
    site.meet(&site.client(), address, move |client| async move {
        let echo = async || -> Result<CallToolResult, CallError> {
            client.call_tool("echo", &json!({ "message": "a" })).await
        };
        echo().await?;
        first.end()?;
        let second = site.server_at(listener)?;
        match echo().await {
            Ok(_) | Err(CallError::SessionExpired) => {}
            Err(error) => return Err(error.into()),
        }
        // There is another session.
        echo().await?;
        client.close().await;
        second.end()
    })
}

fn the_end_of_a_client_ends_its_calls(site: Site) -> Check {
    let server = site.server()?;
    let cancelled = server.cancelled.clone();
    site.meet(&site.client(), server.address, |client| async move {
        let started = Stop::default();
        let starts = started.clone();
        let mut call = pin!(client.call_tool("wait", &()).on_progress(move |_| starts.now()));
        assert!(unless(started, call.as_mut()).await.is_none());
        client.close().await;
        assert_eq!(call.await.err(), Some(CallError::Interrupted));
        let after = client.call_tool("echo", &json!({ "message": "a" })).await;
        assert_eq!(after.err(), Some(CallError::Closed));
        cancelled.await;
        Ok(())
    })?;
    server.end()
}

/// The system lists the timer of each socket: 2 is that of the probes.
fn peers_of_connections_are_probed(site: Site) -> Check {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let server = site.server()?;
    let remote = format!(":{:04X}", server.address.port());
    site.meet(&site.client(), server.address, |client| async move {
        client.call_tool("echo", &json!({ "message": "a" })).await?;
        // Before that, the timer is that of bytes which are not acknowledged.
        let deadline = Instant::now() + LONG;
        loop {
            let sockets = std::fs::read_to_string("/proc/net/tcp")?;
            let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let is_probed = |fields: Vec<&str>| match fields[..] {
                [_, _, to, ESTABLISHED, _, timer, ..] if to.ends_with(&remote) => {
                    Some(timer.starts_with("02:"))
                }
                _ => None,
            };
            let mut probed = fields.filter_map(is_probed).peekable();
            if probed.peek().is_some() && probed.all(|is_probed| is_probed) {
                return Ok(());
            }
            assert!(Instant::now() < deadline, "a peer is not probed: {sockets}");
        }
    })?;
    server.end()
}

/// Result of a future, unless `stop` completes before it.
async fn unless<T>(stop: Stop, future: impl Future<Output = T>) -> Option<T> {
    let (mut stop, mut future) = (pin!(stop), pin!(future));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => stop.as_mut().poll(context).map(|()| None),
    })
    .await
}
