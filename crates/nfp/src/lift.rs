//! Meaning of listings: from instructions to blocks of micro-operations.
//!
//! Condition codes, the carry between two halves of a 64-bit operation, both register banks and
//! the transfer registers become ordinary registers. Every condition code is computed where it is
//! written; what nothing reads is removed at the end. Costs are named here and priced elsewhere.
//!
//! Where the behaviour of the device is not known (the previous ALU result after an unfinished
//! multiplication, say), the value is marked undefined, and the program is refused if something
//! reads it.

mod alu;
mod cost;
mod dispatch;
mod emit;
mod error;
mod field;
mod flow;
mod known;
mod local;
mod machine;
mod memory;
mod multiply;
mod shift;
mod start;

pub use error::{LiftCause, LiftError};

use slowpath_ir::{
    Block, BlockId, CostEvent, Edge, Input, InputId, InputKind, InsnIdx, Instruction, Op, Program,
    Target, Terminator, eliminate_dead_operations,
};

use crate::Listing;
use cost::CostClasses;
use flow::{BlockPlan, BranchPlan, Goal};
use machine::Machine;

/// What the lifter takes as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiftOptions {
    /// Length of the shortest packet in bytes, without frame check sequence.
    pub min_packet: u16,
    /// Length of the longest packet in bytes, without frame check sequence; at most 16383.
    pub max_packet: u16,
}

impl Default for LiftOptions {
    /// From the minimum of Ethernet, 60 bytes, to the usual MTU, 1500 bytes.
    fn default() -> Self {
        LiftOptions { min_packet: 60, max_packet: 1500 }
    }
}

/// Gives a listing its meaning. Instructions that cannot be reached from `.0` have none.
///
/// # Errors
/// [`LiftError`] for control flow that the device does not have, for instructions whose meaning is
/// not known, and for options that no packet fits.
pub fn lift(listing: &Listing, name: &str, options: &LiftOptions) -> Result<Program, LiftError> {
    if options.min_packet > options.max_packet || options.max_packet > start::MAX_PACKET_LENGTH {
        let LiftOptions { min_packet: min, max_packet: max } = *options;
        return Err(LiftError::PacketLengths { min, max });
    }
    let plans = flow::plan(listing)?;
    let mut lifter = Lifter {
        listing,
        machine: Machine::new(start::FIXED_INPUTS),
        classes: CostClasses::default(),
        plans: &plans,
    };
    let mut blocks = Vec::with_capacity(plans.len());
    for plan in &plans {
        blocks.push(lifter.block(plan)?);
    }
    let Lifter { mut machine, classes, .. } = lifter;
    let start = start::Start::new(&mut machine, options);
    let mut inputs = start.inputs;
    inputs.extend(machine.undefined.iter().map(|undefined| Input {
        name: undefined.what.into(),
        width: undefined.width,
        min: 0,
        max: known::mask(undefined.width),
        kind: InputKind::Unknown,
    }));
    let mut program = Program {
        name: name.to_owned(),
        insns: listing
            .insns()
            .map(|insn| Instruction { text: insn.to_string(), source: None })
            .collect(),
        regs: std::mem::take(&mut machine.emit.regs),
        inputs,
        regions: start.regions,
        cost_classes: classes.into_names(),
        prologue: Vec::new(),
        blocks,
        entry: BlockId(0),
        packet_length: Some(start::PACKET_LENGTH),
        assumptions: Vec::new(),
    };
    eliminate_dead_operations(&mut program);
    refuse_undefined(listing, &program, &machine)?;
    program.inputs.truncate(start::FIXED_INPUTS);
    start::prologue(&mut program, machine, &start.bases);
    debug_assert_eq!(program.validate(), Ok(()));
    Ok(program)
}

/// Refuses a program that reads what an instruction has left undefined.
fn refuse_undefined(
    listing: &Listing,
    program: &Program,
    machine: &Machine,
) -> Result<(), LiftError> {
    for origin in program.blocks.iter().flat_map(|block| &block.ops) {
        if let Op::Input { input: InputId(id), .. } = origin.op {
            let index = (id as usize).saturating_sub(start::FIXED_INPUTS);
            let what = machine.undefined[index].what;
            let cause = LiftCause::Undefined { what };
            return Err(LiftError::at(listing, origin.insn.index(), cause));
        }
    }
    Ok(())
}

