//! A client's use of a cache.
//!
//! In: calls before they are sent, results, errors, changes. Out: results in place of requests.
//! Called by [`ClientCore`](crate::client::client_core::ClientCore).
//!
//! | input | what becomes of it |
//! |---|---|
//! | a call of a modern server that was not sent yet | its result, if it is fresh; else the ticket of its request |
//! | a list, from its first page | the whole list, if all pages are fresh; else the ticket of its first page |
//! | a result to a request with a ticket | it is kept, as far as its hints say |
//! | a call that needs input | its ticket is void |
//! | an error in place of a page | the pages of the list are dropped |
//! | no answer, under [`CacheConfig::stale_on_error`] | the last result, as long as it is not too old |
//! | a change, a subscription that has begun, also again | what it concerns is dropped |
//! | other credentials | private results of the former ones are not found any more |
//!
//! A list is never assembled from cached pages together with fetched pages, because their cursors
//! might not match.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::call_error::CallError;
use super::super::compose;
use super::super::connect_error::ConnectError;
use super::super::event::Listing;
use super::super::pages::Pages;
use super::context::CacheContext;
use super::request_key::RequestKey;
use super::settings::{CacheConfig, CachePlace, SharedCache};
use super::{Cache, CacheTicket};
use crate::change::Change;
use crate::json::Json;
use crate::limits::Limits;
use crate::time::{Duration, Instant};

/// The cache of a client, if it has one.
#[derive(Debug, Default)]
pub(in crate::client) struct CacheAccess(Option<Box<OpenCache>>);

#[derive(Debug)]
struct OpenCache {
    place: OpenPlace,
    /// The server, the principal and the variant of the requests. Empty until the first use.
    context: CacheContext,
    /// The settings, for the first use.
    server: Option<Arc<str>>,
    principal: Option<Arc<str>>,
    stale_on_error: Duration,
    /// Lists of tools that were found in the cache, for the binding to HTTP.
    tools: Option<Vec<Json>>,
    is_open: bool,
}

#[derive(Debug)]
enum OpenPlace {
    Memory(Cache),
    /// A shared cache, and one moment by the clock of the client and by the clock of the cache.
    Shared(Arc<dyn SharedCache>, Instant, Instant),
}

/// A request whose result may be cached.
#[derive(Clone, Copy, Debug)]
pub(in crate::client) struct CacheableRequest<'a> {
    pub(in crate::client) method: &'a str,
    pub(in crate::client) params: &'a Json,
    /// The list, if all of its pages are requested.
    pub(in crate::client) listing: Option<Listing>,
}

impl CacheAccess {
    /// The access to the cache of these settings. With `keeps_tools`, lists of tools that are found
    /// in the cache are stored for [`CacheAccess::take_tools`].
    pub(in crate::client) fn new(config: Option<&CacheConfig>, keeps_tools: bool) -> Self {
        let Some(CacheConfig { place, server, principal, stale_on_error }) = config.cloned() else {
            return Self(None);
        };
        let place = match place {
            CachePlace::Memory(limits) => OpenPlace::Memory(Cache::new(limits)),
            CachePlace::Shared(cache) => OpenPlace::Shared(cache, Instant::ZERO, Instant::ZERO),
        };
        Self(Some(Box::new(OpenCache {
            place,
            context: CacheContext::default(),
            server,
            principal,
            stale_on_error,
            tools: keeps_tools.then(Vec::new),
            is_open: false,
        })))
    }

    pub(in crate::client) fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// The fresh result of a request that is about to be sent. `variant` has further facts on which
    /// results depend.
    pub(in crate::client) fn find(
        &mut self,
        now: Instant,
        variant: &[u8],
        request: CacheableRequest<'_>,
        limits: &Limits,
    ) -> Option<Json> {
        let open = self.0.as_deref_mut().filter(|_| RequestKey::is_of(request.method))?;
        open.prepare(now, variant);
        open.find(now, None, request, limits, Duration::ZERO)
    }

    /// The ticket for the result of a request that is sent next; see [`CacheAccess::find`].
    pub(in crate::client) fn ticket(
        &mut self,
        now: Instant,
        variant: &[u8],
        CacheableRequest { method, params, .. }: CacheableRequest<'_>,
    ) -> Option<Box<CacheTicket>> {
        let open = self.0.as_deref_mut().filter(|_| RequestKey::is_of(method))?;
        open.prepare(now, variant);
        let OpenCache { place, context, .. } = open;
        place.with(now, |cache, _| cache.ticket(context, method, params)).map(Box::new)
    }

    /// Stores the result of a request, if the request has a ticket.
    pub(in crate::client) fn put(
        &mut self,
        now: Instant,
        ticket: Option<Box<CacheTicket>>,
        result: &Json,
    ) {
        if let (Some(open), Some(ticket)) = (self.0.as_deref_mut(), ticket) {
            open.place.with(now, |cache, at| cache.put(at, *ticket, result));
        }
    }

    /// Handles the failure of a request. Returns a stale result in place of the error, or the
    /// error.
    pub(in crate::client) fn fail(
        &mut self,
        now: Instant,
        request: Option<CacheableRequest<'_>>,
        ticket: Option<Box<CacheTicket>>,
        error: CallError,
        limits: &Limits,
    ) -> Result<Json, CallError> {
        let open = self.0.as_deref_mut().filter(|open| open.is_open);
        let (Some(open), Some(request)) = (open, request) else { return Err(error) };
        let stale = open.stale_on_error;
        if is_of_absent_server(&error) && !stale.is_zero() {
            // The application may have set another principal since the request was sent.
            let sent = ticket.map(|it| it.request.context(it.principal));
            return open.find(now, sent.as_ref(), request, limits, stale).ok_or(error);
        }
        if let (Some(ticket), CallError::Error { .. }) = (ticket, &error) {
            open.place.with(now, |cache, _| cache.handle_error(*ticket));
        }
        Err(error)
    }

