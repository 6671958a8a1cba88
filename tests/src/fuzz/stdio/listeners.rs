//! Model of subscriptions. The first message is an acknowledgement, and nothing comes that was not
//! asked for. The last is the result, or nothing after a cancellation.

use std::collections::{BTreeMap, BTreeSet};

use mcp_proto::Limits;
use mcp_proto::server::{Change, List};

use super::model::same_id;
use super::seen::Seen;
use crate::fuzz::oracle::{self, Object};
use crate::fuzz::written::Written;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Default)]
pub(super) struct Listeners(Vec<Listener>);

struct Listener {
    /// The id of its request; a legacy session has none.
    id: Option<String>,
    ready: bool,
    lists: BTreeSet<List>,
    /// The resources, and whether it is sure that the server knows of them.
    uris: BTreeMap<String, bool>,
    /// Changes that may be reported, and whether they must be.
    untold: BTreeMap<Change, bool>,
}

impl Listeners {
    pub(super) fn open_session(&mut self) {
        let lists = [List::Tools, List::Prompts, List::Resources].into();
        let (uris, untold) = (BTreeMap::new(), BTreeMap::new());
        self.0.insert(0, Listener { id: None, ready: false, lists, uris, untold });
    }

    pub(super) fn start_session(&mut self) {
        if let Some(session) = self.session() {
            session.ready = true;
        }
    }

    /// A session asks to be told of a resource, or not to be told.
    pub(super) fn subscribe(&mut self, uri: String, subscribes: bool, sure: bool) {
        let Some(session) = self.session() else { return };
        if subscribes {
            *session.uris.entry(uri).or_default() |= sure;
        } else if sure {
            session.untold.remove(&Change::ResourceUpdated(uri.clone()));
            session.uris.remove(&uri);
        } else {
            session.uris.entry(uri.clone()).and_modify(|sure| *sure = false);
            let untold = session.untold.entry(Change::ResourceUpdated(uri));
            untold.and_modify(|sure| *sure = false);
        }
    }

    /// The answer to `subscriptions/listen`: a refusal, or an acknowledgement, after which the
    /// subscription is open if there is anything to be told of.
    pub(super) fn listen(&mut self, id: &str, params: &str, limits: &Limits, seen: &mut Seen) {
        let first = seen.response();
        if !first.is("notifications/subscriptions/acknowledged") {
            assert!(first.error.is_some() && first.id.as_deref() == Some(id), "no acknowledgement");
            return;
        }
        assert_eq!(subscription(&first).as_deref(), Some(id));
        let honoured = first.param("notifications").unwrap_or_default();
        let honoured = Object::read(&honoured);
        let has = |key| honoured.as_ref().and_then(|filter| filter.get(key)) == Some("true");
        assert!(!has("promptsListChanged"), "what is not declared");
        let mut lists = BTreeSet::new();
        lists.extend(has("toolsListChanged").then_some(List::Tools));
        lists.extend(has("resourcesListChanged").then_some(List::Resources));
        let uris = honoured.as_ref().and_then(|filter| filter.get("resourceSubscriptions"));
        let uris = oracle::elements(uris.unwrap_or("[]")).into_iter().filter_map(oracle::string);
        let uris: BTreeMap<String, bool> = uris.map(|uri| (uri, true)).collect();
        assert!(params.contains("notifications") || params.contains('\\'));
        if lists.is_empty() && uris.is_empty() {
            return end(id, &seen.response());
        }
        let (id, untold) = (Some(id.to_owned()), BTreeMap::new());
        self.0.push(Listener { id, ready: true, lists, uris, untold });
        let listeners = self.0.iter();
        let count: usize = listeners.map(|listener| listener.uris.len().max(1)).sum();
        assert!(count <= limits.max_subscriptions, "too many subscriptions");
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|listener| listener.is(id))
    }

    /// The client does not listen any more.
    pub(super) fn stop(&mut self, id: &str) {
        self.0.retain(|listener| !listener.is(id));
    }

    pub(super) fn publish(&mut self, change: &Change) {
        for listener in &mut self.0 {
            let sure = match change {
                Change::ListChanged(list) => listener.lists.contains(list).then_some(true),
                Change::ResourceUpdated(uri) => listener.uris.get(uri).copied(),
                Change::TaskUpdated(_) | _ => None,
            };
            if let Some(sure) = sure {
                *listener.untold.entry(change.clone()).or_default() |= sure;
            }
        }
    }

    /// Everybody is told of all that has changed, in any order, each once.
    pub(super) fn tell(&mut self, seen: &mut Seen) {
        for listener in self.0.iter_mut().filter(|listener| listener.ready) {
            for (change, sure) in std::mem::take(&mut listener.untold) {
                let tells = |line: &String| {
                    line.starts_with('{') && listener.is_told(&change, &Written::read(line))
                };
                match seen.lines.iter().position(tells) {
                    Some(at) => drop(seen.lines.remove(at)),
                    None => assert!(!sure, "nobody is told of {change:?}"),
                }
            }
        }
    }

    /// The server ends all subscriptions: the result of each, and that it is cancelled.
    pub(super) fn end(&mut self, seen: &mut Seen) {
        for listener in std::mem::take(&mut self.0) {
            let Some(id) = listener.id else { continue };
            end(&id, &seen.response());
            let cancelled = seen.response();
            assert!(cancelled.is("notifications/cancelled"));
            assert_eq!(cancelled.param("requestId"), Some(id));
        }
    }

    fn session(&mut self) -> Option<&mut Listener> {
        self.0.iter_mut().find(|listener| listener.id.is_none())
    }
}

impl Listener {
    fn is(&self, id: &str) -> bool {
        self.id.as_deref().is_some_and(|own| same_id(own, id))
    }

    fn is_told(&self, change: &Change, message: &Written) -> bool {
        let (method, uri) = if let Change::ResourceUpdated(uri) = change {
            ("notifications/resources/updated", Some(uri.clone()))
        } else if *change == Change::ListChanged(List::Tools) {
            ("notifications/tools/list_changed", None)
        } else {
            ("notifications/resources/list_changed", None)
        };
        let named = message.param("uri").and_then(|uri| oracle::string(&uri));
        message.is(method)
            && message.id.is_none()
            && named == uri
            && subscription(message) == self.id
    }
}

/// The subscription that a notification belongs to.
fn subscription(message: &Written) -> Option<String> {
    Object::read(&message.param("_meta")?)?.get(SUBSCRIPTION_ID).map(str::to_owned)
}

/// The last message of a subscription.
fn end(id: &str, response: &Written) {
    assert_eq!(response.id.as_deref(), Some(id), "not the end of the subscription");
    let result = response.result.as_deref().and_then(Object::read);
    let meta = result.as_ref().and_then(|result| Object::read(result.get("_meta")?));
    let named = meta.as_ref().and_then(|meta| meta.get(SUBSCRIPTION_ID));
    assert_eq!(named, Some(id), "it names another");
}
