//! Runs the trial in turns with the search: runs the program on all values of its relevant inputs,
//! and reports the paths that these runs take.

use super::schedule::{Priced, TURN, TrialPhase};
use super::{Bound, Event, Search};
use crate::SearchError;
use crate::enumerate::Enumeration;
use crate::found_path::FoundPath;
use crate::inputs::{self, EnumeratedPath, Progress, Trial};
use crate::options::InputEnumeration;
use slowpath_smt::{Evaluator, Node, Solver};
use std::cmp::Reverse;

/// Number of operations that one turn of the trial executes; in the trial, the program runs on all
/// inputs. A turn takes some milliseconds.
const SLICE: u64 = 1 << 21;
/// Total number of arcs in the paths whose costs are computed in one step.
const PRICED: usize = 1 << 18;

impl<S: Solver> Search<S> {
    /// Estimates the number of relevant inputs, and plans a trial if it is small. Does nothing on
    /// later calls.
    pub(super) fn plan(&mut self) {
        if !self.turns.is_unplanned() {
            return;
        }
        self.turns.trial_only = self.options.inputs == InputEnumeration::First;
        let few = self.options.inputs != InputEnumeration::Never
            && inputs::may_be_few(&self.unrolled, self.max_packet);
        self.turns.closing = if few { TrialPhase::Promising } else { TrialPhase::Never };
        self.checker.set_brief(self.turns.trying());
    }

    /// Returns true if the program has run on all combinations of its relevant inputs. All
    /// unreported paths are then known.
    pub fn has_tried_all(&self) -> bool {
        matches!(self.turns.closing, TrialPhase::Closed { .. })
    }

    /// Continues the trial if it is due: runs the program on more combinations of inputs or, when
    /// all have been tried, reports a path. Returns `None` if the search continues instead.
    pub(super) fn run_trial(&mut self) -> Option<Result<Event, SearchError>> {
        if !self.turns.due() {
            return None;
        }
        self.turns.effort = self.turns.effort.saturating_sub(self.turns.allowance);
        self.turns.allowance = TURN;
        match std::mem::replace(&mut self.turns.closing, TrialPhase::Never) {
            TrialPhase::Unplanned | TrialPhase::Never => None,
            TrialPhase::Promising => {
                let operations = self.options.max_operations;
                match Trial::new(&self.unrolled, self.max_packet, operations) {
                    Some(trial) => self.turns.closing = TrialPhase::Trying(Box::new(trial)),
                    None => self.give_up_trying(),
                }
                Some(Ok(Event::Working))
            }
            TrialPhase::Trying(mut trial) => {
                let progress = trial.advance(SLICE);
                self.statistics.runs = trial.runs;
                match progress {
                    Progress::Working => self.turns.closing = TrialPhase::Trying(trial),
                    Progress::Complete => {
                        let found = trial.take().into_iter();
                        self.turns.closing =
                            TrialPhase::Pricing { trial, found, priced: Vec::new() };
                    }
                    Progress::TooExpensive => self.give_up_trying(),
                }
                Some(Ok(Event::Working))
            }
            TrialPhase::Pricing { trial, found, priced } => {
                Some(Ok(self.price(trial, found, priced)))
            }
            TrialPhase::Closed { trial, mut left } => {
                let next = left.next();
                let event = match &next {
                    Some(next) => self.possible(&trial, next),
                    None => Ok(Event::Complete),
                };
                self.turns.closing = TrialPhase::Closed { trial, left };
                Some(event)
            }
        }
    }

    /// Stops running the program on all combinations of inputs; the search continues alone.
    fn give_up_trying(&mut self) {
        self.turns.trial_only = false;
        self.checker.set_brief(false);
        if self.enumeration.as_ref().is_some_and(Enumeration::is_undecided) {
            // Paths that brief checks left undecided may be decided now. Paths already found are in
            // `known`.
            self.enumeration = Some(Enumeration::new(&self.unrolled));
        }
    }

    /// Computes the costs of some more of the paths that the trial found by running the program on
    /// all inputs.
    fn price(
        &mut self,
        trial: Box<Trial>,
        mut found: std::vec::IntoIter<EnumeratedPath>,
        mut priced: Vec<Priced>,
    ) -> Event {
        let (mut path, mut arcs) = (Vec::new(), 0);
        while arcs < PRICED {
            let Some(possible) = found.next() else {
                // The sort is stable, so equally slow paths keep their order.
                priced.sort_by_key(|path| Reverse(path.slowness));
                self.turns.closing = TrialPhase::Closed { trial, left: priced.into_iter() };
                return self.bound().map_or(Event::Complete, Event::Bound);
            };
            trial.arcs(&possible, &mut path);
            arcs += path.len();
            if self.known.contains(&path) {
                continue;
            }
            let cost = self.costs.path_cost(&path);
            let length = possible.length().max(self.checker.min_packet());
            let (component, slowness) = self.slowness(&cost, length);
            priced.push(Priced { possible, cost, component, slowness, length });
        }
        self.turns.closing = TrialPhase::Pricing { trial, found, priced };
        Event::Working
    }

    /// Returns the bound on the unreported paths if the trial has found all paths by running the
    /// program on all inputs, otherwise `None`. The inner option is `None` if all paths were
    /// reported.
    pub(super) fn closed_bound(&self) -> Option<Option<Bound>> {
        let TrialPhase::Closed { trial, left } = &self.turns.closing else { return None };
        Some(left.as_slice().first().map(|next| {
            let mut path = Vec::new();
            trial.arcs(&next.possible, &mut path);
            let &Priced { slowness, component, length, cost, .. } = next;
            Bound { slowness, component, length, cost, path }
        }))
    }

    /// Checks that the packet found for a path by running the program takes this path. Returns the
    /// event that reports the path.
    fn possible(&mut self, trial: &Trial, priced: &Priced) -> Result<Event, SearchError> {
        let mut path = Vec::new();
        trial.arcs(&priced.possible, &mut path);
        let conditions = self.checker.conditions(&mut self.unrolled, &path)?;
        let pool = &self.unrolled.executor.pool;
        let mut model = trial.model(pool, &priced.possible);
        for term in pool.subterms(&conditions) {
            if let Node::Var(var) = *pool.node(term)
                && model.var(var).is_none()
            {
                model.set_var(var, pool.domain(term).lo());
            }
        }
        let mut evaluator = Evaluator::new(pool, &model);
        if conditions.iter().any(|&condition| evaluator.value(condition) != 1) {
            let what = "inputs do not take the path on which they were tried";
            return Err(SearchError::Internal(what.into()));
        }
        self.statistics.candidates += 1;
        self.statistics.satisfiable += 1;
        let (cost, length) = (priced.cost, priced.length);
        Ok(Event::Path(Box::new(FoundPath { path, cost, length, model, conditions })))
    }
}
