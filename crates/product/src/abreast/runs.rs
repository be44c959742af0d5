//! State of the lockstep execution, and steps of one program: over a block or over a branch.

use super::meetings::Meetings;
use super::order::Order;
use super::turns::{At, Pair, Place};
use crate::paths::Drawing;
use crate::queries::{Answer, Queries};
use crate::side::Side;
use slowpath_exec::{AllPaths, ExecError};
use slowpath_ir::RelianceId;
use slowpath_smt::{SolverError, TermId, TermPool};
use std::collections::BTreeMap;

/// Maximum number of executed blocks.
const MAX_BLOCKS: u64 = 1_000_000;

/// Reason why runs could not be followed.
pub(super) enum Failed {
    Solver(SolverError),
    Why(String),
}

impl From<SolverError> for Failed {
    fn from(error: SolverError) -> Self {
        Failed::Solver(error)
    }
}

impl From<ExecError> for Failed {
    fn from(error: ExecError) -> Self {
        Failed::Why(error.to_string())
    }
}

/// State of the lockstep execution.
pub(super) struct Runs<'a, 'b> {
    pub sides: [&'a mut Side; 2],
    pub orders: &'a [Order; 2],
    pub drawing: &'a mut dyn Drawing,
    pub queries: &'a mut Queries<'b>,
    /// Number of the program that holds the term pool.
    pub holder: usize,
    pub meetings: Meetings,
    /// Waiting pairs by place.
    pub waiting: BTreeMap<Place, Vec<Pair>>,
    /// Reliances of each program, with the terms that are 1 in runs that rely on them.
    pub relied: [Vec<(RelianceId, TermId)>; 2],
    /// Number of arcs of all joins so far.
    pub arcs: usize,
    /// Number of executed blocks.
    blocks: u64,
}

impl<'a, 'b> Runs<'a, 'b> {
    /// Starts without runs, for packets for which `conditions` hold.
    pub fn new(
        sides: [&'a mut Side; 2],
        orders: &'a [Order; 2],
        conditions: &[TermId],
        drawing: &'a mut dyn Drawing,
        queries: &'a mut Queries<'b>,
    ) -> Self {
        let [first, second] = sides;
        let meetings = Meetings::new(&mut first.executor.pool, conditions);
        for side in [&mut *first, &mut *second] {
            side.joined = Some(AllPaths::new());
        }
        Runs {
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
        }
    }

    /// Hands the term pool to a program.
    pub fn hold(&mut self, which: usize) {
        if self.holder != which {
            let [first, second] = &mut self.sides;
            std::mem::swap(&mut first.executor.pool, &mut second.executor.pool);
            self.holder = which;
        }
    }

    /// Returns the term pool, whichever program holds it.
    pub fn pool(&mut self) -> &mut TermPool {
        &mut self.sides[self.holder].executor.pool
    }

    /// Executes the block at which a program is; returns whether any run gets past it.
    pub fn run(&mut self, which: usize, pair: &mut Pair) -> Result<bool, Failed> {
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return Err(Failed::Why(format!("more than {MAX_BLOCKS} blocks are executed")));
        }
        self.hold(which);
        match self.execute(which, pair) {
            Ok(goes_on) => Ok(goes_on),
            // An error does not matter in a block that no run reaches.
            Err(error) if self.possible(pair, &[])? => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    fn execute(&mut self, which: usize, pair: &mut Pair) -> Result<bool, ExecError> {
        let runner = &mut pair.sides[which];
        let At::Block(block) = runner.at else { return Ok(true) };
        let side = &mut *self.sides[which];
        let (order, [taken, fallthrough]) = (&self.orders[which], side.targets(block));
        let executed = side.executor.program().block(block).insns.len();
        runner.moved = true;
        runner.instructions += executed as u64;
        pair.slower += if which == 0 { -(executed as i64) } else { executed as i64 };
        let point = side.new_point();
        let drawn = self.drawing.draws(side, block, &mut runner.counts);
        side.executor.expect_draws(drawn);
        let condition = side.executor.run_block(point, block, &mut runner.state)?;
        let joined = side.joined.get_or_insert_default();
        for (on, term) in side.executor.reliances(point).to_vec() {
            let mut relies = joined.resolve(&mut side.executor, term)?;
            let pool = &mut side.executor.pool;
            let reached = self.meetings.reached(pair.from);
            for &condition in pair.conditions.iter().chain([&reached]) {
                relies = pool.and(relies, condition);
            }
            if pool.as_const(relies) != Some(0) {
                self.relied[which].push((on, relies));
            }
        }
        let Some(raw) = condition else { return Ok(runner.go(taken, order)) };
        let condition = joined.resolve(&mut side.executor, raw)?;
        let mut possible = [true, true];
        for (value, possible) in [true, false].into_iter().zip(&mut possible) {
            for term in [raw, condition] {
                *possible &= side.executor.assume(&runner.state, term, value).is_some();
            }
        }
        match (side.executor.pool.as_const(condition), possible) {
            (Some(0), _) | (None, [false, true]) => Ok(runner.go(fallthrough, order)),
            (Some(_), _) | (None, [true, false]) => Ok(runner.go(taken, order)),
            (None, [false, false]) => Ok(false),
            (None, [true, true]) => {
                let terms = [raw, condition];
                runner.at = At::Branch { block, terms, taken, fallthrough };
                Ok(true)
            }
        }
    }

    /// Takes one side of a program's branch; returns whether any run gets there.
    pub fn take(&mut self, which: usize, pair: &mut Pair, value: bool) -> bool {
        let runner = &mut pair.sides[which];
        let At::Branch { terms, taken, fallthrough, .. } = runner.at else { return false };
        self.hold(which);
        let executor = &self.sides[which].executor;
        for term in terms {
            let Some(state) = executor.assume(&runner.state, term, value) else { return false };
            runner.state = state;
        }
        runner.go(if value { taken } else { fallthrough }, &self.orders[which])
    }

    /// Returns whether a pair may have runs for which further conditions hold.
    pub fn possible(&mut self, pair: &Pair, further: &[TermId]) -> Result<bool, Failed> {
        let pool = &mut self.sides[self.holder].executor.pool;
        let mut conditions: Vec<TermId> = pair.conditions.iter().chain(further).copied().collect();
        let sure: Vec<TermId> =
            conditions.iter().copied().chain(self.meetings.sure(pair.from)).collect();
        if let Answer::Unsat = self.queries.check_soon(pool, &sure, 0)? {
            return Ok(false);
        }
        if pair.from == 0 {
            return Ok(true);
        }
        conditions.extend(self.meetings.known(pair.from));
        Ok(!matches!(self.queries.check_soon(pool, &conditions, 0)?, Answer::Unsat))
    }
}
