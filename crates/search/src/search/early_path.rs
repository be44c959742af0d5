//! Looks for an early path: a satisfiable path that is reported before the slowest path is found.
//! Its cost is a lower bound for the slowest path.
//!
//! This search is called the descent. It runs depth-first and follows the most expensive arc of
//! each node first. It skips an arc if no packet that reaches the node takes it. Every prefix is
//! satisfiable, so the first descent ends with a path. The descent has its own solver and nogoods
//! and thus does not affect the results of the search.

use super::early_path_search::{EarlyPathSearch, Going};
use super::{Event, Search};
use crate::SearchError;
use crate::check::PathChecker;
use crate::enumerate::{Enumeration, Progress};
use crate::found_path::FoundPath;
use crate::nogood::Nogoods;
use slowpath_smt::Solver;

impl<S: Solver> Search<S> {
    /// Requests an early path ([`Event::EarlyPath`]), found by a separate depth-first search. That
    /// search starts when `checked` paths have been checked without finding a satisfiable one.
    /// `solver` serves this search alone.
    pub fn request_early_path(&mut self, solver: S, checked: u64) {
        self.descent = EarlyPathSearch::Waiting(solver, checked);
    }

    /// If the depth-first search for an early path is due, runs one step of it. Otherwise, returns
    /// `None`.
    pub(super) fn descend(&mut self) -> Option<Result<Event, SearchError>> {
        if !self.known.is_empty() || self.enumeration.is_some() {
            self.descent = EarlyPathSearch::Over;
        }
        let mut going = match std::mem::replace(&mut self.descent, EarlyPathSearch::Over) {
            EarlyPathSearch::Over => return None,
            EarlyPathSearch::Waiting(solver, checked) => {
                if self.statistics.candidates < checked && self.stuck.is_none() {
                    self.descent = EarlyPathSearch::Waiting(solver, checked);
                    return None;
                }
                Box::new(self.start_descent(solver))
            }
            EarlyPathSearch::Going(going) => going,
        };
        // If the search is stuck at an undecided path, the descent gets every turn.
        if going.waits && self.stuck.is_none() {
            going.waits = false;
            self.descent = EarlyPathSearch::Going(going);
            return None;
        }
        going.waits = true;
        let Going { enumeration, checker, nogoods, .. } = &mut *going;
        let progress = enumeration.step(&mut self.unrolled, checker, nogoods, self.max_packet);
        let event = match progress {
            Err(SearchError::Stopped(reason)) => Err(SearchError::Stopped(reason)),
            // Other errors end only the descent, not the search.
            Err(_) | Ok(Progress::Complete | Progress::Undecided(_)) => return None,
            Ok(Progress::Working | Progress::Impossible) => Ok(Event::Working),
            Ok(Progress::Path { length, model }) => {
                let path = enumeration.path().to_owned();
                let cost = self.costs.path_cost(&path);
                let conditions = enumeration.conditions().to_owned();
                let found = FoundPath { path, cost, length, model, conditions };
                return Some(Ok(Event::EarlyPath(Box::new(found))));
            }
        };
        self.descent = EarlyPathSearch::Going(going);
        Some(event)
    }

    fn start_descent(&mut self, solver: S) -> Going<S> {
        let component = self.components().start;
        let arcs = self.unrolled.dag.arcs.len();
        let behind = self.costs.max_cost_from(component, arcs, &mut self.scratch);
        let lengths = self.unrolled.dag.arcs.iter().map(|arc| arc.min_length).collect();
        Going {
            enumeration: Enumeration::heaviest_first(&self.unrolled, behind),
            checker: PathChecker::new(solver, self.checker.min_packet(), self.options),
            nogoods: Nogoods::new(lengths),
            waits: false,
        }
    }
}
