//! Two programs abreast: each run of one beside the run of the other on the same packet, and runs that
//! come to the same places in both at the same time joined, so that the work grows with the size of
//! the programs and not with the number of their paths.
//!
//! A pair of runs is at a block of either program. Both go on until each is where ways meet, at a
//! branch that a term decides, or at its end. Branches that depend on the same term are taken together;
//! of any other, the solver is asked which way is possible, and if both are, both are followed. Pairs
//! that wait at the same two blocks become one: which of them it was is an unknown, *the same one in
//! both programs* (`meetings`), and a value that differs between them is a choice by it. So what both
//! programs compute alike stays the same term, however many ways led there.
//!
//! This is right for any order and any pairing of blocks (`order`): every pair of runs is followed, or
//! left out because the solver or the facts of the state say that there is none; and what is shown for
//! all values of the unknowns holds for those that runs have. What does not come out is no difference,
//! as runs are looked at here that need not exist.
//!
//! After Necula, "Translation validation for an optimizing compiler" (PLDI 2000), which relates the
//! states of both programs at pairs of blocks; here the relation is the choice between the pairs of
//! states that come there.

mod branches;
mod joining;
mod meetings;
mod order;
mod runs;
mod turns;

pub use order::Order;

use crate::paths::{Drawing, Path};
use crate::queries::Queries;
use crate::side::Side;
use runs::{Failed, Runs};
use slowpath_smt::{SolverError, TermId};
use turns::{At, Pair, Runner, Turn};

/// All runs of both programs.
pub struct Abreast {
    /// All of them as one path of each program: where it ends, what holds there, what it relies on, and
    /// the most instructions of any run.
    pub paths: [Path; 2],
    /// By how many instructions a run of the second program may be longer than that of the first on
    /// the same packet, at most.
    pub slower: u64,
    /// How many pairs of places runs were joined at.
    pub meetings: usize,
}

/// Goes through all runs under some conditions, from the start of both programs. The terms are with
/// the first program, before and afterwards. Inside: `Err` says in words why runs could not be followed.
///
/// # Errors
/// A solver that contradicts itself.
pub fn abreast(
    [first, second]: [&mut Side; 2],
    orders: &[Order; 2],
    conditions: &[TermId],
    drawing: &mut dyn Drawing,
    queries: &mut Queries<'_>,
) -> Result<Result<Abreast, String>, SolverError> {
    let mut runs = Runs::new([first, second], orders, conditions, drawing, queries);
    let done = runs.all(conditions);
    runs.hold(0);
    match done {
        Ok(all) => Ok(Ok(all)),
        Err(Failed::Why(why)) => Ok(Err(why)),
        Err(Failed::Solver(error)) => Err(error),
    }
}

impl Runs<'_, '_> {
    fn all(&mut self, conditions: &[TermId]) -> Result<Abreast, Failed> {
        let sides = [self.start(0, conditions), self.start(1, conditions)];
        self.follow(Pair { sides, from: 0, conditions: Vec::new(), slower: 0 })?;
        while let Some((place, pairs)) = self.waiting.pop_first() {
            let pair = self.join(pairs)?;
            if place.is_end() {
                // No other pair has a greater place.
                return Ok(self.ended(pair));
            }
            self.follow(pair)?;
        }
        Err(Failed::Why("no packet gets to the end of both programs".into()))
    }

    /// A program in front of its first block.
    fn start(&mut self, which: usize, conditions: &[TermId]) -> Runner {
        self.hold(which);
        let side = &self.sides[which];
        let mut state = side.start.clone();
        for &condition in conditions {
            state = side.executor.assume(&state, condition, true).unwrap_or(state);
        }
        let at = At::Block(side.executor.program().entry);
        Runner { at, state, counts: Vec::new(), rounds: 0, instructions: 0, moved: false }
    }

    /// Follows a pair, and what becomes of it, until all of it waits.
    fn follow(&mut self, pair: Pair) -> Result<(), Failed> {
        let mut work = vec![pair];
        while let Some(mut pair) = work.pop() {
            loop {
                if let Some(why) = self.queries.over() {
                    return Err(Failed::Why(why.to_owned()));
                }
                match pair.turn(self.orders) {
                    Turn::Run(which) => {
                        if !self.run(which, &mut pair)? {
                            break;
                        }
                    }
                    Turn::Wait => {
                        let place = pair.place(self.orders);
                        self.waiting.entry(place).or_default().push(pair);
                        break;
                    }
                    Turn::Branch(due) => {
                        work.extend(self.branch(pair, &due)?);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// What is known where all runs are at the end.
    fn ended(&mut self, pair: Pair) -> Abreast {
        self.hold(0);
        let mut known = self.meetings.known(pair.from);
        known.extend(&pair.conditions);
        let slower = u64::try_from(pair.slower).unwrap_or(0);
        let path = |runner: Runner, relied| {
            Path::joined(runner.state, known.clone(), relied, runner.instructions)
        };
        let ([first, second], [relied, others]) = (pair.sides, std::mem::take(&mut self.relied));
        let paths = [path(first, relied), path(second, others)];
        Abreast { paths, slower, meetings: self.meetings.count() }
    }
}