struct Lifter<'a> {
    listing: &'a Listing,
    machine: Machine,
    classes: CostClasses,
    plans: &'a [BlockPlan],
}

impl Lifter<'_> {
    fn block(&mut self, plan: &BlockPlan) -> Result<Block, LiftError> {
        self.machine.begin_block();
        let mut insns = Vec::new();
        let mut costs = Vec::new();
        for number in plan.body.clone() {
            insns.push(InsnIdx::from(number));
            costs.push(self.insn(number)?);
        }
        let terminator = match &plan.branch {
            None => {
                Terminator::Jump(Edge { target: self.target(Goal::Insn(plan.next)), costs: vec![] })
            }
            Some(branch) => self.branch(plan, branch, &mut insns)?,
        };
        self.settle_local_bases(plan)?;
        let first = InsnIdx::from(plan.body.start);
        Ok(Block { first, insns, ops: self.machine.emit.take_ops(), costs, terminator })
    }

    /// Lifts the branch at the end of a block and its delay slots, which run in either direction.
    fn branch(
        &mut self,
        plan: &BlockPlan,
        branch: &BranchPlan,
        insns: &mut Vec<InsnIdx>,
    ) -> Result<Terminator, LiftError> {
        let insn = InsnIdx::from(branch.number);
        insns.push(insn);
        self.machine.begin_insn(branch.number);
        let cond = self.machine.condition(branch.condition);
        let mut slots = Vec::new();
        for number in branch.slots.clone() {
            insns.push(InsnIdx::from(number));
            slots.push(self.insn(number)?);
        }
        let edge = |lifter: &mut Self, class: &'static str, goal: Goal| {
            let event = CostEvent { insn, class: lifter.classes.id(class) };
            let costs = std::iter::once(event).chain(slots.iter().copied()).collect();
            Edge { target: lifter.target(goal), costs }
        };
        Ok(match cond {
            None => Terminator::Jump(edge(self, cost::BRANCH, branch.goal)),
            Some(cond) => Terminator::Branch {
                cond,
                taken: edge(self, cost::BRANCH_TAKEN, branch.goal),
                fallthrough: edge(self, cost::BRANCH_NOT_TAKEN, Goal::Insn(plan.next)),
            },
        })
    }

    fn target(&self, goal: Goal) -> Target {
        match goal {
            Goal::Exit(number) => Target::Exit(number),
            // Every instruction that a block leads to starts a block.
            Goal::Insn(number) => {
                let index = self.plans.partition_point(|plan| plan.body.start < number);
                Target::Block(BlockId::from(index))
            }
        }
    }

    /// Lifts an instruction that is no branch.
    fn insn(&mut self, number: usize) -> Result<CostEvent, LiftError> {
        let insn = self.listing.numbered()[number].insn;
        self.machine.begin_insn(number);
        let result = self.machine.insn(&insn);
        result.map_err(|cause| LiftError::at(self.listing, number, cause))?;
        self.machine.end_insn(&insn);
        let class = self.classes.id(cost::class_of(&insn));
        Ok(CostEvent { insn: InsnIdx::from(number), class })
    }

    /// Lets writes of local-memory bases that are still on their way take effect, which is right
    /// if no instruction uses them before they would.
    fn settle_local_bases(&mut self, plan: &BlockPlan) -> Result<(), LiftError> {
        for pending in self.machine.take_pending() {
            let user = flow::local_user_behind(self.listing, plan, pending.left, pending.index);
            if let Some(user) = user {
                let cause =
                    LiftCause::LocalBaseOnItsWay { index: pending.index, user: user as u32 };
                return Err(LiftError::at(self.listing, pending.number, cause));
            }
            self.machine.set_local_base(pending.index, pending.value);
        }
        Ok(())
    }
}
