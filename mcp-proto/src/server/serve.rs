//! Dispatch for both eras: from a request to its answer, or to the handler.
//!
//! In: a request with a known era and a valid envelope. Out: a page of a list, an empty completion,
//! or a [`Target`]; otherwise the step at which the request fails, method or params.
//!
//! [Specification: Server Features](https://modelcontextprotocol.io/specification/2026-07-28/server)

use alloc::string::{String, ToString};
use alloc::sync::Arc;

use bytes::Bytes;

use super::access::ListEntry;
use super::cacheable::Cacheable;
use super::call::{CallKind, Requester};
use super::declaration::{CompletionSource, Declaration, PromptEntry, ToolEntry};
use super::event::Peer;
use super::handler_id::HandlerId;
use super::registered::Reference;
use crate::error::{ProtocolError, ValidationStep};
use crate::ext;
use crate::headers::MirroredHeaders;
use crate::json::{Json, Raw};
use crate::message::{Capability, Member, Method, Params};
use crate::types::CompleteRequestParams;
use crate::version::Era;

/// Answer to a request, or the handler that will answer it.
pub(super) enum Served {
    /// A page of a list.
    Page(Cacheable, Json),
    /// A result.
    Result(Json),
    /// A handler.
    Handler(Target),
}

/// Answer to a request, in either era.
pub(super) enum Answer {
    Result {
        stamp: Bytes,
        result: Json,
    },
    /// A subscription, which is answered when it ends; with its sender, if entries have filters.
    Subscription(Option<Arc<Peer>>),
    /// A subscription that names tasks, which this handler looks up first.
    TaskSubscription(Target, Requester),
    Handler(Target, Requester),
}

/// The handler of a request, and the arguments for it.
pub(super) struct Target {
    pub(super) handler: HandlerId,
    pub(super) kind: CallKind,
    pub(super) arguments: Json,
}

/// The sender of a request, as far as the answer depends on it.
pub(super) struct Caller<'a> {
    pub(super) capabilities: &'a Json,
    /// Makes the peer. It is only called if there are filters.
    pub(super) peer: &'a dyn Fn() -> Arc<Peer>,
}

