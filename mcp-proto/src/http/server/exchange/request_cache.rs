//! Parts of the last requests of a connection.

use alloc::boxed::Box;

use super::super::Config;
use super::super::admit::{Admitted, admit};
use super::super::refused::ImmediateAnswer;
use crate::frame::http1::Head;
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
    /// The last head that was built field by field, if it has no credentials.
    built: Option<Box<[u8]>>,
}

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

    /// Does the same for a head that was built field by field.
    pub(in super::super) fn admit_built(
        &mut self,
        config: &Config,
        head: &Head,
    ) -> Result<Admitted, Box<ImmediateAnswer>> {
        let text = head.text();
        let repeats = self.built.as_deref() == Some(text);
        if !repeats {
            let is_kept = text.len() <= MAX_HEAD && config.decides_alone() && !head.has_secret();
            self.built = is_kept.then(|| text.into());
        }
        self.admit(config, head, repeats)
    }
}
