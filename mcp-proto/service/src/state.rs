//! Handlers with shared state.
//!
//! In: a registry, a state, and functions with a reference to the state as the first argument,
//! usually async methods. Out: entries of the registry whose closures capture the state. Called by
//! applications.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;

use serde::de::DeserializeOwned;

use super::result::{IntoResult, IntoToolResult};
use super::task::Tasks;
use super::{Context, Registry, Session};
use mcp_proto::ext::Feature;
use mcp_proto::ext::ui::AppPage;
use mcp_proto::server::{ListEntry, Peer};
use mcp_proto::types::{
    CompleteRequestParams, CompleteResult, CompletionReference, GetPromptResult, Prompt,
    ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use mcp_proto::{Json, UsageError};

/// Async functions of a state, for [`WithState`], such as `async fn(&self, arguments: A, context:
/// Context)`. All such functions implement this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler with the state `{S}`",
    note = "a handler is an `async fn(&self, …, context: Context)` of `{S}`, or an async closure \
            `async |state: &{S}, …, context: Context|`"
)]
pub trait StateHandler<'a, S: ?Sized, Args>: Send + Sync + 'static {
    /// The type that the handler returns.
    type Output;
    /// The future of the handler, which borrows the state.
    type Future: Future<Output = Self::Output> + Send + 'a;

