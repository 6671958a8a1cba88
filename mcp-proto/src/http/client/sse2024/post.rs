//! POSTs of requests by HTTP+SSE.
//!
//! In: requests, and the outcomes of their POSTs. Out: POSTs. After a status of 2xx the response
//! comes on the stream, and the body is ignored. Any other status fails the request. After 404 the
//! server does not know the stream any more: the client opens another stream, and sends the request
//! again, once. Messages without a response use
//! [`Delivery`](crate::http::client::delivery::Delivery).

use bytes::Bytes;

use crate::client::recovery::Refusal;
use crate::client::{CallError, version_of};
use crate::http::client::answer::Class;
use crate::http::client::exchange::Purpose;
use crate::http::client::exchanges::LINGER;
use crate::http::client::reading::Answer;
use crate::http::client::{Client, ExchangeId};
use crate::message::{Outgoing, RequestId};
use crate::time::Instant;

impl Client {
    /// Returns whether a request belongs to the session of the open stream.
    pub(in crate::http::client) fn goes_by_sse(&self, method: &str, stamp: &Bytes) -> bool {
        self.sse.is_open() && method != "initialize" && version_of(stamp).is_none()
    }

    /// Sends a request to the endpoint.
    pub(in crate::http::client) fn post(
        &mut self,
        now: Instant,
        id: RequestId,
        message: &Outgoing,
    ) {
        let request = self.requests.post(&self.session, message);
        self.open(now, request, Purpose::HttpSsePost(id));
    }

    /// Handles the head of the answer to a POST.
    pub(in crate::http::client) fn old_posted(
        &mut self,
        now: Instant,
        id: ExchangeId,
        answer: Answer,
    ) {
        if Class::of(answer.status()) == Class::Success {
            self.exchanges.set_deadline(id, now + LINGER);
            if let Some(open) = self.exchanges.get_mut(id) {
                open.purpose = Purpose::Drain;
            }
        } else if let Some(open) = self.exchanges.abort(&mut self.queue, id)
            && let Purpose::HttpSsePost(request) = open.purpose
        {
            self.old_post_broke(now, &request, answer.into_error());
        }
    }

    /// Handles a request that the server has not accepted.
    pub(in crate::http::client) fn old_post_broke(
        &mut self,
        now: Instant,
        id: &RequestId,
        error: CallError,
    ) {
        let is_unknown = error == CallError::Http { status: 404 };
        let refusal = if is_unknown { Refusal::UnknownSession } else { Refusal::Unavailable };
        self.rpc.handle_lost(now, id, refusal, error);
    }
}
