//! Choice of the points of a path at which its time is taken: around calls and loops, and between
//! source lines if those are few.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::Insn;
use slowpath_kernel::early_exit;

/// Most points of a path.
const MOST: usize = 24;
/// Number of points that points between source lines fill up to.
const ENOUGH: usize = 10;

/// A path, and the points at which it can be cut.
pub struct CuttablePath<'a> {
    program: &'a BpfProgram,
    trace: &'a [usize],
    /// For each instruction of the trace, true if the path can end in front of it.
    possible: Vec<bool>,
}

impl<'a> CuttablePath<'a> {
    /// Creates the path of a program through these slots. It can end at a slot only if it passes
    /// there once.
    pub fn new(program: &'a BpfProgram, trace: &'a [usize]) -> CuttablePath<'a> {
        let places = early_exit::exit_points(program);
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        for &slot in trace {
            *times.entry(slot).or_default() += 1;
        }
        let possible = |slot: &usize| places.get(*slot) == Some(&true) && times[slot] == 1;
        CuttablePath { program, trace, possible: trace.iter().map(possible).collect() }
    }

    /// Returns the points in order, each as the number of instructions in front of it.
    pub fn points(&self) -> Vec<usize> {
        let around: BTreeSet<usize> = self.calls().chain(self.loops()).collect();
        let mut chosen: BTreeSet<usize> = evenly(&self.usable(around), MOST).into_iter().collect();
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

    /// Returns the points in front of each call and behind it, where the path returns to the
    /// caller.
    fn calls(&self) -> impl Iterator<Item = usize> {
        let call =
            |at: &usize| matches!(self.program.insns.get(self.trace[*at]), Some(Insn::Call(_)));
        let calls = (0..self.trace.len()).filter(move |at| self.possible[*at] && call(at));
        calls.flat_map(|at| {
            let behind = self.trace[at] + 1;
            let back = self.trace[at..].iter().position(|&slot| slot == behind);
            [Some(at), back.map(|more| at + more)].into_iter().flatten()
        })
    }

    /// Returns the points around each loop: in front of the last instruction before it, and at the
    /// first one after it.
    fn loops(&self) -> impl Iterator<Item = usize> {
        let pairs = self.possible.windows(2).enumerate();
        pairs.filter_map(|(at, pair)| match pair {
            [true, false] => Some(at),
            [false, true] => Some(at + 1),
            _ => None,
        })
    }

    /// Returns the points at which another source line begins, or all points if no lines are known.
    fn lines(&self) -> impl Iterator<Item = usize> {
        let line = |at: usize| self.program.lines.get(self.trace[at]).and_then(Option::as_ref);
        (1..self.trace.len()).filter(move |&at| {
            let (before, here) = (line(at - 1), line(at));
            here.is_none() || before != here
        })
    }
}

/// Chooses at most `most` points, evenly spaced.
fn evenly(points: &[usize], most: usize) -> Vec<usize> {
    if points.len() <= most {
        return points.to_vec();
    }
    (0..most).map(|n| points[(2 * n + 1) * points.len() / (2 * most)]).collect()
}
