//! The name that somebody may have meant.

/// Of all names the one that takes the fewest changes of characters to make `to` of it; none if that
/// takes more than a third of its characters, which makes it another word.
pub(crate) fn nearest<'a>(to: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = to.chars().count() / 3 + 1;
    let near = names.map(|name| (strsim::levenshtein(to, name), name));
    near.filter(|(far, _)| *far <= limit).min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_far_away_was_not_meant() {
        let names = ["echo", "get-sum", "get-env"];
        for (to, near) in
            [("ecko", Some("echo")), ("getsum", Some("get-sum")), ("nope", None), ("", None)]
        {
            assert_eq!(nearest(to, names.into_iter()), near, "{to}");
        }
    }
}
