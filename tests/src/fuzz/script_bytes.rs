//! Choices of a script, and JSON values, from bytes.

use serde_json::{Map, Value};

/// The bytes of a script; zeros after the last one.
pub(super) struct ScriptBytes<'a>(&'a [u8]);

impl<'a> ScriptBytes<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// As many of the next bytes, or all.
    pub(super) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// One of several.
    pub(super) fn pick<'b, T>(&mut self, all: &'b [T]) -> Option<&'b T> {
        let number = usize::from(self.next());
        all.get(number.checked_rem(all.len())?)
    }

    /// Any value, three levels deep at most.
    pub(super) fn value(&mut self, depth: usize) -> Value {
        const PLAIN: [&str; 12] = [
            "null",
            "true",
            "0",
            "-0.0",
            "1.5e3",
            "18446744073709551615",
            "\"\"",
            "\"\\u0000\"",
            "\"\\ud83d\\ude00\\n\"",
            "\"resultType\"",
            "[]",
            "{}",
        ];
        let kind = self.next();
        match kind % 16 {
            12 | 13 if depth > 0 => {
                Value::Array((0..kind % 3).map(|_| self.value(depth - 1)).collect())
            }
            14 | 15 if depth > 0 => Value::Object(self.object(depth - 1)),
            plain => {
                let text = PLAIN.get(usize::from(plain)).unwrap_or(&"7");
                serde_json::from_str(text).unwrap_or_default()
            }
        }
    }

    /// An object with keys that belong to nobody.
    pub(super) fn object(&mut self, depth: usize) -> Map<String, Value> {
        const KEYS: [&str; 6] = ["new", "", "\u{e9}", "a\"b", "jsonrpc", "id"];
        let count = self.next() % 4;
        let mut object = Map::new();
        for _ in 0..count {
            let key = self.pick(&KEYS).copied().unwrap_or_default();
            let value = self.value(depth);
            object.insert(key.into(), value);
        }
        object
    }
}
