//! A server that watches a folder: its files are resources, and clients hear of each change.
//!
//! ```sh
//! cd mcp-tokio/examples/integrations
//! cargo run --bin watch_folder -- ~/notes
//! ```
//!
//! The system says only that something has happened. Then the folder is read again and compared, so
//! that nothing is missed if the system drops events.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mcp_tokio::types::{Resource, ResourceContents};
use mcp_tokio::{
    Catalog, Change, ErrorData, Implementation, List, Registry, UsageError, serve_stdio,
};
use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;
use url::Url;

type Failure = Box<dyn Error + Send + Sync>;

/// Time in which several events are one change.
const PAUSE: Duration = Duration::from_millis(100);

/// Most bytes of a file that is read.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The files of a folder by their URIs.
type Files = BTreeMap<String, File>;

#[derive(Clone, PartialEq)]
struct File {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).ok_or("usage: watch_folder FOLDER")?;
    let folder = Path::new(&folder).canonicalize()?;

    // One event that waits is enough: whatever happened, the folder is read again.
    let (sender, events) = mpsc::channel(1);
    let mut watcher =
        notify::recommended_watcher(move |_| sender.try_send(()).unwrap_or_default())?;
    watcher.watch(&folder, RecursiveMode::NonRecursive)?;

    let mut registry = Registry::new(Implementation::new("folder", env!("CARGO_PKG_VERSION")));
    registry.list_changed(List::Resources).subscribe();
    let catalog = Catalog::from(registry);
    let mut known = Files::new();
    update(&catalog, &folder, &mut known)?;
    tokio::select! {
        served = serve_stdio(catalog.clone()) => Ok(served?),
        lost = follow(&catalog, &folder, known, events) => lost,
    }
}

async fn follow(
    catalog: &Catalog,
    folder: &Path,
    mut known: Files,
    mut events: mpsc::Receiver<()>,
) -> Result<(), Failure> {
    while events.recv().await.is_some() {
        tokio::time::sleep(PAUSE).await;
        update(catalog, folder, &mut known)?;
    }
    Err("the folder cannot be watched any more".into())
}

/// Reads the folder, and tells clients of everything that has changed since.
fn update(catalog: &Catalog, folder: &Path, known: &mut Files) -> Result<(), Failure> {
    let found = list(folder)?;
    if found.keys().ne(known.keys()) {
        catalog.update(|registry| {
            for uri in known.keys().filter(|uri| !found.contains_key(*uri)) {
                registry.remove_resource(uri);
            }
            for (uri, file) in found.iter().filter(|(uri, _)| !known.contains_key(*uri)) {
                add(registry, uri, &file.path)?;
            }
            Ok(())
        })?;
    }
    for (uri, file) in &found {
        if known.get(uri).is_some_and(|before| before != file) {
            catalog.publish(&Change::ResourceUpdated(uri.clone()))?;
        }
    }
    *known = found;
    Ok(())
}

fn add(registry: &mut Registry, uri: &str, path: &Path) -> Result<(), UsageError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let path = path.to_owned();
    registry.resource(Resource::new(uri, name), move |uri, _| {
        let path = path.clone();
        async move {
            let gone = |_| ErrorData::resource_not_found(&uri);
            let about = tokio::fs::symlink_metadata(&path).await.map_err(gone)?;
            // A link could lead out of the folder.
            if !about.is_file() || about.len() > MAX_FILE_BYTES {
                return Err(ErrorData::resource_not_found(&uri));
            }
            let bytes = tokio::fs::read(&path).await.map_err(gone)?;
            Ok(match String::from_utf8(bytes) {
                Ok(text) => ResourceContents::text(&*uri, text),
                Err(error) => ResourceContents::blob_from_bytes(&*uri, error.as_bytes()),
            })
        }
    })?;
    Ok(())
}

/// The files of a folder itself, without links and hidden files.
fn list(folder: &Path) -> Result<Files, Failure> {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // It may be gone again.
        let Ok(about) = entry.path().symlink_metadata() else { continue };
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if let (true, false, Ok(uri)) =
            (about.is_file(), is_hidden, Url::from_file_path(entry.path()))
        {
            let (bytes, modified) = (about.len(), about.modified()?);
            files.insert(uri.into(), File { path: entry.path(), bytes, modified });
        }
    }
    Ok(files)
}
