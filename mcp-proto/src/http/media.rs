//! Parsers of `Content-Type`, `Content-Encoding` and `Accept`.
//!
//! RFC 9110, sections [8.4](https://www.rfc-editor.org/rfc/rfc9110#section-8.4) and
//! [12.5.1](https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1)

/// A media type in two parts, in lower case.
pub(super) type Type = (&'static str, &'static str);

pub(super) const JSON: Type = ("application", "json");
pub(super) const EVENTS: Type = ("text", "event-stream");

/// Returns whether a `Content-Type` has this media type, with any parameters.
pub(super) fn is(value: &[u8], (first, second): Type) -> bool {
    // Nearly all clients send this.
    if value == b"application/json" {
        return (first, second) == JSON;
    }
    let Some((left, right)) = split_type(value) else { return false };
    left.eq_ignore_ascii_case(first.as_bytes()) && right.eq_ignore_ascii_case(second.as_bytes())
}

/// The first content coding of a `Content-Encoding` that is not `identity`, the only coding that
/// this crate reads.
pub(super) fn content_coding(value: &[u8]) -> Option<&[u8]> {
    split(value, b',')
        .find(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
}

/// Media types that all `Accept` fields of a head together allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accept {
    json: Allows,
    events: Allows,
    /// True if there is no field at all, so that everything is allowed.
    absent: bool,
}

/// Verdict of the most specific range that covers a type.
#[derive(Clone, Copy, Debug, Default)]
struct Allows {
    specificity: u8,
    allowed: bool,
}

impl Accept {
    pub(super) const ABSENT: Self = Self {
        json: Allows { specificity: 0, allowed: false },
        events: Allows { specificity: 0, allowed: false },
        absent: true,
    };

    /// Adds a field.
    pub(super) fn add(&mut self, value: &[u8]) {
        self.absent = false;
        // Nearly all clients send this.
        if value == b"application/json, text/event-stream" {
            let allows = Allows { specificity: 3, allowed: true };
            (self.json, self.events) = (allows, allows);
            return;
        }
        for range in split(value, b',') {
            let Some((first, second)) = split_type(range) else { continue };
            let allowed = !is_excluded(range);
            self.json.add(first, second, JSON, allowed);
            self.events.add(first, second, EVENTS, allowed);
        }
    }

    pub(super) fn json(self) -> bool {
        self.absent || self.json.allowed
    }

    pub(super) fn events(self) -> bool {
        self.absent || self.events.allowed
    }
}

impl Allows {
    fn add(&mut self, first: &[u8], second: &[u8], (left, right): Type, allowed: bool) {
        let specificity = match (first, second) {
            (b"*", b"*") => 1,
            (first, second) if first.eq_ignore_ascii_case(left.as_bytes()) => match second {
                b"*" => 2,
                second if second.eq_ignore_ascii_case(right.as_bytes()) => 3,
                _ => return,
            },
            _ => return,
        };
        if specificity > self.specificity {
            *self = Self { specificity, allowed };
        } else if specificity == self.specificity {
            self.allowed |= allowed;
        }
    }
}

/// Returns whether the weight of a range is zero.
fn is_excluded(range: &[u8]) -> bool {
    let weight = split(range, b';').skip(1).find_map(|parameter| {
        let name = parameter.first()?;
        let value = parameter.get(1..)?;
        let value = value.trim_ascii_start().strip_prefix(b"=")?;
        name.eq_ignore_ascii_case(&b'q').then(|| value.trim_ascii())
    });
    weight.is_some_and(|weight| {
        weight.first() == Some(&b'0') && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

/// The two parts of a media type or range, without its parameters.
fn split_type(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let essence = split(value, b';').next()?;
    let slash = essence.iter().position(|byte| *byte == b'/')?;
    let first = essence.get(..slash)?;
    let second = essence.get(slash + 1..)?;
    (!first.is_empty() && !second.is_empty() && !second.contains(&b'/')).then_some((first, second))
}

/// The parts between separators that are not in quotes, without blanks around them.
fn split(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let mut escaped = false;
    let parts = value.split(move |byte| {
        let is_separator = *byte == separator && !quoted;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
        is_separator
    });
    parts.map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t041_a_content_type_is_parsed() {
        for (value, json) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/json;a=\"b;c\"", true),
            ("text/plain; a=application/json", false),
            ("application/json-seq", false),
            ("application/jsonx", false),
            ("application/", false),
            ("", false),
        ] {
            assert_eq!(is(value.as_bytes(), JSON), json, "{value}");
        }
    }

    #[test]
    fn a_content_encoding_is_parsed() {
        for (value, coding) in [
            ("gzip", Some("gzip")),
            ("identity, br", Some("br")),
            ("x-identity", Some("x-identity")),
            ("Identity", None),
            (" identity ,, identity", None),
            ("", None),
        ] {
            assert_eq!(content_coding(value.as_bytes()), coding.map(str::as_bytes), "{value}");
        }
    }

    #[test]
    fn t040_what_is_accepted_is_parsed() {
        for (value, json, events) in [
            ("application/json, text/event-stream", true, true),
            ("text/event-stream,application/json;charset=utf-8", true, true),
            ("*/*", true, true),
            ("application/*, text/*;q=0.1", true, true),
            ("*/*;q=0.5, text/event-stream;q=0", true, false),
            ("text/event-stream; q=0.000, */*", true, false),
            ("application/json", true, false),
            ("text/event-stream", false, true),
            ("text/html, image/*", false, false),
            ("text/plain;a=\"text/event-stream, application/json\"", false, false),
            ("APPLICATION/JSON, TEXT/*", true, true),
            ("", false, false),
        ] {
            let mut accept = Accept::ABSENT;
            accept.add(value.as_bytes());
            assert_eq!((accept.json(), accept.events()), (json, events), "{value}");
        }
        assert!(Accept::ABSENT.json() && Accept::ABSENT.events());
    }
}
