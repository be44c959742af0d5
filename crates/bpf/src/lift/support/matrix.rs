//! Prints the Markdown tables of the supported helpers and maps.

use std::fmt::Write;

use crate::ProgramKind;
use crate::insn::helper_name;
use crate::lift::helpers::find::find;
use crate::lift::helpers::kfuncs::KFUNCS;
use crate::lift::helpers::skb_table::SKB_HELPERS;
use crate::lift::helpers::table::{HELPERS, Helper};
use crate::lift::maps::class::MAP_KINDS;
use crate::lift::support::guarantees::GUARANTEES;

/// Returns Markdown tables of the supported helpers, kernel functions and map types, and of the
/// guarantees for calls on maps.
pub fn support_matrix() -> String {
    let mut text = String::from("| helper | number | what is known about it |\n|---|---|---|\n");
    for helper in HELPERS {
        let name = helper_name(helper.number).unwrap_or("?");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{name}` | {} | {} |", helper.number, helper.note);
    }
    text.push_str("\n| helper in tc programs | number | what is known about it |\n|---|---|---|\n");
    for helper in SKB_HELPERS {
        let name = helper_name(helper.number).unwrap_or("?");
        let _ = writeln!(text, "| `{name}` | {} | {} |", helper.number, helper.note);
    }
    text.push_str("\n| program type | helpers of tc programs | refused helpers |\n|---|---|---|\n");
    for kind in [ProgramKind::CgroupSkb, ProgramKind::SocketFilter] {
        let known = |helper: &&Helper| find(helper.number, kind).is_some();
        let may = names(SKB_HELPERS.iter().filter(known));
        let may_not = names(HELPERS.iter().filter(|helper| !known(helper)));
        let _ = writeln!(text, "| `{kind}` | {may} | {may_not} |");
    }
    text.push_str("\n| kernel function | what is known about it |\n|---|---|\n");
    for kfunc in KFUNCS {
        let _ = writeln!(text, "| `{}` | {} |", kfunc.name, kfunc.note);
    }
    text.push_str("\n| map type | what is known about it |\n|---|---|\n");
    for map in MAP_KINDS {
        let _ = writeln!(text, "| `{}` | {} |", map.kind, map.note);
    }
    text.push_str("\n| call | map type | success | failure | effect |\n|---|---|---|---|---|\n");
    for row in GUARANTEES {
        let (result, errors, effect) = (row.result, row.errors, row.effect);
        let _ =
            writeln!(text, "| `{}` | {} | {result} | {errors} | {effect} |", row.call, row.maps);
    }
    text
}

fn names<'a>(helpers: impl Iterator<Item = &'a Helper>) -> String {
    let names = helpers.map(|helper| format!("`{}`", helper_name(helper.number).unwrap_or("?")));
    names.collect::<Vec<_>>().join(", ")
}
