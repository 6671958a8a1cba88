//! Typed lists of a server, without entries that do not fit the schema.
//!
//! In: the result of a list. Out: the typed result of the valid entries; each other entry is passed
//! to the callback of the application.

use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::de::DeserializeOwned;

use super::client_mailbox::ClientMailbox;
use crate::misfit::misfits;
use crate::panics::{CaughtDrop, catch_panic};
use mcp_proto::client::{CallError, Listing};
#[cfg(feature = "skills")]
use mcp_proto::ext::skills::{ListSkillsResult, Skill};
use mcp_proto::internals::write::List as Writer;
use mcp_proto::internals::{raw, trusted};
use mcp_proto::types::{
    CallToolResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, Prompt, Resource, ResourceTemplate, Tool,
};
use mcp_proto::{Json, ProtocolError};

/// The typed result of a list.
pub(super) trait TypedList: DeserializeOwned {
    /// Kind of the list.
    const LISTING: Listing;
    /// Type of an entry.
    type Entry: DeserializeOwned;
}

impl TypedList for ListToolsResult {
    const LISTING: Listing = Listing::Tools;
    type Entry = Tool;
}

impl TypedList for ListPromptsResult {
    const LISTING: Listing = Listing::Prompts;
    type Entry = Prompt;
}

impl TypedList for ListResourcesResult {
    const LISTING: Listing = Listing::Resources;
    type Entry = Resource;
}

impl TypedList for ListResourceTemplatesResult {
    const LISTING: Listing = Listing::ResourceTemplates;
    type Entry = ResourceTemplate;
}

#[cfg(feature = "skills")]
impl TypedList for ListSkillsResult {
    const LISTING: Listing = Listing::Skills;
    type Entry = Skill;
}

/// Decodes a result.
pub(super) fn decode<R: DeserializeOwned>(
    _mailbox: &Arc<ClientMailbox>,
    result: &Json,
) -> Result<R, CallError> {
    result.decode_lossy().map_err(|error| malformed::<R>(result, &error))
}

/// Decodes the result of a tool.
pub(super) fn decode_tool_result(
    _mailbox: &Arc<ClientMailbox>,
    result: &Json,
) -> Result<CallToolResult, CallError> {
    CallToolResult::from_json(result).map_err(|error| malformed::<CallToolResult>(result, &error))
}

#[cold]
fn malformed<R: DeserializeOwned>(result: &Json, error: &serde_json::Error) -> CallError {
    let places = misfits::<R>(result, error);
    CallError::Protocol(ProtocolError::MalformedResult { places })
}

/// Decodes the result of a list; entries that cannot be read are left out and reported.
pub(super) fn decode_list<L: TypedList>(
    mailbox: &Arc<ClientMailbox>,
    result: &Json,
) -> Result<L, CallError> {
    // Most lists decode as a whole. Only others are searched for unreadable entries.
    decode(mailbox, result).or_else(|error| {
        let readable = without_unreadable::<L>(mailbox, result);
        readable.map_or(Err(error), |readable| decode(mailbox, &readable))
    })
}

/// The same result without the entries that cannot be read; `None` if all of them can.
fn without_unreadable<L: TypedList>(mailbox: &ClientMailbox, result: &Json) -> Option<Json> {
    let rejected = CaughtDrop::new(mailbox.callback(|it| it.entry_rejected.clone()));
    let mut text = Vec::new();
    let mut entries = Vec::new();
    let mut index = 0_usize;
    let mut count = 0_usize;
    let mut object = Writer::object(&mut text);
    raw(result).members(|key, value| {
        if key.string().as_deref() != Some(L::LISTING.member()) {
            return object.copy(key, value);
        }
        value.elements(|entry| {
            let json = trusted(entry.0.to_vec());
            match json.decode_lossy::<L::Entry>() {
                Ok(_) => {
                    if !entries.is_empty() {
                        entries.push(b',');
                    }
                    entries.extend_from_slice(entry.0);
                }
                Err(error) => {
                    count += 1;
                    if let Some(Some(rejected)) = rejected.get() {
                        let reason = misfits::<L::Entry>(&json, &error);
                        catch_panic(|| rejected(L::LISTING, index, &reason));
                    }
                }
            }
            index += 1;
        });
    });
    object.member(L::LISTING.member(), &[b"[", &*entries, b"]"].concat());
    object.end();
    (count > 0).then(|| trusted(text))
}
