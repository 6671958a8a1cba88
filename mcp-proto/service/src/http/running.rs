//! The spawned handlers of sessions.
//!
//! In: handlers that are spawned, the ends of their requests, cancellations. Out: set tokens.
//!
//! A handler is first polled before it is spawned. Its request may be cancelled meanwhile, by
//! another connection.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::super::cancel::Cancel;
use super::super::lock::Lock;
use mcp_proto::server::{CancelCause, ReplyId};

/// The tokens of the spawned handlers of sessions.
#[derive(Default)]
pub(super) struct RunningHandlers(Lock<RunningState>);

#[derive(Default)]
struct RunningState {
    tokens: BTreeMap<ReplyId, Arc<Cancel>>,
    /// The last cancellation of a request whose handler was not spawned.
    unclaimed: Option<(ReplyId, CancelCause)>,
}

impl RunningHandlers {
    /// Adds a handler that is about to be spawned.
    pub(super) fn insert(&self, about: ReplyId, token: Arc<Cancel>) {
        self.0.lock().tokens.insert(about, token);
    }

    /// Removes the handler of a request that has a response.
    pub(super) fn remove(&self, about: ReplyId) {
        let removed = self.0.lock().tokens.remove(&about);
        drop(removed);
    }

    /// Cancels the handler of a request.
    pub(super) fn cancel(&self, about: ReplyId, cause: CancelCause) {
        let token = {
            let mut state = self.0.lock();
            let Some(token) = state.tokens.remove(&about) else {
                state.unclaimed = Some((about, cause));
                return;
            };
            token
        };
        token.set_for(cause);
    }

    /// Cancels a handler whose request was cancelled before the handler was inserted.
    pub(super) fn cancel_inserted(&self, about: ReplyId) {
        let (token, unclaimed) = {
            let mut state = self.0.lock();
            let token = state.tokens.remove(&about);
            (token, state.unclaimed.take_if(|(cancelled, _)| *cancelled == about))
        };
        match (token, unclaimed) {
            (Some(token), Some((_, cause))) => token.set_for(cause),
            (Some(token), None) => token.set(),
            // It was cancelled in between.
            (None, _) => {}
        }
    }

    /// Cancels all handlers.
    pub(super) fn cancel_all(&self) {
        let tokens = core::mem::take(&mut self.0.lock().tokens);
        for token in tokens.into_values() {
            token.set();
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::string::String;
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use core::task::Waker;

    use crate::lock::Lock;
    use crate::{Context, HttpServer, Part, Registry, Spawned};
    use bytes::Bytes;
    use mcp_proto::Instant;
    use mcp_proto::Json;
    use mcp_proto::frame::http1::Head;
    use mcp_proto::http::Config;
    use mcp_proto::types::{Implementation, Tool};

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{
        "protocolVersion":"2025-11-25","capabilities":{},
        "clientInfo":{"name":"c","version":"1"}}}"#;
    const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
    const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{
        "requestId":1,"reason":"too slow"}}"#;

    /// Sends a POST; returns the id of the session that the response opens.
    fn post(server: &HttpServer, session: Option<&str>, body: &'static str) -> Option<String> {
        let mut head = Head::new("POST", "/mcp");
        let accept = "application/json, text/event-stream";
        for (name, value) in
            [("Host", "localhost"), ("Content-Type", "application/json"), ("Accept", accept)]
        {
            head.push(name, value.as_bytes());
        }
        if let Some(session) = session {
            head.push("Mcp-Session-Id", session.as_bytes());
        }
        let mut answering =
            server.answer(Instant::ZERO, head, &Bytes::from_static(body.as_bytes()));
        match answering.turn(Instant::ZERO, Waker::noop())? {
            Part::Whole(head, _) | Part::Head(head) => {
                let mut fields = head.fields().iter();
                let (_, id) =
                    fields.find(|(name, _)| name.eq_ignore_ascii_case("Mcp-Session-Id"))?;
                Some(id.to_string())
            }
            Part::Data(_) | Part::End => None,
        }
    }

    /// The session and its server, once they are there.
    type Client = Arc<Lock<Option<(HttpServer, String)>>>;

    #[test]
    fn request_that_is_cancelled_during_the_first_poll_keeps_the_reason() {
        let client = Client::default();
        let reasons = Arc::<Lock<Vec<Option<Box<str>>>>>::default();
        let (own, seen) = (client.clone(), reasons.clone());
        let mut registry = Registry::new(Implementation::new("s", "1"));
        let tool = Tool::new("t", Json::parse(r#"{"type":"object"}"#).unwrap());
        let handler = move |_: Json, context: Context| {
            let (own, seen) = (own.clone(), seen.clone());
            async move {
                let (server, session) = own.lock().take().unwrap();
                post(&server, Some(&session), CANCEL);
                context.cancelled().await;
                seen.lock().push(context.cancel_reason());
                "cancelled"
            }
        };
        registry.tool_with(tool, handler).unwrap();
        let spawned = Arc::<Lock<Vec<Spawned>>>::default();
        let tasks = spawned.clone();
        let spawn = move |task| tasks.lock().push(task);
        let server = HttpServer::new(registry, Config::default(), || [7; 16], spawn);
        let session = post(&server, None, INITIALIZE).unwrap();
        post(&server, Some(&session), INITIALIZED);
        *client.lock() = Some((server.clone(), session.clone()));
        post(&server, Some(&session), CALL);
        let tasks = core::mem::take(&mut *spawned.lock());
        assert_eq!(tasks.len(), 1);
        for mut task in tasks {
            let mut context = core::task::Context::from_waker(Waker::noop());
            assert!(task.as_mut().poll(&mut context).is_ready());
        }
        assert_eq!(*reasons.lock(), [Some("too slow".into())]);
    }
}
