//! What somebody may have meant.
//!
//! In: a name that there is not, and those that there are. Out: the one that is most like it, if any is.

/// The name that is most like another one: that takes the fewest changes of characters to get there.
/// More than a third of them makes it another word.
pub(crate) fn nearest<'a>(to: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = to.chars().count() / 3 + 1;
    let near = names.map(|name| (distance(to, name), name)).filter(|(far, _)| *far <= limit);
    near.min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// How many characters are to be put in, taken out or exchanged to make one out of the other.
fn distance(from: &str, to: &str) -> usize {
    // How far what has been read of `from` is from each beginning of `to`.
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (above, a) in from.chars().enumerate() {
        let (mut diagonal, mut left) = (above, above + 1);
        for (b, far) in to.chars().zip(row.iter_mut().skip(1)) {
            let exchanged = diagonal + usize::from(a != b);
            diagonal = *far;
            left = exchanged.min(left + 1).min(*far + 1);
            *far = left;
        }
        if let Some(first) = row.first_mut() {
            *first = above + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_a_number_of_changes() {
        for (from, to, far) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "xabc", 1),
            ("kitten", "sitting", 3),
            ("äö", "ao", 2),
        ] {
            assert_eq!((distance(from, to), distance(to, from)), (far, far), "{from} {to}");
        }
    }

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
