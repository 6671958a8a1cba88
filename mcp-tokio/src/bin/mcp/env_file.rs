//! Files of variables, which the member `envFile` of a server names.
//!
//! In: the text of a file. Out: its variables, as VS Code reads them. A line is `NAME=VALUE` or
//! `NAME: VALUE`, perhaps after `export`. A `#` outside of quotes begins a comment. A value may be
//! in quotes, within which a backslash comes before the same mark and is kept; within double ones
//! `\n` and `\r` are line ends.

use std::mem;

/// The marks that quote a value.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The variables of a file, in their order. Lines without a name or a value are skipped.
pub(crate) fn parse(text: &str) -> Vec<(String, String)> {
    text.trim_start_matches('\u{feff}').lines().filter_map(variable).collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = before_mark(line.trim(), |c| c == '#').trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let name = before_mark(line, |c| matches!(c, '=' | ':'));
    let value = line.get(name.len() + 1..)?.trim();
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), unquoted(value)))
}

/// The text before a mark that is outside of quotes.
fn before_mark(text: &str, is_mark: impl Fn(char) -> bool) -> &str {
    let (mut quote, mut before) = (None, ' ');
    let end = text.find(|c: char| {
        let is_escaped = mem::replace(&mut before, c) == '\\';
        match quote {
            None if QUOTES.contains(&c) => quote = Some(c),
            None => return is_mark(c),
            Some(open) if open == c && !is_escaped => quote = None,
            Some(_) => {}
        }
        false
    });
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

fn unquoted(value: &str) -> String {
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    match (inner('"'), inner('\'').or_else(|| inner('`'))) {
        (Some(text), _) => text.replace("\\n", "\n").replace("\\r", "\r"),
        (None, Some(text)) => text.to_owned(),
        (None, None) => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_a_variable_as_in_vs_code() {
        for (line, expected) in [
            ("A=b", Some(("A", "b"))),
            ("  export A = b c  # comment", Some(("A", "b c"))),
            ("A: b", Some(("A", "b"))),
            ("A=", Some(("A", ""))),
            ("A=\"b # \\n\" # c", Some(("A", "b # \n"))),
            ("A='b\\n=`'", Some(("A", "b\\n=`"))),
            ("A=\"b\\\"#c\" # d", Some(("A", "b\\\"#c"))),
            ("A=`b`", Some(("A", "b"))),
            ("A=\"", Some(("A", "\""))),
            ("A=http://b/?c=d", Some(("A", "http://b/?c=d"))),
            ("# A=b", None),
            ("A", None),
            ("=b", None),
            ("", None),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(variable(line), expected, "{line}");
        }
        let text = "\u{feff}A=1\r\n\r\nB=2\n";
        let expected = [("A", "1"), ("B", "2")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(parse(text), expected);
    }
}
