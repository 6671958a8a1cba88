//! Parts for use by the crate `mcp-service`, and by tests of laws.
//!
//! Handlers and clients as futures read and write JSON, keep timers and share limits like the
//! machines. These types are not an API. They are public because crates cannot share code
//! otherwise. They are hidden from the documentation, and may change in any release.
//!
//! | part | `mcp-service` |
//! |---|---|
//! | [`Raw`], [`mod@write`], [`raw`], [`trusted`] | reads results in place; writes params and results whose shape is fixed |
//! | [`explain`], [`DecodeError`], [`Misfit`], [`MisfitReason`] | says where arguments and results do not fit |
//! | [`count_values`] | limits the values that are checked against a schema |
//! | [`Deadlines`] | the sleeps of handlers, the timeouts of exchanges |
//! | [`SeqMap`] | the calls that an application waits for |
//! | `LastRequest` | the heads of a client's requests |
//! | `Alarms`, `Holder`, `Shares` | the connections of a server, by address |
//! | `useless_entries` | the allowed hosts and origins of a server, when it starts |
//! | `unreachable_tools` | tools that require scopes at a server that is not protected |
//! | `RequestCache`, `admit_cached`, `answer_cached`, `has_machine` | requests of another HTTP stack |
//! | `task_outcome`, `task_error`, `repeat_task` | outcomes of handlers and jobs whose requests have become tasks |
//! | `offered_tool`, `check_scopes` | the tool of a task that goes on with its input |
//! | `offered_skills` | the skills that a caller sees |
//! | [`percent`] | pointers in schemas, and forms of the authorization server for tests |
//! | `redirect_params` | the redirect that ends a sign-in, as a user or a browser gives it |
//! | [`require_tasks`] | a tool whose calls must become tasks, or need not any longer |
//! | [`renumber_shared`], [`NewHandlerIds`] | the handlers of a registry that is mounted |
//! | [`tool`], [`tool_of`] | the tool of a call that is validated, has layers, or becomes a task |
//! | `request_reader` | a connection, for the laws of what it remembers |

#[cfg(feature = "skills")]
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

#[cfg(feature = "auth")]
pub use crate::auth::redirect_uri::redirect_params;
pub use crate::deadlines::Deadlines;
#[cfg(feature = "skills")]
use crate::ext::skills::SkillCatalog;
use crate::frame::http1::HeadSource;
pub use crate::frame::http1::LastRequest;
pub use crate::http::server::alarms::Alarms;
pub use crate::http::server::exchange::RequestCache;
pub use crate::http::server::intake::request_reader;
pub use crate::http::server::shares::{Holder, Shares};
use crate::http::{Admission, Config, Exchange};
use crate::json::Json;
pub use crate::json::{DecodeError, Misfit, MisfitReason, Raw, count_values, write};
use crate::message::ErrorData;
pub use crate::seq_map::SeqMap;
pub use crate::server::handler_id::NewHandlerIds;
use crate::server::task::Record;
use crate::server::task::step::TaskStep;
use crate::server::{self, Declaration, HandlerId, Outcome, Peer, Registry};
use crate::time::Instant;
use crate::types::Tool;
pub use crate::url::percent;

/// A view of a value.
#[inline]
pub fn raw(json: &Json) -> Raw<'_> {
    json.raw()
}

/// Marks a text as one valid JSON value.
#[inline]
pub fn trusted(text: impl Into<Bytes>) -> Json {
    Json::trusted(text)
}

/// The places at which a value does not match `T`; `None` if they cannot be found.
#[cold]
pub fn explain<T: serde::de::DeserializeOwned>(json: &Json) -> Option<DecodeError> {
    crate::json::explain::<T>(json.as_str())
}

/// Advice about the allowed hosts and origins that allow nothing.
pub fn useless_entries(config: &Config) -> Vec<String> {
    config.useless_entries()
}

