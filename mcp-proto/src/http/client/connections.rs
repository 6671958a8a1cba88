//! Connections of a client: at most `Limits::max_client_connections`, and the exchanges that wait
//! for one.
//!
//! In: exchanges that begin and end. Out: the exchange to open next. Each exchange has a connection
//! of its own. Every kind of exchange has its share, so that no kind starves another:
//!
//! | kind | share | priority |
//! |---|---|---|
//! | messages without a response: answers, notifications, the end of a session | a quarter | first |
//! | calls, and the streams that they are resumed on | three quarters, together with the streams below | second |
//! | streams that stay open: the GET of a legacy session, subscriptions | half | third |
//!
//! Answers to a server's requests for input have connections that no call may use. So these answers
//! are sent even while many calls are in flight.

use alloc::collections::{BTreeMap, VecDeque};

use super::ExchangeId;

/// The smallest number of connections with which each kind has at least one.
const LEAST: usize = 4;

/// Kind of an exchange, by its duration and urgency; the most urgent kind comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Share {
    /// A message without a response.
    Message,
    /// A call.
    Call,
    /// A stream that stays open.
    Stream,
}

/// Exchanges that have a connection, and those that wait for one.
#[derive(Debug)]
pub(super) struct Connections {
    max: usize,
    open: BTreeMap<ExchangeId, Share>,
    messages: VecDeque<ExchangeId>,
    calls: VecDeque<ExchangeId>,
    streams: VecDeque<ExchangeId>,
}

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        let messages = VecDeque::new();
        let calls = VecDeque::new();
        let streams = VecDeque::new();
        Self { max: max.max(LEAST), open: BTreeMap::new(), messages, calls, streams }
    }

    /// Begins an exchange; returns false if it must wait for a connection.
    pub(super) fn begin(&mut self, id: ExchangeId, share: Share) -> bool {
        let is_next = self.queue(share).is_empty() && self.has_room(share);
        if is_next {
            self.open.insert(id, share);
        } else {
            self.queue(share).push_back(id);
        }
        is_next
    }

    /// The next waiting exchange that now has a connection.
    pub(super) fn next(&mut self) -> Option<ExchangeId> {
        let shares = [Share::Message, Share::Call, Share::Stream];
        let share = shares.into_iter().find(|share| {
            let waits = !self.queue(*share).is_empty();
            waits && self.has_room(*share)
        })?;
        let id = self.queue(share).pop_front()?;
        self.open.insert(id, share);
        Some(id)
    }

    /// Returns whether an exchange has a connection.
    pub(super) fn is_open(&self, id: ExchangeId) -> bool {
        self.open.contains_key(&id)
    }

    pub(super) fn end(&mut self, id: ExchangeId) {
        if self.open.remove(&id).is_none() {
            for queue in [&mut self.messages, &mut self.calls, &mut self.streams] {
                queue.retain(|waiting| *waiting != id);
            }
        }
    }

    /// Returns whether another stream would have to wait until an open one ends.
    pub(super) fn is_full_of_streams(&self) -> bool {
        self.count(Share::Stream) + self.streams.len() >= self.max_streams()
    }

    /// The most streams that may be open.
    pub(super) fn max_streams(&self) -> usize {
        self.max / 2
    }

    fn has_room(&self, share: Share) -> bool {
        let max_messages = self.max / 4;
        let calls = self.count(Share::Call);
        let streams = self.count(Share::Stream);
        match share {
            Share::Message => self.count(Share::Message) < max_messages,
            Share::Call => calls + streams < self.max - max_messages,
            Share::Stream => {
                streams < self.max_streams() && calls + streams < self.max - max_messages
            }
        }
    }

    fn count(&self, share: Share) -> usize {
        self.open.values().filter(|other| **other == share).count()
    }

    fn queue(&mut self, share: Share) -> &mut VecDeque<ExchangeId> {
        match share {
            Share::Message => &mut self.messages,
            Share::Call => &mut self.calls,
            Share::Stream => &mut self.streams,
        }
    }
}
