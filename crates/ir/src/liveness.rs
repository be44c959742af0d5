//! Which registers a block's successors still read: keeps merges of paths small.

use crate::{BlockId, Op, Operand, Program, Reg, Target, Terminator};

/// Live registers at the start of every block.
#[derive(Clone, Debug)]
pub struct Liveness {
    words: usize,
    live_in: Vec<Vec<u64>>,
}

impl Liveness {
    /// Solves the backward data-flow equations; linear in practice, as programs are mostly
    /// forward-going.
    pub fn of(program: &Program) -> Self {
        let words = program.regs.len().div_ceil(64);
        let mut live_in = vec![vec![0u64; words]; program.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..program.blocks.len()).rev() {
                let mut live = live_out(program, &live_in, words, index);
                for origin in program.blocks[index].ops.iter().rev() {
                    transfer(&origin.op, &mut live);
                }
                if live != live_in[index] {
                    live_in[index] = live;
                    changed = true;
                }
            }
        }
        Liveness { words, live_in }
    }

    /// The registers live at the start of `block`, in ascending order.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = Reg> + '_ {
        let set = &self.live_in[block.index()];
        (0..self.words * 64).filter(|&i| contains(set, i)).map(Reg::from)
    }
}

fn contains(set: &[u64], index: usize) -> bool {
    set[index / 64] >> (index % 64) & 1 == 1
}

fn live_out(program: &Program, live_in: &[Vec<u64>], words: usize, index: usize) -> Vec<u64> {
    let mut live = vec![0u64; words];
    let terminator = &program.blocks[index].terminator;
    for edge in terminator.edges() {
        if let Target::Block(next) = edge.target {
            for (word, other) in live.iter_mut().zip(&live_in[next.index()]) {
                *word |= other;
            }
        }
    }
    if let Terminator::Branch { cond, .. } = terminator {
        live[cond.index() / 64] |= 1 << (cond.index() % 64);
    }
    live
}

fn transfer(op: &Op, live: &mut [u64]) {
    if let Some(dst) = op.dst() {
        live[dst.index() / 64] &= !(1 << (dst.index() % 64));
    }
    for operand in op.operands() {
        if let Operand::Reg(reg) = operand {
            live[reg.index() / 64] |= 1 << (reg.index() % 64);
        }
    }
}

/// Removes operations whose result nothing reads. Loads are removed like any other (their work is
/// a cost event, not an operation), and so are draws of an [`Op::Unknown`]; stores stay.
pub fn eliminate_dead_operations(program: &mut Program) {
    let liveness = Liveness::of(program);
    for index in 0..program.blocks.len() {
        let mut live = live_out(program, &liveness.live_in, liveness.words, index);
        let mut kept = Vec::with_capacity(program.blocks[index].ops.len());
        for origin in program.blocks[index].ops.iter().rev() {
            let dead = origin.op.dst().is_some_and(|dst| !contains(&live, dst.index()));
            if !dead {
                transfer(&origin.op, &mut live);
                kept.push(*origin);
            }
        }
        kept.reverse();
        program.blocks[index].ops = kept;
    }
}
