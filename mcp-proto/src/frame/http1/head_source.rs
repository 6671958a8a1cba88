//! Heads that another HTTP stack has read, before they are copied.
//!
//! In: method, target and fields, where the stack keeps them. Out: a [`Head`], and whether the head
//! equals an earlier one, so that it need not be copied field by field. Law: whatever the earlier
//! head, the head that a comparison finds is the one that the source would make.

use smallvec::SmallVec;

use super::fields::SEPARATORS;
use super::head::{Head, HttpVersion};
use super::syntax::{is_named, trim};

/// The number of values that usually vary from head to head: `Content-Length`, and one other.
const USUALLY_VARY: usize = 2;

/// A head to be read: a [`Head`], or the [`HeadParts`] of another HTTP stack.
pub trait HeadSource {
    /// The number of bytes in method, target and fields, by which a server finds earlier heads.
    fn length(&self) -> usize;

    /// Compares the head that [`into_head`](Self::into_head) would return with `earlier`, the head
    /// of an earlier source. `varying` has the names of the fields whose values may vary, in lower
    /// case. It may return [`HeadMatch::Different`] for any head.
    fn compare(&self, earlier: &Head, varying: &[&str]) -> HeadMatch;

    /// Returns whether [`into_head`](Self::into_head) would return a head that equals `earlier`,
    /// the head of an earlier source. It may return false although they are equal.
    fn repeats(&self, earlier: &Head) -> bool {
        matches!(self.compare(earlier, &[]), HeadMatch::Equal)
    }

    /// The head.
    fn into_head(self) -> Head;
}

/// The result of [`HeadSource::compare`].
#[derive(Debug)]
#[non_exhaustive]
pub enum HeadMatch {
    /// The heads are equal.
    Equal,
    /// The heads are equal except for values that may vary. Contains the head of the source.
    Varied(Head),
    /// The heads differ, or it is unknown whether they are equal.
    Different,
}

/// Method, target and fields of a request that another HTTP stack has read and checked, for example
/// with the types of the `http` crate.
///
/// A server remembers the last heads, and does not copy a head that repeats one of them. See
/// [`Head::new`] and [`Head::push_checked`] for what a head omits.
///
/// ```
/// use mcp_proto::frame::http1::{HeadParts, HeadSource};
///
/// let fields = || [("host", &b"localhost"[..])].into_iter();
/// let parts = HeadParts { method: "POST", target: "/mcp", fields };
/// let head = parts.into_head();
/// assert!(parts.repeats(&head));
/// assert_eq!(head.field("Host"), Some(&b"localhost"[..]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HeadParts<'a, F> {
    /// The method.
    pub method: &'a str,
    /// The target.
    pub target: &'a str,
    /// A function that returns the names and the values of the fields, in order.
    pub fields: F,
}

/// The values that differ from those of an earlier head, with the indices of their fields.
#[derive(Default)]
struct VariedValues<'a>(SmallVec<[(usize, &'a [u8]); USUALLY_VARY]>);

impl<'a> VariedValues<'a> {
    /// Adds the value of a field; returns false if it must not vary.
    #[inline(never)]
    fn add(&mut self, index: usize, name: &[u8], value: &'a [u8], varying: &[&str]) -> bool {
        self.0.push((index, value));
        varying.iter().any(|varying| is_named(name, varying.as_bytes()))
    }
}

impl HeadSource for Head {
    fn length(&self) -> usize {
        self.text().len()
    }

    fn compare(&self, earlier: &Head, _varying: &[&str]) -> HeadMatch {
        if self.text() == earlier.text() { HeadMatch::Equal } else { HeadMatch::Different }
    }

    fn into_head(self) -> Head {
        self
    }
}

impl<'a, F, I> HeadSource for HeadParts<'a, F>
where
    F: Fn() -> I,
    I: Iterator<Item = (&'a str, &'a [u8])>,
{
    fn length(&self) -> usize {
        let fields =
            (self.fields)().map(|(name, value)| name.len() + value.len() + SEPARATORS.len());
        self.method.len() + 1 + self.target.len() + fields.sum::<usize>()
    }

    fn compare(&self, earlier: &Head, varying: &[&str]) -> HeadMatch {
        let line = (self.method.as_bytes(), self.target.as_bytes());
        if earlier.version() != HttpVersion::Other || earlier.raw_line() != line {
            return HeadMatch::Different;
        }
        let mut known = earlier.raw_fields();
        let mut varied = VariedValues::default();
        let mut index = 0;
        // A loop would cost more: the fields may be a chain of iterators.
        let is_alike = (self.fields)().all(|(name, value)| {
            let name = name.as_bytes();
            index += 1;
            known.next().is_some_and(|(known_name, known_value)| {
                // Most values are known, and those have been trimmed.
                known_name == name
                    && (known_value == value || varied.add(index - 1, name, trim(value), varying))
            })
        });
        if !is_alike || known.next().is_some() {
            return HeadMatch::Different;
        }
        if varied.0.is_empty() {
            return HeadMatch::Equal;
        }
        earlier.with_values(&varied.0).map_or(HeadMatch::Different, HeadMatch::Varied)
    }

    fn into_head(self) -> Head {
        let mut head = Head::new(self.method, self.target);
        for (name, value) in (self.fields)() {
            head.push_checked(name, value);
        }
        head
    }
}
