//! Lockstep execution of two programs on the same packets. Runs that reach the same pair of blocks
//! are joined, so the work grows with the size of the programs, not with their number of paths.
//!
//! A pair of runs is one run of each program on the same packet; it has a position in each program.
//! A run continues until it reaches a block with several predecessors, a branch on a term, or the
//! end of the program. Branches on the same condition are taken together. For other branches, the
//! solver is asked which sides are possible, and each possible side is followed. Pairs that wait at
//! the same two blocks are joined into one pair. An unknown *shared by both programs* tells from
//! which pair a run came (`join_points`). Values that differ between the joined pairs become
//! choices by this unknown. So values that both programs compute alike stay the same term, for any
//! number of joined paths.
//!
//! The result is sound for any order and any pairing of blocks (`order`). Each pair of runs is
//! followed, or left out because the solver or the facts of its state rule it out. A property that
//! holds for all values of the unknowns also holds for their values in real runs. A failed proof
//! does not mean a difference, because joined states include runs that do not exist.
//!
//! After Necula, "Translation validation for an optimizing compiler" (PLDI 2000), which relates the
//! states of both programs at pairs of blocks. Here, the relation is the choice between the joined
//! pairs of states.

mod branches;
mod join_points;
mod joining;
mod order;
mod runs;
mod scheduling;

pub use order::Order;

use crate::paths::{DrawSource, Path};
use crate::queries::Queries;
use crate::side::Side;
use runs::{Failed, Runs};
use scheduling::{Cursor, NextStep, Pair, Position};
use slowpath_smt::{SolverError, TermId};

/// The result of executing two programs in lockstep: for each program, all runs joined at the
/// program's end.
pub struct Lockstep {
    /// For each program, one path that represents all runs together: their final state, conditions
    /// and uncertain assumptions, and the greatest number of instructions that any run executes.
    pub paths: [Path; 2],
    /// Greatest number of instructions that the second program executes in addition to those of the
    /// first program, for the same packet.
    pub max_extra_instructions: u64,
    /// Number of points at which runs were joined, including the start of the programs.
    pub join_points: usize,
}

/// Executes both programs in lockstep from their start, for packets that fulfil `conditions`. The
/// first program holds the shared pool of terms before and after the call. If the execution cannot
/// be completed, returns an inner `Err` with the reason.
///
/// # Errors
/// If the solver contradicts itself.
pub fn lockstep(
    [first, second]: [&mut Side; 2],
    orders: &[Order; 2],
    conditions: &[TermId],
    drawing: &mut dyn DrawSource,
    queries: &mut Queries<'_>,
) -> Result<Result<Lockstep, String>, SolverError> {
    let mut runs = Runs::new([first, second], orders, conditions, drawing, queries);
    let done = runs.all(conditions);
    runs.move_pool_to(0);
    match done {
        Ok(all) => Ok(Ok(all)),
        Err(Failed::Why(why)) => Ok(Err(why)),
        Err(Failed::Solver(error)) => Err(error),
    }
}

impl Runs<'_, '_> {
    fn all(&mut self, conditions: &[TermId]) -> Result<Lockstep, Failed> {
        let sides = [self.start(0, conditions), self.start(1, conditions)];
        self.follow(Pair { sides, from: 0, conditions: Vec::new(), max_extra_instructions: 0 })?;
        while let Some((place, pairs)) = self.waiting.pop_first() {
            let pair = self.join(pairs)?;
            if place.is_end() {
                // The end sorts after all other positions, so no other pair waits.
                return Ok(self.ended(pair));
            }
            self.follow(pair)?;
        }
        Err(Failed::Why("no packet reaches the end of both programs".into()))
    }

    /// Returns the state of all runs of the program with index `which` before its first block;
    /// `conditions` hold in this state. Afterwards, this program holds the term pool.
    fn start(&mut self, which: usize, conditions: &[TermId]) -> Cursor {
        self.move_pool_to(which);
        let side = &self.sides[which];
        let mut state = side.start.clone();
        for &condition in conditions {
            state = side.executor.assume(&state, condition, true).unwrap_or(state);
        }
        let at = Position::Block(side.executor.program().entry);
        Cursor { at, state, counts: Vec::new(), iterations: 0, instructions: 0, moved: false }
    }

    /// Executes a pair of runs and all pairs that follow after its branches, until each of them
    /// waits at a join point or ends.
    fn follow(&mut self, pair: Pair) -> Result<(), Failed> {
        let mut work = vec![pair];
        while let Some(mut pair) = work.pop() {
            loop {
                if let Some(why) = self.queries.stop_reason() {
                    return Err(Failed::Why(why.to_owned()));
                }
                match pair.next_step(self.orders) {
                    NextStep::Run(which) => {
                        if !self.run(which, &mut pair)? {
                            break;
                        }
                    }
                    NextStep::Wait => {
                        let place = pair.place(self.orders);
                        self.waiting.entry(place).or_default().push(pair);
                        break;
                    }
                    NextStep::Branch(due) => {
                        work.extend(self.branch(pair, &due)?);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Builds the result from the joined pair of runs at the end of both programs.
    fn ended(&mut self, pair: Pair) -> Lockstep {
        self.move_pool_to(0);
        let mut known = self.join_points.known(pair.from);
        known.extend(&pair.conditions);
        let max_extra_instructions = u64::try_from(pair.max_extra_instructions).unwrap_or(0);
        let path = |cursor: Cursor, reliances| {
            Path::joined(cursor.state, known.clone(), reliances, cursor.instructions)
        };
        let ([first, second], [reliances, others]) =
            (pair.sides, std::mem::take(&mut self.reliances));
        let paths = [path(first, reliances), path(second, others)];
        Lockstep { paths, max_extra_instructions, join_points: self.join_points.count() }
    }
}
