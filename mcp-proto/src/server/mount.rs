//! Merging of one registry into another.
//!
//! In: a registry, and another one with a prefix for its names. Out: one registry with the entries
//! of both. Duplicates are found before anything moves.

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::access::ListEntry;
use super::entries::{Entries, Listed};
use super::handler_id::{HandlerId, NewHandlerIds};
use super::registered::{Reference, Registered};
use super::registry::Registry;
use crate::error::UsageError;
use crate::ext::Feature;
use crate::json::Json;
use crate::types::{CompletionReference, Prompt, Tool};

impl<H> Registry<H> {
    /// Moves all entries of another registry into this one. Names of tools and prompts get the
    /// prefix, such as `notes_`. Resources and templates keep their URIs. Methods and notifications
    /// keep their names.
    ///
    /// The entries keep their scopes, filters, required extensions, completions and app pages. The
    /// handlers of a clone of a mounted registry get new ids. Instructions are appended. The
    /// registry then declares what either of both declares: extensions, experimental capabilities,
    /// `listChanged`, `subscribe`, logging. Name, version, page size and caching hints of the other
    /// registry are dropped, and so is its handler of task subscriptions if this registry has one.
    ///
    /// Fails, and changes nothing, with [`UsageError::Duplicate`] for an entry of both: a prefixed
    /// name, a URI, a template, a method, a notification, or `fallback`. An extension or an
    /// experimental capability of both is such an entry if its settings differ. Fails with
    /// [`UsageError::ReservedMethod`] for a registry that [forwards](Registry::forward), which
    /// answers all methods.
    pub fn mount(&mut self, prefix: &str, mut other: Self) -> Result<&mut Self, UsageError> {
        other.renumber_shared(self);
        let Self { registered, mut handlers } = other;
        self.registered.check_mount(prefix, &registered)?;
        if let (Some(_), Some(unused)) =
            (self.registered.task_subscriptions, registered.task_subscriptions)
        {
            handlers.remove(&unused.serial);
        }
        self.registered.mount(prefix, registered);
        self.handlers.extend(handlers);
        Ok(self)
    }

    /// Gives the handlers new ids if `other` has one of them, as the clone of a registry has.
    pub(crate) fn renumber_shared(&mut self, other: &Self) -> NewHandlerIds {
        let mut ids = NewHandlerIds::default();
        if !self.handlers.keys().any(|serial| other.handlers.contains_key(serial)) {
            return ids;
        }
        let Self { registered, handlers } = self;
        registered.renew_handlers(|old| {
            let id = ids.renew(old);
            if let Some(handler) = handlers.remove(&old.serial) {
                handlers.insert(id.serial, handler);
            }
            id
        });
        ids
    }

    /// Removes a method, and returns its handler.
    pub fn remove_method(&mut self, method: &str) -> Option<H> {
        let handler = self.registered.methods.remove(method)?;
        self.registered.required.remove(&Feature::method(method));
        self.handlers.remove(&handler.serial)
    }

    /// Removes the handler of a notification, and returns it.
    pub fn remove_notification(&mut self, method: &str) -> Option<H> {
        let handler = self.registered.notifications.remove(method)?;
        self.handlers.remove(&handler.serial)
    }

    /// Removes the completions of a prompt or a resource template, and returns their handler. The
    /// prompt or the template stays.
    pub fn remove_completion(&mut self, reference: CompletionReference) -> Option<H> {
        self.forget_completion(&reference.into())
    }

    /// Removes the handler of [`Registry::fallback`], and returns it.
    pub fn remove_fallback(&mut self) -> Option<H> {
        let handler = self.registered.fallback.take()?;
        self.handlers.remove(&handler.serial)
    }

    /// The handlers of all entries, completions, methods and notifications, of task subscriptions,
    /// the fallback, and the forwarder.
    pub fn handlers(&self) -> impl Iterator<Item = HandlerId> {
        let registered = &self.registered;
        let tools = registered.tools.iter().map(|(_, handler)| *handler);
        let resources = registered.resources.iter().map(|(_, handler)| *handler);
        let templates = registered.templates.iter().map(|(_, handler)| *handler);
        let prompts = registered.prompts.iter().map(|(_, handler)| *handler);
        let completions = registered.completions.values().copied();
        let methods = registered.methods.values().copied();
        let notifications = registered.notifications.values().copied();
        let entries = tools.chain(resources).chain(templates).chain(prompts);
        let others = completions.chain(methods).chain(notifications);
        let others = others.chain(registered.task_subscriptions);
        entries.chain(others).chain(registered.fallback).chain(registered.forward)
    }
}

impl Registered {
    /// Gives each handler that [`Registry::handlers`] returns the id that `renew` returns for its
    /// old one.
    fn renew_handlers(&mut self, mut renew: impl FnMut(HandlerId) -> HandlerId) {
        self.tools.renew_handlers(&mut renew);
        self.resources.renew_handlers(&mut renew);
        self.templates.renew_handlers(&mut renew);
        self.prompts.renew_handlers(&mut renew);
        let others = self.completions.values_mut().chain(self.methods.values_mut());
        let others = others.chain(self.notifications.values_mut());
        let others = others.chain(&mut self.task_subscriptions);
        for id in others.chain(&mut self.fallback).chain(&mut self.forward) {
            *id = renew(*id);
        }
    }

