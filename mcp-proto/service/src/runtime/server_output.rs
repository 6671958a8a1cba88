//! The output of a server that another process may keep open.
//!
//! In: the standard output of a child process, and looks at the process. Out: the same output, and
//! its end if the process has failed. Processes that a server starts often inherit its pipes, so
//! that the pipes stay open after it has crashed.
//!
//! | state | input | next | output |
//! |---|---|---|---|
//! | `Running` | a look: it runs | `Running`, until the next look | |
//! | `Running` | a look: it has exited with status 0 | `Left` | |
//! | `Running` | a look: it has exited otherwise | `Failed`, for the grace | |
//! | `Failed` | output | `Failed`, for another grace | the output |
//! | `Failed` | the grace is over | `Failed` | the end |
//! | `Running`, `Left` | output, or its end | the same | the output, or its end |
//!
//! `Left`: a launcher may leave the conversation to a process that it has started. The first look
//! is after the grace; each pause is twice the one before it, at most [`LONGEST_PAUSE`].

use core::task::{Context, Poll, ready};
use std::io;

use bytes::Bytes;
use mcp_proto::{Duration, Instant};

use crate::process_group::Leader;
use crate::{BoxReader, Clock, Reader};

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The standard output of a server.
pub(super) struct ServerOutput<C> {
    pipe: BoxReader,
    leader: Leader,
    clock: C,
    grace: Duration,
    state: ServerState,
}

#[derive(Clone, Copy)]
enum ServerState {
    Running { look_at: Instant, pause: Duration },
    Left,
    Failed { until: Instant },
}

impl<C: Clock> ServerOutput<C> {
    pub(super) fn new(pipe: BoxReader, leader: Leader, clock: C, grace: Duration) -> Self {
        let pause = grace.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let state = ServerState::Running { look_at: clock.now() + pause, pause };
        Self { pipe, leader, clock, grace, state }
    }

    /// The state after a look.
    fn look(&self, pause: Duration) -> ServerState {
        let now = self.clock.now();
        match self.leader.has_succeeded() {
            None => {
                let pause = (pause * 2).min(LONGEST_PAUSE);
                ServerState::Running { look_at: now + pause, pause }
            }
            Some(true) => ServerState::Left,
            Some(false) => ServerState::Failed { until: now + self.grace },
        }
    }
}

impl<C: Clock> Reader for ServerOutput<C> {
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            // Also after a look: what a server has written before its exit is read.
            if let Poll::Ready(output) = self.pipe.poll_read(context) {
                if let ServerState::Failed { until } = &mut self.state {
                    *until = self.clock.now() + self.grace;
                }
                return Poll::Ready(output);
            }
            match self.state {
                ServerState::Running { look_at, pause } => {
                    ready!(self.clock.poll_timer(context, look_at));
                    self.state = self.look(pause);
                }
                ServerState::Left => return Poll::Pending,
                ServerState::Failed { until } => {
                    ready!(self.clock.poll_timer(context, until));
                    return Poll::Ready(Ok(Bytes::new()));
                }
            }
        }
    }
}
