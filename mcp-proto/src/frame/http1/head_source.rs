//! Heads that another HTTP stack has read, before they are copied.
//!
//! In: method, target and fields, where the stack keeps them. Out: a [`Head`], and whether the head
//! equals an earlier one, so that it need not be copied. Law: whatever the earlier head, a source
//! that repeats it would make an equal one.

use super::fields::SEPARATORS;
use super::head::{Head, HttpVersion};
use super::syntax::trim;

/// A head to be read: a [`Head`], or the [`HeadParts`] of another HTTP stack.
pub trait HeadSource {
    /// The number of bytes in method, target and fields, by which a server finds earlier heads.
    fn length(&self) -> usize;

    /// Returns whether [`into_head`](Self::into_head) would return a head that equals `earlier`, the
    /// head of an earlier source. It may return false although they are equal.
    fn repeats(&self, earlier: &Head) -> bool;

    /// The head.
    fn into_head(self) -> Head;
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

impl HeadSource for Head {
    fn length(&self) -> usize {
        self.text().len()
    }

    fn repeats(&self, earlier: &Head) -> bool {
        self.text() == earlier.text()
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

    fn repeats(&self, earlier: &Head) -> bool {
        let line = (self.method.as_bytes(), self.target.as_bytes());
        let mut known = earlier.raw_fields();
        earlier.version() == HttpVersion::Other
            && earlier.raw_line() == line
            && (self.fields)().all(|(name, value)| {
                known.next().is_some_and(|(known_name, known_value)| {
                    known_name == name.as_bytes() && known_value == trim(value)
                })
            })
            && known.next().is_none()
    }

    fn into_head(self) -> Head {
        let mut head = Head::new(self.method, self.target);
        for (name, value) in (self.fields)() {
            head.push_checked(name, value);
        }
        head
    }
}
