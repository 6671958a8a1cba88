//! One validating pass over JSON text that records positions.
//!
//! `serde_json` decodes every typed value in this crate. For the envelope of a message it lacks
//! three things. First, the position of each member that routing reads, so that `params` stays a
//! slice and is not read twice. Second, a limit of the depth. Third, the members before a syntax
//! error, so that an error can have the id. This cursor provides all three, without recursion,
//! allocation or panics.
//!
//! The text must be checked to be valid UTF-8 before a value is used. The scanner only checks the
//! structure, and treats all bytes above 0x7F as parts of strings.

use bytes::Bytes;

use super::plain;
use super::private_key::is_reserved;

/// The greatest possible limit of the depth; `serde_json` builds values of one level less.
pub(crate) const MAX_DEPTH: usize = 128;

/// Byte range of a value in its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn new(start: usize, end: usize) -> Self {
        let offset = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: offset(start), end: offset(end) }
    }

    /// The whole of `text`.
    pub(crate) fn whole(text: &[u8]) -> Self {
        Self::new(0, text.len())
    }

    fn range(self) -> core::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    pub(crate) fn len(self) -> usize {
        self.size() as usize
    }

    /// The same as a number of 32 bits.
    pub(crate) fn size(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// The bytes between two positions.
    pub(crate) fn between(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.range()).unwrap_or_default()
    }

    pub(crate) fn slice(self, text: &Bytes) -> Bytes {
        if self.end as usize > text.len() { Bytes::new() } else { text.slice(self.range()) }
    }

    /// The same position, counted from the start of the text instead of from `base`.
    pub(crate) fn after(self, base: Self) -> Self {
        Self {
            start: self.start.saturating_add(base.start),
            end: self.end.saturating_add(base.start),
        }
    }

    /// The same position, counted from `base` instead of from the start of the text.
    pub(crate) fn within(self, base: Self) -> Self {
        Self {
            start: self.start.saturating_sub(base.start),
            end: self.end.saturating_sub(base.start),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanError {
    /// The text is not JSON, or has a reserved key, from this byte on.
    Syntax(usize),
    /// The text is nested deeper than the limit.
    Depth,
}

type Result<T> = core::result::Result<T, ScanError>;

/// A cursor over JSON text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    max_depth: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8], max_depth: usize) -> Self {
        Self { bytes, at: 0, depth: 0, max_depth: max_depth.min(MAX_DEPTH) }
    }

    /// The first byte of the next value, or `None` at the end of the text.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// The text after the values that were read so far.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Consumes `before` and the value next to it, which is inside of `depth` containers. `None` if
    /// another text follows, or no such value.
    pub(crate) fn value_after(&mut self, before: &[u8], depth: usize) -> Option<Span> {
        if !self.rest().starts_with(before) {
            return None;
        }
        self.at += before.len();
        self.depth = depth;
        let start = self.at;
        self.skip_value().ok().filter(|value| value.start() == start)
    }

    /// Checks that only whitespace follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { self.broken() }
    }

    /// Walks over an object; `visit` gets each key as written and must consume its value.
    pub(crate) fn members(
        &mut self,
        mut visit: impl FnMut(&mut Self, Span) -> Result<()>,
    ) -> Result<Span> {
        self.container(b'{', b'}', |scanner| {
            let key = scanner.key()?;
            visit(scanner, key)
        })
    }

    /// Walks over an array; `visit` must consume each element.
    pub(crate) fn elements(&mut self, visit: impl FnMut(&mut Self) -> Result<()>) -> Result<Span> {
        self.container(b'[', b']', visit)
    }

    /// Skips one value of any type.
    pub(crate) fn skip_value(&mut self) -> Result<Span> {
        self.peek();
        let start = self.at;
        // One bit for each open container, the innermost lowest: 1 is an object.
        let mut open: u128 = 0;
        let outside = self.depth;
        loop {
            match self.peek() {
                Some(b @ (b'{' | b'[')) => {
                    self.descend()?;
                    self.at += 1;
                    open = open << 1 | u128::from(b == b'{');
                    match self.peek() {
                        Some(b'}') if b == b'{' => {}
                        Some(b']') if b == b'[' => {}
                        Some(_) if b == b'[' => continue,
                        _ => {
                            self.key()?;
                            continue;
                        }
                    }
                }
                _ => self.scalar()?,
            }
            // A value, or the inside of a container, has ended here.
            while self.depth > outside {
                let object = open & 1 == 1;
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if object {
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    _ => return self.broken(),
                }
                self.at += 1;
                self.depth -= 1;
                open >>= 1;
            }
            if self.depth == outside {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// Skips one value, and only finds its end; for texts that are already checked or rejected.
    /// Never fails because of depth.
    pub(crate) fn skip_unchecked(&mut self) -> Result<Span> {
        self.peek();
        let start = self.at;
        let mut nesting = 0_usize;
        loop {
            match self.byte() {
                Some(b'"') => self.string()?,
                Some(b',' | b':' | b' ' | b'\n' | b'\r' | b'\t') if nesting > 0 => {
                    self.at += 1;
                    continue;
                }
                Some(b'{' | b'[') => {
                    self.at += 1;
                    nesting += 1;
                    continue;
                }
                Some(b'}' | b']') if nesting > 0 => {
                    self.at += 1;
                    nesting -= 1;
                }
                Some(_) => self.skip_unchecked_scalar()?,
                None => return self.broken(),
            }
            if nesting == 0 {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// A key and the colon after it; the span includes the quotes. Fails for a reserved key.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Span> {
        self.peek();
        let start = self.at;
        self.string()?;
        let key = Span::new(start, self.at);
        // Hardly any name begins with one of these bytes.
        if let Some(b'$' | b'\\') = self.bytes.get(start + 1)
            && is_reserved(key.of(self.bytes))
        {
            return Err(ScanError::Syntax(start));
        }
        if self.peek() != Some(b':') {
            return self.broken();
        }
        self.at += 1;
        Ok(key)
    }

    fn container(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<Span> {
        if self.peek() != Some(open) {
            return self.broken();
        }
        let start = self.at;
        self.descend()?;
        self.at += 1;
        if self.peek() == Some(close) {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                let next = self.peek();
                if next != Some(b',') && next != Some(close) {
                    return self.broken();
                }
                self.at += 1;
                if next == Some(close) {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(Span::new(start, self.at))
    }

    fn descend(&mut self) -> Result<()> {
        if self.depth >= self.max_depth {
            return Err(ScanError::Depth);
        }
        self.depth += 1;
        Ok(())
    }

    fn scalar(&mut self) -> Result<()> {
        match self.byte() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true"),
            Some(b'f') => self.literal(b"false"),
            Some(b'n') => self.literal(b"null"),
            _ => self.broken(),
        }
    }

    fn string(&mut self) -> Result<()> {
        if self.byte() != Some(b'"') {
            return self.broken();
        }
        self.at += 1;
        // Most strings are plain.
        self.at = plain::first_special(self.bytes, self.at);
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(());
        }
        self.string_from_here()
    }

    #[inline(never)]
    fn string_from_here(&mut self) -> Result<()> {
        loop {
            self.at = plain::first_special(self.bytes, self.at);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                _ => return self.broken(),
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                for _ in 0..4 {
                    self.at += 1;
                    if !self.byte().is_some_and(|b| b.is_ascii_hexdigit()) {
                        return self.broken();
                    }
                }
                self.at += 1;
            }
            _ => return self.broken(),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { self.broken() } else { Ok(()) }
    }

    fn literal(&mut self, word: &[u8]) -> Result<()> {
        if !self.bytes.get(self.at..).unwrap_or_default().starts_with(word) {
            return self.broken();
        }
        self.at += word.len();
        Ok(())
    }

    fn skip_unchecked_scalar(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.') = self.byte() {
            self.at += 1;
        }
        if self.at == start { self.broken() } else { Ok(()) }
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn broken<T>(&self) -> Result<T> {
        Err(ScanError::Syntax(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn value_spans_exclude_what_follows() {
        for text in
            ["{\"a\":[{},[],{\"b\":-1.5e+3}]}", "[]", "\"\\u00e9\\\"\"", "true", "0", "-0.0"]
        {
            let padded = [b" ", text.as_bytes(), b" ,"].concat();
            let span = Scanner::new(&padded, MAX_DEPTH).skip_value().unwrap();
            assert_eq!(span.of(&padded), text.as_bytes());
        }
    }

    #[test]
    fn depth_is_limited_without_recursion() {
        let nested = |depth| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert!(Scanner::new(&nested(128), 1000).skip_value().is_ok());
        assert_eq!(Scanner::new(&nested(129), 1000).skip_value(), Err(ScanError::Depth));
        assert_eq!(Scanner::new(&nested(3), 2).skip_value(), Err(ScanError::Depth));
        assert!(Scanner::new(&nested(1_000_000), 128).skip_unchecked().is_ok());
    }
}
