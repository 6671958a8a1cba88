//! The open sessions: by their ids, and by the scopes of their machines.
//!
//! In: sessions that open and end. Out: a session by its id, or by a reply of its machine. The
//! application supplies the ids: 128 random bits each. The last items of an ended session stay here
//! until their readers take them.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use super::clients::Clients;
use super::request_context::{RequestContext, StreamCursor};
use super::session::Session;
use super::stream::LastItem;
use crate::error::ProtocolError;
use crate::message::RequestId;
use crate::server::ReplyId;

pub(super) struct Directory<W> {
    ids: Box<dyn FnMut() -> [u8; 16] + Send>,
    sessions: BTreeMap<u128, Box<Session<W>>>,
    /// The session ids by the scopes of the machines.
    scopes: BTreeMap<usize, u128>,
    clients: Clients,
    /// The last items of requests that ended with their sessions, by session and reader. Each
    /// reader takes its own, so there are never more than readers.
    last_items: BTreeMap<(u128, u64), LastItem>,
}

impl<W: Clone> Directory<W> {
    pub(super) fn new(ids: Box<dyn FnMut() -> [u8; 16] + Send>) -> Self {
        Self {
            ids,
            sessions: BTreeMap::new(),
            scopes: BTreeMap::new(),
            clients: Clients::default(),
            last_items: BTreeMap::new(),
        }
    }

    /// Returns an unused session id.
    pub(super) fn mint(&mut self) -> u128 {
        loop {
            let id = u128::from_be_bytes((self.ids)());
            if !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    pub(super) fn insert(&mut self, key: u128, mut session: Box<Session<W>>) {
        if let Some(client) = session.server.session_client() {
            self.clients.share(client);
        }
        self.scopes.insert(session.server.scope(), key);
        self.sessions.insert(key, session);
    }

    /// Removes the session whose machine has this scope.
    pub(super) fn remove(&mut self, scope: usize) -> Option<Box<Session<W>>> {
        let key = self.scopes.remove(&scope)?;
        let mut session = self.sessions.remove(&key)?;
        let last_items = session.streams.take_last();
        self.last_items.extend(last_items.map(|(reader, last)| ((key, reader), last)));
        Some(session)
    }

    /// The request whose answer a reader waits for; `None` for a batch, and after the end of the
    /// session.
    pub(super) fn request(&self, place: &StreamCursor) -> Option<RequestId> {
        self.get(&place.session)?.streams.get(place.stream)?.request.clone()
    }

    /// Takes the last item for a reader whose session has ended.
    pub(super) fn take_last(&mut self, place: &StreamCursor) -> Option<LastItem> {
        self.last_items.remove(&(place.session, place.reader))
    }

    pub(super) fn get(&self, key: &u128) -> Option<&Session<W>> {
        self.sessions.get(key).map(|session| &**session)
    }

    pub(super) fn get_mut(&mut self, key: &u128) -> Option<&mut Session<W>> {
        self.sessions.get_mut(key).map(|session| &mut **session)
    }

    /// The session that a request names, and its id. A session of another principal counts as
    /// unknown.
    pub(super) fn of_context(
        &mut self,
        context: &RequestContext,
        serves_modern: bool,
    ) -> Result<(u128, &mut Session<W>), ProtocolError> {
        let key = context.session.key(serves_modern)?;
        match self.sessions.get_mut(&key) {
            Some(session) if session.server.principal() == context.principal.as_deref() => {
                Ok((key, session))
            }
            Some(_) | None => Err(ProtocolError::SessionNotFound),
        }
    }

    /// The session of a request.
    pub(super) fn of(&mut self, about: ReplyId) -> Option<&mut Session<W>> {
        self.of_scope(about.scope())
    }

    /// The session whose machine has this scope.
    pub(super) fn of_scope(&mut self, scope: usize) -> Option<&mut Session<W>> {
        self.keyed(scope).map(|(_, session)| session)
    }

    /// The session whose machine has this scope, and its id.
    pub(super) fn keyed(&mut self, scope: usize) -> Option<(u128, &mut Session<W>)> {
        let key = *self.scopes.get(&scope)?;
        self.get_mut(&key).map(|session| (key, session))
    }

    /// Returns whether a request still waits for its handler.
    pub(super) fn is_owed(&self, about: ReplyId) -> bool {
        self.of_request(about).is_some_and(|session| session.server.is_owed(about))
    }

    /// The session that a request belongs to.
    pub(super) fn of_request(&self, about: ReplyId) -> Option<&Session<W>> {
        self.scopes.get(&about.scope()).and_then(|key| self.get(key))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Session<W>> {
        self.sessions.values_mut().map(|session| &mut **session)
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }
}
