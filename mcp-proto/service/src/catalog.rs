//! Catalog of a server: the registry that all its connections share, and the services to notify of
//! changes.
//!
//! The service of a stream joins the catalog and is notified of each change. Connections over HTTP
//! do not join: their server joins once for all, and each connection reads the snapshot when
//! needed.

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::sync::atomic::{AtomicU64, Ordering};

use super::Registry;
use super::lock::Lock;
use super::panics::catch_panic;
use super::service_mailbox::ServiceMailbox;
use super::task::TaskManager;
use super::trace::Hook;
use mcp_proto::UsageError;
use mcp_proto::server::{Change, Declaration};
use mcp_proto::types::Implementation;

/// The registry of a server, to be changed while it runs. Cheap to clone; all clones are the same
/// catalog.
///
/// ```
/// use mcp_proto::server::{Change, List};
/// use mcp_service::{Catalog, Registry};
/// use mcp_proto::types::Implementation;
///
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Nothing {}
/// let mut registry = Registry::new(Implementation::new("workshop", "1.0.0"));
/// registry.list_changed(List::Tools);
/// let catalog = Catalog::from(registry);
/// // Serve it, and later on:
/// catalog.update(|registry| {
///     registry.remove_tool("axe");
///     registry.tool("saw", "Saws", |_: Nothing, _| async { "sawn" })?;
///     Ok(())
/// })?;
/// # Ok::<(), mcp_proto::UsageError>(())
/// ```
#[derive(Clone)]
pub struct Catalog {
    shared: Arc<CatalogShared>,
}

struct CatalogShared {
    state: Lock<CatalogState>,
    /// Generation of the snapshot, to be read without the lock.
    generation: AtomicU64,
    /// Held for as long as somebody changes the registry.
    updating: Lock<()>,
    hook: Hook,
}

struct CatalogState {
    snapshot: Arc<CatalogSnapshot>,
    /// Those of the services that have joined, by their addresses.
    mailboxes: BTreeMap<usize, Weak<ServiceMailbox>>,
}

/// A registry and what its machines know of it.
#[derive(Debug)]
pub(super) struct CatalogSnapshot {
    pub(super) registry: Registry,
    pub(super) declaration: Arc<Declaration>,
    /// The number of snapshots before it.
    pub(super) generation: u64,
}

impl CatalogSnapshot {
    fn new(registry: Registry, generation: u64) -> Arc<Self> {
        let declaration = registry.declaration();
        Arc::new(Self { registry, declaration, generation })
    }
}

impl Drop for CatalogSnapshot {
    /// Drops the handlers. The last owner may be the driver of a connection or of a server, which a
    /// panic must not end.
    fn drop(&mut self) {
        let nothing = Registry::new(Implementation::new("", ""));
        let registry = mem::replace(&mut self.registry, nothing);
        catch_panic(|| drop(registry));
    }
}

