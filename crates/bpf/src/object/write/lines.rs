//! Creates the source line records of a written object.

use super::code::Layout;
use super::functions::{Plan, Planned};
use crate::btf::{LineRecord, StringId, Strings};
use crate::insn::Insn;
use crate::line_info::LineInfo;

/// Largest line number that BTF line records can store.
const LAST: u32 = (1 << 22) - 1;

/// Returns the source line records of each section; an empty list if no line is known. Adds the
/// texts of the records to `strings`.
pub(super) fn lines(
    plan: &Plan,
    layout: &Layout,
    strings: &mut Strings,
) -> Vec<(String, Vec<LineRecord>)> {
    let known = plan.functions.iter().any(|function| {
        let (first, end) = function.range();
        function.program.lines[first..end].iter().any(Option::is_some)
    });
    if !known {
        return Vec::new();
    }
    layout.by_section(plan, |function, offset| of_function(function, offset, strings))
}

/// Returns the source line records of a function: one at its start, which the kernel requires, and
/// one wherever the line changes. An unknown line has number 0.
fn of_function(function: &Planned, offset: u32, strings: &mut Strings) -> Vec<LineRecord> {
    let (first, end) = function.range();
    let program = function.program;
    let mut records = Vec::new();
    let mut current: Option<&Option<LineInfo>> = None;
    for slot in first..end {
        let line = &program.lines[slot];
        // The kernel rejects records for the second half of an instruction.
        if current == Some(line) || program.insns[slot] == Insn::SecondSlot {
            continue;
        }
        current = Some(line);
        let mut string = |text: &str| StringId(strings.offset(text));
        let offset = offset.saturating_add((slot - first) as u32 * 8);
        records.push(match line {
            Some(line) => LineRecord {
                offset,
                file: string(&line.file),
                text: string(&line.text),
                line: line.line.min(LAST),
                column: line.column,
            },
            None => LineRecord { offset, file: StringId(0), text: StringId(0), line: 0, column: 0 },
        });
    }
    records
}
