//! Walks over the program to create the lifted program. The walk follows control flow with the
//! abstract state, and lifts each block when it reaches it. A block whose state becomes less
//! precise is lifted again, until no state changes.

use slowpath_codes as codes;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use slowpath_ir::{Block, BlockId, Destination, Edge, Terminator};

use crate::lift::block::{Exits, LiftedBlock};
use crate::lift::error::{Cause, LiftError, VERIFIER};
use crate::lift::frame::ProgramPoint;
use crate::lift::lifter::Lifter;
use crate::lift::state::abstract_state::AbstractState;
use crate::lift::walk::incoming::{EdgeChange, IncomingStates};
use crate::lift::walk::order::{Order, Place};
use crate::lift::walk::unreachable::unreachable;

/// Maximum number of blocks after inlining of functions; larger programs are rejected.
const MAX_BLOCKS: usize = 200_000;

pub(in crate::lift) struct Blocks {
    /// All blocks, by block number; block 0 is the entry.
    pub blocks: Vec<Block>,
    /// Call depth of each block, by block number.
    pub depths: Vec<u8>,
    /// Numbers of blocks, by the program point at which the block starts.
    pub ids: HashMap<ProgramPoint, BlockId>,
}

/// Lifts all reachable code of a program.
pub(in crate::lift) fn blocks(lifter: &mut Lifter<'_>) -> Result<Blocks, LiftError> {
    let mut walk = Fixpoint::default();
    let start = lifter.entry();
    walk.reach(lifter, start, None, &Rc::new(AbstractState::start()))?;
    while let Some((_, id)) = walk.pending.pop_first() {
        let point = walk.points[id.index()];
        let state = walk.states[&point].clone();
        let lifted = lifter.lift_block(id, point, state, |_, _| {})?;
        let block = walk.block(lifter, point, lifted)?;
        walk.blocks[id.index()] = Some(block);
    }
    for program in lifter.code.programs() {
        if let Some(slot) = unreachable(program) {
            let cause = Cause::new(
                codes::REJECTED_BY_VERIFIER,
                "this instruction is unreachable",
                VERIFIER,
            );
            return Err(LiftError::at(program, slot, cause));
        }
    }
    let blocks = walk.blocks.into_iter().flatten().collect();
    Ok(Blocks { blocks, depths: walk.depths, ids: walk.ids })
}

/// State of a walk over the control flow of a program, with the blocks reached so far.
#[derive(Default)]
struct Fixpoint {
    /// Numbers of blocks by start point, in the order of discovery.
    ids: HashMap<ProgramPoint, BlockId>,
    /// Abstract states at the start of blocks, joined over all incoming edges.
    states: HashMap<ProgramPoint, AbstractState>,
    incoming: HashMap<ProgramPoint, IncomingStates>,
    /// Blocks to lift, for the first time or again, sorted by their position in the order of
    /// lifting.
    pending: BTreeSet<(Place, BlockId)>,
    order: Order,
    points: Vec<ProgramPoint>,
    blocks: Vec<Option<Block>>,
    depths: Vec<u8>,
}

impl Fixpoint {
    /// Returns the number of the block that starts at a point, and adds the block if it is new. The
    /// block is reached from the block that starts at `from`, with the abstract state `state`.
    /// `from` is `None` for the start of the program.
    fn reach(
        &mut self,
        lifter: &Lifter<'_>,
        point: ProgramPoint,
        from: Option<ProgramPoint>,
        state: &Rc<AbstractState>,
    ) -> Result<BlockId, LiftError> {
        let next = BlockId::from(self.ids.len());
        let id = *self.ids.entry(point).or_insert(next);
        let incoming = self.incoming.entry(point).or_default();
        if let Some(known) = self.states.get_mut(&point) {
            let here = (point.frame, point.slot);
            let changed = match incoming.add(from, state) {
                EdgeChange::Nothing => false,
                // This is equivalent to a new join of all edges, but cheaper.
                EdgeChange::Edge => known.join(state, here),
                EdgeChange::State => {
                    let joined = incoming.joined(here, Some(known));
                    let differs = *known != joined;
                    *known = joined;
                    differs
                }
            };
            if changed {
                self.pending.insert((self.order.place(lifter, point), id));
            }
        } else {
            incoming.add(from, state);
            self.states.insert(point, AbstractState::clone(state));
            self.blocks.push(None);
            self.depths.push(lifter.frames.get(point.frame).depth);
            self.points.push(point);
            self.pending.insert((self.order.place(lifter, point), id));
        }
        if self.blocks.len() > MAX_BLOCKS {
            let text = format!("the program has more than {MAX_BLOCKS} blocks after inlining");
            let hint = "use fewer or smaller functions, or call them from fewer places";
            return Err(LiftError::program(codes::TOO_MANY_STATES, text, hint));
        }
        Ok(id)
    }

    /// Converts a lifted block to its final form, in which edges lead to block numbers. Adds the
    /// successors of the block to the blocks to be lifted.
    fn block(
        &mut self,
        lifter: &mut Lifter<'_>,
        point: ProgramPoint,
        lifted: LiftedBlock,
    ) -> Result<Block, LiftError> {
        let LiftedBlock { first, insns, exits, state } = lifted;
        let (ops, costs) = lifter.take_work();
        let state = Rc::new(state);
        let edge = |target| Edge { target, costs: Vec::new() };
        let mut to = |next| {
            let block = self.reach(lifter, next, Some(point), &state)?;
            Ok(edge(Destination::Block(block)))
        };
        let terminator = match exits {
            Exits::End => Terminator::Jump(edge(Destination::Exit(0))),
            Exits::To(next) => Terminator::Jump(to(next)?),
            Exits::ExitOr(cond, next) => Terminator::Branch {
                cond,
                taken: edge(Destination::Exit(0)),
                fallthrough: to(next)?,
            },
            Exits::Assume(cond, next) => {
                Terminator::Branch { cond, taken: to(next)?, fallthrough: edge(Destination::Never) }
            }
            Exits::Branch(cond, yes, no) => {
                Terminator::Branch { cond, taken: to(yes)?, fallthrough: to(no)? }
            }
        };
        Ok(Block { first, insns, ops, costs, terminator })
    }
}
