//! The formats of texts in forms.
//!
//! In: a `format` and a text. Out: whether the text has that format. Called by the checks of forms.
//! An unknown format allows any text.
//!
//! [Specification: Requested Schema](https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema)

use super::StringFormat;
use crate::url::{is_scheme, percent};

/// Description of a format, with an example, for an error message; `None` if the text has the
/// format.
pub(super) fn expected(format: &StringFormat, text: &str) -> Option<&'static str> {
    let (fits, expected) = match format {
        StringFormat::Email => (is_email(text), "an email address, such as ada@example.com"),
        StringFormat::Uri => (is_uri(text), "a URI, such as https://example.com/"),
        StringFormat::Date => (is_date(text), "a date, such as 2026-07-28"),
        StringFormat::DateTime => {
            (is_date_time(text), "a date and a time with its zone, such as 2026-07-28T12:00:00Z")
        }
        StringFormat::Other(_) => return None,
    };
    if fits { None } else { Some(expected) }
}

/// A dot-string and a domain or an address in brackets (RFC 5321, section 4.1.2). A quoted local
/// part is not checked.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let is_atom = |atom: &str| {
        let allowed =
            |c: char| c.is_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c);
        !atom.is_empty() && atom.chars().all(allowed)
    };
    let is_label = |label: &str| {
        let allowed = |c: char| c.is_alphanumeric() || c == '-';
        let edges = !label.starts_with('-') && !label.ends_with('-');
        (1..=63).contains(&label.len()) && edges && label.chars().all(allowed)
    };
    let is_address = domain.len() > 2 && domain.starts_with('[') && domain.ends_with(']');
    (is_quoted || local.split('.').all(is_atom)) && (is_address || domain.split('.').all(is_label))
}

/// A scheme, a colon, and only characters that RFC 3986 allows.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    is_scheme(scheme) && rest.chars().all(allowed) && percent::is_valid(rest)
}

/// A `full-date` of RFC 3339.
fn is_date(text: &str) -> bool {
    let [year, month, day] = fields(text, '-', [4, 2, 2]).unwrap_or_default();
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// A `date-time` of RFC 3339.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else { return false };
    let zone = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let Some((time, zone)) = time.split_at_checked(zone) else { return false };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    // 60 is a leap second.
    let is_time = fields(time, ':', [2, 2, 2])
        .is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second <= 60);
    let is_zone = match zone.split_at_checked(1) {
        Some(("Z" | "z", "")) => true,
        Some(("+" | "-", offset)) => {
            fields(offset, ':', [2, 2]).is_some_and(|[hour, minute]| hour < 24 && minute < 60)
        }
        _ => false,
    };
    is_date(date) && is_time && is_fraction && is_zone
}

/// Numbers with these counts of digits, between separators.
fn fields<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u32; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        *number = part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_hour_17_formats_of_forms() {
        let cases: [(StringFormat, &[&str], &[&str]); 4] = [
            (
                StringFormat::Email,
                &["ada@example.com", "a.b+c@d", "\"a b\"@example.com", "ä@例え.jp", "a@[::1]"],
                &["", "@", "a@", "@b", "a b@c", "a@b c", "a..b@c", "a@-b", "a@b..c", "a@@", "a@[]"],
            ),
            (
                StringFormat::Uri,
                &["https://a.example/b?c=%20#d", "mailto:ada@example.com", "a:"],
                &["", "/a", "a b:c", "1a:b", ":a", "a:b c", "a:%2", "a:%zz", "a:ä", "a:\u{7f}"],
            ),
            (
                StringFormat::Date,
                &["2026-07-28", "2024-02-29", "2000-02-29"],
                &[
                    "",
                    "2026-7-28",
                    "2026-13-01",
                    "2026-00-01",
                    "2026-04-31",
                    "2026-01-00",
                    "2023-02-29",
                    "1900-02-29",
                    "2026-07-28Z",
                    "+026-07-28",
                    "2026-07-28-01",
                ],
            ),
            (
                StringFormat::DateTime,
                &[
                    "2026-07-28T12:00:00Z",
                    "2026-07-28t12:00:60.125+01:30",
                    "2026-07-28 12:00:00-00:00",
                ],
                &[
                    "",
                    "2026-07-28",
                    "2026-07-28T12:00Z",
                    "2026-07-28T24:00:00Z",
                    "2026-07-28T12:60:00Z",
                    "2026-07-28T12:00:61Z",
                    "2026-07-28T12:00:00",
                    "2026-07-28T12:00:00.Z",
                    "2026-07-28T12:00:00+24:00",
                    "2026-07-28T12:00:00+01:60",
                    "2026-07-28T12:00:00ZZ",
                    "2026-02-30T12:00:00Z",
                ],
            ),
        ];
        for (format, fit, misfit) in cases {
            for text in fit {
                assert_eq!(expected(&format, text), None, "{text:?}");
            }
            for text in misfit {
                assert!(expected(&format, text).is_some(), "{format:?} {text:?}");
            }
        }
        assert_eq!(expected(&StringFormat::Other("hostname".into()), "a b"), None);
    }
}
