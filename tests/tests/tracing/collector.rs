//! A subscriber that writes down what happens, and knows every span.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// Spans and events of the subscriber.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    spans: Vec<Span>,
    events: Vec<String>,
}

/// A span, as far as it has come.
#[derive(Clone, Default, Debug)]
pub(crate) struct Span {
    id: u64,
    pub(crate) name: &'static str,
    /// The name of the span that it began in.
    pub(crate) parent: Option<&'static str>,
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) entered: usize,
    pub(crate) closed: bool,
}

impl Collector {
    /// Runs something, and returns what it comes to and what was seen of it.
    pub(crate) fn see<R>(f: impl FnOnce(&Self) -> R) -> (R, Self) {
        let collector = Self::default();
        let subscriber = Registry::default().with(collector.clone());
        let result = tracing::subscriber::with_default(subscriber, || f(&collector));
        (result, collector)
    }

    /// The spans with this name, in the order of their beginnings.
    pub(crate) fn spans(&self, name: &str) -> Vec<Span> {
        self.lock().spans.iter().filter(|span| span.name == name).cloned().collect()
    }

    /// The events, as text.
    pub(crate) fn events(&self) -> Vec<String> {
        self.lock().events.clone()
    }

    /// All that was written down.
    pub(crate) fn shown(&self) -> String {
        let seen = self.lock();
        format!("{:?} {:?}", seen.spans, seen.events)
    }

    fn change(&self, id: &Id, change: impl FnOnce(&mut Span)) {
        let id = id.into_u64();
        // The ids of spans that have closed are given out again.
        if let Some(span) = self.lock().spans.iter_mut().rev().find(|span| span.id == id) {
            change(span);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap()
    }
}

impl Span {
    /// The value of a field; panics if it has none.
    pub(crate) fn get(&self, field: &str) -> &str {
        self.find(field).unwrap_or_else(|| panic!("no {field} in {:?}", self.fields))
    }

    pub(crate) fn find(&self, field: &str) -> Option<&str> {
        self.fields.get(field).map(String::as_str)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collector {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent()).map(|parent| parent.name());
        let (id, name) = (id.into_u64(), attributes.metadata().name());
        let mut span = Span { id, name, parent, ..Span::default() };
        attributes.record(&mut Fields(&mut span.fields));
        self.lock().spans.push(span);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.change(id, |span| values.record(&mut Fields(&mut span.fields)));
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.change(id, |span| span.entered += 1);
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.change(&id, |span| span.closed = true);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let mut text = context.event_span(event).map_or("-", |span| span.name()).to_owned();
        for (name, value) in fields {
            write!(text, " {name}={value}").unwrap();
        }
        self.lock().events.push(text);
    }
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
