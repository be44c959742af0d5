//! Translation validation of a specialised program: does it do what the original does, for all
//! packets for which the facts hold and all contents of maps?
//!
//! Path by path: for every satisfiable path of the original, and every path of the specialised
//! program that some packet of it takes, the solver shows that what both leave is the same: the
//! result, the packet and where it starts and ends, the metadata in front of it, the context, the
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
mod outcome;
mod pair;
mod replay;
mod together;

use draws::Draws;
use outcome::Together;
use pair::Pair;
use serde::Serialize;
use slowpath_bpf::lift::{self, LiftError, LiftOptions};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_product::{Answer, Equivalence, NextPath, Path, PathEnumerator, Queries, leave_open};
use slowpath_smt::{SolverError, TermId};
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::time::Instant;
use thiserror::Error;

pub use covering::Cover;
pub use executed::Executed;
pub use facts::Packets;
pub use guard::{prove_guard, prove_guard_like};
pub use replay::{Counterexample, FinalState};

/// What is known about the equivalence of two programs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// Whether both do the same for every packet for which the facts hold, and whatever the maps
    /// contain, but for the `assumptions`.
    pub proved: bool,
    /// How many paths of the original are proved; as far as they were gone through where all were
    /// proved together.
    pub paths: u64,
    /// How many pairs of a path of the original and one of the specialised program some packet takes.
    pub pairs: u64,
    /// How many instructions such pairs execute.
    #[serde(skip)]
    pub executed: Executed,
    /// Questions to the solver.
    pub queries: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Why not all is proved, one sentence each.
    pub undecided: Vec<String>,
    /// What the meaning of either program relies on, one sentence each.
    pub assumptions: Vec<String>,
    /// What the two programs differ on; `None` when nothing is known.
    pub counterexample: Option<Counterexample>,
    /// Something to run both programs on for each of the pairs, as far as they are not too many.
    #[serde(skip)]
    pub covers: Vec<Cover>,
}

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
        min_packet: packets.known().min_length,
        max_packet: packets.known().max_length,
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
            let mut validation = Validation {
                packets,
                pair: &mut pair,
                queries: &mut queries,
                draws: Draws::default(),
                knows_bits: false,
                origins,
                together: Together::NotTried,
                found: proof,
            };
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

struct Validation<'a, 'b> {
    packets: Packets<'a>,
    pair: &'a mut Pair,
    queries: &'a mut Queries<'b>,
    draws: Draws,
    /// Whether the solver has been told what is known of single bytes.
    knows_bits: bool,
    /// The slots of the original that those of the specialised program stand for, if that is known.
    origins: Option<&'a [usize]>,
    together: Together,
    found: Proof,
}

impl Validation<'_, '_> {
    /// Goes through the paths of the original; returns whether these were all.
    fn paths(&mut self) -> Result<bool, SolverError> {
        let conditions = self.pair.facts.conditions.clone();
        let inputs = self.pair.inputs();
        let mut paths = PathEnumerator::new(&self.pair.original.side, inputs, conditions);
        let mut complete = true;
        loop {
            if self.is_long() {
                self.compare_together()?;
            }
            if self.is_covered() {
                return Ok(true);
            }
            let side = &mut self.pair.original.side;
            match paths.next(side, None, &mut self.draws, self.queries)? {
                NextPath::Done => return Ok(complete || self.is_proved()),
                NextPath::Gap(_) | NextPath::Stopped(_) if self.is_proved() => return Ok(true),
                NextPath::Gap(why) => {
                    complete = false;
                    self.gap(why);
                }
                NextPath::Stopped(why) => {
                    self.gap(why.to_owned());
                    return Ok(false);
                }
                NextPath::Path(path) => match self.path(&path)? {
                    Equivalence::Proved => self.found.paths += 1,
                    Equivalence::Undecided => complete = false,
                    Equivalence::Differs | Equivalence::Stopped => return Ok(self.is_proved()),
                },
            }
        }
    }

    /// One path of the original against all of the specialised program that its packets take.
    fn path(&mut self, path: &Path) -> Result<Equivalence, SolverError> {
        let inputs = self.pair.inputs();
        self.pair.swap_terms();
        let side = &self.pair.other.side;
        let mut paths = PathEnumerator::following(side, inputs, path);
        self.pair.swap_terms();
        let mut equivalence = Equivalence::Proved;
        loop {
            self.pair.swap_terms();
            let side = &mut self.pair.other.side;
            let step = paths.next(side, None, &mut self.draws, self.queries);
            self.pair.swap_terms();
            let other = match step? {
                NextPath::Done => return Ok(equivalence),
                NextPath::Gap(_) | NextPath::Stopped(_) if self.is_proved() => {
                    return Ok(Equivalence::Proved);
                }
                NextPath::Gap(why) => {
                    self.gap(format!("in the specialised program: {why}"));
                    equivalence = Equivalence::Undecided;
                    continue;
                }
                NextPath::Stopped(why) => {
                    self.gap(why.to_owned());
                    return Ok(Equivalence::Stopped);
                }
                NextPath::Path(other) => other,
            };
            self.found.pairs += 1;
            self.queries.stop().count(self.found.pairs, "pairs of paths");
            self.found.executed.note(path.instructions, other.instructions);
            if self.found.covers.len() < covering::MAX_COVERS {
                self.found.covers.extend(covering::cover(self.pair, self.packets, &other));
            }
            match self.both(path, &other)? {
                Equivalence::Proved => {}
                Equivalence::Undecided => equivalence = Equivalence::Undecided,
                end => return Ok(end),
            }
        }
    }

