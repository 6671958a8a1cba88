//! Columns, side by side: one for each side of a conversation.

use std::io::{self, Write};

use super::json::Shown;
use super::wire::Row;

/// The characters of a line, those between the columns included.
const LINE: usize = 99;

/// Output, from top to bottom.
pub(super) struct Page<W> {
    out: W,
    shown: Shown,
    scenes: usize,
    sides: &'static [&'static str],
}

impl<W: Write> Page<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, shown: Shown::default(), scenes: 0, sides: &[] }
    }

    /// The next conversation, and its sides.
    pub(super) fn title(&mut self, title: &str, sides: &'static [&'static str]) -> io::Result<()> {
        if self.scenes > 0 {
            writeln!(self.out)?;
        }
        self.scenes += 1;
        self.sides = sides;
        writeln!(self.out, "{}. {title}", self.scenes)?;
        let width = self.width();
        let head = |(at, side): (usize, &&str)| {
            let begins = if at == 0 { "──" } else { "" };
            format!("{:─<width$}", format!("{begins} {side} "))
        };
        let heads: Vec<String> = sides.iter().enumerate().map(head).collect();
        writeln!(self.out, "{}", heads.join("─┬─"))
    }

    /// The conversation.
    pub(super) fn rows(&mut self, rows: &[Row]) -> io::Result<()> {
        let width = self.width();
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                self.line(&[])?;
            }
            let sides = self.sides.iter().zip(row);
            let columns: Vec<Vec<String>> =
                sides.map(|(side, lines)| fold_all(&mut self.shown, side, lines, width)).collect();
            let height = columns.iter().map(Vec::len).max().unwrap_or_default();
            for at in 0..height {
                let cells: Vec<&str> = columns
                    .iter()
                    .map(|column| column.get(at).map(String::as_str).unwrap_or_default())
                    .collect();
                self.line(&cells)?;
            }
        }
        let ends: Vec<String> = self.sides.iter().map(|_| "─".repeat(width)).collect();
        writeln!(self.out, "{}", ends.join("─┴─"))
    }

    /// A decision of one of the sides.
    pub(super) fn note(&mut self, note: &str) -> io::Result<()> {
        writeln!(self.out, "{note}")
    }

    /// The characters of a column.
    fn width(&self) -> usize {
        let count = self.sides.len().max(1);
        (LINE + 3) / count - 3
    }

    fn line(&mut self, cells: &[&str]) -> io::Result<()> {
        let width = self.width();
        let cell = |at| format!("{:width$}", cells.get(at).copied().unwrap_or_default());
        let cells: Vec<String> = (0..self.sides.len()).map(cell).collect();
        writeln!(self.out, "{}", cells.join(" │ ").trim_end())
    }
}

fn fold_all(shown: &mut Shown, side: &str, lines: &[String], width: usize) -> Vec<String> {
    let short = lines.iter().filter_map(|line| shown.shorten(side, line));
    short.flat_map(|line| fold(&line, width)).collect()
}

/// A text in lines that fit, broken where something ends or begins if that comes in time.
fn fold(text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "  ";
    let mut lines = vec![String::new()];
    let mut length = 0;
    for part in text.split_inclusive([',', ' ', '{', '/']) {
        let fits = length + part.chars().count() <= width;
        for (at, c) in part.chars().enumerate() {
            if length == width || (at == 0 && !fits) {
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
