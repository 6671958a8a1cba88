//! A request as a connection reads it, and as it is answered. A body that comes in one piece is
//! not copied.

use alloc::boxed::Box;

use bytes::{Bytes, BytesMut};

use super::Exchange;
use super::admit::{Admitted, Cors, Refused};
use crate::frame::http1::{Framing, Head, RequestKind};

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

/// What has come of a body.
#[derive(Debug)]
pub(super) enum Body {
    One(Bytes),
    More(BytesMut),
    /// Nobody will look at it.
    Skipped,
}

impl Request {
    /// What its answer tells a browser, whatever it is.
    pub(super) fn cors(&self) -> &Cors {
        match &self.admitted {
            Ok(admitted) => &admitted.cors,
            Err(refused) => &refused.cors,
        }
    }
}

impl Answering {
    /// Whether nothing more is to be sent, and the endpoint knows.
    pub(super) fn is_over(&self) -> bool {
        let visits = self.exchange.needs_endpoint();
        (self.ended && !visits) || self.exchange.is_over()
    }
}

impl Body {
    pub(super) fn add(&mut self, data: Bytes) {
        match self {
            Self::Skipped => {}
            Self::One(first) if first.is_empty() => *first = data,
            Self::One(first) => {
                let mut more = BytesMut::with_capacity(first.len() + data.len());
                more.extend_from_slice(first);
                more.extend_from_slice(&data);
                *self = Self::More(more);
            }
            Self::More(more) => more.extend_from_slice(&data),
        }
    }

    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::One(bytes) => bytes,
            Self::More(bytes) => bytes.freeze(),
            Self::Skipped => Bytes::new(),
        }
    }
}
