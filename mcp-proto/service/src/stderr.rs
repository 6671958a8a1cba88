//! Destinations for the standard error of a server.
//!
//! In: the choice of an application; for [`Stderr::Lines`], bytes that an adapter reads. Out: lines
//! of text. The lines are not part of the protocol: "The client MAY capture, forward, or ignore the
//! server's `stderr` output and SHOULD NOT assume `stderr` output indicates error conditions."
//!
//! [Specification: stdio](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio)

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::process::Stdio;

use super::panics::catch_panic;

/// Destination for the standard error of a server.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Stderr {
    /// The standard error of the client.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// To a function, line by line; see [`Stderr::lines`].
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

/// The longest line that is reported in one piece, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;

impl Stderr {
    /// Calls `f` with each line, without its newline. Invalid UTF-8 is replaced by U+FFFD. A line
    /// of more than 64 KiB is split into pieces.
    ///
    /// A server that writes faster than `f` returns has to wait, so `f` should not block. A panic
    /// of `f` is ignored, and `f` is called for the next line.
    pub fn lines(f: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(f))
    }

    /// For adapters: the standard error to start a server with; a pipe for [`Stderr::Lines`].
    pub fn stdio(&self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Lines(_) => Stdio::piped(),
        }
    }

    /// For adapters: a function that takes the bytes read from the pipe, in chunks of any size; an
    /// empty chunk is the end. `None` if there is no pipe.
    pub fn sink(&self) -> Option<impl FnMut(&[u8]) + Send + use<>> {
        let Self::Lines(f) = self else { return None };
        let mut lines = LineSplitter { f: f.clone(), partial: Vec::new() };
        Some(move |chunk: &[u8]| lines.take(chunk))
    }
}

impl core::fmt::Debug for Stderr {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Inherit => "Inherit",
            Self::Null => "Null",
            Self::Lines(_) => "Lines(..)",
        })
    }
}

struct LineSplitter {
    f: Arc<dyn Fn(&str) + Send + Sync>,
    /// An incomplete line, at most [`MAX_LINE_BYTES`] of it.
    partial: Vec<u8>,
}

impl LineSplitter {
    fn take(&mut self, chunk: &[u8]) {
        if chunk.is_empty() && !self.partial.is_empty() {
            return self.end_line();
        }
        let mut lines = chunk.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for line in lines {
            self.extend(line);
            self.end_line();
        }
        self.extend(last);
    }

    fn end_line(&mut self) {
        let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        self.report(line);
        self.partial.clear();
    }

    /// Adds to a line, and reports the pieces of a line that is too long.
    fn extend(&mut self, mut more: &[u8]) {
        let room = |partial: &[u8]| MAX_LINE_BYTES.saturating_sub(partial.len());
        while let Some((piece, rest)) = more.split_at_checked(room(&self.partial))
            && !rest.is_empty()
        {
            self.partial.extend_from_slice(piece);
            let rest_of_character = self.partial.split_off(whole_characters(&self.partial));
            self.report(&self.partial);
            self.partial = rest_of_character;
            more = rest;
        }
        self.partial.extend_from_slice(more);
    }

    fn report(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        // A panic must not end the reader of the pipe, which would block the server.
        catch_panic(|| (self.f)(&line));
    }
}

/// Number of bytes before an incomplete UTF-8 character at the end.
fn whole_characters(text: &[u8]) -> usize {
    let after_lead = text.iter().rev().take_while(|byte| **byte & 0xC0 == 0x80).count();
    let start = text.len().saturating_sub(after_lead + 1);
    let wanted = match text.get(start) {
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        _ => 1,
    };
    if after_lead + 1 < wanted { start } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec};
    use std::sync::mpsc;

    /// Lines that are reported for a text in chunks of this many bytes.
    fn lines_of(text: &[u8], size: usize) -> Vec<String> {
        let (sender, receiver) = mpsc::channel();
        let stderr = Stderr::lines(move |line| sender.send(line.into()).unwrap());
        let mut sink = stderr.sink().unwrap();
        text.chunks(size).for_each(&mut sink);
        sink(b"");
        drop((sink, stderr));
        receiver.iter().collect()
    }

    #[test]
    fn lines_are_told_without_their_ends_however_they_are_split() {
        let text = b"one\n\ntwo\r\nthr\xFFe\xE2\x82\n\xE2\x82\xAC\nlast";
        let expected = ["one", "", "two", "thr\u{FFFD}e\u{FFFD}", "\u{20AC}", "last"];
        for size in 1..=text.len() {
            assert_eq!(lines_of(text, size), expected, "chunks of {size}");
        }
        assert_eq!(lines_of(b"one\n", 4), ["one"]);
        assert_eq!(lines_of(b"", 1), [""; 0]);
    }

    #[test]
    fn a_long_line_comes_in_pieces_that_break_no_character() {
        for (character, pieces) in [
            ("x", &[MAX_LINE_BYTES, MAX_LINE_BYTES, 9][..]),
            ("\u{20AC}", &[MAX_LINE_BYTES - 1, MAX_LINE_BYTES - 1, 9]),
        ] {
            let whole = character.repeat((2 * MAX_LINE_BYTES + 9) / character.len());
            for size in [1, 1000, MAX_LINE_BYTES, whole.len() + 2] {
                let lines = lines_of(format!("{whole}\n").as_bytes(), size);
                assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), pieces);
                assert!(lines.concat() == whole, "chunks of {size}");
            }
        }
        let longest = "x".repeat(MAX_LINE_BYTES);
        assert!(lines_of(format!("{longest}\n").as_bytes(), 1000) == [longest], "the longest line");
    }

    #[test]
    fn what_is_no_text_is_not_held_back() {
        // Continuation bytes without a lead, and a lead byte without a continuation.
        let text = [vec![0x80; MAX_LINE_BYTES], vec![0xFF; 2]].concat();
        let lines = lines_of(&text, 1000);
        let lengths: Vec<_> = lines.iter().map(|line| line.chars().count()).collect();
        assert_eq!(lengths, [MAX_LINE_BYTES, 2]);
    }

    #[test]
    fn a_panic_ends_nothing() {
        let (sender, receiver) = mpsc::channel();
        let stderr = Stderr::lines(move |line| {
            assert_ne!(line, "two");
            sender.send(String::from(line)).unwrap();
        });
        stderr.sink().unwrap()(b"one\ntwo\nthree\n");
        drop(stderr);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), ["one", "three"]);
    }
}
