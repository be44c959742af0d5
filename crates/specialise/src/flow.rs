//! Compares the basic blocks of a program before and after rewriting, so that the difference can be
//! displayed.

use crate::error::SpecialiseError;
use crate::graph::{End, Graph};
use crate::passes::Change;
use crate::pipeline::Specialised;
use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Call, Imm64, Insn};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Kind of a control-flow edge between blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// The only edge that leaves a block.
    Always,
    /// The edge that is taken if the condition of the branch holds.
    Taken,
    /// The edge that is taken if the condition of the branch does not hold.
    NotTaken,
}

/// A basic block, with the blocks that can follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBlock {
    /// Instruction slots of the block.
    pub slots: Range<usize>,
    /// The blocks that can follow this block: the index of each in the list of blocks, and the kind
    /// of the edge.
    pub next: Vec<(usize, EdgeKind)>,
}

/// The effect of rewriting on an instruction of the original program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The instruction is unchanged.
    Kept,
    /// Another instruction replaces this instruction.
    Changed,
    /// The instruction was removed.
    Removed,
}

/// The part of a rewritten program that a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Code that was rewritten.
    Rewritten,
    /// Checks, at the entry of the program, of the facts on which the rewritten code relies.
    Guard,
    /// The unchanged original code, which runs for packets that fail a check of the guard at the
    /// entry.
    Original,
}

/// Returns the basic blocks of a program, ordered by slot.
///
/// # Errors
/// The same as those of [`crate::specialise`].
pub fn blocks(program: &BpfProgram) -> Result<Vec<FlowBlock>, SpecialiseError> {
    let graph = Graph::of(program)?;
    let first = |block: &crate::graph::Block| {
        block.insns.first().map_or(block.origin, |instr| instr.origin)
    };
    let mut firsts: Vec<usize> = graph.blocks.iter().map(first).collect();
    firsts.push(program.insns.len());
    let flow = |(number, block): (usize, &crate::graph::Block)| {
        let ways: &[EdgeKind] = match block.end {
            End::Branch { .. } | End::MayGoto { .. } => &[EdgeKind::Taken, EdgeKind::NotTaken],
            _ => &[EdgeKind::Always],
        };
        let next = block.end.successors().zip(ways.iter().copied()).collect();
        FlowBlock { slots: firsts[number]..firsts[number + 1], next }
    };
    Ok(graph.blocks.iter().enumerate().map(flow).collect())
}

/// A comparison of a program with its rewritten form, block by block.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Blocks of the original program.
    pub before: Vec<FlowBlock>,
    /// Blocks of the rewritten program.
    pub after: Vec<FlowBlock>,
    /// Effect of rewriting on the instruction in each slot of the original program, by slot.
    pub fates: Vec<Fate>,
    /// Edges of the original program that no packet takes. Each consists of the index of a block,
    /// and the index of the edge in the block's `next`.
    pub never: BTreeSet<(usize, usize)>,
    /// Indices of the blocks of the original program that no packet reaches.
    pub unreached: BTreeSet<usize>,
    /// Part of the rewritten program that each of its blocks belongs to, by block index.
    pub parts: Vec<Part>,
    /// Slots of the rewritten program at which the instruction differs from the original.
    pub changed: BTreeSet<usize>,
}

/// Compares a program with its rewritten form.
///
/// # Errors
/// The same as those of [`crate::specialise`].
pub fn compare(program: &BpfProgram, made: &Specialised) -> Result<Compared, SpecialiseError> {
    let (before, after) = (blocks(program)?, blocks(&made.program)?);
    let parts = parts(program, made, &after);
    let copies = copies(made, &after, &parts);
    let mut fates = Vec::with_capacity(program.insns.len());
    for (slot, insn) in program.insns.iter().enumerate() {
        let fate = match copies.get(&slot) {
            // The second slot of a wide instruction has the same result as the first.
            _ if *insn == Insn::SecondSlot => fates.last().copied().unwrap_or(Fate::Removed),
            None => Fate::Removed,
            Some(copies) if copies.iter().any(|copy| same(*insn, *copy)) => Fate::Kept,
            Some(_) => Fate::Changed,
        };
        fates.push(fate);
    }
    let never = never(&before, made, &copies);
    let mut unreached: BTreeSet<usize> = (0..before.len()).collect();
    let starts: BTreeSet<usize> =
        program.subprograms.iter().map(|function| function.first).collect();
    let entries =
        before.iter().enumerate().filter(|(_, block)| starts.contains(&block.slots.start));
    let mut open: Vec<usize> = entries.map(|(number, _)| number).collect();
    while let Some(at) = open.pop() {
        if unreached.remove(&at) {
            let ways = before[at].next.iter().enumerate();
            open.extend(
                ways.filter(|(way, _)| !never.contains(&(at, *way))).map(|(_, next)| next.0),
            );
        }
    }
    // A block is not unreachable if one of its instructions is still there.
    unreached.retain(|&number| {
        before[number].slots.clone().all(|slot| fates.get(slot) == Some(&Fate::Removed))
    });
    let differs = |slot: &usize| {
        let (insn, origin) = (made.program.insns[*slot], made.origins[*slot]);
        insn != Insn::SecondSlot && !program.insns.get(origin).is_some_and(|was| same(*was, insn))
    };
    let changed = (0..made.program.insns.len()).filter(differs).collect();
    Ok(Compared { before, after, fates, never, unreached, parts, changed })
}

