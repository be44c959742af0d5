//! Computes the order in which blocks are lifted: reverse postorder, where the blocks of a called
//! function are at the position of the call.
//!
//! A block is lifted after its predecessors, except for back edges of loops. If blocks were lifted
//! in the order of discovery, many would be lifted several times: six times in a chain of a hundred
//! unrolled rules.

use std::collections::HashMap;

use crate::BpfProgram;
use crate::insn::Insn;
use crate::lift::frame::{FrameId, Phase, ProgramPoint, UnitId};
use crate::lift::lifter::Lifter;

/// Position of a block in the order of lifting. The list has one pair for each stack frame,
/// outermost first: the linked program (unit), and the rank of an instruction in reverse postorder.
/// The phase is that of the block's first instruction.
pub(super) type Place = (Vec<(UnitId, usize)>, Phase);

/// The positions of blocks in the order of lifting.
#[derive(Default)]
pub(super) struct Order {
    /// Rank (position in reverse postorder) of the instruction at each slot, by linked program
    /// (unit).
    ranks: HashMap<UnitId, Vec<usize>>,
    /// For each frame, the positions of the active calls that lead to it, outermost first.
    calls: HashMap<FrameId, Vec<(UnitId, usize)>>,
}

impl Order {
    pub fn place(&mut self, lifter: &Lifter<'_>, point: ProgramPoint) -> Place {
        let mut place = self.call(lifter, point.frame);
        let unit = lifter.frames.get(point.frame).unit;
        place.push((unit, 2 * self.rank(lifter, unit, point.slot) + 1));
        (place, point.phase)
    }

    /// Returns the positions of all active calls that lead to a frame, outermost first. Each is
    /// just before the position of the call's return point.
    fn call(&mut self, lifter: &Lifter<'_>, frame: FrameId) -> Vec<(UnitId, usize)> {
        if let Some(known) = self.calls.get(&frame) {
            return known.clone();
        }
        let place = match lifter.frames.get(frame).ret {
            None => Vec::new(),
            Some(ret) => {
                let mut place = self.call(lifter, ret.frame);
                let unit = lifter.frames.get(ret.frame).unit;
                place.push((unit, 2 * self.rank(lifter, unit, ret.slot)));
                place
            }
        };
        self.calls.insert(frame, place.clone());
        place
    }

    /// Returns the position of an instruction in reverse postorder, called its rank. A slot outside
    /// the program comes last.
    fn rank(&mut self, lifter: &Lifter<'_>, unit: UnitId, slot: usize) -> usize {
        let ranks = self.ranks.entry(unit).or_insert_with(|| ranks(lifter.code.program(unit)));
        ranks.get(slot).copied().unwrap_or(usize::MAX / 4)
    }
}

/// Returns the position of each instruction of a program in reverse postorder, function by
/// function. The search visits jump targets first, so that loop bodies precede the code after the
/// loop.
fn ranks(program: &BpfProgram) -> Vec<usize> {
    let insns = &program.insns;
    let mut ranks = vec![0; insns.len()];
    let mut seen = vec![false; insns.len()];
    let mut unranked = insns.len();
    for function in program.subprograms.iter().rev() {
        let mut path = vec![(function.first, 0)];
        while let Some(&mut (slot, ref mut turn)) = path.last_mut() {
            let Some(insn) = insns.get(slot).filter(|_| *turn > 0 || !seen[slot]) else {
                path.pop();
                continue;
            };
            seen[slot] = true;
            *turn += 1;
            match *turn {
                1 => path.extend(insn.jump_target(slot).map(|target| (target, 0))),
                2 if !matches!(insn, Insn::Exit | Insn::Jump { .. }) => {
                    path.push((slot + insn.slots().max(1), 0));
                }
                _ => {
                    unranked -= 1;
                    ranks[slot] = unranked;
                    path.pop();
                }
            }
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::ranks;
    use crate::Object;
    use crate::insn::Insn;

    #[test]
    fn instructions_come_after_their_predecessors() {
        for name in ["firewall.bpf.o", "chain/load_balancer.bpf.o", "flow_monitor.bpf.o"] {
            let file = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
            let object = Object::parse(&std::fs::read(file).unwrap()).unwrap();
            let program = object.link(0, None).unwrap();
            let (ranks, mut jumps) = (ranks(&program), 0);
            for (slot, insn) in program.insns.iter().enumerate() {
                let target = insn.jump_target(slot).filter(|&target| target > slot);
                let next = slot + insn.slots().max(1);
                let falls = !matches!(insn, Insn::Exit | Insn::Jump { .. } | Insn::SecondSlot);
                for to in target.into_iter().chain(falls.then_some(next)) {
                    assert!(ranks[slot] < ranks[to], "{name}: {slot} to {to}");
                }
                jumps += usize::from(target.is_some());
            }
            assert!(jumps > 3, "{name} has branches");
        }
    }
}
