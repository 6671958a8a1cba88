//! Parts of the last requests of a connection.

use crate::message::MessageReader;
use crate::meta::LastMeta;

/// Parts of the last requests of a connection, which make it cheaper to read the next one. They
/// are at most 1 KiB of text, and the description of a modern client. After one request there are
/// none.
#[derive(Debug, Default)]
pub(crate) struct RequestCache {
    pub(super) messages: MessageReader,
    pub(super) last_meta: LastMeta,
}
