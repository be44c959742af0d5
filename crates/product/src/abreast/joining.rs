//! Joins pairs of runs that have reached the same blocks in both programs.

use super::meetings::Way;
use super::runs::{Failed, Runs};
use super::turns::{At, Pair, Runner};
use slowpath_exec::{ArcId, SymbolicState};
use slowpath_smt::TermId;

impl Runs<'_, '_> {
    /// Joins pairs that wait at the same two blocks.
    pub fn join(&mut self, mut pairs: Vec<Pair>) -> Result<Pair, Failed> {
        if pairs.len() == 1
            && let Some(mut only) = pairs.pop()
        {
            only.sides.iter_mut().for_each(|runner| runner.moved = false);
            return Ok(only);
        }
        let counts: Vec<[&[u32]; 2]> = pairs
            .iter()
            .map(|pair| pair.sides.each_ref().map(|runner| &runner.counts[..]))
            .collect();
        let [first, second] = self
            .drawing
            .join(&counts)
            .ok_or_else(|| Failed::Why("ways differ in how often they draw something".into()))?;
        let ways: Vec<Way<'_>> = pairs
            .iter()
            .map(|pair| Way { from: pair.from, conditions: &pair.conditions })
            .collect();
        let pool = &mut self.sides[self.holder].executor.pool;
        let (from, selectors) = self.meetings.add(pool, &ways);
        let arcs = (self.arcs..).map(ArcId::from);
        let taken: Vec<(ArcId, TermId)> = arcs.zip(selectors).collect();
        self.arcs += taken.len();
        let [one, other] = [0, 1]
            .map(|which| pairs.iter().map(|pair| &pair.sides[which]).collect::<Vec<&Runner>>());
        let sides = [
            self.join_runners(0, &one, &taken, first)?,
            self.join_runners(1, &other, &taken, second)?,
        ];
        let slower = pairs.iter().map(|pair| pair.slower).max().unwrap_or(0);
        Ok(Pair { sides, from, conditions: Vec::new(), slower })
    }

    /// Joins runs of one program. For each run, `taken` has the arc it arrives by and the term that
    /// is 1 if the run takes this arc.
    fn join_runners(
        &mut self,
        which: usize,
        runners: &[&Runner],
        taken: &[(ArcId, TermId)],
        counts: Vec<u32>,
    ) -> Result<Runner, Failed> {
        self.hold(which);
        let side = &mut *self.sides[which];
        let node = side.new_point();
        let arriving = taken.iter().zip(runners);
        let states: Vec<(ArcId, SymbolicState)> =
            arriving.map(|(&(arc, _), runner)| (arc, runner.state.clone())).collect();
        let at = runners[0].at;
        let state = match at {
            At::Block(block) => side.executor.merge(node, block, states)?,
            _ => side.executor.merge_exits(node, &states),
        };
        side.joined.get_or_insert_default().arrive(node, taken.to_vec());
        let rounds = runners.iter().map(|runner| runner.rounds).max().unwrap_or(0);
        let instructions = runners.iter().map(|runner| runner.instructions).max().unwrap_or(0);
        Ok(Runner { at, state, counts, rounds, instructions, moved: false })
    }
}
