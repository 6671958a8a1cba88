//! Parts of the last requests of a connection.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::super::Config;
use super::super::admit::{Admitted, SESSION_ID, admit};
use super::super::refused::ImmediateAnswer;
use crate::frame::http1::{Head, HeadMatch, HeadRepetition, HeadSource};
use crate::message::MessageReader;
use crate::server::LastSender;

/// Parts of the last requests of a connection, which make it cheaper to read the next one. They
/// are at most 2 KiB of text, the description of a modern client, and what the head of the last
/// request has passed with. After one request of a connection there are none.
#[derive(Debug, Default)]
pub struct RequestCache {
    pub(super) messages: MessageReader,
    pub(super) last_sender: LastSender,
    admitted: Option<Box<AdmittedHead>>,
    /// The last head of another HTTP stack, if it has no credentials.
    last_head: Option<Arc<Head>>,
}

/// The result of the steps on a head.
#[derive(Debug)]
struct AdmittedHead {
    admitted: Admitted,
    /// True if the head is not the one that is kept, but one in another session.
    is_varied: bool,
}

/// The fields whose values differ from request to request. No step asks for the length of the body.
const VARYING: [&str; 2] = ["content-length", SESSION_ID];

/// Maximum size of a head that is kept, in bytes.
const MAX_HEAD: usize = 1024;

impl RequestCache {
    /// Runs the steps on a head. Unless the application takes part in them, they would pass again
    /// if the head differs from the one that is kept in the length of the body only. Without them a
    /// call over HTTP costs 4 % less. A head in another session passes like the one that is kept.
    pub(in super::super) fn admit(
        &mut self,
        config: &Config,
        head: &Head,
        repetition: HeadRepetition,
    ) -> Result<Admitted, Box<ImmediateAnswer>> {
        match (&mut self.admitted, repetition) {
            (Some(known), HeadRepetition::Varied) => return Ok(known.admitted.in_session_of(head)),
            (Some(known), HeadRepetition::Equal) => {
                if core::mem::take(&mut known.is_varied) {
                    known.admitted = known.admitted.in_session_of(head);
                }
                return Ok(known.admitted.clone());
            }
            (Some(_), HeadRepetition::Different) | (None, _) => {}
        }
        self.admitted = None;
        let admitted = admit(config, head)?;
        if repetition != HeadRepetition::Different && config.decides_alone() {
            let is_varied = repetition == HeadRepetition::Varied;
            let admitted = admitted.clone();
            self.admitted = Some(Box::new(AdmittedHead { admitted, is_varied }));
        }
        Ok(admitted)
    }

    /// Reads a head of another HTTP stack, and does the same for it. A head that repeats the last
    /// one is not copied. If it were, a call behind tower would cost 4 % more. A head in another
    /// session does not pass the steps again. If it did, a call behind tower in one of several
    /// sessions would cost 8 % more.
    pub(in super::super) fn admit_source(
        &mut self,
        config: &Config,
        source: impl HeadSource,
    ) -> (Arc<Head>, Result<Admitted, Box<ImmediateAnswer>>) {
        let last = self.last_head.as_ref();
        let (head, repetition) = match last.map(|last| (last, source.compare(last, &VARYING))) {
            Some((last, HeadMatch::Equal)) => (last.clone(), HeadRepetition::Equal),
            Some((_, HeadMatch::Varied(head))) => (Arc::new(head), HeadRepetition::Varied),
            Some((_, HeadMatch::Different)) | None => {
                let (length, head) = (source.length(), source.into_head());
                let is_kept = length <= MAX_HEAD && config.decides_alone() && !head.has_secret();
                let head = Arc::new(if is_kept { head.detach() } else { head });
                self.last_head = is_kept.then(|| head.clone());
                (head, HeadRepetition::Different)
            }
        };
        let admitted = self.admit(config, &head, repetition);
        (head, admitted)
    }
}