/// Advice about the tools that no client can call: they require scopes, and no request has a token.
/// A server behind another HTTP stack may get the claims from a layer in front.
pub fn unreachable_tools(declaration: &Declaration, config: &Config) -> Option<String> {
    let tools = declaration.tools_with_scopes();
    let has_claims = config.verifier.is_some() || config.authorize.is_some();
    (!has_claims && !tools.is_empty()).then(|| {
        alloc::format!(
            "all calls of tools that require scopes get 403, because the server is not protected; \
             call Config::protect, or remove the scopes of: {}",
            tools.join(", ")
        )
    })
}

/// The outcome of a handler whose request has become a task, as its client may get it.
pub fn task_outcome(peer: &Peer, outcome: Outcome) -> Outcome {
    server::task_outcome(peer, outcome)
}

/// The error of a job whose request has become a task, as its client may get it.
pub fn task_error(error: ErrorData) -> ErrorData {
    server::task_error(error)
}

/// Stores the state of a handler that asks for nothing else: its call is resumed at once.
pub fn repeat_task(record: &mut Record, state: String) -> TaskStep {
    record.repeat(state)
}

/// The handler of a tool; `None` if there is no such tool for this caller.
pub fn offered_tool(
    declaration: &Declaration,
    name: &str,
    caller: &Arc<Peer>,
) -> Option<HandlerId> {
    declaration.offered_tool(name, caller)
}

/// Checks that the token of this caller has the scopes that a tool requires.
pub fn check_scopes(
    declaration: &Declaration,
    tool: &str,
    caller: &Arc<Peer>,
) -> Result<(), ErrorData> {
    let checked = declaration.check_scopes(tool, &|| caller.clone());
    checked.map_err(|error| ErrorData::in_revision(&error, caller.version))
}

/// The skills whose resources are offered to this caller.
#[cfg(feature = "skills")]
pub fn offered_skills<'a>(
    declaration: &Declaration,
    skills: &'a SkillCatalog,
    caller: &Arc<Peer>,
) -> Cow<'a, SkillCatalog> {
    if declaration.offers_all() {
        return Cow::Borrowed(skills);
    }
    Cow::Owned(skills.offered(|uri| declaration.offers_resource(uri, caller)))
}

/// The tool of this name, and its handler.
pub fn tool<'a, H>(registry: &'a Registry<H>, name: &str) -> Option<(&'a Tool, HandlerId)> {
    registry.tool(name)
}

/// The tool that has this handler.
pub fn tool_of<H>(registry: &Registry<H>, handler: HandlerId) -> Option<&Tool> {
    registry.tool_of(handler)
}

/// Sets whether clients must support tasks for a tool of [`Registry::allow_tasks`].
pub fn require_tasks<H>(registry: &mut Registry<H>, tool: &str, is_required: bool) {
    registry.require_tasks(tool, is_required);
}

/// Gives the handlers of `mounted` new ids if `host` has one of them.
pub fn renumber_shared<H>(mounted: &mut Registry<H>, host: &Registry<H>) -> NewHandlerIds {
    mounted.renumber_shared(host)
}

/// Checks the head of a request that needs no verdict. `cache` has parts of the last requests.
pub fn admit_cached(
    config: &Arc<Config>,
    source: impl HeadSource,
    cache: &mut RequestCache,
) -> Result<Admission, Box<Exchange>> {
    Admission::cached(config, source, cache)
}

/// The exchange that answers a request. `cache` has parts of the last requests. Without `body` it
/// is the one that was added to the admission.
pub fn answer_cached(
    admission: Admission,
    now: Instant,
    declaration: &Arc<Declaration>,
    body: Option<&Bytes>,
    cache: &mut RequestCache,
) -> Exchange {
    admission.answer_cached(now, declaration, body, cache)
}

/// Returns whether an exchange has a machine of its own, or gets one: it may have events. The
/// endpoint handles the events of all others.
pub fn has_machine(exchange: &Exchange) -> bool {
    exchange.has_machine()
}
