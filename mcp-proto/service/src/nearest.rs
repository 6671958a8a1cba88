//! Suggestions for misspelt names.
//!
//! In: an unknown name, and the known names. Out: the known name with the smallest edit distance,
//! for hints in error texts, also of the program `mcp`.

/// The longest name to compare, in characters; longer ones would take too much time.
const MAX_CHARACTERS: usize = 200;

/// The name in `names` with the smallest edit distance to `to`.
///
/// Returns `None` if the distance is more than a third of the characters of `to` plus one, or all
/// of them.
pub fn nearest<'a>(to: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = to.chars().count();
    if length > MAX_CHARACTERS {
        return None;
    }
    let limit = (length / 3 + 1).min(length.saturating_sub(1));
    let names = names.filter(|name| name.chars().count().abs_diff(length) <= limit);
    let near = names.map(|name| (strsim::levenshtein(to, name), name));
    near.filter(|(far, _)| *far <= limit).min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_word_is_not_near() {
        let names = ["echo", "get-sum", "get-env", "q"];
        let long = "e".repeat(201);
        for (to, near) in [
            ("ecko", Some("echo")),
            ("getsum", Some("get-sum")),
            ("nope", None),
            ("", None),
            ("s", None),
            (&*long, None),
        ] {
            assert_eq!(nearest(to, names.into_iter().chain([&*long])), near, "{to}");
        }
    }
}
