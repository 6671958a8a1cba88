//! The store of a run, with another process that writes to it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::super::script_bytes::ScriptBytes;
use super::canaries::{Canaries, harmless};
use super::settings::{ISSUER, OTHER_ISSUER, SERVER};

/// Records by key, and the keys that are locked.
#[derive(Default)]
pub(super) struct ScriptedStore {
    records: BTreeMap<String, String>,
    locked: BTreeSet<String>,
}

impl ScriptedStore {
    pub(super) fn lock(&mut self, key: &str) {
        assert!(self.locked.insert(key.into()), "{key} is locked twice");
    }

    pub(super) fn unlock(&mut self, key: &str) {
        self.locked.remove(key);
    }

    /// Panics if a key is locked.
    pub(super) fn check_unlocked(&self) {
        assert!(self.locked.is_empty(), "still locked: {:?}", self.locked);
    }

    pub(super) fn write(&mut self, key: String, record: String) {
        self.records.insert(key, record);
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.records.remove(key);
    }

    /// The record of a key: what is stored, what another process has stored, or anything. True with
    /// a record of which nobody knows what it says.
    pub(super) fn read(
        &mut self,
        key: &str,
        unix: u64,
        bytes: &mut ScriptBytes<'_>,
        canaries: &mut Canaries,
    ) -> (Option<String>, bool) {
        match bytes.next() % 8 {
            4 => return (None, false),
            5 | 6 if key.starts_with("server:") => {
                let record = other_process(unix, bytes.next(), canaries);
                self.write(key.into(), record);
            }
            7 => {
                let length = usize::from(bytes.next());
                return (Some(harmless(bytes.take(length))), true);
            }
            _ => {}
        }
        (self.records.get(key).cloned(), false)
    }
}

/// The record of another process with tokens of its own.
fn other_process(unix: u64, flavor: u8, canaries: &mut Canaries) -> String {
    let (issuer, host) =
        if flavor & 1 == 0 { (ISSUER, "a.example") } else { (OTHER_ISSUER, "b.example") };
    let endpoint = match flavor & 6 {
        0 | 2 => format!("{issuer}/token"),
        4 => "http://a.example/token".into(),
        _ => "https://10.0.0.1/token".into(),
    };
    let mut record = json!({
        "v": 1, "issuer": issuer, "resource": SERVER, "asked": "a",
        "access_token": canaries.issue("access", &[]),
        "token_endpoint": endpoint, "client_id": "preset", "method": "none", "dynamic": false,
    });
    if let Some(members) = record.as_object_mut() {
        if flavor & 8 == 0 {
            members.insert("refresh_token".into(), canaries.issue("refresh", &[host]).into());
        }
        if flavor & 16 != 0 {
            members.insert("expires_at".into(), (unix + u64::from(flavor & 32)).into());
        }
        if flavor & 64 != 0 {
            members.insert("proof_key".into(), "of another key".into());
        }
        if flavor & 128 != 0 {
            members.insert("later".into(), json!({"kept": [1]}));
        }
    }
    record.to_string()
}
