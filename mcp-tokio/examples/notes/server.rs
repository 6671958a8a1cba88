//! Notes, and the handlers that share them.

#![expect(clippy::unused_async, reason = "handlers are async")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_tokio::types::{
    BooleanSchema, CompleteRequestParams, CompletionReference, ContentBlock,
    ElicitRequestFormParams, Prompt, PromptMessage, RequestedSchema, Resource, ResourceContents,
    ResourceTemplate, Role,
};
use mcp_tokio::{
    Change, Context, ErrorData, Implementation, Progress, Registry, Structured, UsageError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const ALL: &str = "notes://all";

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Note {
    /// A few words.
    title: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Title {
    /// The title of a note.
    title: String,
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// Text that the notes contain; all of them if it is absent.
    text: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    notes: Vec<Note>,
}

#[derive(Deserialize)]
struct Answer {
    sure: bool,
}

/// The notes by their titles.
#[derive(Default)]
struct Notes(Mutex<BTreeMap<String, Note>>);

impl Notes {
    async fn add(&self, note: Note, context: Context) -> Result<Structured<Note>, UsageError> {
        self.lock().insert(note.title.clone(), note.clone());
        context.publish(&Change::ResourceUpdated(ALL.into()))?;
        Ok(Structured(note))
    }

    async fn find(&self, search: Search, _: Context) -> Structured<Found> {
        let text = search.text.unwrap_or_default();
        let has = |note: &&Note| note.title.contains(&text) || note.text.contains(&text);
        Structured(Found { notes: self.lock().values().filter(has).cloned().collect() })
    }

    async fn delete(&self, Title { title }: Title, context: Context) -> Result<String, Failure> {
        if !self.lock().contains_key(&title) {
            return Err(format!("There is no note {title:?}.").into());
        }
        let fields = RequestedSchema::new().required("sure", BooleanSchema::new());
        let form = ElicitRequestFormParams::new(format!("Delete {title:?}?"), fields);
        match context.elicit("delete", form)?.accepted().transpose()? {
            Some(Answer { sure: true }) => {
                self.lock().remove(&title);
                context.publish(&Change::ResourceUpdated(ALL.into()))?;
                Ok("It is deleted.".into())
            }
            _ => Ok("It is kept.".into()),
        }
    }

    async fn export(&self, _: Search, context: Context) -> String {
        let notes: Vec<Note> = self.lock().values().cloned().collect();
        let mut text = String::new();
        for (done, note) in notes.iter().enumerate() {
            // A call that is cancelled ends here.
            context.sleep(Duration::from_secs(1)).await;
            text.extend(["# ", &*note.title, "\n\n", &*note.text, "\n\n"]);
            context.progress(Progress::new(done + 1).total(notes.len()).message(&note.title));
        }
        text
    }

    async fn read_all(&self, uri: String, _: Context) -> ResourceContents {
        let titles: Vec<String> = self.lock().keys().cloned().collect();
        ResourceContents::text(uri, titles.join("\n"))
    }

    async fn read(
        &self,
        uri: String,
        Title { title }: Title,
        _: Context,
    ) -> Result<ResourceContents, ErrorData> {
        match self.lock().get(&title) {
            Some(note) => Ok(ResourceContents::text(uri, &note.text)),
            None => Err(ErrorData::resource_not_found(&uri)),
        }
    }

    async fn review(&self, Title { title }: Title, _: Context) -> Result<PromptMessage, ErrorData> {
        let notes = self.lock();
        let note = notes.get(&title).ok_or(ErrorData::invalid_params("there is no such note"))?;
        let text = format!("Review this note:\n\n# {}\n\n{}", note.title, note.text);
        Ok(PromptMessage::new(Role::User, ContentBlock::text(text)))
    }

    async fn titles(&self, asked: CompleteRequestParams, _: Context) -> Vec<String> {
        let notes = self.lock();
        notes.keys().filter(|title| title.starts_with(&asked.argument.value)).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn registry() -> Result<Registry, UsageError> {
    let all = Resource::new(ALL, "all").mime_type("text/plain");
    let one = ResourceTemplate::new("notes://note/{title}", "note").mime_type("text/markdown");
    let mut registry = Registry::new(Implementation::new("notes", "1.0.0"));
    registry
        .subscribe()
        .with(Arc::new(Notes::default()))
        .tool("add", "Adds a note, or replaces the one of its title", Notes::add)?
        .tool("find", "Finds notes by their titles and texts", Notes::find)?
        .tool("delete", "Deletes a note, if the user agrees", Notes::delete)?
        .tool("export", "Writes all notes as Markdown, which takes its time", Notes::export)?
        .resource(all, Notes::read_all)?
        .resource_template(one, Notes::read)?
        .completion(CompletionReference::resource("notes://note/{title}"), Notes::titles)?
        .prompt(Prompt::of::<Title>("review")?.description("Reviews a note"), Notes::review)?
        .completion(CompletionReference::prompt("review"), Notes::titles)?;
    Ok(registry)
}
