//! Lists the source lines of a path in order, with the number of instructions that each line
//! executes.

use crate::frontend::Lifted;
use crate::result::{Line, Stretch};
use slowpath_exec::ArcId;
use slowpath_ir::CostEvent;
use slowpath_search::Unrolled;
use std::collections::HashMap;

/// Returns two lists: the source lines of a path in the order of their first instructions, and the
/// path as a sequence of stretches. A stretch consists of consecutively executed instructions of
/// one line. Both lists are empty if no instruction of the path has a source line.
pub(super) fn of_path(
    lifted: &Lifted,
    unrolled: &Unrolled,
    path: &[ArcId],
) -> (Vec<Line>, Vec<Stretch>) {
    let mut lines: Vec<Line> = Vec::new();
    let mut known: HashMap<(&str, u32), usize> = HashMap::new();
    let mut stretches: Vec<Stretch> = Vec::new();
    for event in events(unrolled, path) {
        let insn = event.insn.0;
        let line = lifted.line(insn).map(|info| {
            let index = *known.entry((&info.file, info.line)).or_insert_with(|| {
                lines.push(Line {
                    file: info.file.to_string(),
                    line: info.line,
                    text: info.text.to_string(),
                    instructions: 0,
                });
                lines.len() - 1
            });
            lines[index].instructions += 1;
            index
        });
        match stretches.last_mut() {
            // Instructions without a line form a stretch only if they are adjacent, because they
            // can belong to different code.
            Some(last) if last.line == line && (line.is_some() || last.last + 1 == insn) => {
                last.last = insn;
                last.instructions += 1;
            }
            _ => stretches.push(Stretch { line, first: insn, last: insn, instructions: 1 }),
        }
    }
    if lines.is_empty() {
        stretches.clear();
    }
    (lines, stretches)
}

/// Lists the cost events of a path in order: one event for each executed instruction, with its cost
/// class.
pub(crate) fn events<'a>(
    unrolled: &'a Unrolled,
    path: &'a [ArcId],
) -> impl Iterator<Item = &'a CostEvent> {
    let program = unrolled.executor.program();
    path.iter().flat_map(move |&arc| {
        let arc = &unrolled.dag[arc];
        let block = program.block(unrolled.dag[arc.tail].block);
        let edge = block.terminator.edges().nth(arc.edge);
        block.costs.iter().chain(edge.into_iter().flat_map(|edge| &edge.costs))
    })
}
