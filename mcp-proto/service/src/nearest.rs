//! The name that a misspelt one stands for.
//!
//! In: an unknown name, and the known names. Out: the known name that the fewest changes of
//! characters lead to, for hints in texts of errors. The program `mcp` asks here as well.

/// The most characters of a misspelt name; comparing longer names takes time.
const MAX_CHARACTERS: usize = 200;

/// The name among `names` that is nearest to `to`.
///
/// Returns none if that takes more changes than a third of the characters of `to`, or changes all
/// of them: then it is another word.
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