impl From<Registry> for Catalog {
    fn from(registry: Registry) -> Self {
        drop(registry.task_manager.adopt(&registry.task_settings));
        let state = CatalogState {
            snapshot: CatalogSnapshot::new(registry, 0),
            mailboxes: BTreeMap::new(),
        };
        let shared = CatalogShared {
            state: Lock::new(state),
            generation: AtomicU64::new(0),
            updating: Lock::new(()),
            hook: Hook::default(),
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Catalog {
    /// Changes the registry. Clients are notified of changed lists that
    /// [`Registry::list_changed`] declares. Running calls of a removed handler continue.
    ///
    /// `change` gets a copy of the registry, which replaces the registry once `change` returns
    /// `Ok`. Returns the value of `change`. Updates wait for each other: `change` must not update
    /// the same catalog.
    ///
    /// `change` may put another registry in its place. Tasks continue: their store and
    /// configuration stay, except for those that the other registry sets.
    ///
    /// Fails with the error of `change`, and then changes nothing.
    pub fn update<T>(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<T, UsageError>,
    ) -> Result<T, UsageError> {
        // Dropped without the lock, also after an error or a panic of `change`.
        let (before, mut registry);
        let (result, snapshot, mailboxes, replaced) = {
            let _alone = self.shared.updating.lock();
            before = self.with(|state| state.snapshot.clone());
            registry = before.registry.clone();
            let result = change(&mut registry)?;
            // Another registry in its place gets the host and the tasks.
            let manager = before.registry.task_manager.clone();
            let store = manager.adopt(&registry.task_settings);
            let replaced = (store, mem::replace(&mut registry.task_manager, manager));
            let snapshot = CatalogSnapshot::new(registry, before.generation + 1);
            let mailboxes = self.with(|state| {
                state.snapshot = snapshot.clone();
                self.shared.generation.store(snapshot.generation, Ordering::Release);
                state.mailboxes()
            });
            (result, snapshot, mailboxes, replaced)
        };
        // Waking a driver or dropping a handler may run anything, an update too.
        for mailbox in mailboxes {
            mailbox.queue_snapshot(snapshot.clone());
        }
        drop(replaced);
        Ok(result)
    }

    /// Changes the registry, as [`Catalog::update`] does, by chained calls of its methods: `change`
    /// returns the registry that it was given.
    ///
    /// ```
    /// use mcp_proto::types::{Implementation, Resource, ResourceContents};
    /// use mcp_service::{Catalog, Registry};
    ///
    /// let catalog = Catalog::from(Registry::new(Implementation::new("maps", "1.0.0")));
    /// let map = Resource::new("map://harbour", "harbour");
    /// catalog.edit(|registry| {
    ///     registry.resource(map, |uri, _| async { ResourceContents::text(uri, "ships") })
    /// })?;
    /// # Ok::<(), mcp_proto::UsageError>(())
    /// ```
    ///
    /// Fails with the error of `change`, and then changes nothing.
    pub fn edit(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<&mut Registry, UsageError>,
    ) -> Result<(), UsageError> {
        self.update(|registry| change(registry).map(|_| ()))
    }

    /// Publishes a change to all clients that want to know of the change.
    ///
    /// Fails with [`UsageError::Undeclared`] without [`Registry::list_changed`] or
    /// [`Registry::subscribe`].
    pub fn publish(&self, change: &Change) -> Result<(), UsageError> {
        let (snapshot, mailboxes) = self.with(|state| (state.snapshot.clone(), state.mailboxes()));
        snapshot.declaration.check(change)?;
        let change = Arc::new(change.clone());
        for mailbox in mailboxes {
            mailbox.publish(&change);
        }
        Ok(())
    }

    /// The tasks of calls that [`Registry::tasks`] names, for jobs that run elsewhere.
    pub fn tasks(&self) -> TaskManager {
        self.with(|state| state.snapshot.registry.task_manager.clone())
    }

    /// A weak reference to the catalog.
    pub(super) fn downgrade(&self) -> WeakCatalog {
        WeakCatalog(Arc::downgrade(&self.shared))
    }

    /// The address of the catalog, which is unique while the catalog exists.
    pub(super) fn number(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Registers `mailbox` for later changes, and returns the current snapshot.
    pub(super) fn join(&self, mailbox: &Arc<ServiceMailbox>) -> Arc<CatalogSnapshot> {
        self.with(|state| {
            state.mailboxes.insert(address(mailbox), Arc::downgrade(mailbox));
            state.snapshot.clone()
        })
    }

    /// The current snapshot.
    pub(super) fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.with(|state| state.snapshot.clone())
    }

    /// The number of snapshots before the current one.
    pub(super) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    /// The hook for spans.
    pub(super) fn hook(&self) -> &Hook {
        &self.shared.hook
    }

    /// Stops notifying `mailbox` of changes.
    pub(super) fn leave(&self, mailbox: &Arc<ServiceMailbox>) {
        // A joined mailbox has a weak reference in `mailboxes`; without one it has not joined.
        if Arc::weak_count(mailbox) == 0 {
            return;
        }
        self.with(|state| state.mailboxes.remove(&address(mailbox)));
    }

    /// Calls `look` with the lock held, so `look` must not run user code.
    fn with<R>(&self, look: impl FnOnce(&mut CatalogState) -> R) -> R {
        look(&mut self.shared.state.lock())
    }
}

/// A weak reference to a catalog.
pub(super) struct WeakCatalog(Weak<CatalogShared>);

impl WeakCatalog {
    /// Returns whether the catalog is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }

    pub(super) fn upgrade(&self) -> Option<Catalog> {
        self.0.upgrade().map(|shared| Catalog { shared })
    }
}

impl CatalogState {
    fn mailboxes(&self) -> Vec<Arc<ServiceMailbox>> {
        self.mailboxes.values().filter_map(Weak::upgrade).collect()
    }
}

/// The address of a mailbox, which is unique while any reference to the mailbox exists.
fn address(mailbox: &Arc<ServiceMailbox>) -> usize {
    Arc::as_ptr(mailbox).addr()
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").finish_non_exhaustive()
    }
}