    /// Handles a change that the server has reported.
    pub(in crate::client) fn handle_change(&mut self, change: &Change) {
        let Some(OpenCache { place, context, server, .. }) = self.0.as_deref_mut() else { return };
        // Other clients may have used the shared cache, even if this client has not.
        let server = server.as_ref().unwrap_or(&context.server);
        place.with(Instant::ZERO, |cache, _| cache.handle_change(server, change));
    }

    /// Sets the principal that the application names; `None` for a unique name.
    pub(in crate::client) fn set_principal(&mut self, principal: Option<Arc<str>>) {
        if let Some(open) = self.0.as_deref_mut() {
            open.principal = principal;
            open.name_principal();
        }
    }

    /// Handles a possible change of the credentials: a principal without a name from the
    /// application gets a new unique name.
    pub(in crate::client) fn credentials_changed(&mut self) {
        if let Some(open) = self.0.as_deref_mut().filter(|open| open.principal.is_none()) {
            open.name_principal();
        }
    }

    /// The lists of tools that were found in the cache since the last call of this method.
    pub(in crate::client) fn take_tools(&mut self) -> Vec<Json> {
        let tools = self.0.as_deref_mut().and_then(|open| open.tools.as_mut());
        tools.map(core::mem::take).unwrap_or_default()
    }
}

impl OpenCache {
    /// Prepares the context for a request.
    fn prepare(&mut self, now: Instant, variant: &[u8]) {
        if !self.is_open {
            self.is_open = true;
            if let OpenPlace::Shared(cache, from, to) = &mut self.place {
                // The clock must not be behind the clock of another client. Otherwise results would
                // count as fresh for too long.
                (*from, *to) = (now, cache.now());
                cache.with(&mut |cache| *to = cache.latest.max(*to));
            }
            self.context.server = match &self.server {
                Some(server) => server.clone(),
                None => self.place.unique(),
            };
            self.name_principal();
        }
        if self.context.variant.as_bytes() != variant {
            self.context.variant = core::str::from_utf8(variant).unwrap_or_default().into();
        }
    }

    /// Updates the principal of the context: the name from the application, or a new unique name.
    fn name_principal(&mut self) {
        if self.is_open {
            self.context.principal = match &self.principal {
                Some(principal) => principal.clone(),
                None => self.place.unique(),
            };
        }
    }

    /// The result of a request, if it is fresh or has been stale for less than `max_stale`. `sent`
    /// is the context in which the request was sent; without it, the current context counts.
    fn find(
        &mut self,
        now: Instant,
        sent: Option<&CacheContext>,
        request: CacheableRequest<'_>,
        limits: &Limits,
        max_stale: Duration,
    ) -> Option<Json> {
        let Self { place, context, tools, .. } = self;
        let context = sent.unwrap_or(context);
        let CacheableRequest { method, params, listing } = request;
        let found = place.with(now, |cache, at| {
            let mut get = |params: &Json| {
                let ticket = cache.ticket(context, method, params)?;
                cache.get_stale(at, &ticket, max_stale).map(|cached| cached.result_at(at))
            };
            match listing {
                Some(listing) => assemble_list(listing, limits, get),
                None => get(params),
            }
        })?;
        if let Some(tools) = tools.as_mut().filter(|_| method == "tools/list") {
            tools.push(found.clone());
        }
        Some(found)
    }
}

impl OpenPlace {
    fn with<T>(&mut self, now: Instant, f: impl FnOnce(&mut Cache, Instant) -> T) -> T
    where
        T: Default,
    {
        match self {
            Self::Memory(cache) => f(cache, now),
            Self::Shared(shared, from, to) => {
                let at = *to + now.duration_since(*from);
                let (mut f, mut result) = (Some(f), T::default());
                shared.with(&mut |cache| {
                    if let Some(f) = f.take() {
                        result = f(cache, at);
                    }
                });
                result
            }
        }
    }

    /// A unique name. Its first character is NUL, with which names from applications do not begin.
    fn unique(&mut self) -> Arc<str> {
        format!("\0{}", self.with(Instant::ZERO, |cache, _| cache.next())).into()
    }
}

/// A list, assembled from its pages. `None` if a page is not cached, or the list exceeds the
/// limits.
fn assemble_list(
    listing: Listing,
    limits: &Limits,
    mut page: impl FnMut(&Json) -> Option<Json>,
) -> Option<Json> {
    let mut pages = Pages::new(listing);
    let mut params = Json::EMPTY_OBJECT;
    loop {
        let result = page(&params)?;
        let Some(cursor) = pages.push(&result, &params, true).ok()? else {
            return Some(pages.whole());
        };
        if pages.is_full(limits) {
            return None;
        }
        params = compose::with_cursor(&params, cursor);
    }
}

/// Returns whether an error shows that the server cannot be reached, or cannot serve.
fn is_of_absent_server(error: &CallError) -> bool {
    match error {
        CallError::Error { status, .. } => status.is_some_and(|status| status >= 500),
        CallError::Http { status } | CallError::Connect(ConnectError::Http { status }) => {
            *status >= 500
        }
        CallError::Connect(ConnectError::Unauthorized(_))
        | CallError::Protocol(_)
        | CallError::Cancelled
        | CallError::InputRefused(_)
        | CallError::Closed
        | CallError::Interrupted
        | CallError::TaskGone { .. }
        | CallError::TaskLeft { .. }
        | CallError::Unauthorized(_)
        | CallError::SessionExpired
        | CallError::Header(_)
        | CallError::Usage(_) => false,
        CallError::TimedOut | CallError::Connect(_) | CallError::Connection(_) => true,
    }
}
