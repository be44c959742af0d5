//! What is known of registers along single ways through a program, as the kernel's verifier follows
//! them: where ways meet with different constants, each is followed on.
//!
//! Where there are too many ways, what is known on them is joined, as it is for lifting.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use slowpath_ir::BlockId;
use slowpath_stop::Ticker;

use crate::lift::block::Exits;
use crate::lift::error::LiftError;
use crate::lift::frame::{Phase, Place};
use crate::lift::lifter::{Findings, Lifter};
use crate::lift::options::LiftOptions;
use crate::lift::registers::{Before, Registers};
use crate::lift::state::abstract_state::State;
use crate::lift::state::value::Known;

use crate::{BpfProgram, Object};

/// How many ways to one block are told apart.
const WAYS: usize = 64;
/// Ways followed between two looks at whether to give up.
const TURNS: u32 = 16;
/// After so many blocks, no more ways are told apart.
const BLOCKS: usize = 20_000;

/// What is known of registers before each instruction.
///
/// # Errors
/// [`LiftError`], as for lifting the program.
pub(in crate::lift) fn explore(
    object: &Object,
    program: &BpfProgram,
    options: &LiftOptions,
) -> Result<Registers, LiftError> {
    let mut lifter = Lifter::new(object, program, options, Findings::default());
    let targets: HashSet<usize> =
        program.insns.iter().enumerate().filter_map(|(at, insn)| insn.jump_target(at)).collect();
    let start = lifter.entry();
    let mut before = Before::new();
    let mut seen: HashMap<Place, Vec<Rc<State>>> = HashMap::new();
    let mut pending = vec![(start, Rc::new(State::start()), 0)];
    let (mut stretches, mut blocks) = (0, 0);
    let mut ticker = Ticker::new(TURNS);
    while let Some((place, state, stretch)) = pending.pop() {
        ticker.tick(&options.stop).map_err(LiftError::stop)?;
        let known = seen.entry(place).or_default();
        if known.iter().any(|known| covers(known, &state)) {
            continue;
        }
        let few = known.len() < WAYS && blocks < BLOCKS;
        let state = match known.last() {
            Some(last) if !few => {
                let mut joined = State::clone(last);
                if !joined.join(&state, (place.frame, place.slot)) {
                    continue;
                }
                Rc::new(joined)
            }
            _ => state,
        };
        known.push(Rc::clone(&state));
        blocks += 1;
        // A new stretch begins where something jumps to, and behind calls.
        let inside = !targets.contains(&place.slot) && place.phase == Phase::Start;
        if !inside || stretch == 0 {
            stretches += 1;
        }
        let on = if inside && stretch > 0 { stretch } else { stretches };
        // No block is kept, so that they need no numbers.
        let lifted = lifter.lift_block(BlockId(0), place, State::clone(&state), |at, regs| {
            before.insert((at.frame, on, at.slot), *regs);
        })?;
        let state = Rc::new(lifted.state);
        match lifted.exits {
            Exits::End => {}
            Exits::To(to) | Exits::EndOr(_, to) | Exits::Only(_, to) => {
                let stretch = if to.frame == place.frame { on } else { 0 };
                pending.push((to, state, stretch));
            }
            // What is not jumped to is followed first, as the verifier does.
            Exits::Either(_, yes, no) => {
                pending.push((yes, Rc::clone(&state), 0));
                pending.push((no, state, on));
            }
        }
    }
    Ok(Registers::new(&before, &lifter.frames))
}

/// Whether everything that holds in `known` holds in `state`.
fn covers(known: &State, state: &State) -> bool {
    let covered = |(known, new): (&Known, &Known)| {
        known == new
            || match known {
                Known::Nothing => true,
                Known::NoStack | Known::PerhapsValue => {
                    !matches!(new, Known::Nothing | Known::Frame { .. })
                }
                _ => false,
            }
    };
    known.regs.iter().zip(&state.regs).all(covered) && known.agrees_beyond_registers(state)
}
