//! Cancellations of a bridge's requests and calls.
//!
//! In: a request that its client cancels, perhaps with a reason; a call that is no longer needed.
//! Out: the end of the call and of what belongs to it, and the cancellation for the server.

use super::calls::UpstreamCall;
use super::machine::Bridge;
use crate::client::{CallId, Client};
use crate::server::ReplyId;
use crate::time::Instant;

impl Bridge {
    /// Handles a cancellation by the client, which may give a reason: the request gets no answer.
    pub fn handle_cancelled(
        &mut self,
        now: Instant,
        (about, reason): (ReplyId, Option<&str>),
        client: &mut Client,
    ) {
        self.now = now;
        self.waiting.retain(|request| request.about != about);
        if let Some((_, tickets)) = self.inputs.end_round(about) {
            self.withdraw(tickets);
        }
        if let Some(call) = self.calls.of_request(about) {
            self.cancel_because((call, reason), client);
        }
        if let Some(uris) = self.listeners.close(about) {
            self.unsubscribe(&uris, client);
        }
    }

    /// Cancels a call.
    pub(super) fn cancel(&mut self, call: CallId, client: &mut Client) {
        self.cancel_because((call, None), client);
    }

    fn cancel_because(&mut self, (call, reason): (CallId, Option<&str>), client: &mut Client) {
        let why = "the request was cancelled";
        self.end_input_requests(call, why, client);
        // The call ends here at once, before the client reports its end.
        let ended = self.calls.remove(call);
        let left = ended.as_ref().and_then(|call| self.leave_pending_resource(call));
        if let Some(UpstreamCall { caller, purpose, .. }) = ended {
            self.forget(&caller, &purpose);
        }
        for input in self.parked.cancel(call) {
            self.leave_input(input, why, client);
        }
        let _ = client.cancel_because(self.now, call, reason);
        self.unsubscribe(left.as_slice(), client);
    }
}
