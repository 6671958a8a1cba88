//! Layers: functions around the handlers of requests.
//!
//! In: a request before its handler. Out: its outcome. Applications register layers. They run
//! outside of the validation of arguments; the first one that is registered is the outermost.

mod limits;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::{Future, ready};

use super::checks::Checks;
use super::handler::Handler;
use super::handler_call::{BoxFuture, HandlerArgs, HandlerCall};
use super::result::tool_outcome;
use super::{Context, Registry};
use mcp_proto::headers::name_in;
use mcp_proto::internals::NewHandlerIds;
use mcp_proto::message::Method;
use mcp_proto::server::{HandlerId, Outcome};
use mcp_proto::types::{CallToolResult, Tool};
use mcp_proto::{ErrorData, Instant, Json};

pub use limits::{limit_concurrency, limit_rate};

/// The kind of a handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum HandlerKind {
    /// `tools/call`.
    Tool,
    /// `resources/read`, of a resource or a template.
    Resource,
    /// `prompts/get`.
    Prompt,
    /// `completion/complete`.
    Completion,
    /// Any other method: one that the registry adds, those of tasks and of their subscriptions, the
    /// fallback, and all requests of a registry that forwards.
    Method,
}

impl HandlerKind {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are added by registries")]
    fn of(method: &Method) -> Self {
        match method {
            Method::CallTool => Self::Tool,
            Method::ReadResource => Self::Resource,
            Method::GetPrompt => Self::Prompt,
            Method::Complete => Self::Completion,
            _ => Self::Method,
        }
    }
}

/// A request before its handler. A function around handlers may change `params`, `arguments` and
/// `context`, which the inner functions and the handler get. Changes of other fields are only seen
/// by the inner functions and by the methods of this type: the same functions and the same handler
/// run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandlerRequest {
    /// The kind of the handler.
    pub kind: HandlerKind,
    /// The method, such as `tools/call`.
    pub method: String,
    /// The declaration of the tool, for `tools/call`.
    pub tool: Option<Tool>,
    /// The parameters as received. Handlers of resources, completions and methods use these.
    pub params: Json,
    /// The arguments of a tool or a prompt, or the variables of a resource template.
    pub arguments: Json,
    /// The context of the handler, with the peer.
    pub context: Context,
    /// The time at which the request arrived, by the adapter's clock.
    pub received: Instant,
    /// True if the server runs the handler again with input, in a task or in the session of a
    /// legacy client. The client cannot repeat the request, so a refusal would lose the input.
    pub is_rerun: bool,
}

impl HandlerRequest {
    /// The name of the tool or prompt, the URI of the resource, or the id of the task, as in the
    /// header `Mcp-Name`; `None` for other methods.
    pub fn subject(&self) -> Option<Cow<'_, str>> {
        name_in(&self.method, &self.params)
    }

    /// An outcome that refuses the request: for a tool a result with `isError` and this text, for
    /// the model; else a JSON-RPC error with -32603.
    pub fn refuse(&self, text: impl Into<String>) -> Outcome {
        match self.kind {
            HandlerKind::Tool => tool_outcome(Ok(CallToolResult::error(text))),
            HandlerKind::Resource
            | HandlerKind::Prompt
            | HandlerKind::Completion
            | HandlerKind::Method => Outcome::Error(ErrorData::internal(text.into())),
        }
    }
}

/// The inner functions around a handler, and the handler. With a clone a function can run them
/// again, such as after a failed read.
#[derive(Clone)]
pub struct Next {
    layers: Layers,
    at: usize,
    kind: HandlerKind,
    handler: Handler,
    checks: Checks,
    id: HandlerId,
}

impl Next {
    /// Handles the request. Dropping the future cancels the handler.
    pub fn run(mut self, request: HandlerRequest) -> impl Future<Output = Outcome> + Send + use<> {
        self.start(request)
    }

