//! Which points of a path its time is taken at: around calls and loops, else between source lines.

use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::Insn;
use slowpath_kernel::cuts;

/// Most points of a path.
const MOST: usize = 24;
/// Points that are chosen between source lines where there are fewer around calls and loops.
const ENOUGH: usize = 10;

/// A path, and where it can be cut.
pub struct Way<'a> {
    program: &'a BpfProgram,
    trace: &'a [usize],
    /// Of each instruction of the trace, whether the path can end in front of it.
    possible: Vec<bool>,
}

impl<'a> Way<'a> {
    /// The path of a program through these slots. It can end where it comes by only once.
    pub fn new(program: &'a BpfProgram, trace: &'a [usize]) -> Way<'a> {
        let places = cuts::possible(program);
        let mut times: BTreeMap<usize, usize> = BTreeMap::new();
        for &slot in trace {
            *times.entry(slot).or_default() += 1;
        }
        let possible = |slot: &usize| places.get(*slot) == Some(&true) && times[slot] == 1;
        Way { program, trace, possible: trace.iter().map(possible).collect() }
    }

    /// The points, each the number of instructions in front of it, in order.
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

    /// In front of each call, and behind it: where the path comes back to the function of the call.
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

    /// In front of the last instruction before what the path passes often, and behind that.
    fn loops(&self) -> impl Iterator<Item = usize> {
        let pairs = self.possible.windows(2).enumerate();
        pairs.filter_map(|(at, pair)| match pair {
            [true, false] => Some(at),
            [false, true] => Some(at + 1),
            _ => None,
        })
    }

    /// Where another source line begins; each instruction, where no lines are known.
    fn lines(&self) -> impl Iterator<Item = usize> {
        let line = |at: usize| self.program.lines.get(self.trace[at]).and_then(Option::as_ref);
        (1..self.trace.len()).filter(move |&at| {
            let (before, here) = (line(at - 1), line(at));
            here.is_none() || before != here
        })
    }
}

/// At most so many of some points, evenly.
fn evenly(points: &[usize], most: usize) -> Vec<usize> {
    if points.len() <= most {
        return points.to_vec();
    }
    (0..most).map(|n| points[(2 * n + 1) * points.len() / (2 * most)]).collect()
}
