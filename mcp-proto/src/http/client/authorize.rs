//! Requests that need a token: they are paused while the authorizer gets one, and sent again.
//!
//! In: requests to send, refusals, and the answers to the authorizer. Out: requests with
//! credentials, [`Action::Fetch`] and [`Action::Authorize`].
//!
//! | state of a request | leaves by |
//! |---|---|
//! | held, for a signature | the signature: it is sent |
//! | held, never sent | the end of the flow: it is sent, or fails; a signature, if it may use the current token |
//! | held, refused with 401 or 403 | the end of the flow: it is sent again, at most 4 times in all, or fails with [`Unauthorized`] |
//!
//! A failed sign-in for more scopes fails only the requests that lack scopes: others are sent with
//! the earlier token, or after its refresh.
//!
//! The timeout of a call or a probe is paused while its request is held. Requests of a session end
//! with the session. A DELETE is held for 2 s at most, and is not sent again after a refusal.
//!
//! After a failed flow only calls begin another sign-in. A stream that the client reopens by itself
//! does not open the sign-in page for the user a second time, and the end of a session never does.
//!
//! [Specification: Authorization](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

use bytes::Bytes;

use super::attempt::{Attempt, HeldFor};
use super::authorization::{NONCE, OwnAuthorizer, text};
use super::exchange::Purpose;
use super::resume::Break;
use super::{Action, Client, ExchangeId, Request};
use crate::auth::{Access, AuthAction, AuthState, Authorizer, RefusalAdvice, Secret, SentRequest};
use crate::challenge::Unauthorized;
use crate::client::CallError;
use crate::client::recovery::Refusal;
use crate::error::UsageError;
use crate::frame::http1::StatusHead;
use crate::headers;
use crate::json::Json;
use crate::time::{Duration, Instant};

const AUTHORIZATION: &str = "Authorization";
const PROOF: &str = "DPoP";

