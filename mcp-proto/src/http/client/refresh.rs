//! What follows when a server refuses the headers of a call: its tools are listed anew, and if the
//! call has other headers by then it is asked once more.
//!
//! [Specification: Client Behavior](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#client-behavior)

use alloc::boxed::Box;

use super::delivery::ACCEPT_TIMEOUT;
use super::exchange::{Asked, Exchange, Purpose, Refresh, Sent};
use super::tools::next_page;
use super::{Client, ExchangeId};
use crate::client::CallError;
use crate::client::recovery::Refusal;
use crate::json::Json;
use crate::message::{Incoming, Message, Outgoing, RequestId, Response};
use crate::time::Instant;

impl Client {
    /// The server has refused the headers of a call.
    pub(super) fn refresh(
        &mut self,
        now: Instant,
        id: ExchangeId,
        call: Sent,
        refusal: (Response, u16),
    ) {
        if let Some(Exchange { purpose: Purpose::Call(asked), .. }) = self.abort(id) {
            let id = RequestId::number(0);
            let refresh = Refresh { asked: *asked, call, refusal, id, pages: 0 };
            self.list_tools(now, refresh, Json::EMPTY_OBJECT);
        }
    }

    /// Asks for a page of the list.
    fn list_tools(&mut self, now: Instant, mut refresh: Refresh, params: Json) {
        let Some(stamp) = self.side.stamp() else { return self.refreshed(now, refresh) };
        let id = RequestId::string(&alloc::format!("headers-{}", self.exchanges.serial()));
        refresh.id = id.clone();
        let message = Outgoing::Request { id, method: "tools/list".into(), stamp, params };
        let purpose = Purpose::Refresh(Box::new(refresh));
        if let Some(exchange) = self.request(&message, purpose) {
            self.exchanges.set_deadline(exchange, now + ACCEPT_TIMEOUT);
        }
    }

    /// A page of the list has come, or an error in its place.
    pub(super) fn listed(&mut self, now: Instant, id: ExchangeId, response: &Response) {
        let Some(Exchange { purpose: Purpose::Refresh(mut refresh), .. }) = self.abort(id) else {
            return;
        };
        let next = response.body.as_ref().ok().and_then(|page| {
            // Whoever lists the tools is told of those that are left out.
            let _ = self.tools.read(page, self.side.limits().max_list_bytes);
            next_page(page)
        });
        refresh.pages += 1;
        match next {
            Some(params) if refresh.pages < self.limits().max_pages => {
                self.list_tools(now, *refresh, params);
            }
            _ => self.refreshed(now, *refresh),
        }
    }

    /// All that can be known of the tool's schema is known.
    pub(super) fn refreshed(&mut self, now: Instant, refresh: Refresh) {
        let Refresh { asked, call, refusal: (response, status), .. } = refresh;
        if !self.side.awaits(&asked.id) {
            return;
        }
        let Outgoing::Request { method, params, .. } = &call.message else { return };
        match self.param_headers(method, params) {
            Err(error) => {
                let error = CallError::Header(error);
                self.side.handle_lost(now, &asked.id, Refusal::Unavailable, error);
            }
            Ok(headers) if headers == call.headers => {
                let origin = self.side.origin(Some(&asked.id), status, false);
                let incoming = Incoming::Message(Message::Response(response));
                self.side.handle_message_of(now, incoming, origin);
            }
            Ok(_) => {
                let again = Asked::new(asked.id, asked.method);
                self.ask(now, Asked { is_second: true, ..again }, call.message);
            }
        }
    }
}
