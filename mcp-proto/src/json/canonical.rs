//! Canonical text of a JSON value: the same text for equal values.
//!
//! In: a value. Out: the same value without whitespace, with the members of each object sorted by
//! key, and with every string in one spelling. All other differences remain:
//!
//! - A number keeps its token, so `1`, `1.0` and `1e0` differ. Parsers differ in which numbers are
//!   equal (some use doubles, others integers of any size), so no other form is safe for all. A
//!   client that repeats a request writes its numbers as before.
//! - A duplicate key stays duplicate, in the order of the text: some parsers use the first value
//!   and some the last.
//! - A string that escapes half a surrogate pair is not Unicode and keeps its token.

use alloc::vec::Vec;

use super::scan::{MAX_DEPTH, ScanError, Scanner, Span};
use super::{Json, Raw, write};

/// The canonical text of `json`. For an object, the text has only the members whose keys `keep`
/// accepts; `keep` gets keys as canonical strings with their quotes. `None` if the value is nested
/// more than 128 deep, which no received value is.
pub(crate) fn text(json: &Json, keep: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let text = json.as_bytes();
    let mut writer = Writer { text, out: Vec::with_capacity(text.len()) };
    let mut scanner = Scanner::new(text, MAX_DEPTH);
    let written = if scanner.peek() == Some(b'{') {
        writer.object(&mut scanner, keep)
    } else {
        writer.value(&mut scanner)
    };
    written.ok().map(|()| writer.out)
}

struct Writer<'a> {
    text: &'a [u8],
    out: Vec<u8>,
}

/// Byte offsets in the output of one written member, `key:value,`.
struct CanonicalMember {
    start: usize,
    colon: usize,
    end: usize,
}

impl Writer<'_> {
    /// Recursive for nested values, at most 128 deep: the scanner counts.
    fn value(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        match scanner.peek() {
            Some(b'{') => self.object(scanner, |_| true),
            Some(b'[') => self.array(scanner),
            Some(b'"') => {
                let span = scanner.skip_value()?;
                self.string(span);
                Ok(())
            }
            _ => {
                let span = scanner.skip_value()?;
                self.out.extend_from_slice(span.of(self.text));
                Ok(())
            }
        }
    }

    fn object(
        &mut self,
        scanner: &mut Scanner<'_>,
        keep: impl Fn(&[u8]) -> bool,
    ) -> Result<(), ScanError> {
        self.out.push(b'{');
        let mut members = Vec::new();
        scanner.members(|scanner, key| {
            let start = self.out.len();
            self.string(key);
            if !keep(self.out.get(start..).unwrap_or_default()) {
                self.out.truncate(start);
                return scanner.skip_value().map(drop);
            }
            let colon = self.out.len();
            self.out.push(b':');
            self.value(scanner)?;
            self.out.push(b',');
            members.push(CanonicalMember { start, colon, end: self.out.len() });
            Ok(())
        })?;
        self.sort(&mut members);
        self.close(b'}');
        Ok(())
    }

    fn array(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        self.out.push(b'[');
        scanner.elements(|scanner| {
            self.value(scanner)?;
            self.out.push(b',');
            Ok(())
        })?;
        self.close(b']');
        Ok(())
    }

    fn string(&mut self, span: Span) {
        let token = span.of(self.text);
        match Raw(token).string() {
            Some(string) => write::string(&mut self.out, &string),
            None => self.out.extend_from_slice(token),
        }
    }

    /// Sorts the members of the last written object by key.
    fn sort(&mut self, members: &mut [CanonicalMember]) {
        let out = &self.out;
        let key =
            |member: &CanonicalMember| out.get(member.start..member.colon).unwrap_or_default();
        let Some(start) = members.first().map(|first| first.start) else { return };
        if members.is_sorted_by(|a, b| key(a) <= key(b)) {
            return;
        }
        members.sort_by(|a, b| key(a).cmp(key(b)));
        let mut sorted = Vec::with_capacity(out.len().saturating_sub(start));
        for member in members {
            sorted.extend_from_slice(out.get(member.start..member.end).unwrap_or_default());
        }
        self.out.truncate(start);
        self.out.extend_from_slice(&sorted);
    }

    /// Closes a container: the bracket replaces the trailing comma, if there is one.
    fn close(&mut self, bracket: u8) {
        if self.out.last() == Some(&b',') {
            self.out.pop();
        }
        self.out.push(bracket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec;

    fn canonical(json: &str) -> String {
        let json = Json::parse(json.as_bytes().to_vec()).unwrap();
        String::from_utf8(text(&json, |_| true).unwrap()).unwrap()
    }

    #[test]
    fn spellings_of_one_value_have_one_text() {
        for (spelling, expected) in [
            (" { } ", "{}"),
            ("[ ]", "[]"),
            ("{\"b\" : 1 , \"a\" : [ true, null ]}", "{\"a\":[true,null],\"b\":1}"),
            (
                r#"{"ab":1,"a":{"d":[{"f":0,"e":0}],"c":0}}"#,
                r#"{"a":{"c":0,"d":[{"e":0,"f":0}]},"ab":1}"#,
            ),
            (r#"{"\u0062":"\u0041\/\t\u000a","a":"\ud83d\ude00"}"#, r#"{"a":"😀","b":"A/\t\n"}"#),
            ("\"\\u0041\"", "\"A\""),
            (" -1.50e+3 ", "-1.50e+3"),
        ] {
            assert_eq!(canonical(spelling), expected, "{spelling}");
            assert_eq!(canonical(expected), expected);
        }
    }

    #[test]
    fn different_values_have_different_texts() {
        for (one, other) in [
            ("1", "1.0"),
            ("1", "1e0"),
            ("0", "-0"),
            ("1", "\"1\""),
            ("null", "{}"),
            ("[1,2]", "[2,1]"),
            ("[[1],2]", "[1,[2]]"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
            (r#"{"a":1,"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":"b\",\"c\":\"d"}"#, r#"{"a":"b","c":"d"}"#),
            (r#""\ud800""#, r#""\\ud800""#),
            (r#""\ud800""#, r#""\ud801""#),
            (r#""\u00e9""#, r#""e\u0301""#),
        ] {
            assert_ne!(canonical(one), canonical(other), "{one} and {other}");
        }
    }

    #[test]
    fn members_that_are_not_kept_are_omitted() {
        let json = Json::parse(r#"{"b":{"_meta":1},"_meta":[{}],"a":1,"\u005fmeta":2}"#).unwrap();
        let text = text(&json, |key| key != b"\"_meta\"").unwrap();
        assert_eq!(text, br#"{"a":1,"b":{"_meta":1}}"#);
    }

    #[test]
    fn depth_is_a_limit() {
        let nested = |depth| [vec![b'['; depth], vec![b']'; depth]].concat();
        assert_eq!(canonical(str::from_utf8(&nested(128)).unwrap()).len(), 256);
        assert_eq!(text(&Json::trusted(nested(129)), |_| true), None);
    }
}
