//! Parts of the last requests of a connection.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::super::Config;
use super::super::admit::{Admitted, SESSION_ID, admit};
use super::super::refused::ImmediateAnswer;
use crate::frame::http1::{Head, HeadMatch, HeadSource};
use crate::message::MessageReader;
use crate::meta::LastMeta;

/// Parts of the last requests of a connection, which make it cheaper to read the next one. They
/// are at most 2 KiB of text, the description of a modern client, and what the head of the last
/// request has passed with. After one request of a connection there are none.
#[derive(Debug, Default)]
pub struct RequestCache {
    pub(super) messages: MessageReader,
    pub(super) last_meta: LastMeta,
    admitted: Option<Box<Admitted>>,
    /// The last head of another HTTP stack, if it has no credentials.
    last_head: Option<Arc<Head>>,
}

/// The fields whose values differ from request to request. No step asks for the length of the body.
const VARYING: [&str; 2] = ["content-length", SESSION_ID];

/// Maximum size of a head that is kept, in bytes.
const MAX_HEAD: usize = 1024;

impl RequestCache {
    /// Runs the steps on a head. If it `repeats` the last one in all but the length of the body,
    /// the steps would pass again with the same result, unless the application takes part in them.
    /// Without them a call over HTTP costs 4 % less.
    pub(in super::super) fn admit(
        &mut self,
        config: &Config,
        head: &Head,
        repeats: bool,
    ) -> Result<Admitted, Box<ImmediateAnswer>> {
        if let Some(admitted) = self.admitted.as_ref().filter(|_| repeats) {
            return Ok(Admitted::clone(admitted));
        }
        self.admitted = None;
        let admitted = admit(config, head)?;
        let is_kept = repeats && config.decides_alone();
        self.admitted = is_kept.then(|| Box::new(admitted.clone()));
        Ok(admitted)
    }

    /// Reads a head of another HTTP stack, and does the same for it. A head that repeats the last
    /// one is not copied. If it were, a call behind tower would cost 4 % more. A head in another
    /// session, or with a body of another length, passes the steps like the last one. If it passed
    /// them again, a call behind tower in one of several sessions would cost 8 % more.
    pub(in super::super) fn admit_source(
        &mut self,
        config: &Config,
        source: impl HeadSource,
    ) -> (Arc<Head>, Result<Admitted, Box<ImmediateAnswer>>) {
        let last = self.last_head.as_ref();
        let compared = last.map(|last| (last, source.compare(last, &VARYING)));
        let (head, repeats) = match compared {
            Some((last, HeadMatch::Equal)) => (last.clone(), true),
            Some((_, HeadMatch::Varied(head))) => {
                if let Some(admitted) = &self.admitted {
                    let admitted = admitted.in_session_of(&head);
                    return (Arc::new(head), Ok(admitted));
                }
                (self.keep(Arc::new(head)), true)
            }
            Some((_, HeadMatch::Different)) | None => {
                let (length, head) = (source.length(), source.into_head());
                let is_kept = length <= MAX_HEAD && config.decides_alone() && !head.has_secret();
                if is_kept {
                    (self.keep(Arc::new(head.detach())), false)
                } else {
                    self.last_head = None;
                    (Arc::new(head), false)
                }
            }
        };
        let admitted = self.admit(config, &head, repeats);
        (head, admitted)
    }

    fn keep(&mut self, head: Arc<Head>) -> Arc<Head> {
        self.last_head = Some(head.clone());
        head
    }
}
