//! Closing a search by trying inputs: when that is begun, and what comes of it.
//!
//! The search and the trial take turns, measured in steps, so that results are the same every time
//! and neither takes much more than twice as long as it would alone. Where the solver would take
//! long over one path, the trial goes on alone: one of the two is hopeless then, and the trial knows
//! soon whether it is.

use super::{Bound, Event, FoundPath, Search};
use crate::SearchError;
use crate::enumerate::Enumeration;
use crate::inputs::{self, Possible, Progress, Trial};
use crate::options::InputEnumeration;
use slowpath_smt::{Evaluator, Node, Solver};
use slowpath_target::{CostVector, Slowness};
use std::cmp::Reverse;

/// Effort of the search for which the trial gets one slice.
const TURN: u64 = 16;
/// Effort of the search before the trial begins.
const HEAD_START: u64 = 8 * TURN;
/// Operations of a slice: some milliseconds.
const SLICE: u64 = 1 << 21;
/// Arcs of paths that are priced at a time.
const PRICED: usize = 1 << 18;

/// What the check of a path, and each question to the solver, count for in steps of the search.
const CHECK: u64 = TURN;

/// A path that some packet takes, with its price.
#[derive(Debug)]
pub(super) struct Priced {
    possible: Possible,
    cost: CostVector,
    component: usize,
    slowness: Slowness,
    /// Of the shortest packet, in bytes.
    length: u32,
}

/// How far the trial of inputs is.
#[derive(Debug)]
pub(super) enum Closing {
    /// It has not been looked at whether few inputs matter.
    Unplanned,
    /// Too many of them do.
    Never,
    /// Few may do.
    Promising,
    /// They are being tried.
    Trying(Box<Trial>),
    /// All have been tried; their paths are being priced.
    Pricing { trial: Box<Trial>, found: std::vec::IntoIter<Possible>, priced: Vec<Priced> },
    /// The paths that are left, slowest first.
    Closed { trial: Box<Trial>, left: std::vec::IntoIter<Priced> },
}

/// The trial of inputs, and whose turn it is.
#[derive(Debug)]
pub(super) struct Turns {
    pub closing: Closing,
    /// What the search has done since the last slice of the trial.
    pub effort: u64,
    /// How much of that the search may do.
    pub allowance: u64,
    /// Whether the search waits until everything is tried.
    pub alone: bool,
}

impl Turns {
    pub fn new() -> Self {
        Turns { closing: Closing::Unplanned, effort: 0, allowance: HEAD_START, alone: false }
    }

    /// Whether it is the trial's turn.
    fn due(&self) -> bool {
        match self.closing {
            Closing::Unplanned | Closing::Never => false,
            Closing::Promising | Closing::Trying(_) => self.alone || self.effort >= self.allowance,
            Closing::Pricing { .. } | Closing::Closed { .. } => true,
        }
    }

    /// Whether it is not known whether few inputs matter.
    pub fn is_unplanned(&self) -> bool {
        matches!(self.closing, Closing::Unplanned)
    }

    /// Lets the search wait until everything is tried; false if nothing is.
    pub fn wait(&mut self) -> bool {
        self.alone = self.trying();
        self.alone
    }

    /// Whether inputs are being tried, or will be.
    pub fn trying(&self) -> bool {
        matches!(self.closing, Closing::Promising | Closing::Trying(_))
    }

    /// Counts what the check of a path took, with so many questions to the solver.
    pub fn checked(&mut self, questions: u64) {
        self.effort += CHECK * (1 + questions);
    }
}

impl<S: Solver> Search<S> {
    /// Looks whether few inputs matter, once.
    pub(super) fn plan(&mut self) {
        if !self.turns.is_unplanned() {
            return;
        }
        self.turns.alone = self.options.inputs == InputEnumeration::First;
        let few = self.options.inputs != InputEnumeration::Never
            && inputs::may_be_few(&self.unrolled, self.max_packet);
        self.turns.closing = if few { Closing::Promising } else { Closing::Never };
        self.checker.set_brief(self.turns.trying());
    }

    /// Whether all inputs that matter have been tried, so that the paths that are left are known.
    pub fn has_tried_all(&self) -> bool {
        matches!(self.turns.closing, Closing::Closed { .. })
    }

    /// A slice of the trial, if it is its turn, or what came of it.
    pub(super) fn close(&mut self) -> Option<Result<Event, SearchError>> {
        if !self.turns.due() {
            return None;
        }
        self.turns.effort = self.turns.effort.saturating_sub(self.turns.allowance);
        self.turns.allowance = TURN;
        match std::mem::replace(&mut self.turns.closing, Closing::Never) {
            Closing::Unplanned | Closing::Never => None,
            Closing::Promising => {
                let operations = self.options.most_operations;
                match Trial::new(&self.unrolled, self.max_packet, operations) {
                    Some(trial) => self.turns.closing = Closing::Trying(Box::new(trial)),
                    None => self.give_up_trying(),
                }
                Some(Ok(Event::Working))
            }
            Closing::Trying(mut trial) => {
                let progress = trial.advance(SLICE);
                self.statistics.runs = trial.runs;
                match progress {
                    Progress::Working => self.turns.closing = Closing::Trying(trial),
                    Progress::Complete => {
                        let found = trial.take().into_iter();
                        self.turns.closing = Closing::Pricing { trial, found, priced: Vec::new() };
                    }
                    Progress::Hopeless => self.give_up_trying(),
                }
                Some(Ok(Event::Working))
            }
            Closing::Pricing { trial, found, priced } => Some(Ok(self.price(trial, found, priced))),
            Closing::Closed { trial, mut left } => {
                let next = left.next();
                let event = match &next {
                    Some(next) => self.possible(&trial, next),
                    None => Ok(Event::Complete),
                };
                self.turns.closing = Closing::Closed { trial, left };
                Some(event)
            }
        }
    }

    /// Goes on without the trial.
    fn give_up_trying(&mut self) {
        self.turns.alone = false;
        self.checker.set_brief(false);
        if self.enumeration.as_ref().is_some_and(Enumeration::is_undecided) {
            // What was not decided in a hurry may be with time; what was found is known.
            self.enumeration = Some(Enumeration::new(&self.unrolled));
        }
    }

    /// Prices some of the paths that were found.
    fn price(
        &mut self,
        trial: Box<Trial>,
        mut found: std::vec::IntoIter<Possible>,
        mut priced: Vec<Priced>,
    ) -> Event {
        let (mut path, mut arcs) = (Vec::new(), 0);
        while arcs < PRICED {
            let Some(possible) = found.next() else {
                // Equally slow ones stay in order.
                priced.sort_by_key(|path| Reverse(path.slowness));
                self.turns.closing = Closing::Closed { trial, left: priced.into_iter() };
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
        self.turns.closing = Closing::Pricing { trial, found, priced };
        Event::Working
    }

    /// The bound on the paths that are left, once all are known.
    pub(super) fn closed_bound(&self) -> Option<Option<Bound>> {
        let Closing::Closed { trial, left } = &self.turns.closing else { return None };
        Some(left.as_slice().first().map(|next| {
            let mut path = Vec::new();
            trial.arcs(&next.possible, &mut path);
            let &Priced { slowness, component, length, cost, .. } = next;
            Bound { slowness, component, length, cost, path }
        }))
    }

    /// A path with a packet for it.
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
