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

use alloc::collections::VecDeque;

use super::ExchangeId;
use crate::seq_map::SeqMap;

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
    /// The exchanges with a connection, by the numbers of their ids.
    open: SeqMap<Share>,
    messages: ShareQueue,
    calls: ShareQueue,
    streams: ShareQueue,
}

/// The exchanges of one kind.
#[derive(Debug, Default)]
struct ShareQueue {
    /// The number of those that have a connection.
    open: usize,
    waiting: VecDeque<ExchangeId>,
}

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        let max = max.max(LEAST);
        let (messages, calls, streams) =
            (ShareQueue::default(), ShareQueue::default(), ShareQueue::default());
        Self { max, open: SeqMap::default(), messages, calls, streams }
    }

    /// Begins an exchange; returns false if it must wait for a connection.
    pub(super) fn begin(&mut self, id: ExchangeId, share: Share) -> bool {
        let is_next = self.queue(share).waiting.is_empty() && self.has_room(share);
        if is_next {
            self.open(id, share);
        } else {
            self.queue(share).waiting.push_back(id);
        }
        is_next
    }

    /// The next waiting exchange that now has a connection.
    pub(super) fn next(&mut self) -> Option<ExchangeId> {
        let share = self.next_share()?;
        let id = self.queue(share).waiting.pop_front()?;
        self.open(id, share);
        Some(id)
    }

    /// The exchange that [`next`](Self::next) returns. It keeps its place.
    #[cfg(feature = "auth")]
    pub(super) fn peek(&mut self) -> Option<ExchangeId> {
        let share = self.next_share()?;
        self.queue(share).waiting.front().copied()
    }

    fn next_share(&mut self) -> Option<Share> {
        let shares = [Share::Message, Share::Call, Share::Stream];
        shares.into_iter().find(|share| {
            let waits = !self.queue(*share).waiting.is_empty();
            waits && self.has_room(*share)
        })
    }

    fn open(&mut self, id: ExchangeId, share: Share) {
        self.open.insert(id.number(), share);
        self.queue(share).open += 1;
    }

    /// Returns whether an exchange has a connection.
    pub(super) fn is_open(&self, id: ExchangeId) -> bool {
        self.open.get(id.number()).is_some()
    }

    pub(super) fn end(&mut self, id: ExchangeId) {
        if let Some(share) = self.open.remove(id.number()) {
            self.queue(share).open -= 1;
        } else {
            for queue in [&mut self.messages, &mut self.calls, &mut self.streams] {
                queue.waiting.retain(|waiting| *waiting != id);
            }
        }
    }

    /// Returns whether another stream would have to wait until an open one ends.
    pub(super) fn is_full_of_streams(&self) -> bool {
        self.streams.open + self.streams.waiting.len() >= self.max_streams()
    }

    /// The most streams that may be open.
    pub(super) fn max_streams(&self) -> usize {
        self.max / 2
    }

    fn has_room(&self, share: Share) -> bool {
        let max_messages = self.max / 4;
        let has_room = self.calls.open + self.streams.open < self.max - max_messages;
        match share {
            Share::Message => self.messages.open < max_messages,
            Share::Call => has_room,
            Share::Stream => has_room && self.streams.open < self.max_streams(),
        }
    }

    fn queue(&mut self, share: Share) -> &mut ShareQueue {
        match share {
            Share::Message => &mut self.messages,
            Share::Call => &mut self.calls,
            Share::Stream => &mut self.streams,
        }
    }
}
