//! Computes properties of loops before the analysis starts: the registers that a loop does not
//! write, and constants that are likely to bound its counters.

use std::collections::BTreeSet;

use slowpath_domain::mask;
use slowpath_ir::{BinaryOp, Op, Operand, Program};

use crate::graph::Graph;

/// A loop, identified by its head.
#[derive(Debug)]
pub(crate) struct Loop {
    /// Blocks of the loop, sorted.
    blocks: Vec<usize>,
    /// For each register, true if the loop writes it. `None` for loops that can be entered at
    /// another block than the head.
    pub written: Option<Vec<bool>>,
    /// The values to which bounds are widened, sorted: the constants with which the loop compares,
    /// each also plus and minus one, and the largest 8-, 16- and 32-bit numbers. Constants in sums
    /// and differences are included, because the result may be compared with zero.
    pub thresholds: Vec<u64>,
}

impl Loop {
    pub fn of(program: &Program, graph: &Graph, head: usize) -> Self {
        let mut blocks = graph.blocks_of_loop(head);
        blocks.sort_unstable();
        let inside = |block: usize| blocks.binary_search(&block).is_ok();
        let entered_at_head = blocks.iter().filter(|&&block| block != head).all(|&block| {
            let start = program.entry.index() == block;
            !start && graph.incoming[block].iter().all(|&(from, _)| inside(from))
        });
        let ops = || blocks.iter().flat_map(|&block| &program.blocks[block].ops);
        let mut written = vec![false; program.regs.len()];
        ops().filter_map(|origin| origin.op.dst()).for_each(|reg| written[reg.index()] = true);
        let mut thresholds: BTreeSet<u64> = BTreeSet::from([0xff, 0xffff, 0xffff_ffff]);
        for origin in ops() {
            for at in compared(&origin.op) {
                thresholds.extend([at.wrapping_sub(1), at, at.wrapping_add(1)]);
            }
        }
        Loop {
            blocks,
            written: entered_at_head.then_some(written),
            thresholds: thresholds.into_iter().collect(),
        }
    }

    pub fn contains(&self, block: usize) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// Returns the constants that an operation may compare a value with.
fn compared(op: &Op) -> impl Iterator<Item = u64> + use<> {
    let of = |op, operand| match (op, operand) {
        (_, Operand::Reg(_)) => None,
        (
            BinaryOp::Eq | BinaryOp::Ult | BinaryOp::Slt | BinaryOp::Sub,
            Operand::Const { value, .. },
        ) => Some(value),
        (BinaryOp::Add, Operand::Const { value, width }) => {
            Some(value.wrapping_neg() & mask(width)).filter(|&negated| negated < value)
        }
        _ => None,
    };
    let constants = match *op {
        Op::Binary { op, a, b, .. } => [of(op, a), of(op, b)],
        _ => [None, None],
    };
    constants.into_iter().flatten()
}
