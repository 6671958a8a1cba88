//! Decision tables as Markdown, as they stand in `ARCHITECTURE.md`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

/// A table with these heads, one line a row; `cells` says what stands in a row.
pub(crate) fn draw<R, const N: usize>(
    heads: [&str; N],
    rows: &[R],
    cells: impl Fn(&R) -> [String; N],
) -> String {
    let mut out = String::new();
    out.extend(["| ", &heads.join(" | "), " |\n|", &"---|".repeat(N), "\n"]);
    for row in rows {
        out.extend(["| ", &cells(row).join(" | "), " |\n"]);
    }
    out
}

/// The values, or `any` if they are all there are.
pub(crate) fn cell<T: Debug>(values: &[T], all: &[T]) -> String {
    if values.len() == all.len() {
        return "any".into();
    }
    names(values)
}

/// The values, separated by commas.
pub(crate) fn names<T: Debug>(values: &[T]) -> String {
    let names: Vec<String> = values.iter().map(|value| alloc::format!("{value:?}")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line() {
        let rows: [&[bool]; 2] = [&[true], &[true, false]];
        let drawn = draw(["n", "is"], &rows, |row| ["1".into(), cell(row, &[true, false])]);
        assert_eq!(drawn, "| n | is |\n|---|---|\n| 1 | true |\n| 1 | any |\n");
    }
}
