//! Traces: what happened on a link lately, for whoever reads about a failure.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// As many lines are kept, and as many bytes of each.
const MAX_LINES: usize = 600;
const MAX_LINE_BYTES: usize = 260;

/// As many lines are kept beyond that, of those that tell what a link has come to.
const MAX_LANDMARKS: usize = 400;

/// Marks of such lines.
const LANDMARKS: [&str; 6] = ["-- ", "GET ", "subscri", "initialize", "changed: ", "view: "];

/// The last events of a link, with their times. Clones are the same trace.
#[derive(Clone)]
pub struct Trace {
    start: Instant,
    lines: Arc<Mutex<Lines>>,
}

#[derive(Default)]
struct Lines {
    last: VecDeque<String>,
    landmarks: VecDeque<String>,
}

impl Trace {
    /// An empty trace; times count from `start`.
    pub fn new(start: Instant) -> Self {
        Self { start, lines: Arc::default() }
    }

    /// Adds an event.
    pub fn note(&self, event: &str) {
        let mut line = format!("{:9.3} {event}", self.start.elapsed().as_secs_f64());
        let end = (0..=MAX_LINE_BYTES.min(line.len())).rev().find(|&at| line.is_char_boundary(at));
        line.truncate(end.unwrap_or_default());
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.last.push_back(line);
        if lines.last.len() > MAX_LINES
            && let Some(line) = lines.last.pop_front()
            && LANDMARKS.iter().any(|landmark| line.contains(landmark))
        {
            lines.landmarks.push_back(line);
            if lines.landmarks.len() > MAX_LANDMARKS {
                lines.landmarks.pop_front();
            }
        }
    }

    /// The events, oldest first.
    pub fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.landmarks.iter().chain(&lines.last).cloned().collect()
    }
}
