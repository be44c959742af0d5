//! Translation validation of a specialised program: does it do what the original does, for all
//! packets for which the facts hold and all contents of maps?
//!
//! Path by path (`one_by_one`): for every satisfiable path of the original, and every path of the
//! specialised program that some packet of it takes, the solver shows that what both leave is the same:
//! the result, the packet and where it starts and ends, the metadata in front of it, the context, the
//! content of all maps, and the calls of helpers with what they are given, in order. Nothing is
//! known here of how the specialised program was made. What cannot be shown is listed; a difference
//! is a result only after both programs have been run on it (`replay`).
//!
//! Where there are many paths, or one that is hard to decide, all of them are compared together instead
//! (`together`), for which the size of the programs counts; path by path again if that shows nothing.
//!
//! Both programs are executed over the same terms (`pair`): what they compute alike is the same term,
//! and most paths need no solver. A run is seen alone: what other CPUs do to maps meanwhile is not
//! looked at.
//!
//! After Pnueli, Siegel and Singerman, "Translation validation" (TACAS 1998).

mod alignment;
mod compare;
mod covering;
mod draws;
mod executed;
mod facts;
mod guard;
mod one_by_one;
mod pair;
mod proof;
mod replay;
mod together;
mod validation;

use pair::Pair;
use slowpath_bpf::lift::{self, LiftError, LiftOptions};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_product::Queries;
use slowpath_smt::SolverError;
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::time::Instant;
use thiserror::Error;
use validation::Validation;

pub use covering::Cover;
pub use executed::Executed;
pub use facts::Packets;
pub use guard::{prove_guard, prove_guard_like};
pub use proof::Proof;
pub use replay::{Counterexample, FinalState};

/// Why two programs cannot be compared at all.
#[derive(Debug, Error)]
pub enum EquivalenceError {
    /// One of them has no meaning that can be analysed.
    #[error(transparent)]
    Lift(LiftError),
    /// The solver contradicts itself.
    #[error(transparent)]
    Solver(#[from] SolverError),
}

/// Proves that a program does what another one does, over the same maps, for all packets for which
/// the facts hold. What is known by the time that `stop` says so is the result.
///
/// Of the options, lengths of packets are those of the facts, and `stop` is the argument.
///
/// # Errors
/// When a program cannot be lifted.
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

/// The same for other packets.
///
/// # Errors
/// When a program cannot be lifted.
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

/// The same for a program of which it is known which slot of the original each of its slots stands for:
/// that makes it quicker, and nothing rests on it.
///
/// # Errors
/// When a program cannot be lifted.
pub fn prove_like(
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

/// The same with all paths together, and never path by path: it is proved, or nothing is known.
///
/// # Errors
/// When a program cannot be lifted.
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

/// What a proof is about.
#[derive(Clone, Copy)]
struct Subject<'a> {
    object: &'a Object,
    packets: Packets<'a>,
    /// The name of a map of one element, if its first bytes, as many as a generation has, are not all
    /// zero.
    raised: Option<&'a str>,
    /// Whether nothing is done path by path.
    only_together: bool,
}

impl<'a> Subject<'a> {
    fn of(object: &'a Object, packets: Packets<'a>) -> Self {
        Subject { object, packets, raised: None, only_together: false }
    }
}

/// Proves what a subject says.
fn prove_with(
    Subject { object, packets, raised, only_together }: Subject<'_>,
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
        // What is drawn is counted.
        keeps_dead_operations: true,
        records_calls: true,
        stop: stop.clone(),
        ..options.clone()
    };
    let lifted = match lift::lift_alike(object, [original, specialised], &options) {
        Ok(lifted) => lifted,
        Err(error) if error.stopped.is_some() => {
            let over = Queries::new(stop).over().unwrap_or("it is time to stop");
            proof.undecided.push(over.to_owned());
            return Ok(proof);
        }
        Err(error) => return Err(EquivalenceError::Lift(error)),
    };
    let assumptions: BTreeSet<String> =
        lifted.iter().flat_map(|lifted| lifted.program.assumptions.iter().cloned()).collect();
    proof.assumptions = assumptions.into_iter().collect();
    for lifted in &lifted {
        // Behind a tail call, both are in the same program, with what is compared there.
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
                    validation.gap("it does not show for all paths together".to_owned());
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