impl Declaration {
    /// Answers a request whose method both eras have, or finds its handler.
    pub(super) fn serve(
        &self,
        era: Era,
        method: &Method,
        params: &Params,
        caller: &Caller<'_>,
        head: Option<&MirroredHeaders<'_>>,
    ) -> Result<Served, ProtocolError> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all others have a handler, or none")]
        match method {
            Method::CallTool => self.tool(era, params, caller, head),
            Method::ListTools => self.list(era, Cacheable::Tools, params, caller),
            Method::ListResources => self.list(era, Cacheable::Resources, params, caller),
            Method::ListResourceTemplates => {
                self.list(era, Cacheable::ResourceTemplates, params, caller)
            }
            Method::ReadResource => self.read(params, caller),
            Method::ListPrompts => self.list(era, Cacheable::Prompts, params, caller),
            Method::GetPrompt => self.prompt(params, caller),
            Method::Complete => self.complete(params, caller),
            _ => self.other(era, method, params, caller.capabilities),
        }
    }

    /// A method that was registered with a handler of its own.
    fn other(
        &self,
        era: Era,
        method: &Method,
        params: &Params,
        capabilities: &Json,
    ) -> Result<Served, ProtocolError> {
        let is_served = method.row().is_none_or(|row| row.is_in(era) && row.has_handler());
        let entry = self.method(method.name()).filter(|_| is_served);
        let (handler, required) = entry.ok_or_else(|| not_found(method))?;
        check_extensions(era, required, capabilities)?;
        let arguments = params.json().clone();
        Ok(Served::Handler(Target { handler, kind: CallKind::Other, arguments }))
    }

    /// The handler that looks up the tasks of a subscription. `None` if the subscription names no
    /// tasks, or if this server has no such handler.
    ///
    /// Fails with [`ProtocolError::ExtensionsRequired`] if the subscription has `taskIds`, and the
    /// server declares the extension of tasks but the client does not.
    pub(super) fn looks_up_tasks(
        &self,
        params: &Params,
        capabilities: &Json,
    ) -> Result<Option<HandlerId>, ProtocolError> {
        let filter = params.json().raw().member("notifications");
        let task_ids = filter.and_then(|filter| filter.member("taskIds"));
        let Some(task_ids) = task_ids.filter(|_| self.declares(Capability::Tasks)) else {
            return Ok(None);
        };
        check_extensions(Era::Modern, &[ext::TASKS.into()], capabilities)?;
        let mut names_any = false;
        task_ids.elements(|_| names_any = true);
        Ok(self.task_subscriptions.filter(|_| names_any))
    }

    /// Fails with [`ProtocolError::MethodNotFound`] if a method needs a capability that is not
    /// declared.
    pub(super) fn check_capability(&self, method: &Method) -> Result<(), ProtocolError> {
        match method.row().and_then(|row| row.capability) {
            Some(capability) if !self.declares(capability) => Err(not_found(method)),
            _ => Ok(()),
        }
    }

    /// Returns whether a capability is declared.
    pub(super) fn declares(&self, capability: Capability) -> bool {
        let declared = &self.capabilities;
        match capability {
            Capability::Completions => declared.completions.is_some(),
            Capability::Logging => declared.logging.is_some(),
            Capability::Prompts => declared.prompts.is_some(),
            Capability::Resources => declared.resources.is_some(),
            Capability::ResourceSubscriptions => {
                declared.resources.is_some_and(|resources| resources.subscribe)
            }
            Capability::Tasks => declared.extensions.contains_key(ext::TASKS),
            Capability::Tools => declared.tools.is_some(),
        }
    }

    fn list(
        &self,
        era: Era,
        list: Cacheable,
        params: &Params,
        caller: &Caller<'_>,
    ) -> Result<Served, ProtocolError> {
        let cursor = match params.raw(Member::Cursor) {
            None | Some(Raw(b"null")) => None,
            Some(raw) => Some(raw.string().ok_or(ProtocolError::InvalidCursor)?),
        };
        let page = self.page(era, list, cursor.as_deref(), caller.peer);
        Ok(Served::Page(list, page.ok_or(ProtocolError::InvalidCursor)?))
    }

    fn tool(
        &self,
        era: Era,
        params: &Params,
        caller: &Caller<'_>,
        head: Option<&MirroredHeaders<'_>>,
    ) -> Result<Served, ProtocolError> {
        let name = string(params, Member::Name)?;
        let entry = self.tool_entry(&name, caller.peer);
        let Some(ToolEntry { handler, wraps, plan, required, tasks }) = entry else {
            return Err(ProtocolError::UnknownTool { name: name.into_owned() });
        };
        self.check_scopes(&name, caller.peer)?;
        let arguments = arguments(params)?;
        if let Some(head) = head
            && !plan.is_empty()
        {
            head.check_params(plan, &arguments)
                .map_err(ProtocolError::header(ValidationStep::ParamHeaders))?;
        }
        check_extensions(era, required, caller.capabilities)?;
        let handler = *handler;
        let declares = || ext::settings(caller.capabilities, ext::TASKS).is_some();
        let task = *tasks && era == Era::Modern && declares();
        let kind = CallKind::Tool { wraps: *wraps, task };
        Ok(Served::Handler(Target { handler, kind, arguments }))
    }

    fn read(&self, params: &Params, caller: &Caller<'_>) -> Result<Served, ProtocolError> {
        let uri = string(params, Member::Uri)?;
        let Some((handler, arguments)) = self.resource(&uri, caller.peer) else {
            return Err(ProtocolError::ResourceNotFound { uri: uri.into_owned() });
        };
        let kind = CallKind::Resource { retried: false };
        Ok(Served::Handler(Target { handler, kind, arguments }))
    }

    fn prompt(&self, params: &Params, caller: &Caller<'_>) -> Result<Served, ProtocolError> {
        let name = string(params, Member::Name)?;
        let entry = self.prompts.get(&*name);
        let entry = entry.filter(|_| !self.hides(|| ListEntry::prompt(&*name), caller.peer));
        let Some(PromptEntry { handler, required }) = entry else {
            return Err(ProtocolError::UnknownPrompt { name: name.into_owned() });
        };
        let arguments = arguments(params)?;
        let mut bad = None;
        let mut missing: alloc::vec::Vec<&String> = required.iter().collect();
        arguments.raw().members(|key, value| {
            let name = key.string().unwrap_or_default();
            missing.retain(|required| **required != *name);
            if !value.is_quoted() {
                bad.get_or_insert_with(|| name.into_owned());
            }
        });
        if let Some(name) = bad.or_else(|| missing.first().map(ToString::to_string)) {
            return Err(ProtocolError::InvalidArgument { name });
        }
        let handler = *handler;
        let kind = CallKind::Prompt;
        Ok(Served::Handler(Target { handler, kind, arguments }))
    }

    fn complete(&self, params: &Params, caller: &Caller<'_>) -> Result<Served, ProtocolError> {
        let json = params.json();
        let asked: Option<CompleteRequestParams> = json.decode_lossy().ok();
        // serde would also read a struct from an array.
        let asked = asked.filter(|asked| {
            let has = |member| json.raw().has_object(member);
            has("ref") && has("argument") && (asked.context.is_none() || has("context"))
        });
        let asked = asked.ok_or(ProtocolError::InvalidParam {
            member: "ref",
            expected: "a reference, and `params.argument` a name and a value",
        })?;
        let reference = Reference::from(asked.reference);
        match self.completion(&reference, caller.peer) {
            Some(CompletionSource::Handler(handler)) => {
                let arguments = params.json().clone();
                Ok(Served::Handler(Target { handler, kind: CallKind::Completion, arguments }))
            }
            Some(CompletionSource::Empty) => Ok(Served::Result(NO_COMPLETIONS)),
            None => {
                let (Reference::Prompt(reference) | Reference::Template(reference)) = reference;
                Err(ProtocolError::UnknownReference { reference })
            }
        }
    }
}

