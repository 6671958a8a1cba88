//! Registration of restrictions: entries for some callers only, and entries that are disabled.
//!
//! In: an entry that is registered, and a filter. Out: the same entry, restricted; `access` has the
//! effects.

use alloc::borrow::ToOwned;

use super::access::ListEntry;
use super::event::Peer;
use super::registered::Registered;
use super::registry::Registry;
use crate::error::UsageError;

impl<H> Registry<H> {
    /// Offers an entry only to callers for whom `filter` returns true. The entry is hidden from
    /// other callers. A hidden entry is in no list, requests for it are answered as if it did not
    /// exist, and its updates are not sent. If an entry has several filters, all of them must
    /// return true.
    ///
    /// The filter is called for each list and each request that concerns the entry, and for each
    /// subscriber of an updated resource. Its argument is the sender, over HTTP with principal and
    /// claims. For a subscription, this is the sender at the time of subscribing. The filter must
    /// not block, and is removed with the entry. A page of MCP Apps is a separate resource, with
    /// filters of its own.
    ///
    /// For modern clients, `cacheScope` of the list is `private`, whatever [`Registry::cache`]
    /// says. If resources or templates have filters, so is `cacheScope` of the contents of
    /// resources, unless a handler's result has its own.
    ///
    /// Fails with [`UsageError::UnknownEntry`].
    pub fn only_for(
        &mut self,
        entry: ListEntry,
        filter: impl Fn(&Peer) -> bool + Send + Sync + 'static,
    ) -> Result<&mut Self, UsageError> {
        self.registered.check_entry(&entry)?;
        self.registered.access.restrict(entry, filter);
        Ok(self)
    }

    /// Disables an entry: until [`Registry::enable`], the server treats the entry as if it did not
    /// exist. Disabling an entry twice is the same as once.
    ///
    /// Fails with [`UsageError::UnknownEntry`].
    pub fn disable(&mut self, entry: ListEntry) -> Result<&mut Self, UsageError> {
        self.registered.check_entry(&entry)?;
        self.registered.access.disable(entry);
        Ok(self)
    }

    /// Offers a disabled entry again, in its former place in the list.
    ///
    /// Fails with [`UsageError::UnknownEntry`].
    pub fn enable(&mut self, entry: &ListEntry) -> Result<&mut Self, UsageError> {
        self.registered.check_entry(entry)?;
        self.registered.access.enable(entry);
        Ok(self)
    }
}

impl Registered {
    fn check_entry(&self, entry: &ListEntry) -> Result<(), UsageError> {
        let (kind, name, is_known) = match entry {
            ListEntry::Tool(name) => ("tool", name, self.tools.has(name)),
            ListEntry::Resource(uri) => ("resource", uri, self.resources.has(uri)),
            ListEntry::ResourceTemplate(template) => {
                ("resource template", template, self.templates.has(template))
            }
            ListEntry::Prompt(name) => ("prompt", name, self.prompts.has(name)),
        };
        if is_known {
            Ok(())
        } else {
            Err(UsageError::UnknownEntry { kind, name: name.to_owned() })
        }
    }
}
