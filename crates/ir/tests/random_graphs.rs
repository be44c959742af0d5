//! Compares the loops and live registers that the crate computes for random programs with those
//! from direct implementations of the definitions.

use crate::common;

use common::{copy, program};
use proptest::prelude::*;
use slowpath_ir::{
    BlockId, FlowError, FlowGraph, Liveness, Operand, Program, Reg, Terminator,
    eliminate_dead_operations,
};

const REGS: u32 = 4;

/// Generates programs with random branches, and random copies between the registers 1 to 3.
fn any_program() -> impl Strategy<Value = Program> {
    let block = |blocks: u32| {
        let edges = prop::collection::vec(0..blocks + 2, 1..=2);
        let copies = prop::collection::vec((1..REGS, prop::option::of(1..REGS)), 0..4);
        (edges, copies)
    };
    (1u32..12)
        .prop_flat_map(move |blocks| prop::collection::vec(block(blocks), blocks as usize))
        .prop_map(|blocks| {
            let edges: Vec<&[u32]> = blocks.iter().map(|(edges, _)| &edges[..]).collect();
            let mut program = program(&edges);
            for (block, (_, copies)) in program.blocks.iter_mut().zip(&blocks) {
                let source = |from: Option<u32>| {
                    from.map_or(Operand::constant(8, 7), |from| Reg(from).into())
                };
                block.ops.extend(copies.iter().map(|&(dst, from)| copy(dst, source(from))));
            }
            program
        })
}

fn successors(program: &Program, block: usize) -> Vec<usize> {
    program.blocks[block].terminator.successors().map(BlockId::index).collect()
}

/// Returns true if a path of at least one edge leads from `from` to `to` without leaving `blocks`.
fn leads(program: &Program, blocks: &[usize], from: usize, to: usize) -> bool {
    let mut seen = vec![false; program.blocks.len()];
    let mut work = successors(program, from);
    while let Some(block) = work.pop() {
        if !blocks.contains(&block) || std::mem::replace(&mut seen[block], true) {
            continue;
        }
        if block == to {
            return true;
        }
        work.extend(successors(program, block));
    }
    false
}

/// Returns true if a path from the start of `block` reads `reg` before it writes it.
fn is_live(program: &Program, block: usize, reg: Reg) -> bool {
    let mut seen = vec![false; program.blocks.len()];
    let mut work = vec![block];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        let mut written = false;
        for origin in &program.blocks[block].ops {
            if !written && origin.op.operands().any(|operand| operand == Operand::Reg(reg)) {
                return true;
            }
            written |= origin.op.dst() == Some(reg);
        }
        let terminator = &program.blocks[block].terminator;
        if !written && matches!(terminator, Terminator::Branch { cond, .. } if *cond == reg) {
            return true;
        }
        if !written {
            work.extend(successors(program, block));
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn live_registers_are_read_before_they_are_written(program in any_program()) {
        let liveness = Liveness::of(&program);
        for block in 0..program.blocks.len() {
            let found: Vec<Reg> = liveness.live_in(BlockId::from(block)).collect();
            let expected: Vec<Reg> =
                (0..REGS).map(Reg).filter(|&reg| is_live(&program, block, reg)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    /// Checks that dead operations are removed: an operation stays if and only if a later operation
    /// that stays, a branch or another block reads its result.
    #[test]
    fn dead_operations_are_removed(program in any_program()) {
        let mut less = program.clone();
        eliminate_dead_operations(&mut less);
        for (block, (before, after)) in program.blocks.iter().zip(&less.blocks).enumerate() {
            let liveness = Liveness::of(&program);
            let mut live: Vec<Reg> = successors(&program, block)
                .into_iter()
                .flat_map(|next| liveness.live_in(BlockId::from(next)).collect::<Vec<_>>())
                .collect();
            if let Terminator::Branch { cond, .. } = before.terminator {
                live.push(cond);
            }
            let mut kept = Vec::new();
            for origin in before.ops.iter().rev() {
                let Some(dst) = origin.op.dst().filter(|dst| live.contains(dst)) else { continue };
                live.retain(|&reg| reg != dst);
                live.extend(origin.op.operands().filter_map(|operand| match operand {
                    Operand::Reg(reg) => Some(reg),
                    Operand::Const { .. } => None,
                }));
                kept.insert(0, *origin);
            }
            prop_assert_eq!(&after.ops, &kept);
        }
    }

    /// Checks that each loop consists of blocks that can reach each other without the headers of
    /// enclosing loops. Also checks that each loop has one entry.
    #[test]
    fn loops_are_strongly_connected(program in any_program()) {
        let entered = |members: &[usize]| -> Vec<usize> {
            let all: Vec<usize> = (0..program.blocks.len()).collect();
            let reachable = |&block: &usize| block == 0 || leads(&program, &all, 0, block);
            let outside = |block: &usize| reachable(block) && !members.contains(block);
            let from: Vec<usize> = all.iter().copied().filter(outside).collect();
            let targets = from.iter().flat_map(|&block| successors(&program, block));
            let mut entries: Vec<usize> =
                targets.chain([0]).filter(|target| members.contains(target)).collect();
            entries.sort_unstable();
            entries.dedup();
            entries
        };
        match FlowGraph::of(&program) {
            Err(FlowError::Irreducible { header, other }) => prop_assert_ne!(header, other),
            Ok(flow) => {
                let of = |blocks: &[BlockId]| blocks.iter().map(|b| b.index()).collect::<Vec<_>>();
                for (index, found) in flow.loops.iter().enumerate() {
                    let members = of(&found.blocks);
                    prop_assert_eq!(entered(&members), [found.header.index()]);
                    let around = match found.parent {
                        Some(parent) => {
                            let parent = &flow.loops[parent.index()];
                            let mut blocks = of(&parent.blocks);
                            blocks.retain(|&block| block != parent.header.index());
                            blocks
                        }
                        None => of(&flow.order),
                    };
                    for &block in &around {
                        let header = found.header.index();
                        let both = leads(&program, &around, header, block)
                            && leads(&program, &around, block, header);
                        prop_assert_eq!(members.contains(&block), both, "loop {}", index);
                    }
                }
                for &block in &of(&flow.order) {
                    let inside = flow.innermost[block].is_some();
                    prop_assert_eq!(inside, leads(&program, &of(&flow.order), block, block));
                }
            }
        }
    }
}
