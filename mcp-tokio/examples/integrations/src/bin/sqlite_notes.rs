//! A server with an SQLite database: notes that are kept, searched and read.
//!
//! ```sh
//! cd mcp-tokio/examples/integrations
//! cargo run --bin sqlite_notes -- notes.db
//! ```
//!
//! Each host starts a process of its own, and all of them share the file.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_tokio::types::{ResourceContents, ResourceTemplate};
use mcp_tokio::{
    Context, ErrorData, Handler, Implementation, Registry, Structured, UsageError, serve_stdio,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

type Failure = Box<dyn Error + Send + Sync>;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5 (title, text);
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let file = std::env::args().nth(1).ok_or("usage: sqlite_notes FILE")?;
    Ok(serve_stdio(registry(Database::open(&file)?)?).await?)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NewNote {
    /// A few words to find it by.
    title: String,
    /// The note itself.
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Search {
    /// Words that all of the notes have.
    words: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Note {
    /// Where the whole of it can be read.
    uri: String,
    title: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Found {
    /// At most 20, the best first.
    notes: Vec<Note>,
}

#[derive(serde::Deserialize)]
struct NoteId {
    id: String,
}

fn registry(database: Database) -> Result<Registry<Handler>, UsageError> {
    let mut registry = Registry::new(Implementation::new("notes", env!("CARGO_PKG_VERSION")));
    let db = database.clone();
    registry.tool("add_note", "Keeps a note", move |new: NewNote, _: Context| {
        let db = db.clone();
        async move { db.run(move |connection| add(connection, new)).await.map(Structured) }
    })?;
    let db = database.clone();
    registry.tool("search_notes", "Finds notes by their words", move |search: Search, _| {
        let db = db.clone();
        async move { db.run(move |connection| find(connection, &search)).await.map(Structured) }
    })?;
    let template = ResourceTemplate::new("note:///{id}", "notes").mime_type("text/plain");
    registry.resource_template(template, move |uri, NoteId { id }, _| {
        let db = database.clone();
        async move {
            let text = db.run(move |connection| read(connection, &id)).await;
            match text.map_err(|error| ErrorData::internal(error.to_string()))? {
                Some(text) => Ok(ResourceContents::text(uri, text)),
                None => Err(ErrorData::resource_not_found(&uri)),
            }
        }
    })?;
    Ok(registry)
}

fn add(connection: &Connection, new: NewNote) -> rusqlite::Result<Note> {
    let insert = "INSERT INTO notes (title, text) VALUES (?1, ?2)";
    connection.execute(insert, params![new.title, new.text])?;
    Ok(Note { uri: uri(connection.last_insert_rowid()), title: new.title })
}

fn find(connection: &Connection, search: &Search) -> rusqlite::Result<Found> {
    // A quoted word is a word, and no operator of the query language.
    let words =
        search.words.split_whitespace().map(|word| format!("\"{}\"", word.replace('"', "")));
    let words = words.filter(|word| word != "\"\"").collect::<Vec<_>>().join(" ");
    if words.is_empty() {
        return Ok(Found { notes: Vec::new() });
    }
    let select = "SELECT rowid, title FROM notes WHERE notes MATCH ?1 ORDER BY rank LIMIT 20";
    let notes = connection.prepare(select)?.query_map([words], note)?.collect::<Result<_, _>>()?;
    Ok(Found { notes })
}

fn read(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let select = "SELECT text FROM notes WHERE rowid = ?1";
    connection.query_row(select, [id], |row| row.get(0)).optional()
}

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note { uri: uri(row.get(0)?), title: row.get(1)? })
}

fn uri(id: i64) -> String {
    format!("note:///{id}")
}

/// The database. Calls take turns on one connection, away from the thread that serves.
#[derive(Clone)]
struct Database {
    connection: Arc<Mutex<Connection>>,
}

impl Database {
    fn open(file: &str) -> rusqlite::Result<Self> {
        let connection = Connection::open(file)?;
        // Another process may be writing.
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let connection = self.connection.clone();
        let work = move || work(&connection.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(tokio::task::spawn_blocking(work).await??)
    }
}
