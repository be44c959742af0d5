//! Choice of the points at which a path is cut to be timed: around calls and loops, and if those
//! are few, between source lines.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::Insn;
use slowpath_kernel::early_exit;

/// Maximum number of points of a path.
const MAX_POINTS: usize = 24;
/// Number of points below which points between source lines are added.
const ENOUGH: usize = 10;

/// A path, and the points at which it can be cut.
pub struct CuttablePath<'a> {
    program: &'a BpfProgram,
    trace: &'a [usize],
    /// For each instruction of the trace, true if the path can end in front of it.
    possible: Vec<bool>,
}

impl<'a> CuttablePath<'a> {
    /// Describes the path of a program through the slots `trace`. It can be cut only at slots that
    /// it executes once.
    pub fn new(program: &'a BpfProgram, trace: &'a [usize]) -> CuttablePath<'a> {
        let places = early_exit::exit_points(program);
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        for &slot in trace {
            *times.entry(slot).or_default() += 1;
        }
        let possible = |slot: &usize| places.get(*slot) == Some(&true) && times[slot] == 1;
        CuttablePath { program, trace, possible: trace.iter().map(possible).collect() }
    }

    /// Returns the points in order, each as the number of executed instructions in front of it.
    pub fn points(&self) -> Vec<usize> {
        let around: BTreeSet<usize> = self.calls().chain(self.loops()).collect();
        let mut chosen: BTreeSet<usize> =
            evenly(&self.usable(around), MAX_POINTS).into_iter().collect();
        if chosen.len() < ENOUGH {
            let lines = self.usable(self.lines().filter(|at| !chosen.contains(at)));
            chosen.extend(evenly(&lines, ENOUGH - chosen.len()));
        }
        chosen.into_iter().collect()
    }

    fn usable(&self, points: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let usable = |at: &usize| *at > 0 && self.possible.get(*at) == Some(&true);
        points.into_iter().filter(usable).collect()
    }

    /// Returns the points in front of each call and after its return to the caller.
    fn calls(&self) -> impl Iterator<Item = usize> {
        let call =
            |at: &usize| matches!(self.program.insns.get(self.trace[*at]), Some(Insn::Call(_)));
        let calls = (0..self.trace.len()).filter(move |at| self.possible[*at] && call(at));
        calls.flat_map(|at| {
            let next = self.trace[at] + 1;
            let distance = self.trace[at..].iter().position(|&slot| slot == next);
            [Some(at), distance.map(|distance| at + distance)].into_iter().flatten()
        })
    }

    /// Returns the points around each loop: in front of the last instruction before the loop, and
    /// of the first instruction after it.
    fn loops(&self) -> impl Iterator<Item = usize> {
        let pairs = self.possible.windows(2).enumerate();
        pairs.filter_map(|(at, pair)| match pair {
            [true, false] => Some(at),
            [false, true] => Some(at + 1),
            _ => None,
        })
    }

    /// Returns the points at which another source line begins; all points if no lines are known.
    fn lines(&self) -> impl Iterator<Item = usize> {
        let line = |at: usize| self.program.lines.get(self.trace[at]).and_then(Option::as_ref);
        (1..self.trace.len()).filter(move |&at| {
            let (before, here) = (line(at - 1), line(at));
            here.is_none() || before != here
        })
    }
}

/// Returns at most `most` of the points, evenly spaced.
fn evenly(points: &[usize], most: usize) -> Vec<usize> {
    if points.len() <= most {
        return points.to_vec();
    }
    (0..most).map(|n| points[(2 * n + 1) * points.len() / (2 * most)]).collect()
}
