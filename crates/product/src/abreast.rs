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

mod meetings;
mod order;

pub use order::Order;

use crate::paths::{Drawing, Path};
use crate::queries::{Answer, Queries};
use crate::side::Side;
use meetings::{MeetingId, Meetings, Way};
use slowpath_exec::{AllPaths, ArcId, ExecError, NodeId, SymbolicState};
use slowpath_ir::{BlockId, Destination, RelianceId, Terminator};
use slowpath_smt::{SolverError, TermId, TermPool};
use std::collections::BTreeMap;

/// Most blocks that are executed.
const MAX_BLOCKS: u64 = 1_000_000;

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

/// Why runs are not known.
enum Failed {
    Solver(SolverError),
    Why(String),
}

impl From<SolverError> for Failed {
    fn from(error: SolverError) -> Self {
        Failed::Solver(error)
    }
}

/// Where a run of one program is.
#[derive(Clone, Copy, Debug)]
enum At {
    /// In front of a block.
    Block(BlockId),
    /// Behind this block, whose branch a term decides: as it was computed, and without what the way
    /// decides.
    Branch { block: BlockId, terms: [TermId; 2], taken: Destination, fallthrough: Destination },
    /// At the end.
    End,
}

/// Runs of one program.
#[derive(Clone)]
struct Runner {
    at: At,
    state: SymbolicState,
    /// What [`Drawing`] has counted on the way.
    counts: Vec<u32>,
    /// How many steps led back.
    rounds: u32,
    /// The most instructions of any of them.
    instructions: u64,
    /// Whether they have gone on since they were joined.
    moved: bool,
}

/// Pairs of runs on the same packets.
#[derive(Clone)]
struct Both {
    sides: [Runner; 2],
    /// Where they met last, and what holds since.
    from: MeetingId,
    conditions: Vec<TermId>,
    /// By how many instructions the second is longer, at most.
    slower: i64,
}

/// What is next for a pair.
enum Turn {
    /// This program goes on.
    Run(usize),
    /// Others may come to the same places.
    Wait,
    /// Branches are due; these programs are at one, the one that is behind first.
    Branch(Vec<usize>),
}

/// Where pairs wait: places in the common order, then the blocks themselves.
type Place = ([u32; 2], [Option<u32>; 2]);

/// Goes through all runs under some conditions, from the start of both programs. The terms are with
/// the first program, before and afterwards. Inside: `Err` says in words why runs could not be followed.
///
/// # Errors
/// A solver that contradicts itself.
pub fn abreast(
    sides: [&mut Side; 2],
    orders: &[Order; 2],
    conditions: &[TermId],
    drawing: &mut dyn Drawing,
    queries: &mut Queries<'_>,
) -> Result<Result<Abreast, String>, SolverError> {
    let [first, second] = sides;
    let meetings = Meetings::new(&mut first.executor.pool, conditions);
    let mut runs = Runs {
        sides: [first, second],
        orders,
        drawing,
        queries,
        holder: 0,
        meetings,
        waiting: BTreeMap::new(),
        relied: [Vec::new(), Vec::new()],
        arcs: 0,
        blocks: 0,
    };
    for side in &mut runs.sides {
        side.joined = Some(AllPaths::new());
    }
    let done = runs.all(conditions);
    runs.hold(0);
    match done {
        Ok(all) => Ok(Ok(all)),
        Err(Failed::Why(why)) => Ok(Err(why)),
        Err(Failed::Solver(error)) => Err(error),
    }
}

struct Runs<'a, 'b> {
    sides: [&'a mut Side; 2],
    orders: &'a [Order; 2],
    drawing: &'a mut dyn Drawing,
    queries: &'a mut Queries<'b>,
    /// The program that the terms are with.
    holder: usize,
    meetings: Meetings,
    waiting: BTreeMap<Place, Vec<Both>>,
    /// What runs rely on, and the terms that are 1 where they do.
    relied: [Vec<(RelianceId, TermId)>; 2],
    arcs: usize,
    blocks: u64,
}

impl Runs<'_, '_> {
    fn all(&mut self, conditions: &[TermId]) -> Result<Abreast, Failed> {
        let start = |which: usize, runs: &mut Self| {
            runs.hold(which);
            let side = &runs.sides[which];
            let mut state = side.start.clone();
            for &condition in conditions {
                state = side.executor.assume(&state, condition, true).unwrap_or(state);
            }
            let at = At::Block(side.executor.program().entry);
            let counts = Vec::new();
            Runner { at, state, counts, rounds: 0, instructions: 0, moved: false }
        };
        let sides = [start(0, self), start(1, self)];
        self.follow(Both { sides, from: 0, conditions: Vec::new(), slower: 0 })?;
        while let Some((place, pairs)) = self.waiting.pop_first() {
            let both = self.join(pairs)?;
            if place.1 != [None; 2] {
                self.follow(both)?;
                continue;
            }
            // No other pair has a greater place.
            self.hold(0);
            let mut known = self.meetings.known(both.from);
            known.extend(&both.conditions);
            let slower = u64::try_from(both.slower).unwrap_or(0);
            let [first, second] = both.sides;
            let [relied, others] = std::mem::take(&mut self.relied);
            let path = |runner: Runner, relied| {
                Path::joined(runner.state, known.clone(), relied, runner.instructions)
            };
            let paths = [path(first, relied), path(second, others)];
            return Ok(Abreast { paths, slower, meetings: self.meetings.count() });
        }
        Err(Failed::Why("no packet gets to the end of both programs".into()))
    }

