//! Finds helpers in the tables, by number and type of program.

use super::skb_table::SKB_HELPERS;
use super::table::{HELPERS, Helper, XDP_ONLY};
use crate::ProgramKind;

/// Returns the table's entry for the helper with this number in programs of a type.
pub(in crate::lift) fn find(number: i32, kind: ProgramKind) -> Option<&'static Helper> {
    let row = |table: &'static [Helper]| {
        let index = table.binary_search_by_key(&number, |helper| helper.number).ok()?;
        Some(&table[index])
    };
    match kind {
        ProgramKind::SchedCls => row(SKB_HELPERS)
            .or_else(|| row(HELPERS).filter(|helper| !XDP_ONLY.contains(&helper.number))),
        _ => row(HELPERS),
    }
}
