//! Queue of the commands of handlers to the service.
//!
//! In: commands. Out: the same, in order. For each peer, 1,024 notifications, closed streams and
//! session commands may be queued. Beyond that, streams stay open and notifications are dropped,
//! and their number is reported before the response to their request; session commands fail.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::session::SessionCommand;
use mcp_proto::server::{Notification, Outcome, Reply, ReplyId};

/// Command from a handler to the service.
#[derive(Debug)]
pub(super) enum Command {
    Notify(ReplyId, Notification),
    Respond(Reply, Outcome),
    CloseStream(ReplyId),
    /// A command that concerns no request.
    Session(Box<SessionCommand>),
}

impl Command {
    /// The peer whose queue this command counts for.
    fn counts_for(&self) -> Option<usize> {
        match self {
            Self::Notify(about, _) | Self::CloseStream(about) => Some(about.scope()),
            Self::Session(command) => command.counts_for(),
            Self::Respond(..) => None,
        }
    }
}

/// The most queued notifications, closed streams and session commands of one peer.
const MAX_NOTIFICATIONS: usize = 1024;

/// Queue of the commands of handlers to the service.
#[derive(Debug, Default)]
pub(super) struct Commands {
    waiting: Vec<Command>,
    /// Number of queued commands that count for a peer, for each peer; `None` before any peer can
    /// have too many.
    notifications: Option<BTreeMap<usize, usize>>,
    lost: Lost,
}

/// Number of dropped notifications about each request.
#[derive(Debug, Default)]
pub(super) struct Lost(BTreeMap<ReplyId, u64>);

impl Commands {
    pub(super) fn push(&mut self, command: Command) {
        match &command {
            Command::Notify(about, _) => {
                if !self.has_room(about.scope()) {
                    return self.lost.add(*about, 1);
                }
            }
            Command::Respond(reply, _) => {
                let lost = self.lost.take(reply.id());
                self.waiting.extend(lost.map(|lost| Command::Notify(reply.id(), lost)));
            }
            Command::CloseStream(about) => {
                if !self.has_room(about.scope()) {
                    return;
                }
            }
            Command::Session(_) => {}
        }
        self.waiting.push(command);
    }

    /// Queues a command of a session, or returns it if the queue is full.
    pub(super) fn push_session(
        &mut self,
        command: Box<SessionCommand>,
    ) -> Result<(), Box<SessionCommand>> {
        if command.counts_for().is_some_and(|peer| !self.has_room(peer)) {
            return Err(command);
        }
        self.waiting.push(Command::Session(command));
        Ok(())
    }

    /// Returns whether another command of this peer may be queued, and counts it if so.
    fn has_room(&mut self, peer: usize) -> bool {
        if self.waiting.len() < MAX_NOTIFICATIONS {
            return true;
        }
        let waiting = &self.waiting;
        let notifications = self.notifications.get_or_insert_with(|| {
            let mut counts = BTreeMap::new();
            for peer in waiting.iter().filter_map(Command::counts_for) {
                *counts.entry(peer).or_default() += 1;
            }
            counts
        });
        let count = notifications.entry(peer).or_default();
        let fits = *count < MAX_NOTIFICATIONS;
        *count += usize::from(fits);
        fits
    }
}

impl IntoIterator for Commands {
    type Item = Command;
    type IntoIter = alloc::vec::IntoIter<Command>;

    fn into_iter(mut self) -> Self::IntoIter {
        self.waiting.extend(self.lost.take_all());
        self.waiting.into_iter()
    }
}

impl Lost {
    /// Counts dropped notifications about a request.
    pub(super) fn add(&mut self, about: ReplyId, more: u64) {
        let count = self.0.entry(about).or_default();
        *count = count.saturating_add(more);
    }

    /// The notification that reports the number of dropped ones about a request, if any.
    pub(super) fn take(&mut self, about: ReplyId) -> Option<Notification> {
        // The usual case.
        if self.0.is_empty() {
            return None;
        }
        self.0.remove(&about).map(|count| Notification::Lost { count })
    }

    fn take_all(&mut self) -> impl Iterator<Item = Command> {
        let lost = core::mem::take(&mut self.0).into_iter();
        lost.map(|(about, count)| Command::Notify(about, Notification::Lost { count }))
    }
}
