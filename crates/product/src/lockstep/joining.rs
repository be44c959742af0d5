//! Joins pairs of runs that have reached the same blocks in both programs.

use super::join_points::IncomingPath;
use super::runs::{Failed, Runs};
use super::scheduling::{Cursor, Pair, Position};
use slowpath_exec::{ArcId, SymbolicState};
use slowpath_smt::TermId;

impl Runs<'_, '_> {
    /// Joins several pairs of runs, which wait at the same block in each program, into one pair.
    pub fn join(&mut self, mut pairs: Vec<Pair>) -> Result<Pair, Failed> {
        if pairs.len() == 1
            && let Some(mut only) = pairs.pop()
        {
            only.sides.iter_mut().for_each(|cursor| cursor.moved = false);
            return Ok(only);
        }
        let counts: Vec<[&[u32]; 2]> = pairs
            .iter()
            .map(|pair| pair.sides.each_ref().map(|cursor| &cursor.counts[..]))
            .collect();
        let [first, second] = self
            .drawing
            .join(&counts)
            .ok_or_else(|| Failed::Why("ways differ in how often they draw something".into()))?;
        let incoming: Vec<IncomingPath<'_>> = pairs
            .iter()
            .map(|pair| IncomingPath { from: pair.from, conditions: &pair.conditions })
            .collect();
        let pool = &mut self.sides[self.pool_owner].executor.pool;
        let (from, selectors) = self.join_points.add(pool, &incoming);
        let arcs = (self.arcs..).map(ArcId::from);
        let taken: Vec<(ArcId, TermId)> = arcs.zip(selectors).collect();
        self.arcs += taken.len();
        let [one, other] = [0, 1]
            .map(|which| pairs.iter().map(|pair| &pair.sides[which]).collect::<Vec<&Cursor>>());
        let sides = [
            self.join_runners(0, &one, &taken, first)?,
            self.join_runners(1, &other, &taken, second)?,
        ];
        let max_extra_instructions =
            pairs.iter().map(|pair| pair.max_extra_instructions).max().unwrap_or(0);
        Ok(Pair { sides, from, conditions: Vec::new(), max_extra_instructions })
    }

    /// Joins runs of one program that wait at the same block. For each of the `cursors`, `taken`
    /// contains the identifier of the path by which its runs arrive, and a term that is 1 if this
    /// path is taken.
    fn join_runners(
        &mut self,
        which: usize,
        cursors: &[&Cursor],
        taken: &[(ArcId, TermId)],
        counts: Vec<u32>,
    ) -> Result<Cursor, Failed> {
        self.move_pool_to(which);
        let side = &mut *self.sides[which];
        let node = side.new_point();
        let arriving = taken.iter().zip(cursors);
        let states: Vec<(ArcId, SymbolicState)> =
            arriving.map(|(&(arc, _), cursor)| (arc, cursor.state.clone())).collect();
        let at = cursors[0].at;
        let state = match at {
            Position::Block(block) => side.executor.merge(node, block, states)?,
            _ => side.executor.merge_exits(node, &states),
        };
        side.joined.get_or_insert_default().arrive(node, taken.to_vec());
        let iterations = cursors.iter().map(|cursor| cursor.iterations).max().unwrap_or(0);
        let instructions = cursors.iter().map(|cursor| cursor.instructions).max().unwrap_or(0);
        Ok(Cursor { at, state, counts, iterations, instructions, moved: false })
    }
}