const NO_COMPLETIONS: Json = Json::constant(r#"{"completion":{"values":[]}}"#);

pub(super) fn not_found(method: &Method) -> ProtocolError {
    ProtocolError::MethodNotFound { method: method.name().into() }
}

/// Fails with [`ProtocolError::ExtensionsRequired`] if a client with these capabilities lacks an
/// extension.
fn check_extensions(
    era: Era,
    required: &[String],
    capabilities: &Json,
) -> Result<(), ProtocolError> {
    // "Servers MUST NOT treat this capability as enabling tasks under that protocol version."
    let is_defined = |identifier: &str| era == Era::Modern || identifier != ext::TASKS;
    let lacks = |identifier: &&String| {
        !is_defined(identifier) || ext::settings(capabilities, identifier).is_none()
    };
    let identifiers: alloc::vec::Vec<String> = required.iter().filter(lacks).cloned().collect();
    if identifiers.is_empty() {
        Ok(())
    } else {
        Err(ProtocolError::ExtensionsRequired { identifiers })
    }
}

/// A member of the parameters that must be a string.
pub(super) fn string(
    params: &Params,
    member: Member,
) -> Result<alloc::borrow::Cow<'_, str>, ProtocolError> {
    let expected = "a string";
    let value = params.raw(member).and_then(Raw::string);
    value.ok_or(ProtocolError::InvalidParam { member: member.name(), expected })
}

/// The arguments of a tool or a prompt. Some clients send `null` for no arguments.
fn arguments(params: &Params) -> Result<Json, ProtocolError> {
    match params.get(Member::Arguments) {
        None => Ok(Json::EMPTY_OBJECT),
        Some(arguments) if arguments.raw().is_object() => Ok(arguments),
        Some(arguments) if arguments.as_bytes() == b"null" => Ok(Json::EMPTY_OBJECT),
        Some(_) => Err(ProtocolError::InvalidParam { member: "arguments", expected: "an object" }),
    }
}