    /// Hands the terms to a program.
    fn hold(&mut self, which: usize) {
        if self.holder != which {
            let [first, second] = &mut self.sides;
            std::mem::swap(&mut first.executor.pool, &mut second.executor.pool);
            self.holder = which;
        }
    }

    fn pool(&mut self) -> &mut TermPool {
        &mut self.sides[self.holder].executor.pool
    }

    /// Pairs that wait at the same places, as one.
    fn join(&mut self, mut pairs: Vec<Both>) -> Result<Both, Failed> {
        if pairs.len() == 1
            && let Some(mut only) = pairs.pop()
        {
            only.sides.iter_mut().for_each(|runner| runner.moved = false);
            return Ok(only);
        }
        let counts: Vec<[&[u32]; 2]> = pairs
            .iter()
            .map(|both| both.sides.each_ref().map(|runner| &runner.counts[..]))
            .collect();
        let [first, second] = self
            .drawing
            .join(&counts)
            .ok_or_else(|| Failed::Why("ways differ in how often they draw something".into()))?;
        let ways: Vec<Way<'_>> = pairs
            .iter()
            .map(|both| Way { from: both.from, conditions: &both.conditions })
            .collect();
        let pool = &mut self.sides[self.holder].executor.pool;
        let (from, selectors) = self.meetings.add(pool, &ways);
        let arcs: Vec<ArcId> = (self.arcs..).take(pairs.len()).map(ArcId::from).collect();
        self.arcs += pairs.len();
        let mut counts = [Some(first), Some(second)];
        let mut joined = Vec::with_capacity(2);
        for which in 0..2 {
            self.hold(which);
            let side = &mut *self.sides[which];
            let node = NodeId(side.points);
            side.points += 1;
            let runners: Vec<&Runner> = pairs.iter().map(|both| &both.sides[which]).collect();
            let states: Vec<(ArcId, SymbolicState)> = arcs
                .iter()
                .zip(&runners)
                .map(|(&arc, runner)| (arc, runner.state.clone()))
                .collect();
            let at = runners[0].at;
            let state = match at {
                At::Block(block) => side.executor.merge(node, block, states).map_err(failed)?,
                _ => side.executor.meet(node, &states),
            };
            let taken = arcs.iter().copied().zip(selectors.iter().copied()).collect();
            side.joined.get_or_insert_default().arrive(node, taken);
            let rounds = runners.iter().map(|runner| runner.rounds).max().unwrap_or(0);
            let instructions = runners.iter().map(|runner| runner.instructions).max().unwrap_or(0);
            let counts = counts[which].take().unwrap_or_default();
            joined.push(Runner { at, state, counts, rounds, instructions, moved: false });
        }
        let slower = pairs.iter().map(|both| both.slower).max().unwrap_or(0);
        let sides = <[Runner; 2]>::try_from(joined);
        let sides = sides.map_err(|_| Failed::Why("there are two programs".into()))?;
        Ok(Both { sides, from, conditions: Vec::new(), slower })
    }

