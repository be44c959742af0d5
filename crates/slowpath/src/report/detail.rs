//! Creates the details of a path that only human reports show, such as its instructions in order.

use super::lines;
use crate::frontend::Lifted;
use crate::result::PathDetail;
use slowpath_exec::ArcId;
use slowpath_ir::Terminator;
use slowpath_search::{Head, Unrolled};

/// Returns the details of a path that only human reports show, such as its instructions in order.
pub(crate) fn detail(lifted: &Lifted, unrolled: &Unrolled, path: &[ArcId]) -> PathDetail {
    let program = unrolled.executor.program();
    let (_, stretches) = lines::of_path(lifted, unrolled, path);
    let mut detail = PathDetail { stretches, ..PathDetail::default() };
    let mut joined = false;
    for &arc in path {
        let arc = &unrolled.dag[arc];
        let block = program.block(unrolled.dag[arc.tail].block);
        let last = block.insns.last().map_or(block.first.0, |insn| insn.0);
        match detail.ranges.last_mut() {
            Some(range) if joined && range.1 + 1 == block.first.0 => range.1 = last,
            _ => detail.ranges.push((block.first.0, last)),
        }
        for insn in &block.insns {
            detail.listing.push((insn.0, program.insns[insn.index()].text.clone()));
        }
        joined = match block.terminator {
            Terminator::Jump(_) => true,
            Terminator::Branch { .. } => arc.edge == 1,
        };
        if let Head::Exit(exit) = arc.head {
            detail.exit = exit;
        }
    }
    detail
}
