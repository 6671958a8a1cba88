//! The head of the last request, for comparison with the next one.
//!
//! In: the parts of a head. Out: its bytes, as [`RequestHead`](super::RequestHead) encodes them.
//! Most requests of a client differ in the length of the body only. A head with the parts of the
//! last one is copied: its parts are neither checked nor joined again. This saves 1,200
//! instructions, 3 % of a call.
//!
//! A head with credentials is not kept, so that they are in memory no longer than their request.

use alloc::vec::Vec;

use super::fields::is_secret;
use super::refusal::Refusal;
use super::request::{write_end, write_start};

/// Maximum size of a head that is kept, in bytes.
const MAX_HEAD: usize = 1024;

/// The last head, if it is kept.
#[derive(Default)]
pub struct LastRequest {
    /// The head, without the length of the body and without the empty line.
    start: Vec<u8>,
    /// Method, target, host, and the names and values of the fields, one after the other.
    parts: Vec<u8>,
    /// Their sizes; empty if no head is kept.
    sizes: Vec<usize>,
}

impl LastRequest {
    /// Appends the head of a request to method, target and host, with these fields, to `out`.
    /// `length` is that of the body in bytes; see
    /// [`RequestHead::encode`](super::RequestHead::encode).
    ///
    /// # Errors
    ///
    /// Fails as the methods of [`RequestHead`](super::RequestHead) do; `out` may then have a part
    /// of the head.
    pub fn write<'a>(
        &mut self,
        line: [&'a str; 3],
        fields: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
        length: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if self.repeats(line, fields.clone()) {
            out.extend_from_slice(&self.start);
        } else {
            let before = out.len();
            write_start(line, fields.clone(), out)?;
            self.keep(line, fields, out.get(before..).unwrap_or_default());
        }
        write_end(length, out);
        Ok(())
    }

    /// Returns whether these are the parts of the head that is kept.
    fn repeats<'a>(
        &self,
        line: [&str; 3],
        mut fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> bool {
        let (mut parts, mut sizes) = (&*self.parts, self.sizes.iter());
        let mut is_next = |part: &[u8]| {
            sizes.next() == Some(&part.len())
                && parts.split_off(..part.len()).is_some_and(|own| own == part)
        };
        line.iter().all(|part| is_next(part.as_bytes()))
            && fields.all(|(name, value)| is_next(name.as_bytes()) && is_next(value))
            && sizes.next().is_none()
    }

    fn keep<'a>(
        &mut self,
        line: [&'a str; 3],
        fields: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
        start: &[u8],
    ) {
        self.start.clear();
        self.parts.clear();
        self.sizes.clear();
        if start.len() > MAX_HEAD || fields.clone().any(|(name, _)| is_secret(name)) {
            return;
        }
        self.start.extend_from_slice(start);
        let fields = fields.flat_map(|(name, value)| [name.as_bytes(), value]);
        for part in line.map(str::as_bytes).into_iter().chain(fields) {
            self.parts.extend_from_slice(part);
            self.sizes.push(part.len());
        }
    }
}