    fn check_mount(&self, prefix: &str, other: &Self) -> Result<(), UsageError> {
        if other.forward.is_some() {
            return Err(UsageError::ReservedMethod { method: "forward".into() });
        }
        if self.fallback.is_some() && other.fallback.is_some() {
            return Err(UsageError::Duplicate { kind: "method", name: "fallback".into() });
        }
        self.tools.check_all(&other.tools, prefix)?;
        self.prompts.check_all(&other.prompts, prefix)?;
        self.resources.check_all(&other.resources, "")?;
        self.templates.check_all(&other.templates, "")?;
        check_keys("method", &self.methods, &other.methods)?;
        check_keys("notification", &self.notifications, &other.notifications)?;
        check_settings("conflicting extension", &self.extensions, &other.extensions)?;
        check_settings(
            "conflicting experimental capability",
            &self.experimental,
            &other.experimental,
        )
    }

    fn mount(&mut self, prefix: &str, other: Self) {
        let prefixed = |name: String| alloc::format!("{prefix}{name}");
        self.tools.extend(other.tools, |tool| Tool { name: prefixed(tool.name), ..tool });
        self.prompts
            .extend(other.prompts, |prompt| Prompt { name: prefixed(prompt.name), ..prompt });
        self.resources.extend(other.resources, |resource| resource);
        self.templates.extend(other.templates, |template| template);
        let completions =
            other.completions.into_iter().map(|(reference, handler)| match reference {
                Reference::Prompt(name) => (Reference::Prompt(prefixed(name)), handler),
                Reference::Template(template) => (Reference::Template(template), handler),
            });
        self.completions.extend(completions);
        let scopes = other.tool_scopes.into_iter().map(|(tool, scopes)| (prefixed(tool), scopes));
        self.tool_scopes.extend(scopes);
        let task_tools =
            other.task_tools.into_iter().map(|(tool, required)| (prefixed(tool), required));
        self.task_tools.extend(task_tools);
        self.required.extend(other.required.into_iter().map(|(feature, required)| match feature {
            Feature::Tool(name) => (Feature::Tool(prefixed(name)), required),
            Feature::Method(method) => (Feature::Method(method), required),
        }));
        self.access.extend(other.access, |entry| match entry {
            ListEntry::Tool(name) => ListEntry::Tool(prefixed(name)),
            ListEntry::Prompt(name) => ListEntry::Prompt(prefixed(name)),
            ListEntry::Resource(_) | ListEntry::ResourceTemplate(_) => entry,
        });
        self.methods.extend(other.methods);
        self.notifications.extend(other.notifications);
        self.fallback = self.fallback.or(other.fallback);
        self.task_subscriptions = self.task_subscriptions.or(other.task_subscriptions);
        self.extensions.extend(other.extensions);
        self.experimental.extend(other.experimental);
        self.list_changed.extend(other.list_changed);
        self.logging |= other.logging;
        self.subscribe |= other.subscribe;
        self.instructions = match (self.instructions.take(), other.instructions) {
            (Some(ours), Some(others)) => Some(alloc::format!("{ours}\n\n{others}")),
            (ours, others) => ours.or(others),
        };
    }
}

impl<T: Listed> Entries<T> {
    /// Fails with [`UsageError::Duplicate`] if this list has the prefixed key of an entry of
    /// `other`.
    fn check_all(&self, other: &Self, prefix: &str) -> Result<(), UsageError> {
        for (item, _) in other.iter() {
            let name = alloc::format!("{prefix}{}", item.key());
            if self.has(&name) {
                return Err(UsageError::Duplicate { kind: T::KIND, name });
            }
        }
        Ok(())
    }

    /// Adds the entries of another list, renamed by `rename`.
    fn extend(&mut self, other: Self, rename: impl Fn(T) -> T) {
        for (item, handler) in other.into_list() {
            self.add(rename(item), handler);
        }
    }
}

fn check_keys<V>(
    kind: &'static str,
    ours: &BTreeMap<String, V>,
    others: &BTreeMap<String, V>,
) -> Result<(), UsageError> {
    match others.keys().find(|name| ours.contains_key(*name)) {
        Some(name) => Err(UsageError::Duplicate { kind, name: name.clone() }),
        None => Ok(()),
    }
}

/// Like `check_keys`, but a key may be in both maps if its settings are equal.
fn check_settings(
    kind: &'static str,
    ours: &BTreeMap<String, Json>,
    others: &BTreeMap<String, Json>,
) -> Result<(), UsageError> {
    let differs = |(name, settings): &(&String, &Json)| {
        ours.get(*name).is_some_and(|ours| ours.as_bytes() != settings.as_bytes())
    };
    match others.iter().find(differs) {
        Some((name, _)) => Err(UsageError::Duplicate { kind, name: name.clone() }),
        None => Ok(()),
    }
}