/// Returns whether a client with an authorizer sets this field itself.
pub(super) fn is_own(name: &str) -> bool {
    [AUTHORIZATION, PROOF].iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Result of checking the head for a refusal.
pub(super) enum RefusalResult {
    /// The request is held, or was sent again.
    Retried,
    /// The answer is read as usual. The text says why the sign-in failed, if there was one.
    Unhandled(Option<String>),
}

impl Client {
    /// Lets an authorizer get tokens for the requests of this client.
    ///
    /// # Errors
    ///
    /// [`UsageError::InvalidField`] if the application has set the field `Authorization` or `DPoP`.
    pub fn set_authorizer(&mut self, authorizer: Authorizer) -> Result<(), UsageError> {
        let set = [AUTHORIZATION, PROOF].into_iter().find(|name| self.requests.has_field(name));
        if let Some(name) = set {
            return Err(UsageError::InvalidField { name: name.into() });
        }
        self.authorization = Some(Box::new(OwnAuthorizer::new(authorizer)));
        Ok(())
    }

    /// Gives access to the authorizer: for its answers ([`Authorizer::handle_loaded`] and so on),
    /// and for [`Authorizer::authorize`] and [`Authorizer::forget`]. Returns `None` if the client
    /// has no authorizer.
    pub fn with_authorizer<T>(
        &mut self,
        now: Instant,
        command: impl FnOnce(&mut Authorizer) -> T,
    ) -> Option<T> {
        let authorizer = &mut self.authorization.as_mut()?.authorizer;
        let before = authorizer.token();
        let result = command(authorizer);
        if authorizer.token() != before {
            self.rpc.credentials_changed();
        }
        self.pump(now);
        Some(result)
    }

    /// Sets the time since the Unix epoch for the authorizer; see [`Authorizer::set_unix_time`].
    pub fn set_unix_time(&mut self, now: Instant, unix: Duration) {
        if let Some(authorization) = &mut self.authorization {
            authorization.authorizer.set_unix_time(now, unix);
        }
    }

    /// Begins an exchange with the available credentials, or holds its request.
    pub(super) fn begin_authorized(
        &mut self,
        now: Instant,
        mut request: Request,
        purpose: Purpose,
        mut attempt: Attempt,
    ) -> ExchangeId {
        let may_prompt = self.may_prompt(&purpose);
        let access = match &mut self.authorization {
            Some(authorization) => {
                let url = self.requests.url_of(&request);
                authorization.authorizer.access_for(now, request.method, &url, may_prompt)
            }
            None => Access::None,
        };
        if self.authorization.is_some() {
            request.fields.retain(|(name, _)| name != AUTHORIZATION && name != PROOF);
        }
        (attempt.token, attempt.proved_at) = (None, None);
        match access {
            Access::Ready(credentials) => {
                attempt.token = Some(credentials.token);
                let value = credentials.authorization.expose().to_owned();
                request.fields.push((AUTHORIZATION.into(), value.into()));
                attempt.proved_at = credentials.proof.as_ref().map(|_| now);
                let proof = credentials.proof.map(|it| it.expose().to_owned());
                request.fields.extend(proof.map(|it| (PROOF.into(), it.into())));
            }
            Access::Wait => {
                return self.hold(now, request, purpose, attempt, HeldFor::Credentials);
            }
            Access::None => {}
        }
        self.begin(now, request, purpose, attempt)
    }

    /// Takes a request that has waited for a connection, and now gets one, if its proof is too old.
    /// Gets another proof for it. Returns false if there is no such request.
    pub(super) fn renew_waiting(&mut self, now: Instant) -> bool {
        if self.authorization.is_none() {
            return false;
        }
        let Some((request, purpose, attempt)) = self.exchanges.take_outdated(now) else {
            return false;
        };
        self.send_held(now, request, purpose, attempt);
        true
    }

    /// Returns whether a request may begin a sign-in.
    fn may_prompt(&self, purpose: &Purpose) -> bool {
        let is_for_call = purpose.may_prompt_user() && !self.rpc.connects_for_subscriptions();
        let has_failed = self.authorization.as_ref().is_some_and(|it| it.has_failed);
        !purpose.is_over() && (is_for_call || !has_failed)
    }

    fn hold(
        &mut self,
        now: Instant,
        request: Request,
        purpose: Purpose,
        attempt: Attempt,
        event: HeldFor,
    ) -> ExchangeId {
        if let Some(id) = purpose.paused_request() {
            self.rpc.pause_timeout(id, !purpose.is_resumed());
        }
        let attempt = Attempt { held: Some(event), ..attempt };
        self.exchanges.hold(now, request, purpose, attempt)
    }

    /// Stores the nonce of an answer for the proofs of later requests.
    pub(super) fn handle_nonce(&mut self, head: &StatusHead) {
        if let (Some(authorization), Some(nonce)) = (&mut self.authorization, text(head, NONCE)) {
            authorization.authorizer.handle_nonce(&nonce);
        }
    }

    /// Passes the head of an answer to the authorizer.
    pub(super) fn handle_refusal(
        &mut self,
        now: Instant,
        id: ExchangeId,
        head: &StatusHead,
    ) -> RefusalResult {
        self.handle_nonce(head);
        let Some(open) = self.exchanges.get(id) else { return RefusalResult::Unhandled(None) };
        let may_prompt = self.may_prompt(&open.purpose);
        let Some(authorization) = &mut self.authorization else {
            return RefusalResult::Unhandled(None);
        };
        let Some(request) = &open.request else { return RefusalResult::Unhandled(None) };
        let status = head.status();
        let ends_step_ups =
            matches!(status, 200..=299) && authorization.authorizer.counts_step_ups();
        let is_refused = matches!(status, 401 | 403) && may_prompt;
        if !ends_step_ups && !is_refused {
            return RefusalResult::Unhandled(None);
        }
        let operation = operation(&open.purpose, request);
        if ends_step_ups {
            authorization.authorizer.handle_accepted(&operation);
            return RefusalResult::Unhandled(None);
        }
        let unauthorized = Unauthorized::new(status, head.all("WWW-Authenticate"));
        let Attempt { token, refusals: tries, nonces, .. } = open.attempt;
        let sent = SentRequest { token, operation: &operation, tries, nonces };
        let advice = authorization.authorizer.handle_refusal(now, &unauthorized, &sent);
        if let RefusalAdvice::Fail(error) = advice {
            return RefusalResult::Unhandled(Some(error.to_string()));
        }
        let Some((request, purpose, attempt)) = self.exchanges.take_refused(now, id) else {
            return RefusalResult::Unhandled(None);
        };
        let attempt = Attempt {
            refusals: attempt.refusals.saturating_add(1),
            nonces: attempt.nonces.saturating_add(u8::from(unauthorized.wants_nonce())),
            refusal: Some(unauthorized),
            ..attempt
        };
        if advice == RefusalAdvice::Wait {
            self.hold(now, request, purpose, attempt, HeldFor::EndOfFlow);
        } else {
            self.begin_authorized(now, request, purpose, attempt);
        }
        RefusalResult::Retried
    }

    /// Carries out the authorizer's actions; returns false if it has none.
    pub(super) fn pump_authorization(&mut self, now: Instant) -> bool {
        let Some(authorization) = &mut self.authorization else { return false };
        let Some(action) = authorization.authorizer.poll_action() else { return false };
        let is_report = matches!(action, AuthAction::Changed(_));
        if matches!(action, AuthAction::Fetch(_)) || is_report {
            // An earlier request that is still open has timed out.
            if let Some(exchange) = authorization.end_fetch() {
                self.queue.push_back(Action::Abort { exchange });
            }
        }
        match action {
            AuthAction::Fetch(_) if authorization.is_closed() => {}
            AuthAction::Fetch(mut fetch) => {
                let user_agent = self.requests.user_agent();
                fetch.fields.extend(user_agent.map(|it| ("User-Agent", Secret::new(it))));
                let exchange = ExchangeId(self.exchanges.serial());
                authorization.begin_fetch(exchange, &fetch);
                self.queue.push_back(Action::Fetch { exchange, fetch: Box::new(fetch) });
            }
            AuthAction::Changed(state) => {
                self.rpc.credentials_changed();
                self.queue.push_back(Action::Authorize(AuthAction::Changed(state.clone())));
                self.end_flow(now, &state);
            }
            AuthAction::Resume => {
                let is_resumed = |event| event == HeldFor::Credentials;
                for (request, purpose, attempt) in self.exchanges.take_held(is_resumed) {
                    self.send_held(now, request, purpose, attempt);
                }
            }
            other @ (AuthAction::Load { .. }
            | AuthAction::Sign { .. }
            | AuthAction::Subject { .. }
            | AuthAction::Release { .. }
            | AuthAction::Remove { .. }
            | AuthAction::Listen { .. }
            | AuthAction::StopListening
            | AuthAction::Authorized { .. }
            | AuthAction::Consent(_)) => self.queue.push_back(Action::Authorize(other)),
        }
        true
    }

    /// Returns whether the close has to wait for the answer to a request of the authorizer.
    /// Otherwise ends the open request.
    pub(super) fn authorizer_delays_close(&mut self, now: Instant) -> bool {
        let Some(authorization) = &mut self.authorization else { return false };
        let waits = authorization.delays_close(now);
        if !waits {
            self.end_authorization();
        }
        waits
    }

    /// Closes, if the wait for the answer to a request of the authorizer is over.
    pub(super) fn close_after_authorization(&mut self, now: Instant) {
        if self.authorization.as_mut().is_some_and(|it| it.take_close(now)) {
            self.end_authorization();
            self.queue.push_back(Action::Close);
        }
    }

    fn end_authorization(&mut self) {
        let open = self.authorization.as_deref_mut().and_then(OwnAuthorizer::end_fetch);
        self.queue.extend(open.map(|exchange| Action::Abort { exchange }));
    }

    /// Sends the held requests, or fails them.
    fn end_flow(&mut self, now: Instant, state: &AuthState) {
        let Some(authorization) = &mut self.authorization else { return };
        let error = match state {
            AuthState::Asking => return,
            AuthState::Ready { .. } => None,
            AuthState::Failed(error) => Some(error.to_string()),
        };
        authorization.has_failed = error.is_some();
        let keeps_tokens = authorization.authorizer.keeps_tokens();
        for (request, purpose, attempt) in self.exchanges.take_held(|_| true) {
            let is_concerned = !keeps_tokens || attempt.lacks_scopes();
            let Some(reason) = error.as_ref().filter(|_| is_concerned) else {
                self.send_held(now, request, purpose, attempt);
                continue;
            };
            let refusal = attempt.refusal.unwrap_or_else(|| Unauthorized::new(401, []));
            let refusal = Unauthorized { sign_in: Some(reason.clone()), ..refusal };
            let error = CallError::Unauthorized(refusal);
            self.end_without_response(
                now,
                purpose,
                Break::Unauthorized,
                Refusal::Unavailable,
                error,
            );
        }
        if error.is_none() {
            self.authorize_streams(now);
            self.rpc.retry_at_once(now);
        }
    }

    fn send_held(&mut self, now: Instant, request: Request, purpose: Purpose, attempt: Attempt) {
        if let Some(id) = purpose.paused_request() {
            self.rpc.restart_request(now, id);
        }
        self.begin_authorized(now, request, purpose, Attempt { held: None, ..attempt });
    }
}

/// The operation by which step-ups are counted: the method, and the name of a tool, a resource or a
/// prompt. A legacy request has the name in its body only.
fn operation(purpose: &Purpose, request: &Request) -> String {
    let method = match purpose {
        Purpose::Call(call) => &*call.method,
        Purpose::Refresh(_) => "tools/list",
        Purpose::Message(_) => "notifications",
        Purpose::HttpSsePost(_) => "request",
        Purpose::HttpSseStream(_) | Purpose::Listen | Purpose::Drain | Purpose::Delete => "stream",
    };
    let mut fields = request.fields.iter();
    let name = fields.find(|(name, _)| name == headers::NAME).map(|(_, name)| name.to_string());
    let name = name.or_else(|| name_in_body(&request.body));
    name.map_or_else(|| method.into(), |name| format!("{method} {name}"))
}

fn name_in_body(body: &Bytes) -> Option<String> {
    let message = Json::parse(body.clone()).ok()?;
    let message = message.raw();
    let member = headers::name_member(&message.member("method")?.string()?)?;
    Some(message.member("params")?.member(member)?.string()?.into_owned())
}
