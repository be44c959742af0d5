//! The walk that makes the lifted program: follows control flow with what is known about values, and
//! has each block lifted when it is reached, again if less turns out to be known there, until nothing
//! changes.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use slowpath_ir::{Block, BlockId, Edge, Target, Terminator};

use crate::lift::block::{Exits, LiftedBlock};
use crate::lift::error::{Cause, LiftError, VERIFIER};
use crate::lift::frame::Place;
use crate::lift::lifter::Lifter;
use crate::lift::state::abstract_state::State;
use crate::lift::walk::incoming::Arrivals;
use crate::lift::walk::reach::unreachable;

/// Blocks after which a program is refused rather than inlined further.
const MAX_BLOCKS: usize = 200_000;

/// The blocks of a program.
pub(in crate::lift) struct Blocks {
    /// By their numbers; the program begins with the first.
    pub blocks: Vec<Block>,
    /// How many frames are around each.
    pub depths: Vec<u8>,
}

/// Lifts everything that can be reached.
///
/// # Errors
/// [`LiftError`] for what cannot be lifted, and for instructions that nothing leads to.
pub(in crate::lift) fn blocks(lifter: &mut Lifter<'_>) -> Result<Blocks, LiftError> {
    let mut walk = Fixpoint::default();
    let start = lifter.entry();
    walk.reach(lifter, start, None, &Rc::new(State::start()))?;
    while let Some((id, place)) = walk.pending.pop_first() {
        let state = walk.states[&place].clone();
        let lifted = lifter.lift_block(id, place, state, |_, _| {})?;
        let block = walk.block(lifter, place, lifted)?;
        walk.blocks[id.index()] = Some(block);
    }
    for program in lifter.code.programs() {
        if let Some(slot) = unreachable(program) {
            let cause = Cause::new("nothing leads to this instruction", VERIFIER);
            return Err(LiftError::at(program, slot, cause));
        }
    }
    Ok(Blocks { blocks: walk.blocks.into_iter().flatten().collect(), depths: walk.depths })
}

/// What is known of the blocks reached so far.
#[derive(Default)]
struct Fixpoint {
    /// Numbers of blocks, in the order in which they are reached.
    ids: HashMap<Place, BlockId>,
    /// What is known where they begin.
    states: HashMap<Place, State>,
    arrivals: HashMap<Place, Arrivals>,
    /// Blocks to lift, again if need be. The one reached first is lifted first: what leads to a
    /// block is mostly numbered below it, so that less is lifted in vain.
    pending: BTreeSet<(BlockId, Place)>,
    blocks: Vec<Option<Block>>,
    depths: Vec<u8>,
}

impl Fixpoint {
    /// The block at a place that is reached in a state, from the end of the block at `from`.
    fn reach(
        &mut self,
        lifter: &Lifter<'_>,
        place: Place,
        from: Option<Place>,
        state: &Rc<State>,
    ) -> Result<BlockId, LiftError> {
        let next = BlockId::from(self.ids.len());
        let id = *self.ids.entry(place).or_insert(next);
        let arrivals = self.arrivals.entry(place).or_default();
        if self.states.contains_key(&place) {
            if arrivals.add(from, state) {
                let joined = arrivals.joined((place.frame, place.slot), self.states.get(&place));
                if self.states.get(&place) != Some(&joined) {
                    self.states.insert(place, joined);
                    self.pending.insert((id, place));
                }
            }
        } else {
            arrivals.add(from, state);
            self.states.insert(place, State::clone(state));
            self.blocks.push(None);
            self.depths.push(lifter.frames.get(place.frame).depth);
            self.pending.insert((id, place));
        }
        if self.blocks.len() > MAX_BLOCKS {
            let what = format!("the program has more than {MAX_BLOCKS} blocks after inlining");
            let hint = "fewer or smaller functions, or calls from fewer places, help";
            return Err(LiftError::program(what, hint));
        }
        Ok(id)
    }

    /// The lifted block with its edges; notes what they lead to.
    fn block(
        &mut self,
        lifter: &Lifter<'_>,
        place: Place,
        lifted: LiftedBlock,
    ) -> Result<Block, LiftError> {
        let LiftedBlock { first, insns, ops, costs, exits, state } = lifted;
        let state = Rc::new(state);
        let edge = |target| Edge { target, costs: Vec::new() };
        let mut to = |next| {
            let block = self.reach(lifter, next, Some(place), &state)?;
            Ok(edge(Target::Block(block)))
        };
        let terminator = match exits {
            Exits::End => Terminator::Jump(edge(Target::Exit(0))),
            Exits::To(next) => Terminator::Jump(to(next)?),
            Exits::EndOr(cond, next) => {
                Terminator::Branch { cond, taken: edge(Target::Exit(0)), fallthrough: to(next)? }
            }
            Exits::Only(cond, next) => {
                Terminator::Branch { cond, taken: to(next)?, fallthrough: edge(Target::Never) }
            }
            Exits::Either(cond, yes, no) => {
                Terminator::Branch { cond, taken: to(yes)?, fallthrough: to(no)? }
            }
        };
        Ok(Block { first, insns, ops, costs, terminator })
    }
}
