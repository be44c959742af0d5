//! Chooses the points at which a path is cut into pieces, to time each piece. Points are next to
//! calls and loops. If there are few of them, boundaries between source lines are added.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::Insn;
use slowpath_kernel::early_exit;

/// Maximum number of points around the calls and loops of a path at which it is cut.
const MAX_POINTS: usize = 24;
/// Number of points around calls and loops that is enough. If there are fewer, points between
/// source lines are added.
const ENOUGH: usize = 10;

/// A path of a program, with the instructions before which it can be cut.
pub struct CuttablePath<'a> {
    program: &'a BpfProgram,
    trace: &'a [usize],
    /// For each executed instruction of the path, true if the path can be cut before it.
    possible: Vec<bool>,
}

impl<'a> CuttablePath<'a> {
    /// Finds the instructions before which a path can be cut. `trace` has the indices of the
    /// instructions that the path executes; only those that it executes exactly once qualify.
    pub fn new(program: &'a BpfProgram, trace: &'a [usize]) -> CuttablePath<'a> {
        let places = early_exit::exit_points(program);
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        for &slot in trace {
            *times.entry(slot).or_default() += 1;
        }
        let possible = |slot: &usize| places.get(*slot) == Some(&true) && times[slot] == 1;
        CuttablePath { program, trace, possible: trace.iter().map(possible).collect() }
    }

    /// Returns the points at which the path is cut, in ascending order. A point is the number of
    /// instructions that are executed before it.
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

    /// Returns the points before each call, and those after the call has returned.
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

    /// Returns two points for each loop. The first is before the last instruction in front of the
    /// loop, and the second is before the first instruction after it.
    fn loops(&self) -> impl Iterator<Item = usize> {
        let pairs = self.possible.windows(2).enumerate();
        pairs.filter_map(|(at, pair)| match pair {
            [true, false] => Some(at),
            [false, true] => Some(at + 1),
            _ => None,
        })
    }

    /// Returns the points at which the source line changes. If the source line of an instruction is
    /// unknown, includes the point before it.
    fn lines(&self) -> impl Iterator<Item = usize> {
        let line = |at: usize| self.program.lines.get(self.trace[at]).and_then(Option::as_ref);
        (1..self.trace.len()).filter(move |&at| {
            let (before, here) = (line(at - 1), line(at));
            here.is_none() || before != here
        })
    }
}

/// Returns at most `most` of the points, evenly spaced over the list.
fn evenly(points: &[usize], most: usize) -> Vec<usize> {
    if points.len() <= most {
        return points.to_vec();
    }
    (0..most).map(|n| points[(2 * n + 1) * points.len() / (2 * most)]).collect()
}