/// Returns, for each block of a rewritten program, the part that the block belongs to.
fn parts(program: &BpfProgram, made: &Specialised, after: &[FlowBlock]) -> Vec<Part> {
    let Some(guard) = &made.guard else { return vec![Part::Rewritten; after.len()] };
    let first = guard.original;
    let length = program.subprograms.get(1).map_or(program.insns.len(), |second| second.first);
    let original = first..first + length;
    let part = |block: &FlowBlock| {
        // Only a guard jumps to the original.
        let leads = |(next, _): &(usize, EdgeKind)| after[*next].slots.start == first;
        match original.contains(&block.slots.start) {
            true => Part::Original,
            false if block.next.iter().any(leads) => Part::Guard,
            false => Part::Rewritten,
        }
    };
    after.iter().map(part).collect()
}

/// Returns, for each slot of the original program, the copies of its instruction in the rewritten
/// part of the program.
fn copies(made: &Specialised, after: &[FlowBlock], parts: &[Part]) -> BTreeMap<usize, Vec<Insn>> {
    let mut copies: BTreeMap<usize, Vec<Insn>> = BTreeMap::new();
    let rewritten = after.iter().zip(parts).filter(|(_, part)| **part == Part::Rewritten);
    for slot in rewritten.flat_map(|(block, _)| block.slots.clone()) {
        copies.entry(made.origins[slot]).or_default().push(made.program.insns[slot]);
    }
    copies
}

/// Returns the edges of the original program that no packet takes: the other edge of each branch
/// with a known outcome, unless the rewritten program still contains the branch.
fn never(
    before: &[FlowBlock],
    made: &Specialised,
    copies: &BTreeMap<usize, Vec<Insn>>,
) -> BTreeSet<(usize, usize)> {
    let mut changes: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
    for dropped in &made.changes {
        changes.entry(dropped.slot).or_default().push(dropped.change);
    }
    let mut never = BTreeSet::new();
    for (number, block) in before.iter().enumerate() {
        let branch = block.slots.end - 1;
        let left = copies.get(&branch).into_iter().flatten();
        if left.copied().any(|insn| matches!(insn, Insn::Branch { .. } | Insn::MayGoto { .. })) {
            continue;
        }
        let unused = match changes.get(&branch).map(Vec::as_slice) {
            Some([Change::AlwaysTaken]) => EdgeKind::NotTaken,
            Some([Change::NeverTaken]) => EdgeKind::Taken,
            _ => continue,
        };
        let ways = block.next.iter().enumerate().filter(|(_, (_, way))| *way == unused);
        never.extend(ways.map(|(way, _)| (number, way)));
    }
    never
}

/// Returns true if two instructions differ at most in their jump distances.
fn same(one: Insn, other: Insn) -> bool {
    near(one) == near(other)
}

/// Returns the instruction with a jump distance of zero, for comparisons that ignore the distance.
fn near(insn: Insn) -> Insn {
    match insn {
        Insn::Branch { width, cond, dst, src, .. } => {
            Insn::Branch { width, cond, dst, src, offset: 0 }
        }
        Insn::Jump { .. } => Insn::Jump { offset: 0, long: false },
        Insn::MayGoto { .. } => Insn::MayGoto { offset: 0 },
        Insn::Call(Call::Subprogram { .. }) => Insn::Call(Call::Subprogram { offset: 0 }),
        Insn::LoadImm64 { dst, value: Imm64::Function { .. } } => {
            Insn::LoadImm64 { dst, value: Imm64::Function { offset: 0 } }
        }
        insn => insn,
    }
}

#[cfg(test)]
mod tests;
