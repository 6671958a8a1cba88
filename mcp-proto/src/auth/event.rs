//! Inputs of an authorizer as values, for the current step.

use alloc::string::String;

use super::action::{FetchAnswer, FetchId, RecordId, SignId, SubjectId};
use super::config::Config;
use super::nonces::Nonces;
use super::outbox::AuthOutbox;
use super::record::ServerRecord;
use super::secret::Secret;
use crate::time::{Duration, Instant};

/// An input.
pub(super) enum AuthEvent<'a> {
    /// An answer to a request; `None` if there is none.
    Fetched(FetchId, Option<FetchAnswer<'a>>),
    /// A record; `None` if there is none.
    Loaded(RecordId, Option<&'a str>),
    /// The result of storing a record.
    Stored(RecordId, Result<(), String>),
    /// The redirect URI, or the reason why nothing listens.
    Listening(Result<String, String>),
    /// A redirect.
    Redirect(&'a str),
    /// A person refused, or there is no person.
    RefusedConsent(String),
    /// A signature, or the reason why there is none.
    Signed(SignId, Result<&'a [u8], String>),
    /// The token of a workload or of a person, or the reason why there is none.
    Subject(SubjectId, Result<Secret, String>),
    /// The deadline of the step has passed.
    TimedOut,
}

/// The context of a step.
pub(super) struct StepContext<'a> {
    pub(super) now: Instant,
    /// The time since the Unix epoch.
    pub(super) unix: Duration,
    pub(super) config: &'a mut Config,
    pub(super) outbox: &'a mut AuthOutbox,
    pub(super) nonces: &'a mut Nonces,
    /// The text in the store, as last read or written.
    pub(super) stored: &'a mut Option<Secret>,
}

impl StepContext<'_> {
    /// The record in a text, unless it is the text last read or written.
    pub(super) fn read_newer(&self, text: Option<&str>) -> Option<ServerRecord> {
        let text = text?;
        let is_known = self.stored.as_ref().is_some_and(|stored| stored.expose() == text);
        self.config.read_record(text).filter(|_| !is_known)
    }

    /// True if there is no record any more.
    pub(super) fn is_removed(&self, text: Option<&str>) -> bool {
        text.is_none() && self.stored.as_ref().is_some_and(|stored| !stored.expose().is_empty())
    }

    /// Records that the tokens of a text are used from now on. Otherwise they would count as newer
    /// than their successors, if these cannot be stored.
    pub(super) fn adopt(&mut self, text: Option<&str>) {
        *self.stored = Some(Secret::new(text.unwrap_or_default()));
    }
}

/// A step after an input.
pub(super) enum StepProgress<P, D> {
    /// The step waits for another input.
    Pending(P),
    /// The step is done.
    Done(D),
}
