//! Folders of tests.

use std::path::PathBuf;
use std::{env, fs, process};

/// A folder that ends with its test.
pub(crate) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        // In no folder of all tests: one test would remove that while another one begins.
        let folder = env::temp_dir().join(format!("mcp-cli-scratch-{}-{name}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    /// The path of a file; of the folder itself without a name.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = if name.is_empty() { self.folder.clone() } else { self.folder.join(name) };
        path.to_str().unwrap().to_owned()
    }

    /// Writes a file, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
