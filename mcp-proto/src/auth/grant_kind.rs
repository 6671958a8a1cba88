//! Decision table for the kind of a grant: how an authorizer gets tokens.
//!
//! In: the configured kind, whether there is a person, and whether the authorization server issues
//! codes. Out: a [`GrantKind`]. `docs/tables.md` shows [`TABLE`]; a test walks every combination.
//!
//! | kind | who is asked |
//! |---|---|
//! | `Code` | a person, at the page of the authorization server |
//! | `ClientCredentials` | nobody: the client authenticates itself |
//! | `Enterprise` | the application for an ID token, and the identity provider for an assertion |
//! | `Workload` | the application for the token of its workload |

use crate::decision_table::{Cells, Column, Set, Table, row};

/// A kind of grant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrantKind {
    /// A code that a person consents to.
    Code,
    /// The credentials of the client.
    ClientCredentials,
    /// An assertion of the identity provider of a company.
    Enterprise,
    /// The token of a workload.
    Workload,
}

type KindCase = (Set<GrantKind>, Set<bool>, Set<bool>);

const ANY: Set<bool> = bool::ALL;
const CREDENTIALS: Set<GrantKind> = &[GrantKind::ClientCredentials];

/// The table; the first row that matches decides.
pub const TABLE: Table<KindCase, GrantKind> = Table::new(
    &["configured", "person", "gives codes", "grant"],
    &[
        row("code", (&[GrantKind::Code], ANY, ANY), GrantKind::Code),
        row("person", (CREDENTIALS, &[true], &[true]), GrantKind::Code),
        row("credentials", (CREDENTIALS, ANY, ANY), GrantKind::ClientCredentials),
        row("enterprise", (&[GrantKind::Enterprise], ANY, ANY), GrantKind::Enterprise),
        row("workload", (&[GrantKind::Workload], ANY, ANY), GrantKind::Workload),
    ],
);

impl Column for GrantKind {
    const ALL: Set<Self> = &[Self::Code, Self::ClientCredentials, Self::Enterprise, Self::Workload];
}

impl Cells for GrantKind {}

impl GrantKind {
    /// The kind by the table.
    pub(super) fn choose(configured: Self, has_person: bool, gives_codes: bool) -> Self {
        let row = TABLE.find((configured, has_person, gives_codes));
        row.map_or(configured, |row| row.then)
    }

    /// True if no person is involved.
    pub(super) fn is_of_service(self) -> bool {
        self != Self::Code
    }
}
