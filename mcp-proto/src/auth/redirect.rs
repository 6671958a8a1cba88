//! Decision table for the redirect that ends a person's sign-in, and the parser of the redirect.
//!
//! In: the URL of a redirect, or its query. Out: a code, an error, or nothing. A redirect is
//! checked in this order: path, `state`, repeated parameters, `iss`, `error`, `code`. A redirect
//! with another path or state is ignored, and the sign-in keeps waiting, because anybody can make a
//! browser open a URL. `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! [RFC 9207](https://www.rfc-editor.org/rfc/rfc9207),
//! [Specification: Authorization Code Protection](https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization)

use alloc::string::String;
use alloc::vec::Vec;

use super::decisions::Decisions;
use super::error::visible;
use super::redirect_uri::redirect_params;
use super::secret::Secret;
use crate::decision_table::{Cells, Column, Set, Table, row};

/// The parameter `iss` of a redirect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Iss {
    /// The parameter is missing.
    Absent,
    /// The recorded issuer, byte for byte.
    Equal,
    /// Anything else.
    Other,
}

/// The trust in a redirect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IssVerdict {
    /// The redirect comes from the expected authorization server.
    Proceed,
    /// The redirect may come from another server. None of its contents is used or shown.
    Reject,
}

impl Column for Iss {
    const ALL: Set<Self> = &[Self::Absent, Self::Equal, Self::Other];
}

impl Cells for IssVerdict {}

type IssCase = (Set<bool>, Set<Iss>);

/// The table; the first row that matches decides.
pub const TABLE: Table<IssCase, IssVerdict> = Table::new(
    &["metadata promises `iss`", "`iss`", "redirect"],
    &[
        row("missing", (&[true], &[Iss::Absent]), IssVerdict::Reject),
        row("silent", (&[false], &[Iss::Absent]), IssVerdict::Proceed),
        row("equal", (bool::ALL, &[Iss::Equal]), IssVerdict::Proceed),
        row("other", (bool::ALL, &[Iss::Other]), IssVerdict::Reject),
    ],
);

/// The expected values, recorded before a page was shown.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) redirect_uri: String,
    pub(super) state: Secret,
    pub(super) issuer: String,
    /// True if metadata declares that each redirect has `iss`.
    pub(super) promises_iss: bool,
}

/// A parsed redirect.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Redirect {
    /// The redirect belongs to no request.
    Ignored,
    /// The redirect is invalid: `iss` is missing or differs, a parameter is repeated, or there is
    /// neither a code nor an error.
    Rejected,
    /// An error: its code and description.
    Error(String, Option<String>),
    /// A code.
    Code(Secret),
}

impl Redirect {
    /// Reads a URL, or its query.
    pub(super) fn read(text: &str, expected: &Expected, decisions: &mut Decisions) -> Self {
        let Some(params) = redirect_params(&expected.redirect_uri, text) else {
            return Self::Ignored;
        };
        let values = |name: &str| -> Vec<&str> {
            let own = params.iter().filter(|(other, _)| other == name);
            own.map(|(_, value)| value.as_str()).collect()
        };
        let [states, issuers, errors, codes] = ["state", "iss", "error", "code"].map(values);
        if !states.contains(&expected.state.expose()) {
            return Self::Ignored;
        }
        let is_repeated = [&states, &issuers, &errors, &codes].iter().any(|it| it.len() > 1);
        let iss = match issuers.first() {
            None => Iss::Absent,
            Some(issuer) if *issuer == expected.issuer => Iss::Equal,
            Some(_) => Iss::Other,
        };
        let row = TABLE.find((expected.promises_iss, iss));
        decisions.record("iss", row.map_or("gap", |row| row.name));
        if is_repeated || row.is_none_or(|row| row.then == IssVerdict::Reject) {
            return Self::Rejected;
        }
        match (errors.first(), codes.first()) {
            (Some(error), _) => {
                let description = values("error_description").first().map(|text| visible(text));
                Self::Error(visible(error), description)
            }
            (None, Some(code)) => Self::Code(Secret::new(*code)),
            (None, None) => Self::Rejected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, promises_iss: bool) -> Redirect {
        read_at("http://127.0.0.1:9/callback", text, promises_iss)
    }

    fn read_at(redirect_uri: &str, text: &str, promises_iss: bool) -> Redirect {
        let expected = Expected {
            redirect_uri: redirect_uri.into(),
            state: Secret::new("st"),
            issuer: "https://a.example".into(),
            promises_iss,
        };
        Redirect::read(text, &expected, &mut Decisions::default())
    }

    #[test]
    fn browser_adds_the_path_to_a_uri_without_one() {
        for uri in ["http://127.0.0.1:9", "http://127.0.0.1:9/"] {
            let read = |text| read_at(uri, text, false);
            let code = Redirect::Code(Secret::new("c"));
            assert_eq!(read("http://127.0.0.1:9/?code=c&state=st"), code, "{uri}");
            assert_eq!(read("http://127.0.0.1:9/x?code=c&state=st"), Redirect::Ignored, "{uri}");
        }
    }

    #[test]
    fn parameters_are_read_in_their_order() {
        let code = || Redirect::Code(Secret::new("c"));
        let iss = "iss=https%3A%2F%2Fa.example";
        for (text, promises, expected) in [
            ("http://127.0.0.1:9/callback?code=c&state=st", false, code()),
            ("?code=c&state=st", false, code()),
            ("code=c&state=st#x", false, code()),
            ("http://127.0.0.1:9/other?code=c&state=st", false, Redirect::Ignored),
            ("http://127.0.0.1:9/callback/?code=c&state=st", false, Redirect::Ignored),
            ("https://127.0.0.1:9/callback?code=c&state=st", false, Redirect::Ignored),
            ("code=c&state=other", false, Redirect::Ignored),
            ("error=access_denied&state=other", false, Redirect::Ignored),
            ("c", false, Redirect::Ignored),
            ("code=c&code=d&state=st", false, Redirect::Rejected),
            ("code=c&state=st&state=other", false, Redirect::Rejected),
            ("code=c&state=st&iss=x&iss=https://a.example", false, Redirect::Rejected),
            ("code=c&state=st", true, Redirect::Rejected),
            ("code=c&state=st&iss=https://a.example/", true, Redirect::Rejected),
            ("error=x&state=st&iss=https://b.example", false, Redirect::Rejected),
            ("state=st", false, Redirect::Rejected),
            (
                "error=x&error_description=a+b&state=st",
                false,
                Redirect::Error("x".into(), Some("a b".into())),
            ),
        ] {
            assert_eq!(read(text, promises), expected, "{text}");
        }
        assert_eq!(read(&alloc::format!("code=c&state=st&{iss}"), true), code());
        let long = alloc::format!("code={}&state=st", "c".repeat(16 * 1024));
        assert_eq!(read(&long, false), Redirect::Ignored);
    }
}