    /// Calls the function.
    fn call(&self, state: &'a S, args: Args) -> Self::Future;
}

impl<'a, S, A, F, Fut> StateHandler<'a, S, (A, Context)> for F
where
    S: ?Sized + 'a,
    F: Fn(&'a S, A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'a,
{
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, state: &'a S, (arguments, context): (A, Context)) -> Fut {
        self(state, arguments, context)
    }
}

impl<'a, S, A, F, Fut> StateHandler<'a, S, (String, A, Context)> for F
where
    S: ?Sized + 'a,
    F: Fn(&'a S, String, A, Context) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'a,
{
    type Output = Fut::Output;
    type Future = Fut;

    fn call(&self, state: &'a S, (uri, variables, context): (String, A, Context)) -> Fut {
        self(state, uri, variables, context)
    }
}

/// A registry that passes a state to the handlers that are added through it; see
/// [`Registry::with`]. Its methods fail as those of the registry.
pub struct WithState<'r, S> {
    registry: &'r mut Registry,
    state: Arc<S>,
}

/// A closure that calls a handler with the state. A call clones one `Arc`.
macro_rules! bound {
    ($self:ident, $f:ident, |$($argument:ident),*|) => {{
        let bound = Arc::new(($self.state.clone(), $f));
        move |$($argument),*| {
            let bound = bound.clone();
            async move {
                let (state, f) = &*bound;
                f.call(state, ($($argument),*)).await
            }
        }
    }};
}

impl Registry {
    /// Returns the registry with a state, which handlers that are added through it get as their
    /// first argument. Handlers are async methods of the state, and need not clone it.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use mcp_proto::types::Implementation;
    /// use mcp_service::{Context, Registry};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Note { text: String }
    ///
    /// #[derive(Default)]
    /// struct Store(Mutex<Vec<String>>);
    ///
    /// impl Store {
    ///     async fn add(&self, note: Note, _: Context) -> Result<String, String> {
    ///         let mut notes = self.0.lock().map_err(|error| error.to_string())?;
    ///         notes.push(note.text);
    ///         Ok(format!("{} notes", notes.len()))
    ///     }
    /// }
    ///
    /// let mut registry = Registry::new(Implementation::new("notes", "1.0.0"));
    /// registry.with(Arc::new(Store::default())).tool("add", "Adds a note", Store::add)?;
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// An async closure is a handler as well: `async |store: &Store, note: Note, _| …`. Calls run
    /// concurrently, so mutable parts of the state need a lock or atomics.
    pub fn with<S: Send + Sync + 'static>(&mut self, state: Arc<S>) -> WithState<'_, S> {
        WithState { registry: self, state }
    }
}

impl<S: Send + Sync + 'static> WithState<'_, S> {
    /// Adds a tool; see [`Registry::tool`].
    #[cfg(feature = "schemars")]
    pub fn tool<A, F, R>(
        &mut self,
        name: &str,
        description: &str,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned + schemars::JsonSchema + Send + 'static,
        F: for<'a> StateHandler<'a, S, (A, Context), Output = R>,
        R: IntoToolResult + 'static,
    {
        self.registry.tool(name, description, bound!(self, f, |arguments, context|))?;
        Ok(self)
    }

    /// Adds a tool with this definition; see [`Registry::tool_with`].
    pub fn tool_with<A, F, R>(&mut self, tool: Tool, f: F) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned + Send + 'static,
        F: for<'a> StateHandler<'a, S, (A, Context), Output = R>,
        R: IntoToolResult + 'static,
    {
        self.registry.tool_with(tool, bound!(self, f, |arguments, context|))?;
        Ok(self)
    }

    /// Adds a resource, whose handler also gets the URI; see [`Registry::resource`].
    pub fn resource<F, R>(&mut self, resource: Resource, f: F) -> Result<&mut Self, UsageError>
    where
        F: for<'a> StateHandler<'a, S, (String, Context), Output = R>,
        R: IntoResult<ReadResourceResult> + 'static,
    {
        self.registry.resource(resource, bound!(self, f, |uri, context|))?;
        Ok(self)
    }

    /// Adds a resource template, whose handler also gets the URI and the variables; see
    /// [`Registry::resource_template`].
    pub fn resource_template<A, F, R>(
        &mut self,
        template: ResourceTemplate,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned + Send + 'static,
        F: for<'a> StateHandler<'a, S, (String, A, Context), Output = R>,
        R: IntoResult<ReadResourceResult> + 'static,
    {
        self.registry.resource_template(template, bound!(self, f, |uri, variables, context|))?;
        Ok(self)
    }

    /// Adds a prompt; see [`Registry::prompt`].
    pub fn prompt<A, F, R>(&mut self, prompt: Prompt, f: F) -> Result<&mut Self, UsageError>
    where
        A: DeserializeOwned + Send + 'static,
        F: for<'a> StateHandler<'a, S, (A, Context), Output = R>,
        R: IntoResult<GetPromptResult> + 'static,
    {
        self.registry.prompt(prompt, bound!(self, f, |arguments, context|))?;
        Ok(self)
    }

    /// Adds completions; see [`Registry::completion`].
    pub fn completion<F, R>(
        &mut self,
        reference: CompletionReference,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        F: for<'a> StateHandler<'a, S, (CompleteRequestParams, Context), Output = R>,
        R: IntoResult<CompleteResult> + 'static,
    {
        self.registry.completion(reference, bound!(self, f, |params, context|))?;
        Ok(self)
    }

    /// Adds a method; see [`Registry::method`].
    pub fn method<P, F, R>(&mut self, method: &str, f: F) -> Result<&mut Self, UsageError>
    where
        P: DeserializeOwned + Send + 'static,
        F: for<'a> StateHandler<'a, S, (P, Context), Output = R>,
        R: IntoResult<Json> + 'static,
    {
        self.registry.method(method, bound!(self, f, |params, context|))?;
        Ok(self)
    }

    /// Adds a handler of a notification, which is not async; see [`Registry::notification`].
    pub fn notification<P, F>(&mut self, method: &str, f: F) -> Result<&mut Self, UsageError>
    where
        P: DeserializeOwned,
        F: Fn(&S, P) + Send + Sync + 'static,
    {
        let state = self.state.clone();
        self.registry.notification(method, move |params| f(&state, params))?;
        Ok(self)
    }

    /// Adds a handler of a notification, which is not async; see
    /// [`Registry::session_notification`].
    pub fn session_notification<P, F>(
        &mut self,
        method: &str,
        f: F,
    ) -> Result<&mut Self, UsageError>
    where
        P: DeserializeOwned,
        F: Fn(&S, P, Session) + Send + Sync + 'static,
    {
        let state = self.state.clone();
        self.registry.session_notification(method, move |params, session| {
            f(&state, params, session);
        })?;
        Ok(self)
    }

    /// Adds a page of a tool; see [`Registry::app`].
    pub fn app(&mut self, tool: &str, page: AppPage) -> Result<&mut Self, UsageError> {
        self.registry.app(tool, page)?;
        Ok(self)
    }

    /// Lets calls of a tool become tasks; see [`Registry::tasks`].
    pub fn tasks(&mut self, tool: &str, rules: Tasks) -> Result<&mut Self, UsageError> {
        self.registry.tasks(tool, rules)?;
        Ok(self)
    }

    /// Offers an entry to some callers only; see [`Registry::only_for`].
    pub fn only_for(
        &mut self,
        entry: ListEntry,
        filter: impl Fn(&Peer) -> bool + Send + Sync + 'static,
    ) -> Result<&mut Self, UsageError> {
        self.registry.only_for(entry, filter)?;
        Ok(self)
    }

    /// Requires scopes for calls of a tool; see [`Registry::require_scopes`].
    pub fn require_scopes(&mut self, tool: &str, scopes: &str) -> Result<&mut Self, UsageError> {
        self.registry.require_scopes(tool, scopes)?;
        Ok(self)
    }

    /// Refuses clients without an extension; see [`Registry::requires_extension`].
    pub fn requires_extension(
        &mut self,
        feature: Feature,
        identifier: impl Into<String>,
    ) -> Result<&mut Self, UsageError> {
        self.registry.requires_extension(feature, identifier)?;
        Ok(self)
    }

    /// Disables an entry; see [`Registry::disable`].
    pub fn disable(&mut self, entry: ListEntry) -> Result<&mut Self, UsageError> {
        self.registry.disable(entry)?;
        Ok(self)
    }

    /// Validates the calls of a tool; see [`Registry::validate`].
    #[cfg(feature = "validate")]
    pub fn validate(&mut self, tool: &str) -> Result<&mut Self, UsageError> {
        self.registry.validate(tool)?;
        Ok(self)
    }

    /// The registry, for its other methods.
    pub fn registry(&mut self) -> &mut Registry {
        self.registry
    }
}

impl<S> fmt::Debug for WithState<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithState").finish_non_exhaustive()
    }
}