    /// Follows a pair, and what becomes of it, until all of it waits.
    fn follow(&mut self, both: Both) -> Result<(), Failed> {
        let mut work = vec![both];
        while let Some(mut both) = work.pop() {
            loop {
                if let Some(why) = self.queries.over() {
                    return Err(Failed::Why(why.to_owned()));
                }
                match self.turn(&both) {
                    Turn::Run(which) => {
                        if !self.run(which, &mut both)? {
                            break;
                        }
                    }
                    Turn::Wait => {
                        let place = self.place(&both);
                        self.waiting.entry(place).or_default().push(both);
                        break;
                    }
                    Turn::Branch(due) => {
                        work.extend(self.branch(both, &due)?);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// How far runs are.
    fn progress(&self, which: usize, runner: &Runner) -> (u32, u32) {
        match runner.at {
            At::Block(block) | At::Branch { block, .. } => {
                (runner.rounds, self.orders[which].place(block))
            }
            At::End => (u32::MAX, u32::MAX),
        }
    }

    fn place(&self, both: &Both) -> Place {
        let mut place = ([u32::MAX; 2], [None; 2]);
        for which in 0..2 {
            if let At::Block(block) = both.sides[which].at {
                place.0[which] = self.orders[which].place(block);
                place.1[which] = Some(block.0);
            }
        }
        place
    }

    fn turn(&self, both: &Both) -> Turn {
        let mut far = [(0, 0); 2];
        for (which, runner) in both.sides.iter().enumerate() {
            if let At::Block(block) = runner.at
                && !(runner.moved && self.orders[which].joins(block))
            {
                return Turn::Run(which);
            }
            far[which] = self.progress(which, runner);
        }
        // Who is behind comes first.
        let behind = usize::from(far[1] < far[0]);
        match [both.sides[behind].at, both.sides[1 - behind].at] {
            [At::Block(_), At::Block(_)] | [At::End, At::End] if far[0] == far[1] => Turn::Wait,
            [At::Block(_), _] => Turn::Run(behind),
            [At::Branch { .. }, At::Branch { .. }] => Turn::Branch(vec![behind, 1 - behind]),
            [At::Branch { .. }, _] => Turn::Branch(vec![behind]),
            [At::End, At::Block(_)] => Turn::Run(1 - behind),
            [At::End, At::Branch { .. }] => Turn::Branch(vec![1 - behind]),
            [At::End, At::End] => Turn::Wait,
        }
    }

    /// Executes the block that a program is in front of; returns whether any run gets behind it.
    fn run(&mut self, which: usize, both: &mut Both) -> Result<bool, Failed> {
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return Err(Failed::Why(format!("more than {MAX_BLOCKS} blocks are executed")));
        }
        self.hold(which);
        match self.execute(which, both) {
            Ok(goes_on) => Ok(goes_on),
            // What no run does need not be known.
            Err(error) if self.possible(both, &[])? => Err(failed(error)),
            Err(_) => Ok(false),
        }
    }

    fn execute(&mut self, which: usize, both: &mut Both) -> Result<bool, ExecError> {
        let runner = &mut both.sides[which];
        let At::Block(block) = runner.at else { return Ok(true) };
        let side = &mut *self.sides[which];
        let here = side.executor.program().block(block);
        let executed = here.insns.len();
        let terminator = here.terminator.clone();
        runner.moved = true;
        runner.instructions += executed as u64;
        both.slower += if which == 0 { -(executed as i64) } else { executed as i64 };
        let point = NodeId(side.points);
        side.points += 1;
        let drawn = self.drawing.draws(side, block, &mut runner.counts);
        side.executor.expect_draws(drawn);
        let condition = side.executor.run_block(point, block, &mut runner.state)?;
        let joined = side.joined.get_or_insert_default();
        for (on, term) in side.executor.reliances(point).to_vec() {
            let mut relies = joined.resolve(&mut side.executor, term)?;
            let pool = &mut side.executor.pool;
            let reached = self.meetings.reached(both.from);
            for &condition in both.conditions.iter().chain([&reached]) {
                relies = pool.and(relies, condition);
            }
            if pool.as_const(relies) != Some(0) {
                self.relied[which].push((on, relies));
            }
        }
        let (taken, fallthrough) = match terminator {
            Terminator::Jump(edge) => (edge.target, edge.target),
            Terminator::Branch { taken, fallthrough, .. } => (taken.target, fallthrough.target),
        };
        let Some(raw) = condition else { return Ok(self.go(which, both, taken)) };
        let condition = joined.resolve(&mut side.executor, raw)?;
        let mut possible = [true, true];
        for (value, possible) in [true, false].into_iter().zip(&mut possible) {
            for term in [raw, condition] {
                *possible &= side.executor.assume(&runner.state, term, value).is_some();
            }
        }
        match (side.executor.pool.as_const(condition), possible) {
            (Some(0), _) | (None, [false, true]) => Ok(self.go(which, both, fallthrough)),
            (Some(_), _) | (None, [true, false]) => Ok(self.go(which, both, taken)),
            (None, [false, false]) => Ok(false),
            (None, [true, true]) => {
                let terms = [raw, condition];
                runner.at = At::Branch { block, terms, taken, fallthrough };
                Ok(true)
            }
        }
    }

    /// Takes a program on to somewhere; returns whether any run gets there.
    fn go(&self, which: usize, both: &mut Both, to: Destination) -> bool {
        let runner = &mut both.sides[which];
        let (At::Block(from) | At::Branch { block: from, .. }) = runner.at else { return false };
        runner.at = match to {
            Destination::Block(next) => {
                runner.rounds += u32::from(self.orders[which].leads_back(from, next));
                At::Block(next)
            }
            Destination::Exit(_) => At::End,
            Destination::Never => return false,
        };
        true
    }

    /// Takes a program over its branch; returns whether any run gets there.
    fn take(&mut self, which: usize, both: &mut Both, value: bool) -> bool {
        let At::Branch { terms, taken, fallthrough, .. } = both.sides[which].at else {
            return false;
        };
        self.hold(which);
        let executor = &self.sides[which].executor;
        for term in terms {
            let state = executor.assume(&both.sides[which].state, term, value);
            let Some(state) = state else { return false };
            both.sides[which].state = state;
        }
        self.go(which, both, if value { taken } else { fallthrough })
    }

    /// The ways on of a pair, of which these programs are at a branch.
    fn branch(&mut self, both: Both, due: &[usize]) -> Result<Vec<Both>, Failed> {
        let mut conditions = Vec::new();
        for &which in due {
            let At::Branch { terms: [_, condition], .. } = both.sides[which].at else { continue };
            conditions.push((which, condition));
        }
        if let [(_, a), (_, b)] = conditions[..] {
            let opposite = self.pool().not(b);
            if a == b || a == opposite {
                return Ok(self.ways(&both, &conditions, a == b));
            }
        }
        for &(which, condition) in &conditions {
            let mut alone = both.clone();
            match self.decided(&both, condition)? {
                Decided::Always(value) => {
                    let goes_on = self.take(which, &mut alone, value);
                    return Ok(goes_on.then_some(alone).into_iter().collect());
                }
                Decided::Never => return Ok(Vec::new()),
                Decided::No => {}
            }
        }
        if let [(_, a), (_, b)] = conditions[..] {
            let pool = self.pool();
            let same = pool.eq(a, b);
            let different = pool.not(same);
            for (possible, alike) in [(different, true), (same, false)] {
                if !self.possible(&both, &[possible])? {
                    return Ok(self.ways(&both, &conditions, alike));
                }
            }
        }
        Ok(self.ways(&both, &conditions[..1], true))
    }

    /// Both ways on over branches that are taken together; `alike` says whether for the same value.
    fn ways(&mut self, both: &Both, branches: &[(usize, TermId)], alike: bool) -> Vec<Both> {
        let mut ways = Vec::new();
        for value in [true, false] {
            let mut way = both.clone();
            let mut goes_on = true;
            for (number, &(which, condition)) in branches.iter().enumerate() {
                let value = value == (alike || number == 0);
                let pool = self.pool();
                let holds = if value { condition } else { pool.not(condition) };
                if !way.conditions.contains(&holds) {
                    way.conditions.push(holds);
                }
                goes_on &= self.take(which, &mut way, value);
            }
            ways.extend(goes_on.then_some(way));
        }
        ways
    }

    /// Whether a condition has the same value in all runs of a pair.
    fn decided(&mut self, both: &Both, condition: TermId) -> Result<Decided, Failed> {
        let opposite = self.pool().not(condition);
        let holds = self.possible(both, &[condition])?;
        let fails = self.possible(both, &[opposite])?;
        Ok(match (holds, fails) {
            (true, true) => Decided::No,
            (false, false) => Decided::Never,
            (holds, _) => Decided::Always(holds),
        })
    }

    /// Whether there may be runs of a pair for which further conditions hold.
    fn possible(&mut self, both: &Both, further: &[TermId]) -> Result<bool, Failed> {
        let pool = &mut self.sides[self.holder].executor.pool;
        let mut conditions: Vec<TermId> = both.conditions.iter().chain(further).copied().collect();
        let sure: Vec<TermId> =
            conditions.iter().copied().chain(self.meetings.sure(both.from)).collect();
        if let Answer::Unsat = self.queries.check_soon(pool, &sure, 0)? {
            return Ok(false);
        }
        if both.from == 0 {
            return Ok(true);
        }
        conditions.extend(self.meetings.known(both.from));
        Ok(!matches!(self.queries.check_soon(pool, &conditions, 0)?, Answer::Unsat))
    }
}

/// What is known of a condition.
enum Decided {
    /// It always has this value.
    Always(bool),
    /// There are no runs.
    Never,
    /// It may have either.
    No,
}

fn failed(error: ExecError) -> Failed {
    Failed::Why(error.to_string())
}
