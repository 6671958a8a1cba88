//! Requests for input of legacy clients that open their sessions.
//!
//! In: `initialize`, `notifications/initialized` and other requests of a client; the end of its
//! session; cancellations of the server; time. Out: the requests that `openings` has held back;
//! errors for the server.

use super::action::{BridgeAction, Ticket};
use super::calls::ClientRef;
use super::inputs::InputRecipient;
use super::machine::Bridge;
use crate::client::Client;
use crate::message::{ErrorData, Method};
use crate::server::SessionRef;
use crate::version::Era;

const LATE: &str = "the client has not sent `notifications/initialized` within \
                    Limits::input_timeout";

impl Bridge {
    /// Records a request in the session of a legacy client. Before the client has sent
    /// `notifications/initialized`, only pings may be sent to it. The server does not wait for that
    /// notification, because the bridge has sent its own.
    pub(super) fn open_session(&mut self, caller: &ClientRef, method: &Method) {
        if caller.era == Era::Modern || caller.is_lone {
            return;
        }
        self.sessions.open(caller.session);
        if *method == Method::Initialize {
            self.openings.begin(caller.session);
        } else {
            self.release_inputs(caller.session);
        }
    }

    /// Asks the client of a session for the input that has waited until the session is open. If the
    /// session has ended instead, the server gets an error.
    pub(super) fn release_inputs(&mut self, session: SessionRef) {
        self.actions.extend(self.openings.end(session));
    }

    /// Answers the requests for input whose clients have not opened their sessions in time.
    pub(super) fn expire_openings(&mut self, client: &mut Client) {
        for ticket in self.openings.take_expired(self.now) {
            if let Some(InputRecipient::Server { reply, .. }) = self.inputs.take(ticket) {
                client.answer(self.now, reply, Err(ErrorData::internal(LATE)));
            }
        }
    }

    /// Cancels requests for input of a legacy client, except those that it has not got yet.
    pub(super) fn withdraw(&mut self, tickets: impl IntoIterator<Item = Ticket>) {
        for ticket in tickets {
            if !self.openings.remove(ticket) {
                self.actions.push_back(BridgeAction::CancelInput { ticket });
            }
        }
    }
}
