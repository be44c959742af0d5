//! Translates a basic block of the listing to a block of the program, with its instructions, its
//! branch and its costs.

use slowpath_ir::{
    BinaryOp, Block, BlockId, CostEvent, Destination, Edge, Emit, InsnIdx, Operand as Value, Reg,
    Terminator,
};

use super::core_state::CoreState;
use super::cost::{self, CostClasses};
use super::error::LiftError;
use super::flow::{self, BasicBlock, BlockBranch, BlockKey, BranchTarget, Decision};
use super::start;
use crate::Listing;
use crate::listing::FIRST_EXIT;

/// Translator from the basic blocks of a listing to the blocks of the program.
pub(super) struct Lifter<'a> {
    listing: &'a Listing,
    pub core: CoreState,
    pub classes: CostClasses,
    /// Assumptions under which the translation is correct, one sentence each.
    pub assumptions: Vec<String>,
    basic_blocks: &'a [(BlockKey, BasicBlock)],
    /// Blocks to append after those of the listing, one for each return instruction. Control
    /// reaches such a block if the return address in the register is not that of the current call.
    unexpected_returns: Vec<Block>,
}

impl<'a> Lifter<'a> {
    pub fn new(listing: &'a Listing, basic_blocks: &'a [(BlockKey, BasicBlock)]) -> Self {
        Lifter {
            listing,
            core: CoreState::new(start::FIXED_INPUTS),
            classes: CostClasses::default(),
            assumptions: Vec::new(),
            basic_blocks,
            unexpected_returns: Vec::new(),
        }
    }

    /// Returns all blocks: those of the listing in the order of `basic_blocks`, then the blocks for
    /// unexpected returns.
    pub fn blocks(&mut self) -> Result<Vec<Block>, LiftError> {
        let mut blocks = Vec::with_capacity(self.basic_blocks.len());
        for (_, basic) in self.basic_blocks {
            blocks.push(self.block(basic)?);
        }
        blocks.append(&mut self.unexpected_returns);
        Ok(blocks)
    }

    fn block(&mut self, basic: &BasicBlock) -> Result<Block, LiftError> {
        self.core.begin_block();
        let mut insns = Vec::new();
        let mut costs = Vec::new();
        for number in basic.body.clone() {
            insns.push(InsnIdx::from(number));
            costs.push(self.insn(number)?);
        }
        let terminator = match &basic.branch {
            None => {
                let target = target_of(self.basic_blocks, BranchTarget::Block(basic.next));
                Terminator::Jump(Edge { target, costs: vec![] })
            }
            Some(branch) => self.branch(basic, branch, &mut insns)?,
        };
        let last = insns.last().map_or(basic.body.start, |insn| insn.index());
        self.core.check_block_end().map_err(|cause| LiftError::at(self.listing, last, cause))?;
        self.apply_pending_bases(basic)?;
        let first = InsnIdx::from(basic.body.start);
        Ok(Block { first, insns, ops: self.core.emit.take_ops(), costs, terminator })
    }

