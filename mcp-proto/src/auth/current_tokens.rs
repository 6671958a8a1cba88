//! The tokens that an authorizer has.
//!
//! In: a record, and events of its tokens. Out: the validity of the tokens, and the time to refresh
//! them. A refresh starts before the access token expires: by a tenth of the lifetime that the
//! token had when it was received or loaded, at most one minute. A token of unknown lifetime does
//! not expire.

use super::action::TokenId;
use super::granted::GrantedToken;
use super::record::ServerRecord;
use crate::time::{Duration, Instant};

const MARGIN: Duration = Duration::from_secs(60);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// The origin of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenSource {
    /// The store.
    Store,
    /// A refresh.
    Refresh,
    /// An authorization.
    Authorization,
}

/// Tokens of one server.
#[derive(Debug)]
pub(super) struct CurrentTokens {
    pub(super) id: TokenId,
    pub(super) source: TokenSource,
    pub(super) record: ServerRecord,
    over_at: Instant,
    refresh_at: Instant,
    is_refused: bool,
    /// True if the authorization server has refused the registered client of the tokens.
    is_client_refused: bool,
    /// True if a request has used the access token, or the token comes from the store.
    was_used: bool,
    /// The number of unanswered refreshes in a row.
    unanswered: u32,
}

impl CurrentTokens {
    /// Tokens of a record. `unix` is the time since the Unix epoch at `now`.
    pub(super) fn new(
        id: TokenId,
        source: TokenSource,
        record: ServerRecord,
        now: Instant,
        unix: Duration,
    ) -> Self {
        let left = record.expires_at.map(|at| at.saturating_sub(unix));
        let over_at = left.map_or(Instant::NEVER, |left| now + left);
        let early = left.map(|left| left.saturating_sub(MARGIN.min(left / 10)));
        let refresh_at = early.map_or(Instant::NEVER, |early| now + early);
        Self {
            id,
            source,
            record,
            over_at,
            refresh_at,
            is_refused: false,
            is_client_refused: false,
            was_used: source == TokenSource::Store,
            unanswered: 0,
        }
    }

    /// True if a record has the same tokens.
    pub(super) fn are_those_of(&self, record: &ServerRecord) -> bool {
        self.record.access_token == record.access_token
            && self.record.refresh_token == record.refresh_token
    }

    /// True if the access token has not expired and was not refused.
    pub(super) fn is_valid(&self, now: Instant) -> bool {
        now < self.over_at && !self.is_refused
    }

    /// True if the next request must wait for a refresh. A token is used at least once before its
    /// refresh, so that a lifetime of zero does not cause endless refreshes.
    pub(super) fn must_refresh(&self, now: Instant) -> bool {
        self.record.refresh_token.is_some() && self.refresh_at <= now && self.was_used
    }

    /// True if the access token has expired, and no refresh token can renew it.
    pub(super) fn is_expired_for_good(&self, now: Instant) -> bool {
        self.record.refresh_token.is_none() && self.over_at <= now && self.was_used
    }

    /// Records that a request uses the access token.
    pub(super) fn mark_used(&mut self) {
        self.was_used = true;
    }

    /// Records that the next request may use the access token, although it has expired.
    pub(super) fn mark_unused(&mut self) {
        self.was_used = false;
    }

    /// Records that the server has refused the access token.
    pub(super) fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// Counts the access token as refused. Schedules another refresh if the refresh token may be
    /// tried again, and drops it otherwise.
    pub(super) fn refuse_refresh(&mut self, now: Instant, may_retry: bool) {
        self.refuse();
        if may_retry {
            self.schedule_retry(now);
        } else {
            self.record.refresh_token = None;
        }
    }

    /// Drops the refresh token of a registered client that the authorization server has refused.
    pub(super) fn refuse_client(&mut self) {
        self.refuse();
        self.record.refresh_token = None;
        self.is_client_refused = true;
    }

    /// The id of the registered client, if the authorization server has refused it.
    pub(super) fn refused_client(&self) -> Option<&str> {
        Some(self.record.client.id.as_str()).filter(|_| self.is_client_refused)
    }

    /// Prevents refreshes until the access token has expired.
    pub(super) fn skip_refresh_until_expiry(&mut self) {
        self.refresh_at = self.over_at;
    }

    /// Schedules the next refresh after 1, 2, 4 … 60 s.
    pub(super) fn schedule_retry(&mut self, now: Instant) {
        let seconds = 1_u64.checked_shl(self.unanswered).unwrap_or(u64::MAX);
        self.unanswered = (self.unanswered + 1).min(6);
        self.refresh_at = now + Duration::from_secs(seconds).min(MAX_RETRY_DELAY);
    }

    /// The record after a refresh. If the answer has no refresh token, the record keeps the earlier
    /// refresh token.
    pub(super) fn refreshed(&self, token: GrantedToken, unix: Duration) -> ServerRecord {
        let earlier = self.record.clone();
        ServerRecord {
            access_token: token.access_token,
            expires_at: expires_at(token.expires_in, unix),
            refresh_token: token.refresh_token.or(earlier.refresh_token),
            ..earlier
        }
    }
}

/// The end of a lifetime of `expires_in` seconds, as a time since the Unix epoch.
pub(super) fn expires_at(expires_in: Option<u64>, unix: Duration) -> Option<Duration> {
    expires_in.map(|seconds| unix.saturating_add(Duration::from_secs(seconds)))
}
