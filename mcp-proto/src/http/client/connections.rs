//! Connections of a client: at most `Limits::max_client_connections`, and the exchanges that wait for
//! one.
//!
//! In: exchanges that begin and end. Out: which exchange is opened next. Each exchange has a
//! connection of its own. Every kind of exchange has its share, so that none starves another:
//!
//! | kind | share | in order |
//! |---|---|---|
//! | messages without a response: answers, notifications, the end of a session | a quarter | first |
//! | calls, and the streams that they are resumed on | the rest, without the streams in it | second |
//! | streams that stay open: the GET of a legacy session, subscriptions | half | third |
//!
//! A server that asks for input while calls are in flight gets its answers on connections that no
//! call may take.

use alloc::collections::{BTreeMap, VecDeque};

use super::ExchangeId;

/// The fewest connections with which each kind has one.
const LEAST: usize = 4;

/// Kind of an exchange, by how long it takes and who waits for it; in the order in which they go.
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

    /// An exchange begins; returns whether it has a connection, or waits for one.
    pub(super) fn begin(&mut self, id: ExchangeId, share: Share) -> bool {
        let is_next = self.queue(share).is_empty() && self.has_room(share);
        if is_next {
            self.open.insert(id, share);
        } else {
            self.queue(share).push_back(id);
        }
        is_next
    }

    /// The next exchange that has waited and has a connection.
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

    /// An exchange is over.
    pub(super) fn end(&mut self, id: ExchangeId) {
        if self.open.remove(&id).is_none() {
            for queue in [&mut self.messages, &mut self.calls, &mut self.streams] {
                queue.retain(|waiting| *waiting != id);
            }
        }
    }

    /// Returns whether another stream would wait for one that stays open to end.
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
