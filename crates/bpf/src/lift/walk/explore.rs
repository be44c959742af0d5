//! Computes register values along single paths through a program. As in the kernel's verifier,
//! paths that reach the same point with different constants are followed separately.
//!
//! If there are too many paths, their states are joined, as in lifting.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use slowpath_ir::BlockId;
use slowpath_stop::Ticker;

use crate::lift::block::Exits;
use crate::lift::error::LiftError;
use crate::lift::frame::{Phase, ProgramPoint};
use crate::lift::lifter::{Findings, Lifter};
use crate::lift::options::LiftOptions;
use crate::lift::registers::{Before, Registers};
use crate::lift::state::abstract_state::AbstractState;
use crate::lift::state::value::AbstractValue;
use crate::{BpfProgram, Object};

/// Maximum number of paths to one block that are followed separately; further paths are joined.
const PATHS: usize = 64;
/// Number of blocks between two checks of the time budget.
const TURNS: u32 = 16;
/// Number of lifted blocks after which the states of all paths are joined.
const BLOCKS: usize = 20_000;

/// Computes the abstract values of registers before each instruction of a program, along single
/// paths.
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
    let mut seen: HashMap<ProgramPoint, Vec<Rc<AbstractState>>> = HashMap::new();
    let mut pending = vec![(start, Rc::new(AbstractState::start()), 0)];
    let (mut stretches, mut blocks) = (0, 0);
    let mut ticker = Ticker::new(TURNS);
    while let Some((point, state, stretch)) = pending.pop() {
        ticker.tick(&options.stop).map_err(LiftError::stop)?;
        let known = seen.entry(point).or_default();
        if known.iter().any(|known| covers(known, &state)) {
            continue;
        }
        let separate = known.len() < PATHS && blocks < BLOCKS;
        let state = match known.last() {
            Some(last) if !separate => {
                let mut joined = AbstractState::clone(last);
                if !joined.join(&state, (point.frame, point.slot)) {
                    continue;
                }
                Rc::new(joined)
            }
            _ => state,
        };
        known.push(Rc::clone(&state));
        blocks += 1;
        // A new stretch begins at jump targets and after calls.
        let continues = !targets.contains(&point.slot) && point.phase == Phase::Start;
        if !continues || stretch == 0 {
            stretches += 1;
        }
        let current_stretch = if continues && stretch > 0 { stretch } else { stretches };
        // All blocks can have the same number, because none is kept.
        let lifted =
            lifter.lift_block(BlockId(0), point, AbstractState::clone(&state), |at, regs| {
                before.insert((at.frame, current_stretch, at.slot), *regs);
            })?;
        let state = Rc::new(lifted.state);
        match lifted.exits {
            Exits::End => {}
            Exits::To(to) | Exits::ExitOr(_, to) | Exits::Assume(_, to) => {
                let stretch = if to.frame == point.frame { current_stretch } else { 0 };
                pending.push((to, state, stretch));
            }
            // Follow the fall-through path first, as the verifier does.
            Exits::Branch(_, yes, no) => {
                pending.push((yes, Rc::clone(&state), 0));
                pending.push((no, state, current_stretch));
            }
        }
    }
    Ok(Registers::new(&before, &lifter.frames))
}

/// Returns true if the abstract state `known` describes every concrete state that `state`
/// describes, so that `state` need not be followed.
fn covers(known: &AbstractState, state: &AbstractState) -> bool {
    let covered = |(known, new): (&AbstractValue, &AbstractValue)| {
        known == new
            || match known {
                AbstractValue::Unknown => true,
                AbstractValue::NotStack | AbstractValue::MaybeMapValue => {
                    !matches!(new, AbstractValue::Unknown | AbstractValue::Frame { .. })
                }
                AbstractValue::Data { map, offset: None } => {
                    matches!(new, AbstractValue::Data { map: same, .. } if map == same)
                }
                _ => false,
            }
    };
    known.regs.iter().zip(&state.regs).all(covered) && known.agrees_beyond_registers(state)
}
