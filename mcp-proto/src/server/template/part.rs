//! Splitting of a text into literals and variables, in linear time.
//!
//! In: the parts of a template, and the text that they must fill. Out: the percent-encoded text of
//! each variable, which [`decode`] decodes. The text comes from a peer and may have any length, so
//! there is no backtracking.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::url::percent::escaped;

const RESERVED: &[u8] = b":/?#[]@!$&'()*+,;=";

/// A variable and the literal before it.
#[derive(Debug)]
pub(super) struct TemplatePart {
    pub(super) before: String,
    pub(super) name: String,
    pub(super) class: VariableClass,
}

/// Characters that a variable may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VariableClass {
    /// Unreserved characters, and percent-encoded bytes.
    Value,
    /// Unreserved and reserved characters, and percent-encoded bytes.
    Reserved,
    /// Values, separated by `/`.
    Segments,
}

/// The text of each part's variable, if the parts fill all of `text`. A pass from the last part to
/// the first records the positions where each part can start so that the rest fits. The pass
/// forward then takes the longest match, and never has to go back. Each part visits each position
/// once in either direction.
pub(super) fn split<'a>(parts: &[TemplatePart], text: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut starts = Places::new(text.len());
    starts.insert(text.len());
    let mut ends = Vec::with_capacity(parts.len());
    for part in parts.iter().rev() {
        let before = part.starts(text, &starts);
        ends.push(core::mem::replace(&mut starts, before));
    }
    if !starts.contains(0) {
        return None;
    }
    let mut left = text;
    let parts = parts.iter().zip(ends.iter().rev());
    parts.map(|(part, ends)| part.take(&mut left, text.len(), ends)).collect()
}

/// Percent-decodes a value; `None` for characters that a URI must not contain, and for invalid
/// UTF-8.
pub(super) fn decode(text: &[u8]) -> Option<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(byte) = rest.first() {
        let (character, after) = rest.split_at_checked(VariableClass::Reserved.first(rest)?)?;
        out.push(escaped(character).unwrap_or(*byte));
        rest = after;
    }
    String::from_utf8(out).ok()
}

impl TemplatePart {
    /// Positions in `path` at which the part can start so that it ends in one of `ends`.
    fn starts(&self, path: &[u8], ends: &Places) -> Places {
        let mut starts = Places::new(path.len());
        let mut values = Places::new(path.len());
        for at in (0..path.len()).rev() {
            let (before, text) = path.split_at(at);
            let Some(next) = self.class.first(text).map(|length| at + length) else { continue };
            if !ends.contains(next) && !values.contains(next) {
                continue;
            }
            values.insert(at);
            let is_empty_segment = self.class == VariableClass::Segments && text.starts_with(b"/");
            if before.ends_with(self.before.as_bytes()) && !is_empty_segment {
                starts.insert(at - self.before.len());
            }
        }
        starts
    }

    /// Removes the part from the start of `left`, up to the furthest of `ends`, and returns its
    /// value. `length` is the length of the whole text.
    fn take<'a>(&self, left: &mut &'a [u8], length: usize, ends: &Places) -> Option<&'a [u8]> {
        let text = left.get(self.before.len()..)?;
        let mut value = None;
        let mut rest = text;
        while let Some(size) = self.class.first(rest) {
            rest = rest.get(size..)?;
            if ends.contains(length - rest.len()) {
                value = Some(text.split_at(text.len() - rest.len()));
            }
        }
        let (value, rest) = value?;
        *left = rest;
        Some(value)
    }
}

impl VariableClass {
    /// The length of the character at the start of `text`; `None` if it is not in the class. A `/`
    /// between segments counts as one character with its successor, so that no segment is empty.
    pub(super) fn first(self, text: &[u8]) -> Option<usize> {
        #[cfg(test)]
        tests::count_step();
        match text.first()? {
            b'%' => escaped(text).map(|_| 3),
            b'-' | b'.' | b'_' | b'~' => Some(1),
            b'/' if self == Self::Segments => Self::Value.first(text.get(1..)?).map(|n| n + 1),
            byte if byte.is_ascii_alphanumeric() => Some(1),
            byte => (self == Self::Reserved && RESERVED.contains(byte)).then_some(1),
        }
    }
}

/// A set of positions in a text, including its end.
struct Places(Vec<u64>);

impl Places {
    fn new(length: usize) -> Self {
        Self(vec![0; length / 64 + 1])
    }

    fn insert(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn contains(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::super::UriTemplate;
    use super::*;
    use alloc::format;
    use core::cell::Cell;

    std::thread_local! { static STEPS: Cell<usize> = const { Cell::new(0) } }

    pub(super) fn count_step() {
        STEPS.set(STEPS.get() + 1);
    }

    /// All texts of up to six characters, against a matcher that tries everything.
    #[test]
    fn finds_what_trying_everything_finds() {
        for template in ["{+a}/x/{+b}", "{+a}x{b}.{c}", "{/a*}/{b}", "{a}4{+b}x", "{a}%44{/c*}"] {
            let template = UriTemplate::parse(template).unwrap();
            let mut matched = 0;
            for number in 0..7_u32.pow(6) {
                let digits = (0..6).map(|place| number / 7_u32.pow(place) % 7);
                let text: Vec<u8> =
                    digits.filter_map(|n| b"/x.%4a".get(n as usize).copied()).collect();
                let expected = try_all(&template, 0, &text);
                let text = text.strip_suffix(template.rest.as_bytes());
                let found = text.and_then(|text| split(&template.parts, text));
                assert_eq!(found, expected, "{template:?} {text:?}");
                matched += usize::from(expected.is_some());
            }
            assert!(matched > 10, "{template:?} {matched}");
        }
    }

    fn try_all<'a>(template: &UriTemplate, part: usize, text: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        let Some(next) = template.parts.get(part) else {
            return (text == template.rest.as_bytes()).then(Vec::new);
        };
        let text = text.strip_prefix(next.before.as_bytes())?;
        let mut ends = vec![0];
        while let Some(length) = next.class.first(&text[ends[ends.len() - 1]..]) {
            ends.push(ends[ends.len() - 1] + length);
        }
        let is_segment = next.class != VariableClass::Segments || !text.starts_with(b"/");
        ends.into_iter().skip(1).rev().filter(|_| is_segment).find_map(|end| {
            let mut found = try_all(template, part + 1, &text[end..])?;
            found.insert(0, &text[..end]);
            Some(found)
        })
    }

    #[test]
    fn takes_steps_in_proportion_to_the_uri() {
        let template = UriTemplate::parse("t:{+a}/x/{+b}/z/{+c}/x/{d}/y").unwrap();
        for (repeated, matches) in [("/x/z", true), ("/x/", false), ("/", false), ("z", false)] {
            let uri = format!("t:{}/y", repeated.repeat(100_000));
            STEPS.set(0);
            assert_eq!(template.matches(&uri).is_some(), matches, "{repeated}");
            let steps = STEPS.get();
            assert!((uri.len()..10 * uri.len()).contains(&steps), "{repeated} {steps}");
        }
    }
}
