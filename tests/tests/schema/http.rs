//! Messages of a server over HTTP in a transcript, checked against the schemas.
//!
//! Several connections speak at once, sessions have ids in common, and streams are replayed; so a
//! message is valid if it answers any request that had its id, or belongs to any session.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::schemas::{LATEST_LEGACY, MODERN, Schemas};
use crate::server::{result_of, unasked};

/// Conversation so far.
#[derive(Default)]
pub(crate) struct Conversation {
    /// The methods of all requests, by id, and whether they are modern.
    requests: BTreeMap<String, BTreeSet<(String, bool)>>,
    /// The revisions of all sessions.
    sessions: BTreeSet<String>,
}

impl Conversation {
    /// Faults of a line of a transcript, if the machine writes it.
    pub(crate) fn line(&mut self, schemas: &mut Schemas, line: &str) -> Option<Vec<String>> {
        let (mark, line) = line.split_once(' ')?;
        let text = line.get(line.find(['{', '['])?..)?;
        let direction = mark.trim_start_matches(|c: char| c.is_ascii_digit());
        match (direction, mark.len() > 1) {
            (">", true) => {
                if let Ok(message) = serde_json::from_str(text) {
                    self.client_says(&message);
                }
                None
            }
            ("<", true) => {
                let message = serde_json::from_str(text).ok()?;
                Some(self.server_says(schemas, &message))
            }
            _ => None,
        }
    }

    fn client_says(&mut self, message: &Value) {
        if let Some(batch) = message.as_array() {
            return batch.iter().for_each(|message| self.client_says(message));
        }
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return;
        };
        let claim = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let request = (method.to_owned(), !claim.is_null());
        self.requests.entry(id.to_string()).or_default().insert(request);
    }

    fn server_says(&mut self, schemas: &mut Schemas, message: &Value) -> Vec<String> {
        if let Some(batch) = message.as_array() {
            return batch.iter().flat_map(|message| self.server_says(schemas, message)).collect();
        }
        if let Some(agreed) = message["result"]["protocolVersion"].as_str() {
            self.sessions.insert(agreed.to_owned());
        }
        let mut readings = Vec::new();
        for (revision, definition) in self.definitions(message) {
            let faults = match definition {
                Definition::Error => schemas.check_error(&revision, message),
                Definition::Result(name) => schemas.check_result(&revision, name, message),
                Definition::Message(name) => schemas.check(&revision, name, message),
            };
            readings.push(faults);
        }
        let shortest = readings.into_iter().min_by_key(Vec::len);
        shortest.unwrap_or_else(|| vec!["nobody asked for this".to_owned()])
    }

    /// Definitions that a message may have, with their revisions.
    fn definitions(&self, message: &Value) -> Vec<(String, Definition)> {
        let revisions = |modern: bool| match (modern, self.sessions.is_empty()) {
            (true, _) => vec![MODERN.to_owned()],
            (false, true) => vec![LATEST_LEGACY.to_owned()],
            (false, false) => self.sessions.iter().cloned().collect(),
        };
        if let Some(method) = message["method"].as_str() {
            let Some(name) = unasked(method) else { return Vec::new() };
            let all = [revisions(false), revisions(true)].concat();
            return all.into_iter().map(|it| (it, Definition::Message(name))).collect();
        }
        if message.get("error").is_some() {
            let all = [revisions(false), revisions(true)].concat();
            return all.into_iter().map(|it| (it, Definition::Error)).collect();
        }
        let asked = self.requests.get(&message["id"].to_string()).into_iter().flatten();
        let mut all = Vec::new();
        for (method, modern) in asked {
            let name = match message["result"]["resultType"].as_str() {
                Some("input_required") => Some("InputRequiredResult"),
                _ => result_of(method),
            };
            let name = name.map(Definition::Result);
            all.extend(name.into_iter().flat_map(|name| {
                revisions(*modern).into_iter().map(move |revision| (revision, name))
            }));
        }
        all
    }
}

/// Of what a message is checked against: the kind, and the name in the schema.
#[derive(Clone, Copy)]
enum Definition {
    Error,
    Result(&'static str),
    Message(&'static str),
}
