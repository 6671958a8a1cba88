//! Messages of the server outside of requests. Each future ends, and no client is asked for
//! something that it lacks.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use mcp_proto::server::Notification;
use mcp_proto::types::{
    CreateMessageRequestParams, ElicitRequestFormParams, LoggingLevel, RequestedSchema,
};
use mcp_proto::{Duration, Json, UsageError};
use mcp_service::{Handler, Registry, Session, SessionError};

use super::offers::Waiting;

/// So many sessions are kept.
const MAX_SESSIONS: usize = 8;

/// The sessions of clients that are, or were, initialized.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<Vec<Session>>>);

impl Sessions {
    /// Has the server keep sessions.
    pub(super) fn offer(&self, registry: &mut Registry<Handler>) -> Result<(), UsageError> {
        let kept = self.0.clone();
        registry.session_notification("notifications/initialized", move |_: Json, session| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.truncate(MAX_SESSIONS - 1);
            kept.insert(0, session);
        })?;
        Ok(())
    }

    fn get(&self, n: usize) -> Option<Session> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(n.checked_rem(kept.len())?).cloned()
    }
}

/// Messages that were sent outside of requests, and their results.
pub(super) struct Outside {
    sessions: Sessions,
    waiting: Vec<Waiting<Result<(), SessionError>>>,
}

impl Outside {
    pub(super) fn new(sessions: Sessions) -> Self {
        Self { sessions, waiting: Vec::new() }
    }

    /// Does one thing with one of the sessions, if there is one.
    pub(super) fn step(&mut self, n: u8) {
        let Some(session) = self.sessions.get(usize::from(n / 8 % 4)) else { return };
        let future: Waiting<Result<(), SessionError>> = match n % 8 {
            0 => Box::pin(async move { session.list_roots().await.map(drop) }),
            1 => {
                let form = ElicitRequestFormParams::new("who?", RequestedSchema::new());
                Box::pin(async move { session.elicit(form).await.map(drop) })
            }
            2 => {
                let params = CreateMessageRequestParams::new(Vec::new(), 1);
                Box::pin(async move {
                    let asked = session.create_message(params).await.map(drop);
                    assert!(asked.is_err(), "no client has a model");
                    asked
                })
            }
            3 => Box::pin(session.log(LoggingLevel::Error, None, "outside")),
            4 => {
                let (method, params) = ("notifications/outside".into(), Json::EMPTY_OBJECT);
                Box::pin(session.notify(Notification::Other { method, params }))
            }
            5 => Box::pin(session.elicitation_complete("e")),
            6 => {
                let roots = session.list_roots().timeout(Duration::from_millis(20));
                Box::pin(async move { roots.await.map(drop) })
            }
            // Whatever is oldest is withdrawn.
            _ => return drop((!self.waiting.is_empty()).then(|| self.waiting.remove(0))),
        };
        self.waiting.push(future);
    }

    /// Looks what has come of it.
    pub(super) fn poll(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        self.waiting.retain_mut(|future| match future.as_mut().poll(&mut context) {
            Poll::Pending => true,
            Poll::Ready(came) => {
                let usage =
                    matches!(came, Err(SessionError::NotSent(UsageError::Undeclared { .. })));
                assert!(!usage, "{came:?}");
                false
            }
        });
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}