    fn start(&mut self, request: HandlerRequest) -> BoxFuture {
        let rest = self.layers.0.iter().enumerate().skip(self.at);
        let found = rest.into_iter().find(|(_, layer)| layer.is_around(self.kind, self.id));
        if let Some((at, layer)) = found {
            let next = Self { at: at + 1, ..self.clone() };
            return (layer.f)(request, next);
        }
        let HandlerRequest { params, arguments, context, .. } = request;
        let given = HandlerArgs { params, arguments };
        match self.checks.clone().call(&self.handler, given, context) {
            HandlerCall::Done(outcome) => Box::pin(ready(outcome.encoded())),
            HandlerCall::Future(future) => Box::pin(async move { future.await.encoded() }),
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

/// The functions around the handlers of a registry.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers(Arc<Vec<Layer>>);

#[derive(Clone)]
struct Layer {
    /// The kind of its handlers; `None` for all.
    kind: Option<HandlerKind>,
    /// The handlers of the mounted registry that it comes from; `None` for all.
    mounted: Option<Arc<BTreeSet<HandlerId>>>,
    f: Arc<dyn Fn(HandlerRequest, Next) -> BoxFuture + Send + Sync>,
}

impl Layer {
    fn is_around(&self, kind: HandlerKind, id: HandlerId) -> bool {
        self.kind.is_none_or(|only| only == kind)
            && self.mounted.as_ref().is_none_or(|handlers| handlers.contains(&id))
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Layers {
    /// The layered call for a request; `None` if no layer is around its handler.
    pub(super) fn around(
        &self,
        registry: &Registry,
        method: &Method,
        id: HandlerId,
        received: Instant,
    ) -> Option<Box<LayeredCall>> {
        if self.0.is_empty() {
            return None;
        }
        let kind = HandlerKind::of(method);
        self.0.iter().any(|layer| layer.is_around(kind, id)).then(|| {
            Box::new(LayeredCall {
                layers: self.clone(),
                kind,
                method: method.name().into(),
                tool: registry.tool_of(id).cloned(),
                received,
                id,
                is_rerun: false,
            })
        })
    }

    /// Adds the layers of a mounted registry, only around its `handlers`. They are inside of all
    /// others. Drops the layers of earlier mounts that have no handler left.
    pub(super) fn mount(
        &mut self,
        other: &Self,
        handlers: BTreeSet<HandlerId>,
        new_ids: &NewHandlerIds,
        is_served: impl Fn(HandlerId) -> bool,
    ) {
        let handlers = Arc::new(handlers);
        let mounted = other.0.iter().cloned().map(|layer| {
            let inner = layer.mounted.map(|inner| inner.iter().map(|id| new_ids.of(*id)).collect());
            let handlers = inner.map_or_else(|| handlers.clone(), Arc::new);
            Layer { mounted: Some(handlers), ..layer }
        });
        let layers = Arc::make_mut(&mut self.0);
        let has_any =
            |handlers: &Arc<BTreeSet<HandlerId>>| handlers.iter().any(|id| is_served(*id));
        layers.retain(|layer| layer.mounted.as_ref().is_none_or(has_any));
        layers.extend(mounted);
    }

    /// Adds a layer, inside of the existing ones except the mounted ones.
    fn add(&mut self, layer: Layer) {
        let layers = Arc::make_mut(&mut self.0);
        let at = layers.iter().position(|layer| layer.mounted.is_some());
        layers.insert(at.unwrap_or(layers.len()), layer);
    }
}

/// A call with its layers.
pub(super) struct LayeredCall {
    layers: Layers,
    kind: HandlerKind,
    method: String,
    tool: Option<Tool>,
    received: Instant,
    id: HandlerId,
    is_rerun: bool,
}

impl LayeredCall {
    /// Marks the call as one with input, which its client cannot repeat.
    pub(super) fn rerun(mut self: Box<Self>) -> Box<Self> {
        self.is_rerun = true;
        self
    }

    pub(super) fn run(
        self,
        handler: &Handler,
        checks: Checks,
        given: HandlerArgs,
        context: Context,
    ) -> HandlerCall {
        let Self { layers, kind, method: name, tool, received, id, is_rerun } = self;
        let HandlerArgs { params, arguments } = given;
        let request = HandlerRequest {
            kind,
            method: name,
            tool,
            params,
            arguments,
            context,
            received,
            is_rerun,
        };
        let handler = handler.clone();
        let mut next = Next { layers, at: 0, kind, handler, checks, id };
        HandlerCall::Future(next.start(request))
    }
}

impl Registry {
    /// Adds a function around all handlers of a kind, also those that are registered later. It may
    /// log, time, limit, cache or refuse calls, or change arguments and results.
    ///
    /// The function gets each request and a [`Next`], and returns an outcome: that of [`Next::run`]
    /// or another one. The function that was registered first is the outermost. A handler that
    /// requests input runs again with each answer, and so do the functions around it. The
    /// validation of `validate_all`, of the feature `validate`, is inside.
    ///
    /// ```
    /// use mcp_proto::types::Implementation;
    /// use mcp_service::{HandlerKind, Registry};
    ///
    /// let mut registry = Registry::new(Implementation::new("logged", "1.0.0"));
    /// registry.around(HandlerKind::Tool, |request, next| async move {
    ///     let name = request.tool.as_ref().map(|tool| tool.name.clone());
    ///     let outcome = next.run(request).await;
    ///     eprintln!("{name:?}: {outcome:?}");
    ///     outcome
    /// });
    /// ```
    pub fn around<F, Fut>(&mut self, kind: HandlerKind, f: F) -> &mut Self
    where
        F: Fn(HandlerRequest, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        self.add_layer(Some(kind), f)
    }

    /// Adds a function around the handlers of all requests; see [`Registry::around`].
    pub fn around_all<F, Fut>(&mut self, f: F) -> &mut Self
    where
        F: Fn(HandlerRequest, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        self.add_layer(None, f)
    }

    fn add_layer<F, Fut>(&mut self, kind: Option<HandlerKind>, f: F) -> &mut Self
    where
        F: Fn(HandlerRequest, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        let f = Arc::new(move |request, next| Box::pin(f(request, next)) as BoxFuture);
        self.layers.add(Layer { kind, mounted: None, f });
        self
    }
}
