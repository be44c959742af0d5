//! Translation validation: proves that a specialised program does the same as the original, for all
//! packets for which given facts (statements about packet bytes and lengths) hold, and for all
//! contents of maps.
//!
//! The proof goes path by path (`one_by_one`). Each satisfiable path of the original is paired with
//! the paths of the specialised program that the same packets take. For each pair, the solver shows
//! that both leave the same state. The state is the result, the packet with its start and end, the
//! metadata in front of it, and the context. It also includes the content of all maps, and the
//! helper calls with their arguments, in order. The proof does not use how the specialised program
//! was made. It lists undecided parts; it reports a difference only after runs of both programs
//! have confirmed it (`replay`).
//!
//! If there are many paths, or a path is hard to decide, all paths are compared together
//! (`together`). This work grows with the size of the programs, not with the number of paths. If it
//! does not yield a proof, the comparison continues path by path.
//!
//! Both programs are executed over the same terms (`pair`): values that both compute alike are the
//! same term, so most paths need no solver. Each run is considered alone: changes that other CPUs
//! make to maps during the run are ignored.
//!
//! After Pnueli, Siegel and Singerman, "Translation validation" (TACAS 1998).

mod alignment;
mod compare;
mod draws;
mod facts;
mod guard;
mod instruction_counts;
mod one_by_one;
mod pair;
mod proof;
mod replay;
mod test_inputs;
mod together;
mod validation;

use pair::Pair;
use slowpath_bpf::lift::{self, LiftError, LiftOptions};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_codes as codes;
use slowpath_ir::PacketFacts;
use slowpath_product::Queries;
use slowpath_smt::SolverError;
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::time::Instant;
use thiserror::Error;
use validation::Validation;

pub use facts::Packets;
pub use guard::{prove_guard, prove_guard_with_origins};
pub use instruction_counts::InstructionCounts;
pub use proof::Proof;
pub use replay::{Counterexample, FinalState};
pub use test_inputs::TestInput;

/// Reason why two programs cannot be compared at all.
#[derive(Debug, Error)]
pub enum EquivalenceError {
    /// One of the programs cannot be lifted, that is, translated to the intermediate
    /// representation.
    #[error(transparent)]
    Lift(LiftError),
    /// The solver gave contradictory answers, which is a defect.
    #[error(transparent)]
    Solver(#[from] SolverError),
}

impl EquivalenceError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            EquivalenceError::Lift(error) => error.code(),
            EquivalenceError::Solver(error) => error.code(),
        }
    }
}

/// Tries to prove that `specialised` does the same as `original` for all packets for which `facts`
/// hold. Both programs use the same maps, with any content. If `stop` ends the proof early, the
/// result contains only the parts that are proved by then.
///
/// The packet lengths and the stop condition in `options` are ignored; `facts` and `stop` replace
/// them.
///
/// # Errors
/// If a program cannot be lifted, that is, translated to the intermediate representation.
pub fn prove(
    object: &Object,
    original: &BpfProgram,
    specialised: &BpfProgram,
    facts: &PacketFacts,
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    prove_for(object, original, specialised, Packets::Inside(facts), options, stop)
}

/// Tries to prove that `specialised` does the same as `original`, like [`prove`], but for any set
/// of packets.
///
/// # Errors
/// If a program cannot be lifted.
pub fn prove_for(
    object: &Object,
    original: &BpfProgram,
    specialised: &BpfProgram,
    packets: Packets<'_>,
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    prove_with(Subject::of(object, packets), original, (specialised, None), options, stop)
}

/// Proves the same as [`prove`], with a hint that makes it faster. For each instruction slot of the
/// specialised program, `origins` contains the slot of the original that it comes from. The hint
/// does not change the result.
///
/// # Errors
/// If a program cannot be lifted.
pub fn prove_with_origins(
    object: &Object,
    original: &BpfProgram,
    (specialised, origins): (&BpfProgram, &[usize]),
    facts: &PacketFacts,
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    let subject = Subject::of(object, Packets::Inside(facts));
    prove_with(subject, original, (specialised, Some(origins)), options, stop)
}

/// Proves the same as [`prove`], but compares all paths together only, never path by path. If this
/// comparison does not yield a proof, the result is undecided.
///
/// # Errors
/// If a program cannot be lifted.
pub fn prove_together(
    object: &Object,
    original: &BpfProgram,
    specialised: &BpfProgram,
    facts: &PacketFacts,
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    let subject = Subject::of(object, Packets::Inside(facts));
    let subject = Subject { only_together: true, ..subject };
    prove_with(subject, original, (specialised, None), options, stop)
}

/// The object of the two compared programs, the packets that the proof is about, and settings of
/// the proof.
#[derive(Clone, Copy)]
struct Subject<'a> {
    object: &'a Object,
    packets: Packets<'a>,
    /// Name of the map with a generation counter (a number that changes with frozen maps) that is
    /// assumed not to be zero. `None` if nothing is assumed about it.
    nonzero_generation: Option<&'a str>,
    only_together: bool,
}

impl<'a> Subject<'a> {
    fn of(object: &'a Object, packets: Packets<'a>) -> Self {
        Subject { object, packets, nonzero_generation: None, only_together: false }
    }
}

fn prove_with(
    Subject { object, packets, nonzero_generation: raised, only_together }: Subject<'_>,
    original: &BpfProgram,
    (specialised, origins): (&BpfProgram, Option<&[usize]>),
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    let started = Instant::now();
    let mut proof = Proof::default();
    let options = LiftOptions {
        receive: options
            .receive
            .with_length(packets.known().min_length, packets.known().max_length),
        // Draws have to be counted even if their values are not used.
        keeps_dead_operations: true,
        records_calls: true,
        stop: stop.clone(),
        ..options.clone()
    };
    let lifted = match lift::lift_alike(object, [original, specialised], &options) {
        Ok(lifted) => lifted,
        Err(error) if error.stopped.is_some() => {
            let over = Queries::new(stop).stop_reason().unwrap_or("it is time to stop");
            proof.undecided.push(over.to_owned());
            return Ok(proof);
        }
        Err(error) => return Err(EquivalenceError::Lift(error)),
    };
    let assumptions: BTreeSet<String> =
        lifted.iter().flat_map(|lifted| lifted.program.assumptions.iter().cloned()).collect();
    proof.assumptions = assumptions.into_iter().collect();
    for lifted in &lifted {
        // Tail calls leave no gap: after one, both programs continue with the same program from the
        // same state, which is compared.
        proof.undecided.extend(lifted.unseen.fragments.iter().cloned());
    }
    proof.undecided.dedup();
    if !proof.undecided.is_empty() {
        return Ok(proof);
    }
    match Pair::new(lifted, (packets, raised), stop) {
        Ok(mut pair) => {
            let mut queries = Queries::new(stop);
            let pair = (&mut pair, origins);
            let mut validation = Validation::new(packets, pair, &mut queries, proof);
            let complete = if only_together {
                let all = validation.compare_together()?;
                if !all {
                    validation.gap("not provable for all paths together".to_owned());
                }
                all
            } else {
                validation.paths()?
            };
            proof = validation.found;
            proof.queries = queries.checks();
            let undecided = !proof.undecided.is_empty();
            proof.proved = complete && !undecided && proof.counterexample.is_none();
        }
        Err(why) => proof.undecided.push(why),
    }
    proof.seconds = started.elapsed().as_secs_f64();
    Ok(proof)
}
