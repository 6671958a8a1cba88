//! Decision tables: sets of inputs, and the decision that follows from them.
//!
//! In: one value for each column. Out: the first [`Row`] whose sets contain these values. A table
//! is data: tests check every combination ([`Table::cases`]), and `docs/tables.md` shows every row
//! ([`Table::draw`]).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

/// A decision table.
#[derive(Debug)]
pub struct Table<S: 'static, D: 'static> {
    heads: &'static [&'static str],
    pub(crate) rows: &'static [Row<S, D>],
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<S, D> {
    /// The stable name, for tests and documentation.
    pub name: &'static str,
    /// The sets of inputs, one for each column.
    pub(crate) when: S,
    /// The decision.
    pub then: D,
}

/// Values of one column.
pub type Set<T> = &'static [T];

/// An input of a table.
pub trait Column: Copy + PartialEq + Debug + 'static {
    /// All values, in the order of the documentation.
    const ALL: Set<Self>;
}

/// The sets of a row: a tuple of [`Set`]s.
pub trait Sets: 'static {
    /// One value for each set.
    type Case: Copy;

    /// Returns whether each set contains its value.
    fn contain(&self, case: Self::Case) -> bool;

    /// All combinations of values.
    fn cases() -> Vec<Self::Case>;

    /// The sets as cells of a table.
    fn cells(&self) -> Vec<String>;
}

/// A decision of a table, as cells.
pub trait Cells: Debug {
    /// The decision as cells of a table.
    fn cells(&self) -> Vec<String> {
        Vec::from([alloc::format!("{self:?}")])
    }
}

/// A row of a table.
pub const fn row<S: Copy, D: Copy>(name: &'static str, when: S, then: D) -> Row<S, D> {
    Row { name, when, then }
}

impl<S: Sets, D: Cells> Table<S, D> {
    /// A table with these column names: the inputs, then the decision.
    pub const fn new(heads: &'static [&'static str], rows: &'static [Row<S, D>]) -> Self {
        Self { heads, rows }
    }

    /// All rows, in order.
    pub const fn rows(&self) -> &'static [Row<S, D>] {
        self.rows
    }

    /// The row that decides; `None` if the table has a gap.
    pub fn find(&self, case: S::Case) -> Option<&'static Row<S, D>> {
        self.rows.iter().find(|row| row.when.contain(case))
    }

    /// All combinations of inputs, with the deciding rows.
    pub fn cases(&self) -> impl Iterator<Item = (S::Case, Option<&'static Row<S, D>>)> {
        S::cases().into_iter().map(|case| (case, self.find(case)))
    }

    /// The table as Markdown.
    pub fn draw(&self) -> String {
        draw(["row"].iter().chain(self.heads).copied(), self.rows, |row| {
            let mut cells = Vec::from([row.name.into()]);
            cells.extend(row.when.cells());
            cells.extend(row.then.cells());
            cells
        })
    }
}

impl Column for bool {
    const ALL: Set<Self> = &[true, false];
}

macro_rules! sets {
    ($($column:ident $value:ident $values:ident),*) => {
        impl<$($column: Column),*> Sets for ($(Set<$column>,)*) {
            type Case = ($($column,)*);

            fn contain(&self, ($($value,)*): Self::Case) -> bool {
                let ($($values,)*) = self;
                $($values.contains(&$value))&&*
            }

            fn cases() -> Vec<Self::Case> {
                let mut cases = Vec::new();
                sets!(@loop cases ($($value,)*) $($column $value,)*);
                cases
            }

            fn cells(&self) -> Vec<String> {
                let ($($values,)*) = self;
                Vec::from([$(cell($values, $column::ALL)),*])
            }
        }
    };
    (@loop $cases:ident $case:tt $column:ident $value:ident, $($rest:tt)*) => {
        for &$value in $column::ALL {
            sets!(@loop $cases $case $($rest)*);
        }
    };
    (@loop $cases:ident $case:tt) => { $cases.push($case) };
}

sets!(A a as_);
sets!(A a as_, B b bs);
sets!(A a as_, B b bs, C c cs);
sets!(A a as_, B b bs, C c cs, D d ds);
sets!(A a as_, B b bs, C c cs, D d ds, E e es);

/// A Markdown table with these heads, and a line for each row.
pub(crate) fn draw<'a, R>(
    heads: impl Iterator<Item = &'a str>,
    rows: &[R],
    cells: impl Fn(&R) -> Vec<String>,
) -> String {
    let heads: Vec<&str> = heads.collect();
    let mut out = String::new();
    out.extend(["| ", &heads.join(" | "), " |\n|", &"---|".repeat(heads.len()), "\n"]);
    for row in rows {
        out.extend(["| ", &cells(row).join(" | "), " |\n"]);
    }
    out
}

/// The values, or `any` if they are all possible values.
fn cell<T: Debug>(values: &[T], all: &[T]) -> String {
    if values.len() == all.len() { "any".into() } else { names(values) }
}

/// The values, separated by commas.
pub(crate) fn names<T: Debug>(values: &[T]) -> String {
    let names: Vec<String> = values.iter().map(|value| alloc::format!("{value:?}")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Number(u8);

    impl Cells for Number {}

    const TABLE: Table<(Set<bool>, Set<bool>), Number> = Table::new(
        &["a", "b", "number"],
        &[
            row("both", (&[true], &[true]), Number(2)),
            row("else", (bool::ALL, &[false]), Number(0)),
        ],
    );

    #[test]
    fn first_matching_row_decides() {
        let decided: Vec<_> =
            TABLE.cases().map(|(case, row)| (case, row.map(|row| row.then))).collect();
        let number = |number| Some(Number(number));
        assert_eq!(
            decided,
            [
                ((true, true), number(2)),
                ((true, false), number(0)),
                ((false, true), None),
                ((false, false), number(0)),
            ]
        );
    }

    #[test]
    fn row_is_a_line() {
        let line = "| row | a | b | number |\n|---|---|---|---|\n\
                    | both | true | true | Number(2) |\n| else | any | false | Number(0) |\n";
        assert_eq!(TABLE.draw(), line);
    }
}
