//! The server: one tool, which asks for what it has not been told.

use std::sync::{Arc, Mutex, PoisonError};

use mcp_tokio::types::{ElicitRequestFormParams, RequestedSchema, StringSchema};
use mcp_tokio::{Catalog, Context, Implementation, Interrupt, Registry, UsageError};

/// Restaurant that serves all connections.
pub(super) struct Restaurant {
    pub(super) catalog: Catalog,
    log: Log,
}

type Log = Arc<Mutex<Vec<String>>>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Book {
    guests: u32,
}

#[derive(serde::Deserialize)]
struct Place {
    seat: String,
}

impl Restaurant {
    pub(super) fn open() -> Result<Self, UsageError> {
        let mut registry = Registry::new(Implementation::new("restaurant", "1.0.0"));
        let log = Log::default();
        let notes = log.clone();
        registry.tool("book", "Books a table", move |book: Book, context| {
            note(&notes, &context);
            async move { reserve(&book, &context) }
        })?;
        Ok(Self { catalog: Catalog::from(registry), log })
    }

    /// Takes the log of what was served.
    pub(super) fn served(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Books a table. It is written once: how the question travels is not its business.
fn reserve(Book { guests }: &Book, context: &Context) -> Result<String, Interrupt> {
    let fields = RequestedSchema::new().required("seat", StringSchema::new());
    let answer = context.elicit("seat", ElicitRequestFormParams::new("Where?", fields))?;
    Ok(match answer.accepted::<Place>() {
        Some(Ok(Place { seat })) => format!("A table for {guests}, {seat}"),
        Some(Err(_)) | None => "Another time, then".into(),
    })
}

fn note(log: &Log, context: &Context) {
    let version = context.peer().version;
    let what = if context.input().is_none() { "to ask" } else { "to answer" };
    let line = format!("as {version} ({}) {what}", version.era());
    log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}
