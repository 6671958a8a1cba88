//! The body of a request, which can be sent again if it is short.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// The longest body, in bytes, that is kept to be sent again. A longer one is streamed.
const MAX_SHORT: u64 = 64 * 1024;

/// The body of a request.
pub(super) enum RequestBody {
    Short(Bytes),
    Long(Incoming),
}

impl RequestBody {
    /// Reads a short body.
    ///
    /// Fails if the body ends early.
    pub(super) async fn new(mut body: Incoming) -> Result<Self, hyper::Error> {
        if body.size_hint().upper().is_none_or(|length| length > MAX_SHORT) {
            return Ok(Self::Long(body));
        }
        let mut bytes = BytesMut::new();
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            if let Ok(data) = frame?.into_data() {
                bytes.extend_from_slice(&data);
            }
        }
        Ok(Self::Short(bytes.freeze()))
    }

    /// The same body once more; `None` for a long one.
    pub(super) fn again(&self) -> Option<Self> {
        match self {
            Self::Short(bytes) => Some(Self::Short(bytes.clone())),
            Self::Long(_) => None,
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Short(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Short(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Long(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Short(bytes) => bytes.is_empty(),
            Self::Long(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Short(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Long(body) => body.size_hint(),
        }
    }
}