    fn both(&mut self, path: &Path, other: &Path) -> Result<Equivalence, SolverError> {
        if self.is_proved() {
            return Ok(Equivalence::Proved);
        }
        let mut equivalence = Equivalence::Proved;
        if self.relies(path, other)? {
            equivalence = Equivalence::Undecided;
        }
        let mut differences = match compare::differences(self.pair, path, other) {
            Ok(differences) => differences,
            Err(why) => {
                self.gap(why);
                return Ok(Equivalence::Undecided);
            }
        };
        self.pair.swap_terms();
        let executor = &self.pair.other.side.executor;
        differences.retain(|&(_, differs)| executor.assume(&other.state, differs, true).is_some());
        self.pair.swap_terms();
        if differences.is_empty() {
            return Ok(equivalence);
        }
        if differences.len() > 1 {
            let pool = self.pair.pool();
            let no = pool.bool(false);
            let any = differences.iter().fold(no, |any, &(_, differs)| pool.or(any, differs));
            match self.ask(other, any)? {
                Answer::Unsat => return Ok(equivalence),
                Answer::Unknown(_) if self.compare_together()? => return Ok(Equivalence::Proved),
                _ => {}
            }
        }
        for (what, differs) in differences {
            if let Some(why) = self.queries.over() {
                self.gap(why.to_owned());
                return Ok(Equivalence::Stopped);
            }
            match self.ask(other, differs)? {
                Answer::Unsat => {}
                Answer::Unknown(why) => {
                    self.gap(format!("the solver cannot tell whether {what} differs: {why}"));
                    equivalence = Equivalence::Undecided;
                }
                Answer::Sat(model) => {
                    let terms: Vec<TermId> =
                        other.conditions.iter().copied().chain([differs]).collect();
                    let found = (what.clone(), &terms[..], &model);
                    match replay::confirm(self.pair, self.packets, (path, other), found) {
                        Ok(counterexample) => {
                            self.found.counterexample = Some(counterexample);
                            return Ok(Equivalence::Differs);
                        }
                        Err(why) => {
                            self.gap(format!("the solver says that {what} differs, but {why}"));
                            equivalence = Equivalence::Undecided;
                        }
                    }
                }
            }
        }
        Ok(equivalence)
    }

    /// Tells the solver what is known of single bytes, if a program reads them by an address that is not
    /// known.
    fn tell_bits(&mut self) {
        if self.pair.facts.reads_anywhere.get() && !self.knows_bits {
            self.knows_bits = true;
            self.queries.assume(self.pair.facts.bits.iter().copied());
        }
    }

    /// Asks whether something is possible for a packet of a pair of paths.
    fn ask(&mut self, other: &Path, what: TermId) -> Result<Answer, SolverError> {
        self.tell_bits();
        let mut conditions = other.conditions.clone();
        conditions.push(what);
        let pool = self.pair.pool();
        match self.together {
            // What is hard for one path may not be for all together.
            Together::NotTried => self.queries.check_soon(pool, &conditions, 0),
            _ => self.queries.check(pool, &conditions),
        }
    }

    /// Whether a packet of two paths relies on something that is not modelled.
    fn relies(&mut self, path: &Path, other: &Path) -> Result<bool, SolverError> {
        let mut relies = false;
        let sides = [(&self.pair.original, path), (&self.pair.other, other)];
        let pool = &self.pair.original.side.executor.pool;
        let untouched =
            sides.iter().all(|(member, path)| compare::leaves_packet(member, path, pool));
        let relied: BTreeSet<(String, TermId)> = sides
            .iter()
            .flat_map(|(member, path)| {
                let sentences = &member.side.executor.program().reliances;
                // What holds of more runs than there are holds of those that there are.
                let matter = path.relied.iter().filter(|(on, _)| {
                    !(member.wider.contains(on) || untouched && member.of_packet.contains(on))
                });
                matter.map(|&(on, term)| (sentences[on.index()].clone(), term))
            })
            .collect();
        for (sentence, term) in relied {
            let possible = match self.pair.pool().as_const(term) {
                Some(value) => value == 1,
                None => !matches!(self.ask(other, term)?, Answer::Unsat),
            };
            if possible {
                self.gap(sentence);
                relies = true;
            }
        }
        Ok(relies)
    }

    fn gap(&mut self, why: String) {
        leave_open(&mut self.found.undecided, why);
    }
}
