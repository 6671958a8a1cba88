//! Requests of the application outside of a request: each request for input is answered, timed out,
//! withdrawn, or ended with the connection, once.

use mcp_proto::server::{InputId, Notification};
use mcp_proto::types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestURLParams, InputRequest,
    LoggingLevel, LoggingMessageNotificationParams, RequestedSchema,
};
use mcp_proto::{Binding, Duration, Instant, Json, UsageError};

use super::model::{Life, Model};
use super::questions::withdrawn;
use super::seen::Seen;
use super::{Entry, Play};

impl Play {
    pub(super) fn ask_outside(&mut self, n: u8) {
        let request = match n % 4 {
            0 => InputRequest::list_roots(),
            1 => ElicitRequestFormParams::new("who?", RequestedSchema::new()).into(),
            2 => ElicitRequestURLParams::new("pay", "https://example.com").into(),
            _ => CreateMessageRequestParams::new(Vec::new(), 1).into(),
        };
        let (now, millis) = (self.now, 20 * u64::from(n / 4));
        let timeout = if n >= 252 { Duration::MAX } else { Duration::from_millis(millis) };
        let result =
            self.connection.with(now, |server| server.request_input(now, request.clone(), timeout));
        self.inputs.extend(result.as_ref().ok());
        self.log.push(Entry::Event(format!("{result:?}")));
        let deadline = Some(now + timeout).filter(|at| *at != Instant::NEVER);
        self.check(|model, seen| model.ask_outside(&request, deadline, &result, seen));
    }

    pub(super) fn withdraw(&mut self, n: u8) {
        let at = usize::from(n).checked_rem(self.inputs.len());
        let Some(input) = at.and_then(|at| self.inputs.get(at).copied()) else { return };
        let result = self.connection.with(self.now, |server| server.cancel_input(self.now, input));
        self.log.push(Entry::Event(format!("{result:?}")));
        self.check(|model, seen| model.withdraw_outside(input, &result, seen));
    }

    pub(super) fn tell_outside(&mut self, n: u8) {
        let level = match n / 4 % 4 {
            0 => LoggingLevel::Debug,
            1 => LoggingLevel::Notice,
            2 => LoggingLevel::Error,
            _ => LoggingLevel::Emergency,
        };
        let other = |method: &str| {
            let params = Json::parse(if n < 128 { "{\n}" } else { "[]" });
            let params = params.unwrap_or(Json::EMPTY_OBJECT);
            Notification::Other { method: method.into(), params }
        };
        let notification = match n % 4 {
            0 => {
                let message = LoggingMessageNotificationParams::new(level, Json::EMPTY_OBJECT);
                Notification::Log(message)
            }
            1 => other("notifications/other"),
            2 => other("notifications/elicitation/complete"),
            _ => other("notifications/message"),
        };
        let result = self
            .connection
            .with(self.now, |server| server.notify_session(self.now, notification.clone()));
        self.log.push(Entry::Event(format!("{result:?}")));
        self.check(|model, seen| model.tell_outside(&notification, &result, seen));
    }
}

impl Model {
    fn ask_outside(
        &mut self,
        request: &InputRequest,
        deadline: Option<Instant>,
        result: &Result<InputId, UsageError>,
        seen: &mut Seen,
    ) {
        if let Err(expected) = self.may_send_outside() {
            return assert_eq!(result, &Err(expected));
        }
        let max_in_flight = self.limits.max_in_flight;
        let is_full = self.questions.len() >= max_in_flight;
        match result {
            Ok(input) => {
                assert!(!is_full, "more is open than may be");
                self.questions.ask_outside(request.method(), *input, deadline, seen);
            }
            Err(UsageError::TooManyCalls { .. }) => assert!(is_full, "there is room"),
            Err(error) => {
                let may = matches!(
                    error,
                    UsageError::UndeclaredByClient { .. } | UsageError::NotInRevision { .. }
                );
                assert!(may, "{error}");
                let has_roots = self.session.as_ref().is_some_and(|session| session.roots);
                let asks_roots = matches!(request, InputRequest::ListRoots(_));
                assert!(!(has_roots && asks_roots), "{error}");
            }
        }
    }

    fn withdraw_outside(
        &mut self,
        input: InputId,
        result: &Result<(), UsageError>,
        seen: &mut Seen,
    ) {
        let expected = match (&self.life, self.questions.take_outside(input)) {
            (Life::Open, Some(id)) => {
                assert_eq!(withdrawn(&seen.response()), Some(id));
                Ok(())
            }
            (Life::Open, None) => Err(UsageError::NotInFlight),
            (Life::Draining(_) | Life::Closed, _) => Err(UsageError::Closed),
        };
        assert_eq!(result, &expected);
    }

    #[expect(clippy::panic, clippy::wildcard_enum_match_arm, reason = "no other one is told")]
    fn tell_outside(
        &mut self,
        notification: &Notification,
        result: &Result<(), UsageError>,
        seen: &mut Seen,
    ) {
        let may = self.may_send_outside();
        let expected = match notification {
            Notification::Log(_) if may == Err(UsageError::NotInitialized) => Ok(()),
            Notification::Log(_) => may,
            Notification::Other { method, params } => may.and_then(|()| {
                let completes = method == "notifications/elicitation/complete";
                if completes && result.is_ok() && seen.lines.is_empty() {
                    // Of the legacy revisions one has it.
                    Ok(())
                } else if method == "notifications/message" {
                    Err(UsageError::ReservedMethod { method: method.clone() })
                } else if params.as_str().starts_with('{') {
                    Ok(())
                } else {
                    Err(UsageError::NotAnObject { name: method.clone() })
                }
            }),
            other => panic!("{other:?}"),
        };
        assert_eq!(result, &expected);
        let (method, sent) = match notification {
            Notification::Log(message) => {
                let least = self.session.as_ref().and_then(|session| session.level);
                let wanted = least.map_or(!seen.lines.is_empty(), |least| message.level >= least);
                ("notifications/message", wanted)
            }
            Notification::Other { method, .. } => (&**method, !seen.lines.is_empty()),
            other => panic!("{other:?}"),
        };
        if expected.is_ok() && sent {
            let message = seen.response();
            assert!(message.is(method) && message.id.is_none());
        } else {
            let dropped = method == "notifications/elicitation/complete"
                || method == "notifications/message"
                || expected.is_err();
            assert!(dropped, "{method} is lost");
        }
    }

    /// Checks that an initialized legacy client is connected.
    fn may_send_outside(&self) -> Result<(), UsageError> {
        match (&self.life, &self.session) {
            (Life::Draining(_) | Life::Closed, _) => Err(UsageError::Closed),
            (Life::Open, None) => Err(UsageError::NoServerRequests),
            (Life::Open, Some(session)) if !session.initialized => Err(UsageError::NotInitialized),
            (Life::Open, Some(_)) => Ok(()),
        }
    }
}
