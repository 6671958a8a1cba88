//! Every combination of the tables has a row, and no row is out of use.

use std::collections::BTreeSet;

use mcp_proto::Era;
use mcp_proto::bridge::{BridgeStep, Code, ERRORS, TABLE};

#[test]
fn every_message_has_a_decision_and_every_row_decides() {
    let mut used = BTreeSet::new();
    for ((down, up, message), row) in TABLE.cases() {
        let row = row.unwrap_or_else(|| panic!("no row for {down:?} {up:?} {message:?}"));
        used.insert(row.name);
        if down == up {
            let may = [BridgeStep::Pass, BridgeStep::Answer, BridgeStep::Drop, BridgeStep::Refuse];
            assert!(may.contains(&row.then), "{message:?} is changed within an era");
        }
    }
    let all: BTreeSet<_> = TABLE.rows().iter().map(|row| row.name).collect();
    assert_eq!(used, all, "rows that never decide");
}

#[test]
fn every_error_has_a_code_and_none_is_changed_within_an_era() {
    let mut used = BTreeSet::new();
    for ((down, up, fault), row) in ERRORS.cases() {
        let row = row.unwrap_or_else(|| panic!("no row for {down:?} {up:?} {fault:?}"));
        used.insert(row.name);
        if down == up {
            assert_eq!(row.then, Code::Same);
        }
        // The codes of an era stay in it.
        if (down, up) == (Era::Modern, Era::Legacy) {
            assert_ne!(row.then, Code::ResourceNotFound);
        }
    }
    let all: BTreeSet<_> = ERRORS.rows().iter().map(|row| row.name).collect();
    assert_eq!(used, all, "rows that never decide");
}
