//! Arguments of a call that headers mirror, found in one pass over the text.
//!
//! The last of duplicate keys counts, as for handlers that decode arguments into a map. (Handlers
//! that decode into a struct reject the call.)

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::plan::{Entry, HeaderPlan};
use crate::json::scan::{MAX_DEPTH, ScanError, Scanner, Span};
use crate::json::{Json, Raw};

/// An argument, as its header can express it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    /// The argument is missing or `null`.
    Absent,
    /// An array or an object.
    Compound,
    /// A string with half a surrogate pair.
    NotUnicode,
    Boolean(bool),
    /// A number, as written.
    Number(&'a str),
    String(Cow<'a, str>),
}

impl<'a> Value<'a> {
    fn of(raw: Raw<'a>) -> Self {
        match raw.0.first() {
            None | Some(b'n') => Self::Absent,
            Some(b'{' | b'[') => Self::Compound,
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'"') => raw.string().map_or(Self::NotUnicode, Self::String),
            Some(_) => Self::Number(core::str::from_utf8(raw.0).unwrap_or_default()),
        }
    }
}

/// The values of a plan's entries, in their order.
pub(super) fn values<'p, 'a>(
    plan: &'p HeaderPlan,
    arguments: &'a Json,
) -> impl Iterator<Item = (&'p Entry, Value<'a>)> {
    let text = arguments.as_bytes();
    let mut walk = ArgumentWalk { plan, text, found: vec![Span::default(); plan.entries().len()] };
    if !plan.is_empty() && arguments.raw().is_object() {
        // The text is JSON, so the walk cannot fail.
        let _ = walk.object(&mut Scanner::new(text, MAX_DEPTH), 0, 0..plan.entries().len());
    }
    let value = move |span: Span| Value::of(Raw(span.of(text)));
    plan.entries().iter().zip(walk.found.into_iter().map(value))
}

struct ArgumentWalk<'p, 'a> {
    plan: &'p HeaderPlan,
    text: &'a [u8],
    /// The value of each entry; empty if there is none.
    found: Vec<Span>,
}

impl ArgumentWalk<'_, '_> {
    /// Reads an object that contains the paths of `range` after `depth` steps. Ranges index the
    /// entries in the order of their paths.
    fn object(
        &mut self,
        scanner: &mut Scanner<'_>,
        depth: usize,
        range: Range<usize>,
    ) -> Result<Span, ScanError> {
        scanner.members(|scanner, key| {
            let key = Raw(key.of(self.text)).string();
            let nested = key.map_or(0..0, |key| self.nested(&key, depth, range.clone()));
            if nested.is_empty() {
                scanner.skip_unchecked().map(drop)
            } else {
                self.value(scanner, depth, nested)
            }
        })
    }

    /// Reads the value of a property, which is the next step of the paths of `range` after `depth`
    /// steps.
    fn value(
        &mut self,
        scanner: &mut Scanner<'_>,
        depth: usize,
        mut range: Range<usize>,
    ) -> Result<(), ScanError> {
        for at in range.clone() {
            self.set(at, Span::default());
        }
        let depth = depth + 1;
        // A path that ends here sorts before longer ones.
        let end = range.start;
        let ends = self.entry(end).is_some_and(|entry| entry.path().len() == depth);
        range.start += usize::from(ends);
        let value = if !range.is_empty() && scanner.peek() == Some(b'{') {
            self.object(scanner, depth, range)?
        } else {
            scanner.skip_unchecked()?
        };
        if ends {
            self.set(end, value);
        }
        Ok(())
    }

    /// The paths of `range` whose step after `depth` steps is `key`.
    fn nested(&self, key: &str, depth: usize, range: Range<usize>) -> Range<usize> {
        let indices = self.plan.by_path().get(range.clone()).unwrap_or_default();
        let step = |index: &usize| {
            let entry = self.plan.entries().get(*index)?;
            entry.path().get(depth).map(|step| &**step)
        };
        let start = indices.partition_point(|index| step(index) < Some(key));
        let end = indices.partition_point(|index| step(index) <= Some(key));
        range.start + start..range.start + end
    }

    fn entry(&self, at: usize) -> Option<&Entry> {
        self.plan.entries().get(*self.plan.by_path().get(at)?)
    }

    fn set(&mut self, at: usize, span: Span) {
        let place = self.plan.by_path().get(at).and_then(|index| self.found.get_mut(*index));
        if let Some(place) = place {
            *place = span;
        }
    }
}
