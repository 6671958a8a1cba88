//! Two columns, side by side.

use std::io::{self, Write};

use super::json::Shown;
use super::wire::Row;

/// How wide each of the columns is, in characters.
const WIDTH: usize = 48;

/// What is shown, from top to bottom.
pub(super) struct Page<W> {
    out: W,
    shown: Shown,
    scenes: usize,
}

impl<W: Write> Page<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, shown: Shown::default(), scenes: 0 }
    }

    /// What comes next.
    pub(super) fn title(&mut self, title: &str) -> io::Result<()> {
        if self.scenes > 0 {
            writeln!(self.out)?;
        }
        self.scenes += 1;
        writeln!(self.out, "{}. {title}", self.scenes)?;
        writeln!(self.out, "{0:─<WIDTH$}─┬─{1:─<WIDTH$}", "── client ", " server ")
    }

    /// A conversation.
    pub(super) fn rows(&mut self, rows: &[Row]) -> io::Result<()> {
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                self.line("", "")?;
            }
            let client = self.fold("client", &row.client);
            let server = self.fold("server", &row.server);
            for at in 0..client.len().max(server.len()) {
                let line = |column: &[String]| column.get(at).cloned().unwrap_or_default();
                self.line(&line(&client), &line(&server))?;
            }
        }
        writeln!(self.out, "{0}─┴─{0}", "─".repeat(WIDTH))
    }

    /// What one of the two has decided.
    pub(super) fn note(&mut self, note: &str) -> io::Result<()> {
        writeln!(self.out, "{note}")
    }

    fn line(&mut self, client: &str, server: &str) -> io::Result<()> {
        writeln!(self.out, "{}", format!("{client:WIDTH$} │ {server}").trim_end())
    }

    fn fold(&mut self, side: &str, lines: &[String]) -> Vec<String> {
        let short = lines.iter().filter_map(|line| self.shown.shorten(side, line));
        short.flat_map(|line| fold(&line)).collect()
    }
}

/// A text in lines that fit, broken where something ends or begins if that comes in time.
fn fold(text: &str) -> Vec<String> {
    const INDENT: &str = "  ";
    let mut lines = vec![String::new()];
    let mut length = 0;
    for part in text.split_inclusive([',', ' ', '{', '/']) {
        let fits = length + part.chars().count() <= WIDTH;
        for (at, c) in part.chars().enumerate() {
            if length == WIDTH || (at == 0 && !fits) {
                lines.push(INDENT.into());
                length = INDENT.len();
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
                length += 1;
            }
        }
    }
    lines
}
