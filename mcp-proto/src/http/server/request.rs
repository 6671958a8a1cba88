//! A request as a connection reads it, and as it is answered.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::admit::{Admitted, Cors, Refused};
use super::{Config, Exchange};
use crate::frame::http1::{Framing, Head, RequestKind, ResponseHead};
use crate::server::Declaration;
use crate::time::Instant;

/// A request that is being read.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) head: Head,
    pub(super) kind: RequestKind,
    pub(super) admitted: Result<Admitted, Box<Refused>>,
    pub(super) body: Body,
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) exchange: Exchange,
    pub(super) kind: RequestKind,
    /// Since its head is sent.
    pub(super) framing: Option<Framing>,
    pub(super) ended: bool,
}

/// The state of a connection; see there.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a connection stays where it is, and is mostly used again"
)]
pub(super) enum State {
    Between,
    Body(Box<Request>),
    Answering(Answering),
    Lingering,
}

impl State {
    /// The use that is made of the connection.
    pub(super) fn activity(&self) -> Activity {
        match self {
            Self::Between | Self::Lingering => Activity::Idle,
            Self::Body(_) => Activity::Receiving,
            Self::Answering(answering) => answering.activity(),
        }
    }
}

/// The use of a connection, in the order in which it is missed if the connection ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// It waits for a request.
    Idle,
    /// It reads the body of a request.
    Receiving,
    /// It has a stream that answers no request.
    Streaming,
    /// It owes an answer.
    Answering,
}

/// What has come of a body. One that comes in one piece is not copied.
#[derive(Debug)]
pub(crate) enum Body {
    One(Bytes),
    More(BytesMut),
}

impl Request {
    /// Takes the next bytes of its body. Nobody will look at that of one that its head has refused.
    pub(super) fn add(&mut self, data: Bytes) {
        if self.admitted.is_ok() {
            self.body.add(data);
        }
    }

    /// Refuses it before all of its body is read. The connection ends with the answer.
    pub(super) fn refuse_full(self, config: &Arc<Config>) -> Answering {
        let refused = match self.admitted {
            Ok(admitted) => admitted.refuse_full(config),
            Err(refused) => refused,
        };
        let exchange = Exchange::refused(config, refused);
        let kind = RequestKind { keep_alive: false, ..self.kind };
        Answering { exchange, kind, framing: None, ended: false }
    }

    /// The exchange that answers it.
    pub(super) fn answer(
        self,
        now: Instant,
        declaration: &Arc<Declaration>,
        config: &Arc<Config>,
        peer: Option<IpAddr>,
    ) -> Answering {
        let Self { head, kind, admitted, body } = self;
        let mut exchange = match admitted {
            Err(refused) => Exchange::refused(config, refused),
            Ok(admitted) => {
                let body = body.into_bytes();
                Exchange::admitted(now, declaration, config, admitted, &head, &body)
            }
        };
        if let Some(peer) = peer {
            exchange.set_peer(peer);
        }
        Answering { exchange, kind, framing: None, ended: false }
    }

    /// What its answer tells a browser, whatever it is.
    pub(super) fn cors(&self) -> &Cors {
        match &self.admitted {
            Ok(admitted) => &admitted.cors,
            Err(refused) => &refused.cors,
        }
    }
}

impl Answering {
    fn activity(&self) -> Activity {
        if self.exchange.only_listens() { Activity::Streaming } else { Activity::Answering }
    }

    /// Sends the head; `stays` if the connection may serve another request.
    pub(super) fn begin(&mut self, head: &ResponseHead, stays: bool, out: &mut Vec<u8>) {
        self.kind.keep_alive &= stays;
        self.framing = Some(head.encode(self.kind, out));
    }

    /// Sends some of the body.
    pub(super) fn data(&mut self, data: &[u8], out: &mut Vec<u8>) {
        if let Some(framing) = &mut self.framing {
            framing.data(data, out);
        }
    }

    /// Nothing more is to be sent.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if let Some(framing) = &mut self.framing {
            framing.end(out);
        }
        self.ended = true;
    }

    /// Returns whether nothing more is to be sent, and the endpoint knows.
    pub(super) fn is_over(&self) -> bool {
        let visits = self.exchange.needs_endpoint();
        (self.ended && !visits) || self.exchange.is_over()
    }
}

impl Body {
    pub(crate) const EMPTY: Self = Self::One(Bytes::new());

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(bytes) => bytes.len(),
            Self::More(bytes) => bytes.len(),
        }
    }

    pub(crate) fn add(&mut self, mut data: impl Buf) {
        match self {
            Self::One(first) if first.is_empty() => *first = data.copy_to_bytes(data.remaining()),
            Self::One(first) => {
                let mut more = BytesMut::with_capacity(first.len() + data.remaining());
                more.extend_from_slice(first);
                more.put(data);
                *self = Self::More(more);
            }
            Self::More(more) => more.put(data),
        }
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::One(bytes) => bytes,
            Self::More(bytes) => bytes.freeze(),
        }
    }
}
