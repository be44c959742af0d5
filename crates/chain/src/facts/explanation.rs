//! Explains why a fact about the packets that leave a program holds. An explanation consists of
//! branches that all of these packets take and that imply the fact, and of the instructions that
//! wrote the bytes.

use super::error::FactsError;
use super::fact::Fact;
use super::proof::{Answer, Proof};
use slowpath_bpf::insn::{Call, Insn};
use slowpath_ir::{Block, Field, InsnIdx, PacketFacts, Program, SourceLocation, Terminator};
use slowpath_smt::{TermId, minimise_core};
use std::collections::BTreeSet;

/// Maximum number of solver queries with which an explanation is reduced to fewer branches.
const MINIMISE_BUDGET: usize = 40;

/// An instruction of a program, and its source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsnLocation {
    /// Index of the instruction in the program.
    pub insn: u32,
    /// Source line of the instruction; `None` if it is not known.
    pub source: Option<SourceLocation>,
}

impl PartialOrd for InsnLocation {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InsnLocation {
    /// Compares two locations by instruction index. Both must be in the same program.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.insn.cmp(&other.insn)
    }
}

impl InsnLocation {
    pub(super) fn of(program: &Program, insn: u32) -> InsnLocation {
        let source = program.insns.get(insn as usize).and_then(|insn| insn.source.clone());
        InsnLocation { insn, source }
    }

    /// Returns the location of the branch at the end of a basic block. Compilers give no source
    /// line to some branches, such as merged ones. Then the line of the nearest earlier instruction
    /// in the block is used, such as that of the comparison.
    pub(super) fn of_branch(program: &Program, block: &Block) -> InsnLocation {
        let insn = block.insns.last().map_or(block.first.0, |insn| insn.0);
        let mut before = block.insns.iter().rev().map(|insn| InsnLocation::of(program, insn.0));
        let source = before.find_map(|place| place.source);
        InsnLocation { insn, source }
    }
}

/// The explanation of a fact about packets that leave a program: the branches and stores from which
/// the fact follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Branches from which the fact follows, in the order of the program.
    pub branches: Vec<InsnLocation>,
    /// Instructions that wrote the packet bytes that the fact is about.
    pub stores: Vec<InsnLocation>,
    /// True if the fact also depends on facts that were known about arriving packets.
    pub arrived: bool,
}

impl Explanation {
    /// Returns the source lines of all branches and stores, without duplicates, in the order of the
    /// program.
    pub fn lines(&self) -> Vec<SourceLocation> {
        let mut places: Vec<&InsnLocation> = self.branches.iter().chain(&self.stores).collect();
        places.sort_unstable();
        let mut lines: Vec<SourceLocation> = Vec::new();
        for line in places.into_iter().filter_map(|place| place.source.clone()) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

pub(super) fn explain(
    proof: &mut Proof,
    facts: &PacketFacts,
    fact: &Fact,
) -> Result<Explanation, FactsError> {
    let pool = &mut proof.unrolled.executor.pool;
    let packet = &proof.packet;
    let (wrong, fields): (Option<TermId>, Vec<Field>) = match *fact {
        Fact::MinLength => (Some(packet.shorter(pool, facts.min_length)), Vec::new()),
        Fact::MaxLength => (Some(packet.longer(pool, facts.max_length)), Vec::new()),
        Fact::Bits(offset) => {
            let bits = facts.bits.get(&offset);
            let wrong = bits.and_then(|&bits| packet.wrong_bits(pool, offset, bits));
            (wrong, vec![Field { offset, bytes: 1 }])
        }
        Fact::Values(field) => {
            let values = facts.values.get(&field);
            (values.and_then(|values| packet.wrong_values(pool, field, values)), vec![field])
        }
        Fact::Equal(first, second) => {
            (packet.wrong_equal(pool, (first, second)), vec![first, second])
        }
        Fact::HeadRoom | Fact::Metadata => (None, Vec::new()),
    };
    let wrong = wrong.ok_or_else(|| FactsError::NotExpressible("there is no such fact".into()))?;
    let mut explanation = Explanation::default();
    if proof.unrolled.executor.pool.as_const(wrong) != Some(0) {
        match proof.ask(&[wrong])? {
            Answer::Unsat(core) => {
                let mut conditions = proof.conditions();
                conditions.push(wrong);
                explanation = reasons(proof, &conditions, &core)?;
            }
            Answer::Unknown(why) => return Err(FactsError::Undecided(why)),
            Answer::Sat(_) => {
                return Err(FactsError::NotExpressible("a fact no longer holds".into()));
            }
        }
    }
    let mut stores = BTreeSet::new();
    for field in fields {
        for offset in field.offset..field.offset + u16::from(field.bytes) {
            let executor = &mut proof.unrolled.executor;
            let at = proof.departure.place(executor, offset);
            let gated = &mut proof.departure.gated;
            let (writers, initial) =
                gated.paths.writers(executor, &gated.state, proof.region, at)?;
            stores.extend(writers);
            // Known bits of arriving packets are constants, so no condition mentions them.
            explanation.arrived |= initial && explanation.branches.is_empty();
        }
    }
    let program = proof.unrolled.executor.program();
    explanation.stores = stores.into_iter().map(|insn| InsnLocation::of(program, insn)).collect();
    Ok(explanation)
}

/// Returns an explanation that consists of the calls of the given helpers in executed blocks of the
/// program.
pub(super) fn calls(proof: &Proof, helpers: &[i32]) -> Explanation {
    let program = proof.unrolled.executor.program();
    let called = |insn: &InsnIdx| match proof.code.get(insn.index()) {
        Some(Insn::Call(Call::Helper(number))) => helpers.contains(number),
        _ => false,
    };
    let blocks = proof.unrolled.dag.nodes.iter().map(|node| program.block(node.block));
    let insns: BTreeSet<u32> = blocks
        .flat_map(|block| &block.insns)
        .filter(|insn| called(insn))
        .map(|insn| insn.0)
        .collect();
    let stores = insns.into_iter().map(|insn| InsnLocation::of(program, insn)).collect();
    Explanation { stores, ..Explanation::default() }
}

/// Explains why no packet leaves the program: finds the branches that exclude each other.
pub(super) fn never(proof: &mut Proof, core: &[usize]) -> Result<Explanation, FactsError> {
    let conditions = proof.conditions();
    reasons(proof, &conditions, core)
}

/// Returns the branches that require contradictory conditions, after reducing `core` to fewer
/// conditions. `core` lists the positions of contradictory conditions in `conditions`.
fn reasons(
    proof: &mut Proof,
    conditions: &[TermId],
    core: &[usize],
) -> Result<Explanation, FactsError> {
    let pool = &mut proof.unrolled.executor.pool;
    let core = minimise_core(&mut proof.solver, pool, conditions, core, MINIMISE_BUDGET)?;
    let program = proof.unrolled.executor.program();
    let gates = &proof.departure.gates;
    let mut branches = BTreeSet::new();
    for gate in core.iter().filter_map(|&index| gates.get(index)) {
        for &arc in &gate.arcs {
            let dag = &proof.unrolled.dag;
            let block = program.block(dag[dag[arc].tail].block);
            if let Terminator::Branch { .. } = block.terminator {
                branches.insert(InsnLocation::of_branch(program, block));
            }
        }
    }
    let known = gates.len()..gates.len() + proof.arrived.len();
    Ok(Explanation {
        branches: branches.into_iter().collect(),
        stores: Vec::new(),
        arrived: core.iter().any(|index| known.contains(index)),
    })
}