    /// Lifts the branch at the end of a block and its delay slots, which run even if the branch is
    /// not taken.
    fn branch(
        &mut self,
        basic: &BasicBlock,
        branch: &BlockBranch,
        insns: &mut Vec<InsnIdx>,
    ) -> Result<Terminator, LiftError> {
        let insn = InsnIdx::from(branch.number);
        insns.push(insn);
        self.core.begin_insn(branch.number);
        let refused = |cause| LiftError::at(self.listing, branch.number, cause);
        self.core.check_block_end().map_err(refused)?;
        // Delay slots may write the operands of the condition. The branch uses the earlier values.
        let decided: Option<Reg> = match branch.decision {
            Decision::Always => None,
            Decision::ConditionCodes(condition) => self.core.condition(condition),
            Decision::Bit(src, bit, set) => Some(self.core.bit_condition(src, bit, set)),
            Decision::Return(src, back) => {
                let address = self.core.source(src);
                let expected = Value::constant(32, back as u64);
                let arrives = self.core.emit.binary(BinaryOp::Eq, address, expected);
                Some(self.core.captured(arrives))
            }
        };
        let mut slots = Vec::new();
        for number in branch.slots.clone() {
            insns.push(InsnIdx::from(number));
            slots.push(self.insn(number)?);
        }
        let mut class = |name| CostEvent { insn, class: self.classes.id(name) };
        let (taken, work) = match branch.decision {
            Decision::ConditionCodes(_) if decided.is_some() => (cost::BRANCH_TAKEN, None),
            _ => (cost::BRANCH, branch.firmware.map(|called| class(called.cost_class()))),
        };
        if let Some(called) = branch.firmware {
            self.core.begin_insn(branch.number);
            self.core.call_firmware(called);
            self.assumptions.push(format!(
                "the firmware's {} (.{}) returns any value and changes no memory that the program \
                 reads otherwise",
                called.name(),
                branch.number
            ));
        }
        let mut edge = |class: &'static str, target: Destination| {
            let event = CostEvent { insn, class: self.classes.id(class) };
            let slots = slots.iter().copied();
            Edge { target, costs: std::iter::once(event).chain(slots).chain(work).collect() }
        };
        Ok(match (decided, branch.decision) {
            (None, _) => Terminator::Jump(edge(taken, target_of(self.basic_blocks, branch.target))),
            (Some(cond), Decision::Return(_, back)) => {
                let taken = edge(taken, target_of(self.basic_blocks, branch.target));
                let number = self.basic_blocks.len() + self.unexpected_returns.len();
                let fallthrough = edge(cost::BRANCH, Destination::Block(BlockId::from(number)));
                self.unexpected_returns.push(unexpected_return(&mut self.core, insn, back));
                Terminator::Branch { cond, taken, fallthrough }
            }
            (Some(cond), _) => {
                let taken = edge(taken, target_of(self.basic_blocks, branch.target));
                let next = target_of(self.basic_blocks, BranchTarget::Block(basic.next));
                let fallthrough = edge(cost::BRANCH_NOT_TAKEN, next);
                Terminator::Branch { cond, taken, fallthrough }
            }
        })
    }

    /// Lifts an instruction other than a branch.
    fn insn(&mut self, number: usize) -> Result<CostEvent, LiftError> {
        let insn = self.listing.numbered()[number].insn;
        self.core.begin_insn(number);
        let result = self.core.insn(&insn);
        result.map_err(|cause| LiftError::at(self.listing, number, cause))?;
        self.core.end_insn(&insn);
        let class = self.classes.id(cost::class_of(&insn));
        Ok(CostEvent { insn: InsnIdx::from(number), class })
    }

    /// Applies the pending writes of base registers of local memory. Returns an error if an
    /// instruction uses one of the registers before its write takes effect.
    fn apply_pending_bases(&mut self, basic: &BasicBlock) -> Result<(), LiftError> {
        for pending in self.core.take_pending() {
            let user = flow::local_user_behind(self.listing, basic, pending);
            if let Some(user) = user {
                let cause =
                    super::LiftCause::LocalBasePending { index: pending.index, user: user as u32 };
                return Err(LiftError::at(self.listing, pending.number, cause));
            }
            self.core.set_local_base(pending.index, pending.value);
        }
        Ok(())
    }
}

fn target_of(basic_blocks: &[(BlockKey, BasicBlock)], target: BranchTarget) -> Destination {
    match target {
        BranchTarget::Exit(number) => Destination::Exit(number),
        // The first instruction of every successor starts a block.
        BranchTarget::Block(place) => Destination::Block(BlockId::from(
            basic_blocks.partition_point(|&(known, _)| known < place),
        )),
    }
}

/// Returns the block that control reaches if a return address is not `back`. The branch at the end
/// of this block reads a register that no instruction writes. A program in which control can reach
/// the block is therefore invalid.
fn unexpected_return(core: &mut CoreState, insn: InsnIdx, back: usize) -> Block {
    let name = format!("for return addresses other than .{back}");
    let cond = core.emit.named(name, 1);
    let exit = || Edge { target: Destination::Exit(FIRST_EXIT), costs: Vec::new() };
    let terminator = Terminator::Branch { cond, taken: exit(), fallthrough: exit() };
    Block { first: insn, insns: Vec::new(), ops: Vec::new(), costs: Vec::new(), terminator }
}
