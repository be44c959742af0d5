//! The state of the lockstep execution, and functions that execute a block or a branch of one of
//! the programs.

use super::join_points::JoinPoints;
use super::order::Order;
use super::scheduling::{Pair, PairPosition, Position};
use crate::paths::DrawSource;
use crate::queries::{Answer, Queries};
use crate::side::Side;
use slowpath_exec::{AllPaths, ExecError};
use slowpath_ir::RelianceId;
use slowpath_smt::{SolverError, TermId, TermPool};
use std::collections::BTreeMap;

/// Maximum number of blocks that are executed in total.
const MAX_BLOCKS: u64 = 1_000_000;

/// Reason why two programs could not be executed in lockstep.
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

/// State of the lockstep execution: both programs, the points at which their runs are joined, and
/// the pairs of runs that wait to be joined.
pub(super) struct Runs<'a, 'b> {
    pub sides: [&'a mut Side; 2],
    pub orders: &'a [Order; 2],
    pub drawing: &'a mut dyn DrawSource,
    pub queries: &'a mut Queries<'b>,
    /// Index of the program that holds the term pool.
    pub pool_owner: usize,
    pub join_points: JoinPoints,
    /// Pairs of runs that wait to be joined with other pairs, by the position of each pair in both
    /// programs.
    pub waiting: BTreeMap<PairPosition, Vec<Pair>>,
    /// For each program, the uncertain assumptions of its runs, each with a term that is 1 in the
    /// runs that rely on it.
    pub reliances: [Vec<(RelianceId, TermId)>; 2],
    /// Number of incoming paths of all join points so far.
    pub arcs: usize,
    /// Number of blocks executed so far.
    blocks: u64,
}

impl<'a, 'b> Runs<'a, 'b> {
    /// Creates the state at the start of both programs. `conditions` hold for all packets.
    pub fn new(
        sides: [&'a mut Side; 2],
        orders: &'a [Order; 2],
        conditions: &[TermId],
        drawing: &'a mut dyn DrawSource,
        queries: &'a mut Queries<'b>,
    ) -> Self {
        let [first, second] = sides;
        let join_points = JoinPoints::new(&mut first.executor.pool, conditions);
        for side in [&mut *first, &mut *second] {
            side.joined = Some(AllPaths::new());
        }
        Runs {
            sides: [first, second],
            orders,
            drawing,
            queries,
            pool_owner: 0,
            join_points,
            waiting: BTreeMap::new(),
            reliances: [Vec::new(), Vec::new()],
            arcs: 0,
            blocks: 0,
        }
    }

    /// Hands the shared pool of terms to the program with index `which`, if the other program holds
    /// it.
    pub fn move_pool_to(&mut self, which: usize) {
        if self.pool_owner != which {
            let [first, second] = &mut self.sides;
            std::mem::swap(&mut first.executor.pool, &mut second.executor.pool);
            self.pool_owner = which;
        }
    }

    /// Returns the shared pool of terms from the program that holds it.
    pub fn pool(&mut self) -> &mut TermPool {
        &mut self.sides[self.pool_owner].executor.pool
    }

    /// Executes the next block of a program. Returns false if no run continues after the block.
    pub fn run(&mut self, which: usize, pair: &mut Pair) -> Result<bool, Failed> {
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return Err(Failed::Why(format!("more than {MAX_BLOCKS} blocks are executed")));
        }
        self.move_pool_to(which);
        match self.execute(which, pair) {
            Ok(goes_on) => Ok(goes_on),
            // An error in a block that no run reaches does not matter.
            Err(error) if self.possible(pair, &[])? => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    fn execute(&mut self, which: usize, pair: &mut Pair) -> Result<bool, ExecError> {
        let cursor = &mut pair.sides[which];
        let Position::Block(block) = cursor.at else { return Ok(true) };
        let side = &mut *self.sides[which];
        let (order, [taken, fallthrough]) = (&self.orders[which], side.targets(block));
        let executed = side.executor.program().block(block).insns.len();
        cursor.moved = true;
        cursor.instructions += executed as u64;
        pair.max_extra_instructions +=
            if which == 0 { -(executed as i64) } else { executed as i64 };
        let point = side.new_point();
        let drawn = self.drawing.draws(side, block, &mut cursor.counts);
        side.executor.expect_draws(drawn);
        let condition = side.executor.run_block(point, block, &mut cursor.state)?;
        let joined = side.joined.get_or_insert_default();
        for (on, term) in side.executor.reliances(point).to_vec() {
            let mut relies = joined.resolve(&mut side.executor, term)?;
            let pool = &mut side.executor.pool;
            let reached = self.join_points.reached(pair.from);
            for &condition in pair.conditions.iter().chain([&reached]) {
                relies = pool.and(relies, condition);
            }
            if pool.as_const(relies) != Some(0) {
                self.reliances[which].push((on, relies));
            }
        }
        let Some(raw) = condition else { return Ok(cursor.go(taken, order)) };
        let condition = joined.resolve(&mut side.executor, raw)?;
        let mut possible = [true, true];
        for (value, possible) in [true, false].into_iter().zip(&mut possible) {
            for term in [raw, condition] {
                *possible &= side.executor.assume(&cursor.state, term, value).is_some();
            }
        }
        match (side.executor.pool.as_const(condition), possible) {
            (Some(0), _) | (None, [false, true]) => Ok(cursor.go(fallthrough, order)),
            (Some(_), _) | (None, [true, false]) => Ok(cursor.go(taken, order)),
            (None, [false, false]) => Ok(false),
            (None, [true, true]) => {
                let terms = [raw, condition];
                cursor.at = Position::Branch { block, terms, taken, fallthrough };
                Ok(true)
            }
        }
    }

    /// Moves the runs of a program to one side of its branch: the side for the condition's `value`.
    /// Returns false if no run takes this side.
    pub fn take(&mut self, which: usize, pair: &mut Pair, value: bool) -> bool {
        let cursor = &mut pair.sides[which];
        let Position::Branch { terms, taken, fallthrough, .. } = cursor.at else { return false };
        self.move_pool_to(which);
        let executor = &self.sides[which].executor;
        for term in terms {
            let Some(state) = executor.assume(&cursor.state, term, value) else { return false };
            cursor.state = state;
        }
        cursor.go(if value { taken } else { fallthrough }, &self.orders[which])
    }

    /// Asks the solver whether some run of a pair can fulfil the conditions in `further`. Returns
    /// false only if the solver shows that no run can.
    pub fn possible(&mut self, pair: &Pair, further: &[TermId]) -> Result<bool, Failed> {
        let pool = &mut self.sides[self.pool_owner].executor.pool;
        let mut conditions: Vec<TermId> = pair.conditions.iter().chain(further).copied().collect();
        let sure: Vec<TermId> =
            conditions.iter().copied().chain(self.join_points.sure(pair.from)).collect();
        if let Answer::Unsat = self.queries.check_quickly(pool, &sure, 0)? {
            return Ok(false);
        }
        if pair.from == 0 {
            return Ok(true);
        }
        conditions.extend(self.join_points.known(pair.from));
        Ok(!matches!(self.queries.check_quickly(pool, &conditions, 0)?, Answer::Unsat))
    }
}
