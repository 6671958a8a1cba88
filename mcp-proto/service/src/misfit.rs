//! Error text for JSON that does not fit its Rust type.
//!
//! In: the JSON, its type and the error of the decoder. Out: a text such as `/tags/1: expected a
//! string, found integer 3; /limt: did you mean `limit`?`. Called only after decoding has failed.
//!
//! The text names members that the type refuses. It names an ignored member if that is similar to
//! an absent one.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::de::DeserializeOwned;

use mcp_proto::Json;
use mcp_proto::internals::{Misfit, MisfitReason, explain};

use super::nearest::nearest;

/// The longest path in a text, in characters.
const MAX_CHARACTERS: usize = 200;

/// The reasons why `json` does not decode as a `T`, each with its path.
#[cold]
pub(crate) fn misfits<T: DeserializeOwned>(json: &Json, error: &serde_json::Error) -> String {
    let places: Vec<_> = explain::<T>(json)
        .map(|error| error.misfits().iter().filter_map(text).collect())
        .unwrap_or_default();
    if places.is_empty() { without_place(error) } else { places.join("; ") }
}

/// The error of the decoder without its line and column, which refer to a text that the peer does
/// not have.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let error = error.to_string();
    error.split_once(" at line ").map_or(&*error, |(what, _)| what).into()
}

/// The path and the reason; `None` for an ignored member without a hint.
fn text(misfit: &Misfit) -> Option<String> {
    let mut path: String = misfit.path.chars().take(MAX_CHARACTERS).collect();
    if path.len() < misfit.path.len() {
        path.push('…');
    }
    let reason = match &misfit.reason {
        MisfitReason::Text(text) if path.is_empty() => return Some(text.clone()),
        MisfitReason::Text(text) => text.clone(),
        MisfitReason::Unknown { name, absent, is_refused } => {
            match (nearest(name, absent.iter().copied()), is_refused) {
                (Some(near), true) => alloc::format!("unknown member, did you mean `{near}`?"),
                (Some(near), false) => alloc::format!("did you mean `{near}`?"),
                (None, true) => "unknown member".into(),
                (None, false) => return None,
            }
        }
    };
    Some(alloc::format!("{path}: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn misspelt_members_are_hinted_at() {
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "nothing of it is read")]
        struct Open {
            query: String,
            limit: Option<u8>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "nothing of it is read")]
        struct Strict {
            query: String,
            limit: Option<u8>,
        }
        let open = error_text::<Open>;
        let strict = error_text::<Strict>;
        assert_eq!(open(r#"{"qeury":"x"}"#), "/query: is required; /qeury: did you mean `query`?");
        assert_eq!(
            open(r#"{"query":1,"limt":2,"other":3}"#),
            "/query: expected a string, found integer 1; /limt: did you mean `limit`?"
        );
        assert_eq!(open(r#"{"limit":2,"limt":2}"#), "/query: is required");
        assert_eq!(
            strict(r#"{"query":"x","limt":2,"other":3}"#),
            "/limt: unknown member, did you mean `limit`?; /other: unknown member"
        );
        assert_eq!(strict(r#"{"query":"x","q":1}"#), "/q: unknown member");
        assert_eq!(strict(r#"{"query":"x","query":"y"}"#), "duplicate field `query`");
    }

    #[test]
    fn a_long_place_is_cut() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "nothing of it is read")]
        struct Strict {
            query: Option<String>,
        }
        let text = error_text::<Strict>(&alloc::format!(r#"{{"{}":1}}"#, "é".repeat(300)));
        assert!(text.ends_with("é…: unknown member"), "{text}");
        assert!(text.chars().count() < 250, "{text}");
    }

    fn error_text<T: DeserializeOwned>(text: &str) -> String {
        let json = Json::parse(text.to_owned()).unwrap();
        let error = json.decode_arguments::<T>().err().unwrap();
        misfits::<T>(&json, &error)
    }
}
