//! What has come of the body of a request: as long as it is one piece it is not copied.

use bytes::{Bytes, BytesMut};

/// What has come of a body.
#[derive(Debug)]
pub(super) enum Body {
    One(Bytes),
    More(BytesMut),
    /// Nobody will look at it.
    Skipped,
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
